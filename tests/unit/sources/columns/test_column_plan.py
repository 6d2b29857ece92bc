"""The column plan of each case in ``cases/``."""

from pathlib import Path
from typing import Any

import pytest
from column_cases import CASES, Case, read_case

from lakesmith.errors import SourceError
from lakesmith.sources.columns.plan import ColumnPlan, plan_columns
from lakesmith.sources.columns.reading import ReadGroup, SourceFiles, SourceRead


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_the_columns_are_planned(path: Path) -> None:
    case = read_case(path)
    assert planned(case) == case.expected


def planned(case: Case) -> dict[str, Any]:
    files = [SourceFiles(it.source, it.groups, it.records) for it in case.sources]
    try:
        return as_text(plan_columns(case.table, case.there, files))
    except SourceError as error:
        return {"problems": [[it.code, it.what, it.found] for it in error.problems]}


def as_text(plan: ColumnPlan) -> dict[str, Any]:
    found = {
        file.path: how
        for read in plan.reads
        for group in read.groups
        if (how := how_read(read, group))
        for file in group.files
    }
    whole = {
        "columns": {column.name: column.type for column in plan.columns},
        "notes": list(plan.notes),
        "read": found,
    }
    return {name: value for name, value in whole.items() if value}


def how_read(read: SourceRead, group: ReadGroup) -> dict[str, Any]:
    keys = {".".join(path): " | ".join(map(",".join, tiers)) for path, tiers in read.keys.items()}
    how = {
        "spelt": {**dict(group.matches), **keys},
        "of_path": list(group.path_columns),
        "file": [] if read.source.csv.header else list(group.file_columns),
    }
    return {name: value for name, value in how.items() if value}
