"""Which exports of a lake are behind their tables: work for a run, though the tables have none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lakesmith.catalog.protocol import Catalog
from lakesmith.errors import LakesmithError
from lakesmith.exports.publishing import step_of
from lakesmith.project.definitions import Project, TableName


def exports_behind(project: Project, catalog: Catalog, names: Iterable[TableName]) -> Mapping[TableName, str]:
    """Returns why exports are behind, in words, by table. What is wrong with a table itself is said
    elsewhere."""
    wanted, found = set(names), {}
    for table in project.tables:
        if table.export is None or table.name not in wanted:
            continue
        try:
            step = step_of(project, table, catalog.table(table.name.layer, table.name.name))
            if step is not None:
                found[table.name] = f"its export is behind: {step.reason}"
        except LakesmithError as error:
            found[table.name] = f"its export is behind: {error.problems[0].found or error.problems[0].what}"
    return found
