"""Logs: the fields of a file, and what each is as a column.

Files of CloudFront name their fields in a header, all others follow a grammar (``log_lines``). The header is
the line ``#Fields:`` of the W3C's extended log format (https://www.w3.org/TR/WD-logfile). The fields:
https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from lakesmith.project.definitions import Source
from lakesmith.project.formats import FileFormat
from lakesmith.sources.formats.log_lines import Encoding, LogField, grammar_of
from lakesmith.sources.formats.text import (
    BOM,
    decode,
    filled_lines,
    read_packed,
    read_start,
    unpacked,
    whole_lines,
)
from lakesmith.sources.model import LandingFile
from lakesmith.sources.shape import FileShape, Layout, UnreadableFile, check_names

EVENT_TIME: Final = "event_time"
"""The column of a record's time, which replaces the log's fields of date and time."""
LOG_LINE: Final = "log_line"
"""The column of a record's text as it is in the log."""

DATE_FIELDS: Final = ("date", "time")
EPOCH_FIELDS: Final = ("timestamp(ms)", "timestamp", "msec")
LOCAL_TIME: Final = "time_local"
ISO_TIME: Final = "time_iso8601"
_TIMES: Final = (*EPOCH_FIELDS, ISO_TIME, LOCAL_TIME)
REQUEST: Final = "request"
REQUEST_PARTS: Final = ("request_method", "request_url", "request_protocol")
"""The columns that are made of a request line: ``GET /x HTTP/1.1``."""

_FIELDS: Final = b"#Fields:"
_HEADER: Final = re.compile(rb"^#Fields:(.*)$", re.MULTILINE)
_FIRST: Final = 16 * 1024
_LARGEST: Final = 8 * 1024 * 1024
_SHOWN: Final = 80
_LOOKED_AT: Final = 20
_ENCODED_TWICE: Final = ("cs(User-Agent)", "cs(Referer)")
_TYPES: Final = {
    **dict.fromkeys(("sc-status", "c-port", "fle-encrypted-fields"), "int"),
    **dict.fromkeys(("sc-bytes", "cs-bytes", "asn"), "bigint"),
    **dict.fromkeys(("sc-content-len", "sc-range-start", "sc-range-end"), "bigint"),
    **dict.fromkeys(("time-taken", "time-to-first-byte", "origin-fbl", "origin-lbl"), "double"),
}
"""The fields that are not texts."""


_NEVER_ENCODED: Final = frozenset(
    {
        *DATE_FIELDS, *_TYPES,
        "x-edge-location", "c-ip", "x-edge-result-type", "x-edge-request-id", "cs-protocol", "ssl-protocol",
        "ssl-cipher", "x-edge-response-result-type", "cs-protocol-version", "fle-status",
        "x-edge-detailed-result-type", "timestamp", "timestamp(ms)", "c-ip-version", "c-country",
        "distributionid",
    }
)  # fmt: skip
"""Fields in which CloudFront writes nothing that it encodes. They are most of a line; looking for ``%`` in
each of them is a tenth of its time."""


def column_of(field: str) -> str:
    """Returns the name of a field's column, as CloudFront's Parquet files have it.

    >>> column_of("cs(User-Agent)"), column_of("x-edge-request-id")
    ('cs_user_agent', 'x_edge_request_id')
    """
    return re.sub(r"\W+", "_", field).strip("_").lower()


def log_fields(source: Source, names: tuple[str, ...]) -> tuple[LogField, ...]:
    """Returns the fields of a file: those of its header, ``names``, or those of the grammar of its lines."""
    if source.format is not FileFormat.CLOUDFRONT:
        return grammar_of(source).fields
    return tuple(LogField(name, _TYPES.get(name, "string"), _encoding(name)) for name in names)


def _encoding(name: str) -> Encoding:
    if name in _NEVER_ENCODED:
        return Encoding.NONE
    return Encoding.MAYBE_TWICE if name in _ENCODED_TWICE else Encoding.PERCENT


def shape_of_fields(source: Source, names: tuple[str, ...], empty: bool = False) -> FileShape:
    """Returns the shape of a log with these fields. Raises UnreadableFile LS423 for two of one name."""
    fields = log_fields(source, names)
    names = tuple(field.name for field in fields)
    check_names(tuple(map(column_of, names)))
    has_time = set(DATE_FIELDS) <= set(names) or bool(set(_TIMES) & set(names))
    own = [field for field in fields if field.name not in (*DATE_FIELDS, *_TIMES)]
    parts = REQUEST_PARTS if REQUEST in names else ()
    types = {
        **({EVENT_TIME: "timestamp"} if has_time else {}),
        **{column_of(field.name): field.type for field in own},
        **dict.fromkeys(parts, "string"),
        LOG_LINE: "string",
    }
    return FileShape(tuple(types), tuple(types.values()), empty, layout=Layout(fields=names))


def read_lines_shape(path: LandingFile, source: Source) -> FileShape:
    """Returns the shape of a file whose lines follow a grammar.

    Raises UnreadableFile (LS422 none of its first lines does, LS425 encoding, LS426 compression) and OSError.
    """
    size, grammar = _FIRST, grammar_of(source)
    while True:
        data, whole = read_start(path, size)
        lines = decode(data, source.csv.encoding, whole).split("\n")
        filled = [line.rstrip("\r") for line in (lines if whole else lines[:-1]) if line.strip()]
        if whole or filled or size >= _LARGEST:
            break
        size *= 8
    if fitting := [line for line in filled[:_LOOKED_AT] if grammar.fits(line)]:
        return replace(shape_of_fields(source, ()), absent=grammar.absent(fitting))
    if whole and not filled:
        return FileShape(empty=True)
    first = filled[0] if filled else lines[0]
    raise UnreadableFile(
        "LS422",
        f"none of its first lines is of a log of the format {source.format}",
        f"lines of {source.format}",
        repr(first[:_SHOWN]),
        "move the files of another service elsewhere, or set `pattern` to the names of the logs"
        + ("; `log_format` is the format that the server declares" if source.csv.log_format is None else ""),
    )


def read_cloudfront_shape(path: LandingFile, source: Source) -> FileShape:
    """Returns the shape of one file.

    Raises UnreadableFile (LS422 no log of CloudFront, LS423 a field twice, LS425 encoding, LS426 compression,
    LS427 header does not end) and OSError.
    """
    size = _FIRST
    while True:
        data, whole = read_start(path, size)
        lines = decode(data, source.csv.encoding, whole).split("\n")
        filled = [line.rstrip("\r") for line in (lines if whole else lines[:-1]) if line.strip()]
        record = next((line for line in filled if not line.startswith("#")), None)
        if whole or record is not None:
            break
        if size >= _LARGEST:
            raise UnreadableFile(
                "LS427", "its header does not end", "a header of some lines", f"no record in {size:,} bytes"
            )
        size *= 8
    if not filled:
        return FileShape(empty=True)
    before = filled if record is None else filled[: filled.index(record)]
    header = next((line for line in before if line.startswith(_FIELDS.decode())), None)
    if header is None:
        raise _no_log(filled[0])
    return shape_of_fields(source, _fields(header), empty=record is None)


def _fields(header: str) -> tuple[str, ...]:
    return tuple(re.split(r"[\s,]+", header.partition(":")[2].strip()))


def _no_log(first: str) -> UnreadableFile:
    return UnreadableFile(
        "LS422",
        "it is not a log of CloudFront",
        "a line `#Fields:` before the first record",
        repr(first[:_SHOWN]),
        "move the files of another service elsewhere, or set `pattern` to the names of the logs; logs without"
        " a header are `format: tsv` with `header: false` and declared `columns`",
    )


def cloudfront_counter(_source: Source, _layout: Layout) -> Callable[[LandingFile], int]:
    """Returns a function that counts the records of a file. It raises OSError if the header changes in it."""

    def count(path: LandingFile) -> int:
        try:
            return _count(path)
        except UnreadableFile as error:
            raise OSError(str(error)) from error

    return count


def read_cloudfront(path: LandingFile) -> None:
    """Reads a file to its end. Raises UnreadableFile LS422 if it is damaged, or its header changes."""
    read_packed(path)
    _count(path)


def _count(path: LandingFile) -> int:
    """The number of records. Raises UnreadableFile LS422 if a later header has other fields than the first.

    The same header may repeat: files were concatenated.
    """
    first, before, records = b"", 0, 0
    with unpacked(path) as stream:
        for part in whole_lines(stream):
            chunk = part if before else part.removeprefix(BOM)
            for at, header in _headers_in(chunk):
                first = first or header
                if header != first:
                    raise _changed(before + chunk.count(b"\n", 0, at) + 1, header)
            before += chunk.count(b"\n")
            records += filled_lines(chunk, b"#")
    return records


def _headers_in(chunk: bytes) -> Iterator[tuple[int, bytes]]:
    """The headers in a piece of whole lines: where each begins, and its fields."""
    for found in _HEADER.finditer(chunk) if _FIELDS in chunk else ():
        yield found.start(), b" ".join(re.split(rb"[\s,]+", found[1].strip()))


def _changed(line: int, header: bytes) -> UnreadableFile:
    return UnreadableFile(
        "LS422",
        f"its header changes in line {line:,}",
        "one header, which may be repeated",
        repr(header[:_SHOWN].decode("utf-8", "replace")),
        f"divide the file before line {line:,}: each part is then read by its own header",
    )
