"""The page on refreshing, in parts: its tables, by their files, and the ``explain`` that it shows of them."""

import re
from pathlib import Path
from typing import Final

_PAGE = (Path(__file__).parents[2] / "docs/incremental.md").read_text()
_PARTS = re.DOTALL | re.MULTILINE
TABLES: Final = dict(re.findall(r"^```(?:sql|yaml)\n(?:--|#) (tables/\S+)\n(.*?)^```$", _PAGE, _PARTS))
SHOWN: Final = dict(re.findall(r"^```console\n\$ lakesmith explain (\S+)\n(.*?)^```$", _PAGE, _PARTS))


def strategies() -> dict[str, str]:
    """Returns the strategy of each table shown, in the page's order. Fails where a table shows none."""
    found = {table: re.search(r"^  ([\w ]+):", shown, re.MULTILINE) for table, shown in SHOWN.items()}
    assert all(found.values()), found
    return {table: match[1] for table, match in found.items() if match}
