"""Finds out which file a failed Spark job could not read."""

from __future__ import annotations

import re
from urllib.parse import unquote

_FILE_IN_MESSAGE = (
    re.compile(r"Encountered error while reading file (\S.*?)\.\s+(?:SQLSTATE|[A-Z][a-z]+ )"),
    re.compile(r"(?:Could not read footer|Could not read footer for file):? (?:file: )?(\S.*?)\. "),
    re.compile(r"(file:/\S+?) is not a (?:Parquet|Avro) file"),
)


def unreadable_file(error: BaseException) -> str | None:
    """The absolute path (or URI, for other than local files) of the file that made ``error`` happen, None if no file did.

    Spark names a file URL-encoded in its message (FAILED_READ_FILE); the message may sit in a cause or a stack trace.
    """
    seen: BaseException | None = error
    while seen is not None:
        for text in (str(seen), _java_trace(seen)):
            if found := file_in(text):
                return found
        seen = seen.__cause__ or seen.__context__
    return None


def file_in(text: str) -> str | None:
    """As ``unreadable_file``, of the text of an exception."""
    for pattern in _FILE_IN_MESSAGE:
        if found := pattern.search(text):
            return _plain_path(found.group(1))
    return None


def _java_trace(error: BaseException) -> str:
    trace = getattr(error, "getStackTrace", None)
    return str(trace() or "") if callable(trace) else ""


def _plain_path(uri: str) -> str:
    path = unquote(uri)
    return re.sub(r"^file:/+", "/", path)
