"""What may be written in a file of stories: the declared settings of ``tests/*.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lakesmith.project.declaring import Choice, TableReference, VariableName, mapping, setting, settings_of

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class GivenForm:
    """What arrives at a table: `rows`, a `text`, or a `file`."""

    rows: tuple[Values, ...] | None = setting(None, form=list[Values])
    """The rows. They are written in the source's format."""
    text: str | None = setting(None)
    """The content of a landing file."""
    file: str | None = setting(None, min_length=1)
    """A landing file: its path in the project's folder."""
    name: str | None = setting(None, min_length=1)
    """What the landing file is called below the source's path. Default: a name of its own for each batch."""


@dataclass(frozen=True, slots=True)
class BadRowForm:
    """A bad row: words of one of its reasons, and values of its columns."""

    is_open = True

    reason: str | None = setting(None, min_length=1)
    """Words of one of its reasons, such as `IsComplete`."""


def _text_or_rows(value: Any) -> str:
    return "text" if isinstance(value, str) else "rows"


def _form_of_given(value: Any) -> str:
    if not isinstance(value, Mapping):
        return _text_or_rows(value)
    return "settings" if settings_of(GivenForm).keys() & value.keys() or not value else "sources"


def _form_of_expected(value: Any) -> str:
    return "settings" if isinstance(value, Mapping) else _text_or_rows(value)


_GIVEN = Choice(
    {"text": str, "rows": list[Values], "settings": GivenForm, "sources": mapping(str, Any)}, _form_of_given
)


@dataclass(frozen=True, slots=True)
class ExpectForm:
    """What a table must be after a batch."""

    rows: Any = setting(None, form=Choice({"text": str, "rows": list[Values]}, _text_or_rows))
    """All of its rows, in any order: a list, or CSV. Columns may be left out, the same in each row."""
    count: int | None = setting(None, ge=0)
    """The number of its rows."""
    quarantine: Any = setting(
        None,
        form=Choice(
            {"rows": list[BadRowForm], "count": int},
            lambda value: "count" if isinstance(value, int) else "rows",
        ),
    )
    """All of its bad rows, each by `reason` and columns, or how many there are."""
    balance: tuple[tuple[str, int], ...] = setting((), form=dict[str, int], usual={}, read=dict)
    """Numbers of the batch's row balance, such as `{read: 3, inserted: 2, quarantined: 1}`."""
    strategy: str | None = setting(None, min_length=1)
    """How the batch refreshed the table: `append`, `upsert`, `keys`, `sums`, `full`, … or `none`: it was up
    to date."""
    error: str | None = setting(None, pattern="^LS[0-9]{3}$")
    """The code of the error with which the batch failed, such as `LS805`."""
    tolerance: float = setting(1e-9, form=int | float, ge=0)
    """How far numbers of a floating-point type may be from what is expected, as a part of it."""


_EXPECTED = Choice({"text": str, "rows": list[Values], "settings": ExpectForm}, _form_of_expected)


@dataclass(frozen=True, slots=True)
class BatchForm:
    """What arrives before a run, and what is expected after it."""

    given: Values = setting({}, form=dict[TableReference, _GIVEN])  # type: ignore[valid-type]
    """What arrives, by table: CSV or other text, a list of rows, or `{rows, text, file, name}`; for a table
    with several sources by the source's name."""
    expect: Values = setting({}, form=dict[TableReference, _EXPECTED])  # type: ignore[valid-type]
    """What tables must be then: a list of rows, CSV, or settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryForm(BatchForm):
    """A story: what arrives batch by batch, and what tables must be then."""

    story: str = setting(min_length=1)
    """What the story is about: a sentence that can be false."""
    batches: tuple[BatchForm, ...] | None = setting(None, form=list[BatchForm], min_length=1)
    """The batches of a story with several, in place of `given` and `expect`."""
    now: str | None = setting(None)
    """The time of the first batch, such as `2026-01-05 10:00:00` (UTC). Default: the time of the test."""
    variables: Values = setting({}, form=dict[VariableName, str | int | float | bool])
    """Values of variables of `lakesmith.yaml` for this story."""
    environment: Values = setting({}, form=dict[VariableName, str | int | float | bool])
    """Values of environment variables for this story. It sees no others."""
    columns: Values = setting({}, form=dict[TableReference, dict[str, str]])
    """The types of the columns of a derived or external table that is given directly."""
    without: tuple[str, ...] = setting((), form=list[Literal["rebuild", "repeat"]])
    """What is not checked after the last batch: that a `rebuild` gives the same rows, or that a `repeat` of
    the run has nothing to do."""


@dataclass(frozen=True, slots=True)
class StoryFile:
    """A file of stories, `tests/NAME.yaml`."""

    stories: tuple[StoryForm, ...] = setting(form=list[StoryForm], min_length=1)
    """The stories."""
