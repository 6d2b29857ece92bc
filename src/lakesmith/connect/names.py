"""What the project's tables are called in the catalog: the one place that says so."""

from __future__ import annotations

from lakesmith.project.definitions import TableName, Target


def physical(name: TableName, target: Target) -> tuple[str, str]:
    """The namespace and the name of a table in the catalog of ``target``: those that it has in the project."""
    del target
    return name.layer, name.name
