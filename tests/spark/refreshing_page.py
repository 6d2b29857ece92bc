"""The page on refreshing, in parts: the tables on it, by their files, and what it shows ``explain`` to say of them."""

import re
from pathlib import Path
from typing import Final

_PAGE = (Path(__file__).parents[2] / "docs/incremental.md").read_text()
_PARTS = re.DOTALL | re.MULTILINE
TABLES: Final = dict(re.findall(r"^```(?:sql|yaml)\n(?:--|#) (tables/\S+)\n(.*?)^```$", _PAGE, _PARTS))
SHOWN: Final = dict(re.findall(r"^```console\n\$ lakesmith explain (\S+)\n(.*?)^```$", _PAGE, _PARTS))


def strategies() -> dict[str, str]:
    """What each table that is shown is refreshed by, in the page's order. Raises AssertionError where none is shown."""
    found = {table: re.search(r"^  (\w+):", shown, re.MULTILINE) for table, shown in SHOWN.items()}
    assert all(found.values()), found
    return {table: match[1] for table, match in found.items() if match}
