"""JSON: each line one object, or values of another layout. Each record names its own columns.

Lines are the usual layout: they are read in blocks, side by side. The beginning of a file shows another
layout (``json_values``: objects glued together, over several lines, or in an array), unless ``multiline:
true`` says that all files have it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lakesmith.project.definitions import Source
from lakesmith.sources.formats.json_values import is_stream, json_values
from lakesmith.sources.formats.text import decode, is_wide, line_counter, read_start, record_counter
from lakesmith.sources.model import LandingFile
from lakesmith.sources.shape import FileShape, Layout

_FIRST: Final = 16 * 1024
_LARGEST: Final = 8 * 1024 * 1024


def read_json_shape(path: LandingFile, source: Source) -> FileShape:
    """Returns the shape of one file: no columns, whether it is empty, and whether its records are lines.

    Raises as ``read_start`` and ``decode``.
    """
    size = _FIRST
    while True:
        data, whole = read_start(path, size)
        text = decode(data, source.csv.encoding, whole)
        found = has_values(text, whole, source)
        if found is not None or size >= _LARGEST:
            return FileShape(empty=whole and not text.strip(), layout=Layout(bool(found)))
        size *= 8


def has_values(text: str, whole: bool, source: Source) -> bool | None:
    """Whether the records of a file with this beginning are not lines. None: a longer text is needed."""
    return source.has_foreign_files and (
        source.csv.multiline or is_wide(source.csv) or is_stream(text, whole)
    )


def json_counter(source: Source, layout: Layout) -> Callable[[LandingFile], int]:
    return record_counter(json_values, source.csv.encoding) if layout.is_stream else line_counter(0)
