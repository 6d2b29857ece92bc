"""What every command begins with: the project, whose secrets no log may show."""

from __future__ import annotations

from pathlib import Path

from lakesmith.api.opened import Opened, read_project
from lakesmith.cli.guard import remember

__all__ = ["Opened", "open_project"]


def open_project(root: Path, target: str | None) -> Opened:
    """Reads the project. Raises ProjectError with every problem found."""
    opened = read_project(root, target)
    remember(opened.project)
    return opened
