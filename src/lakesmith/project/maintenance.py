"""``maintain:`` as it is written, to a Maintenance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from lakesmith.errors import Problem
from lakesmith.project.definitions import FileOrder, Maintenance, Schedule
from lakesmith.project.durations import seconds
from lakesmith.project.schedules import read_schedule
from lakesmith.project.settings import Level, Setting, find
from lakesmith.project.sizes import size_in_bytes

T = TypeVar("T")

_USUAL: Final = Maintenance()
_DAY: Final = 86400.0
_LEAST_FILE: Final = 1024
_HOUR: Final = 3600.0


def maintenance_of(levels: Sequence[Level[BaseModel]], problems: list[Problem]) -> Maintenance:
    """What the levels say, each setting by the nearest one that has it; what is wrong goes to ``problems``."""
    given = _Given(levels, problems)
    strategy = given.read("strategy", FileOrder, _USUAL.strategy)
    return Maintenance(
        target_file_size=given.read("target_file_size", _size, _USUAL.target_file_size),
        strategy=strategy,
        columns=given.columns(strategy),
        older_than=given.read("older_than", _age, None),
        retain_last=given.read("retain_last", int, None),
        orphans_older_than=given.read("orphans.older_than", _safe_age, _USUAL.orphans_older_than),
        remove_orphans=given.read("orphans.remove", bool, False),
        schedule=given.schedule(),
    )


class _Given:
    def __init__(self, levels: Sequence[Level[BaseModel]], problems: list[Problem]) -> None:
        self._levels = levels
        self._problems = problems

    def read(self, name: str, parse: Callable[[Any], T], usual: T) -> T:
        """The setting as ``parse`` makes it; ``usual`` where it is not set, or not right."""
        setting = self._find(name)
        if setting is None:
            return usual
        try:
            return parse(setting.value)
        except ValueError as error:
            what = f"maintain.{name} is not right"
            self._problems.append(Problem("LS105", what, setting.place, str(error), repr(setting.value)))
            return usual

    def columns(self, strategy: FileOrder) -> tuple[str, ...]:
        """The columns, of a strategy that has some; those that were written for a whole folder do not concern other tables."""
        setting, chosen = self._find("columns"), self._find("strategy")
        if strategy is FileOrder.BINPACK:
            return ()
        if setting is None and chosen is not None:
            what = f"maintain.strategy {strategy.value} needs columns"
            self._problems.append(Problem("LS105", what, chosen.place, "columns: [column, …] beside it"))
        return tuple(setting.value) if setting is not None else ()

    def schedule(self) -> Schedule | None:
        """When ``up`` does it."""
        setting = self._find("schedule")
        return None if setting is None else read_schedule(setting, self._problems)

    def _find(self, name: str) -> Setting | None:
        *path, last = ("maintain", *name.split("."))
        levels = (level.below(*path) for level in self._levels)
        return find([level for level in levels if level is not None], last)


def _size(text: str) -> int:
    expected = "a size of 1 KiB or more, such as 128 MB"
    try:
        found = size_in_bytes(text)
    except ValueError:
        raise ValueError(expected) from None
    if found < _LEAST_FILE:
        raise ValueError(expected)
    return found


def _age(text: str) -> float:
    """Of points: whoever reads one may take so long."""
    return _at_least(text, _HOUR, "an hour or more, such as 30 days")


def _safe_age(text: str) -> float:
    """Of orphans: younger files may be those of a writer that is under way."""
    return _at_least(text, _DAY, "a day or more, such as 3 days")


def _at_least(text: str, least: float, expected: str) -> float:
    try:
        found = seconds(text)
    except ValueError:
        raise ValueError(expected) from None
    if found < least:
        raise ValueError(expected)
    return found
