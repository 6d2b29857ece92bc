"""JSON lines: each line one object. A file names no columns; its records do, each its own."""

from __future__ import annotations

from typing import Final

from lakesmith.project.definitions import FileSource
from lakesmith.sources.formats.interface import LandingFormat
from lakesmith.sources.formats.text import decode, line_counter, read_packed, read_start
from lakesmith.sources.landing_file import LandingFile
from lakesmith.sources.shape import FileShape

_FIRST: Final = 16 * 1024


def read_json_shape(path: LandingFile, source: FileSource) -> FileShape:
    """The shape of one file: no columns, and whether it holds anything. Raises as ``read_start`` and ``decode``."""
    data, whole = read_start(path, _FIRST)
    return FileShape(empty=whole and not decode(data, source.csv.encoding, whole).strip())


JSON: Final = LandingFormat(
    read_json_shape, read_packed, lambda source: line_counter(source, has_header=False), lambda _: 0
)
