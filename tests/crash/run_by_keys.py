"""The command ``lakesmith``, with small tables refreshed by keys too, as large ones are, however much of them changes."""

from __future__ import annotations

from lakesmith import limits
from lakesmith.cli.main import main

if __name__ == "__main__":
    limits.COMPUTED_WHOLE_BELOW_BYTES = 0
    limits.COMPUTED_WHOLE_ABOVE_CHANGED_PART = float("inf")
    main()
