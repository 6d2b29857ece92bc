"""The command ``lakesmith`` with limits by which small tables are refreshed and maintained as large ones.

``TEST_LEASE_SECONDS``: how long a lease on a shared catalog lasts, so that nobody waits for two minutes after
a kill; with 0 it keeps nobody out.
"""

import os

from lakesmith import limits
from lakesmith.catalog import lease
from lakesmith.cli.main import main


def _lease_lasts(seconds: float) -> None:
    lease.LASTS_SECONDS = seconds  # type: ignore[misc]
    lease._RENEWED_EACH = max(seconds / 4, 1.0)  # type: ignore[misc]


if __name__ == "__main__":
    limits.COMPUTED_WHOLE_BELOW_BYTES = 0
    limits.COMPUTED_WHOLE_ABOVE_CHANGED_PART = float("inf")
    if seconds := os.environ.get("TEST_LEASE_SECONDS"):
        _lease_lasts(float(seconds))
    limits.NEWEST_POINTS_KEPT = 2
    limits.PAST_KEPT = ()
    limits.COMPACTED_FILES_KEPT_SECONDS = 0
    limits.SMALL_FILES_WORTH = 2
    limits.MANIFESTS_WORTH = 3
    limits.SNAPSHOTS_WORTH = 1
    main()
