"""Splits the lines of CSV files into records where quoted values may contain line ends.

Uses the standard library only, as ``json_values``.

Lines end in LF, CRLF or CR, which may be mixed. A record is its text as it came, with the line ends inside
it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice


def csv_records(
    lines: Iterable[str], delimiter: str, quote: str, escape: str, comment: str, skip: int
) -> Iterator[str]:
    """Yields the records of a file, without blank lines, ``comment`` lines and the first ``skip`` lines.

    Args:
        lines: the texts between two LF, in order.
        quote: empty where each line is a record.
        escape: empty, or as ``quote``, where quotes are doubled.
    """
    is_open = _tells_open(delimiter, quote, escape)
    held: list[str] = []
    for line in islice(_lines(lines), skip, None):
        text = line.rstrip("\r\n")
        if not held and (not text.strip(" ") or (comment and text.startswith(comment))):
            continue
        held.append(line)
        if not is_open(quote + text if len(held) > 1 else text):
            yield _ended(held)
            held = []
    if held:
        yield _ended(held)


def _ended(lines: list[str]) -> str:
    text = "".join(lines)
    return text.removesuffix("\n").removesuffix("\r")


def _lines(lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        text = line if number else line.removeprefix("\ufeff")
        *before, text = re.findall(r"[^\r]*\r|[^\r]+", text) if "\r" in text[:-1] else (text,)
        yield from before
        yield text + "\n"


def _tells_open(delimiter: str, quote: str, escape: str) -> Callable[[str], bool]:
    """A test whether the last value of a line begins with a quote that the line does not close."""
    if not quote:
        return lambda _: False
    mark, end = re.escape(quote), re.escape(delimiter)
    inner = (
        rf"[^{mark}]|{mark}{mark}"
        if escape in ("", quote)
        else rf"[^{mark}{re.escape(escape)}]|{re.escape(escape)}."
    )
    opened = rf"[ \t]*+{mark}(?:{inner})*+"
    rest = rf"(?:(?!{end}).)*+"
    pattern = re.compile(rf"(?:(?:{opened}{mark}|(?![ \t]*{mark})){rest}{end})*+{opened}", re.DOTALL)
    return lambda text: quote in text and pattern.fullmatch(text) is not None
