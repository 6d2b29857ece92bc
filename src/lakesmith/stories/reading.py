"""Reads stories from files below ``tests/``, with every problem that the files alone show."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from lakesmith.errors import Place, Problem, ProjectError
from lakesmith.project.declaring import settings_of
from lakesmith.project.definitions import TableName
from lakesmith.project.written import model_of, validated
from lakesmith.project.yaml_reader import Document, YamlPath, read_yaml
from lakesmith.stories.model import BadRow, Batch, Expectation, Given, Rows, Story
from lakesmith.stories.written import ExpectForm, GivenForm, StoryFile

FOLDER: Final = "tests"
_ENDINGS: Final = (".yaml", ".yml")


def story_paths(root: Path) -> list[str]:
    """The files of stories, relative to the project's folder, sorted. Links that leave it are left out."""
    found = (path for path in (root / FOLDER).rglob("*") if path.suffix in _ENDINGS and path.is_file())
    inside = (path for path in found if path.resolve().is_relative_to(root.resolve()))
    return sorted(path.relative_to(root).as_posix() for path in inside)


def read_stories(text: str, file: str) -> list[Story]:
    """Returns the stories of a file. Raises ProjectError with every problem: LS101 to LS105 as any file of a
    project has them; LS150 a story that expects nothing, or two of one title; LS151 rows that are none."""
    document = read_yaml(text, file)
    validated(model_of(StoryFile), document)
    reader = _Reader(document)
    found = [reader.story(number) for number in range(len(document.value["stories"]))]
    reader.check_titles(found)
    if reader.problems:
        raise ProjectError(reader.problems)
    return found


class _Reader:
    def __init__(self, document: Document) -> None:
        self.document, self.problems = document, list[Problem]()

    def problem(
        self, code: str, what: str, place: Place, expected: str | None = None, found: str | None = None
    ) -> None:
        self.problems.append(Problem(code, what, place, expected, found))

    def story(self, number: int) -> Story:
        path: YamlPath = ("stories", number)
        written, place = self.document.at(path), self.document.place(*path)
        title = written["story"]
        several = written.get("batches")
        if several is not None and (written.get("given") or written.get("expect")):
            self.problem(
                "LS150", f"{title!r} has batches, and given or expect beside them", place, "one of them"
            )
        paths = [path] if several is None else [(*path, "batches", at) for at in range(len(several))]
        batches = tuple(self.batch(each) for each in paths)
        if not any(batch.expected for batch in batches):
            self.problem("LS150", f"{title!r} expects nothing", place, "expect: a table and its rows")
        return Story(
            self.document.file,
            title,
            place,
            batches,
            self.moment(written.get("now"), (*path, "now")),
            _texts(written.get("variables")),
            _texts(written.get("environment")),
            tuple(
                (TableName.parse(table), tuple(columns.items()))
                for table, columns in (written.get("columns") or {}).items()
            ),
            frozenset(written.get("without") or ()),
        )

    def check_titles(self, stories: Sequence[Story]) -> None:
        known: dict[str, Story] = {}
        for each in stories:
            if (first := known.setdefault(each.title, each)) is not each:
                what = f"two stories are called {each.title!r}"
                self.problem(
                    "LS150", what, each.place, "a title of its own", f"also at line {first.place.line}"
                )

    def moment(self, text: str | None, path: YamlPath) -> datetime | None:
        try:
            found = None if text is None else datetime.fromisoformat(text)
        except ValueError:
            expected = "a time such as 2026-01-05 10:00:00"
            self.problem("LS151", "`now` is not a time", self.document.place(*path), expected, repr(text))
            return None
        return found.replace(tzinfo=UTC) if found is not None and found.tzinfo is None else found

    def batch(self, path: YamlPath) -> Batch:
        written = self.document.at(path)
        given = [
            each
            for table, value in (written.get("given") or {}).items()
            for each in self.given(TableName.parse(table), value, (*path, "given", table))
        ]
        expected = [
            self.expectation(TableName.parse(table), value, (*path, "expect", table))
            for table, value in (written.get("expect") or {}).items()
        ]
        return Batch(tuple(given), tuple(expected))

    def given(self, table: TableName, value: Any, path: YamlPath) -> Iterator[Given]:
        plain = Given(table, self.document.place(*path))
        if isinstance(value, str):
            yield replace(plain, text=value)
        elif isinstance(value, list):
            yield replace(plain, rows=tuple(value))
        elif not settings_of(GivenForm).keys() & value.keys():
            for source, each in value.items():
                found = self.given(table, each, (*path, source)) if _is_given(each) else ()
                yield from (replace(one, source=source) for one in found)
                if not _is_given(each):
                    expected = "rows, a text, or {rows, text, file, name}"
                    self.problem("LS151", f"{source} of {table} is given nothing", plain.place, expected)
        else:
            kinds = [key for key in ("rows", "text", "file") if value.get(key) is not None]
            if len(kinds) != 1:
                what = f"{table} is given one of rows, text and file"
                self.problem("LS151", what, plain.place, found=", ".join(kinds) or "none of them")
            rows = value.get("rows")
            yield replace(
                plain,
                rows=None if rows is None else tuple(rows),
                text=value.get("text"),
                file=value.get("file"),
                name=value.get("name"),
            )

    def expectation(self, table: TableName, value: Any, path: YamlPath) -> Expectation:
        place = self.document.place(*path)
        if not isinstance(value, Mapping):
            return Expectation(table, place, self.rows(value, path, ExpectForm().tolerance))
        if not value:
            self.problem("LS150", f"nothing is expected of {table}", place, "rows, or another expectation")
        rows = value.get("rows")
        bad = value.get("quarantine")
        tolerance = value.get("tolerance", ExpectForm().tolerance)
        return Expectation(
            table,
            place,
            None if rows is None else self.rows(rows, (*path, "rows"), tolerance),
            value.get("count"),
            self.bad_rows(bad, (*path, "quarantine")) if isinstance(bad, list) else bad,
            tuple((value.get("balance") or {}).items()),
            value.get("strategy"),
            value.get("error"),
        )

    def bad_rows(self, rows: Sequence[Mapping[str, Any]], path: YamlPath) -> tuple[BadRow, ...]:
        return tuple(
            BadRow(
                row.get("reason"),
                tuple((name, value) for name, value in row.items() if name != "reason"),
                self.document.place(*path, at),
            )
            for at, row in enumerate(rows)
        )

    def rows(self, value: Any, path: YamlPath, tolerance: float) -> Rows:
        place = self.document.place(*path)
        if isinstance(value, str):
            return replace(self.csv_rows(value, self.document.text_place(*path), tolerance), path=path)
        columns = tuple(value[0]) if value else ()
        for at, row in enumerate(value):
            if set(row) != set(columns):
                odd = sorted(set(row) ^ set(columns))
                differs = f"row {at + 1} differs in {', '.join(odd)}"
                what = f"each row of an expectation names the same columns; {differs}"
                self.problem(
                    "LS151",
                    what,
                    self.document.place(*path, at),
                    ", ".join(columns),
                    ", ".join(row) or "none",
                )
                return Rows(columns, (), place, tolerance=tolerance)
        if value and not columns:
            self.problem("LS151", "a row of an expectation names no column", place, "{column: value}")
        rows = tuple(tuple(row[name] for name in columns) for row in value)
        return Rows(columns, rows, place, False, tolerance, path)

    def csv_rows(self, text: str, place: Place, tolerance: float) -> Rows:
        lines = list(csv.reader(io.StringIO(text, newline="")))
        header, *rows = [line for line in lines if line] or [[]]
        for at, row in enumerate(rows, 1):
            if len(row) != len(header):
                what = f"line {at + 1} of the rows has another number of values than the first"
                self.problem("LS151", what, place, str(len(header)), str(len(row)))
                return Rows(tuple(header), (), place, True, tolerance)
        if not header:
            self.problem("LS151", "CSV without a header expects no rows", place, "[] for no rows")
        return Rows(tuple(header), tuple(map(tuple, rows)), place, True, tolerance)


def _texts(written: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, str(value).lower() if isinstance(value, bool) else str(value))
        for name, value in (written or {}).items()
    )


def _is_given(value: Any) -> bool:
    is_form = isinstance(value, Mapping) and bool(settings_of(GivenForm).keys() & value.keys())
    return (
        isinstance(value, str)
        or is_form
        or (isinstance(value, list) and all(isinstance(row, Mapping) for row in value))
    )
