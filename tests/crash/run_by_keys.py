"""The command ``lakesmith``, with small tables refreshed by keys too, as large ones are, however much of them changes, and maintained after a few
batches, as others are after hundreds."""

from __future__ import annotations

from lakesmith import limits
from lakesmith.cli.main import main

if __name__ == "__main__":
    limits.COMPUTED_WHOLE_BELOW_BYTES = 0
    limits.COMPUTED_WHOLE_ABOVE_CHANGED_PART = float("inf")
    limits.NEWEST_POINTS_KEPT = 2
    limits.PAST_KEPT = ()
    limits.COMPACTED_FILES_KEPT_SECONDS = 0
    limits.SMALL_FILES_WORTH = 2
    limits.MANIFESTS_WORTH = 3
    limits.SNAPSHOTS_WORTH = 1
    main()
