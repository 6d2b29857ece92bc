"""``since``: where the names below a source's path begin that count. Pure: names are compared by their characters, as S3 orders keys."""

from __future__ import annotations


def is_before(name: str, since: str | None) -> bool:
    """Whether a file, by its name below the source's path with the folders in it, comes before ``since``.

    >>> is_before("dt=2026-10-31/a.csv", "dt=2026-11-01"), is_before("dt=2026-11-01/a.csv", "dt=2026-11-01")
    (True, False)
    """
    return since is not None and name < since


def all_before(folder: str, since: str | None) -> bool:
    """Whether all that a folder can have in it comes before ``since``: it need not be looked into.

    >>> all_before("2026/", "2026/11"), all_before("2025/", "2026/11")
    (False, True)
    """
    return since is not None and folder < since and not since.startswith(folder)
