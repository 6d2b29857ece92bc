"""What a landing file has to be able to do to be looked at without Spark: a ``Path`` does it, and so does an object in S3."""

from __future__ import annotations

from typing import BinaryIO, Literal, Protocol


class HasSize(Protocol):
    """Of what ``os.stat`` tells, the size."""

    @property
    def st_size(self) -> int:
        """Bytes."""


class LandingFile(Protocol):
    """One file. Reading raises OSError."""

    @property
    def name(self) -> str:
        """Its name, without folders."""

    @property
    def suffix(self) -> str:
        """The name's ending, with its dot."""

    def stat(self) -> HasSize:
        """What is known of it without reading."""

    def open(self, mode: Literal["rb"]) -> BinaryIO:
        """Its bytes."""
