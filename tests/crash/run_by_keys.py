"""The command ``lakesmith``, with small tables refreshed by keys too, as large ones are, however much of them changes."""

from __future__ import annotations

from lakesmith.cli.main import main
from lakesmith.plan import planner
from lakesmith.spark.refresh import touched_keys

if __name__ == "__main__":
    planner.WORTH_KEYS_BYTES = 0
    touched_keys.MOST_TOUCHED = float("inf")
    main()
