"""What a landing format says of its files without Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from lakesmith.project.definitions import Source
from lakesmith.sources.model import LandingFile
from lakesmith.sources.shape import FileShape, Layout


class ColumnsIn(Enum):
    """Where the files of a format say their columns."""

    SCHEMA = "schema"
    """Names and types, once for the file."""
    HEADER = "header"
    """Names, in the first line, unless the source says that there is no header. It may turn out to be a
    row."""
    RECORDS = "records"
    """Names, in each record its own."""


@dataclass(frozen=True, slots=True)
class LandingFormat:
    """One format.

    ``read_shape``: returns the columns of one file. Raises UnreadableFile and OSError. ``read_whole``: reads
    one file, of at least one byte, to its end. Raises UnreadableFile LS422 for damage, and OSError.
    ``counter``: makes a function that counts the records of one file of a layout; None if that is not
    possible. The function raises OSError, and EOFError or zlib.error for a damaged file. ``has_lines``:
    whether the records of the source's files are lines, unless a file has another layout.
    """

    read_shape: Callable[[LandingFile, Source], FileShape]
    read_whole: Callable[[LandingFile], None]
    counter: Callable[[Source, Layout], Callable[[LandingFile], int] | None] = lambda *_: None
    has_lines: Callable[[Source], bool] = lambda _: False
    columns_in: ColumnsIn = ColumnsIn.SCHEMA
