"""What has to be said of a landing format so that its files can be taken without Spark's word for them."""

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
    """Names, in the first line, unless the source says that there is none. The line may turn out to be none."""
    RECORDS = "records"
    """Names, in each record its own."""


@dataclass(frozen=True, slots=True)
class LandingFormat:
    """One format.

    ``read_shape``: what one file says of its columns. Raises UnreadableFile and OSError.
    ``read_whole``: reads one file, of at least one byte, to its end. Raises UnreadableFile LS422 where it is damaged, and OSError.
    ``counter``: what counts the records of one file of that layout, apart from Spark; None where that cannot be done. What it gives raises
    OSError, and EOFError or zlib.error for a damaged file.
    ``has_lines``: whether the records of the source's files are lines, unless a file's layout is another one.
    """

    read_shape: Callable[[LandingFile, Source], FileShape]
    read_whole: Callable[[LandingFile], None]
    counter: Callable[[Source, Layout], Callable[[LandingFile], int] | None] = lambda *_: None
    has_lines: Callable[[Source], bool] = lambda _: False
    columns_in: ColumnsIn = ColumnsIn.SCHEMA
