"""Writes the calls of ``Lakehouse`` into docs/python.md, from their docstrings, below the text that is
written by hand.

    python scripts/python_page.py docs/python.md

A test checks that the page is current; another one runs its examples, in their order.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import lakesmith

_NOTE: Final = "<!-- generated from here on: python scripts/python_page.py docs/python.md -->"
_NOT_RUN: Final = frozenset({"readmit", "up", "send"})
"""Examples that take somebody who was erased, or a server."""
_SECTION: Final = re.compile(r"^(Args|Raises|Example):$", re.MULTILINE)


def page(now: str) -> str:
    """Returns the page: its text up to the note as it is, and the calls."""
    head = now.partition(_NOTE)[0]
    opening = '```python\nshop = lakesmith.open("shop")\n```'
    return "\n".join([f"{head}{_NOTE}", "", "## The calls", "", opening, "", *_calls()])


def _calls() -> Iterator[str]:
    kinds = lakesmith.Lakehouse.__mro__[:-1]
    found = {name: call for kind in kinds for name, call in vars(kind).items() if inspect.isfunction(call)}
    names = [name for name in found if not name.startswith("_") and name != "close"]
    for name in [*names, "close"]:
        yield from _call(name, found[name])


def _call(name: str, call: Callable[..., Any]) -> Iterator[str]:
    signature = inspect.signature(call)
    shown = inspect.Signature(list(_bare(list(signature.parameters.values())[1:])))
    yield from (f"### {name}{shown}".replace("Ellipsis", "..."), "")
    text, *sections = _SECTION.split(inspect.getdoc(call) or "")
    yield from _prose(text)
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        yield from _section(name, title, body)


def _bare(parameters: list[inspect.Parameter]) -> Iterator[inspect.Parameter]:
    """Parameters without annotations; three dots stand for a default that is no plain value."""
    for each in parameters:
        is_plain = each.default is each.empty or isinstance(each.default, str | int | float | tuple | None)
        yield each.replace(annotation=each.empty, default=each.default if is_plain else ...)


def _section(name: str, title: str, body: str) -> Iterator[str]:
    block, _, after = body.partition("\n\n")
    lines = textwrap.dedent(block.strip("\n")).splitlines()
    if title == "Example":
        yield from (f"```{'py' if name in _NOT_RUN else 'python'}", *lines, "```", "")
    else:
        yield from ("Raises:", "") if title == "Raises" else ()
        items = re.split(r"\n(?=\S)", "\n".join(lines))
        for item in items:
            key, _, meaning = " ".join(item.split()).partition(": ")
            yield f"- `{key}`: {_code(meaning)}"
        yield ""
    yield from _prose(after)


def _prose(text: str) -> Iterator[str]:
    for paragraph in filter(None, (part.strip() for part in text.split("\n\n"))):
        yield from (*textwrap.wrap(_code(" ".join(paragraph.split())), 118, break_on_hyphens=False), "")


def _code(text: str) -> str:
    return text.replace("``", "`")


def main(arguments: list[str]) -> int:
    """Writes the page that is named anew. Returns the exit code."""
    (file,) = map(Path, arguments)
    file.write_text(page(file.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
