"""Queries in files of SQL, each below a comment that is its title: ``-- title``."""

import re
from pathlib import Path


def titled(path: Path) -> list[tuple[str, str]]:
    """Returns the titles and their queries, each on one line, in their order."""
    _, *parts = re.split(r"^-- (\w*: .*|duckdb)\n", path.read_text(), flags=re.MULTILINE)
    return [(title, " ".join(query.split())) for title, query in zip(parts[::2], parts[1::2], strict=True)]


def golds(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the queries of gold tables and their strategies, by table: titles are ``NAME: STRATEGY``."""
    parts = [(*title.split(": "), query) for title, query in titled(path)]
    return {f"gold.{name}": query for name, _, query in parts}, {
        f"gold.{name}": kind for name, kind, _ in parts
    }
