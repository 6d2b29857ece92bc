"""Queries in files of SQL, each below a comment that is its title: ``-- title``."""

import re
from pathlib import Path


def titled(path: Path) -> list[tuple[str, str]]:
    """Returns the titles and their queries, each on one line, in their order."""
    _, *parts = re.split(r"^-- (\w*: .*|duckdb)\n", path.read_text(), flags=re.MULTILINE)
    return [(title, " ".join(query.split())) for title, query in zip(parts[::2], parts[1::2], strict=True)]
