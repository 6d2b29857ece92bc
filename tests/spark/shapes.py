"""The query shapes of ``shapes.sql``."""

import re
from pathlib import Path
from typing import Final

from shape import Shape

_SHAPE: Final = re.compile(r"^-- ([a-z]+\.\w+): (.*)\n", re.MULTILINE)
_PART: Final = re.compile(r"^-- (duckdb|settings|python)\n", re.MULTILINE)


def _shapes(text: str) -> list[Shape]:
    text = re.sub(r"\n---- .*", "", text)
    _, *told = _SHAPE.split(text)
    return [_shape(*told[at : at + 3]) for at in range(0, len(told), 3)]


def _shape(name: str, kinds: str, text: str) -> Shape:
    query, *parts = _PART.split(text)
    more = dict(zip(parts[::2], parts[1::2], strict=True))
    duckdb = _one_line(more["duckdb"]) if "duckdb" in more else None
    settings, python = (more.get(part, "").rstrip() for part in ("settings", "python"))
    settings += "\n" if settings else ""
    return Shape(name, _one_line(query), frozenset(kinds.split()), duckdb, settings, python)


def _one_line(query: str) -> str:
    return " ".join(query.split())


SHAPES: Final = tuple(_shapes(Path(__file__).with_suffix(".sql").read_text()))
BY_NAME: Final = {shape.name: shape for shape in SHAPES}


def with_inputs(shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
    """Returns the shapes and all that they read, each after its inputs."""
    wanted = {shape.name for shape in shapes}
    while more := {name for each in wanted for name in BY_NAME[each].inputs if name in BY_NAME} - wanted:
        wanted |= more
    return tuple(shape for shape in SHAPES if shape.name in wanted)
