"""Tests what is random, and what takes long, for a given time: each round draws other histories and
kills all processes, and ends with an older version of Spark, which is another each round.

    python scripts/soak.py --minutes 60

Ends at the first round that fails, with its exit code: what failed has printed its seed or its steps.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

from versions import OLDER, run

HISTORIES = 20
"""Histories a round, each in a lake of its own; of the seeded tests of the parts a tenth as many."""
LAKES = ("tests/spark/refresh/test_refresh_histories.py",)
SEEDED = (
    "tests/spark/iceberg/test_change_feed.py",
    "tests/spark/refresh/test_rule_of_keys.py",
    "tests/spark/refresh/test_sums.py",
    "tests/spark/refresh/test_refresh_keyed.py",
    "tests/spark/write/test_history_type2.py",
    "tests/spark/write/test_semantics_keyed.py",
)
KILLS = ("tests/crash/test_kills.py", "tests/crash/test_replay_kills.py", "tests/crash/test_faults.py")
LIVE = ("tests/crash/test_chaos.py", "tests/crash/test_up.py", "tests/crash/test_warm.py")
CATALOGS = ("tests/conformance",)
CLUSTER = ("tests/cluster",)
ROUND = ((LAKES, HISTORIES), (SEEDED, HISTORIES // 10), (KILLS, 1), (LIVE, 3), (CATALOGS, 1), (CLUSTER, 1))


def main() -> int:
    """Rounds until the time is over."""
    parser = argparse.ArgumentParser(
        description="Tests what is random, and what takes long, for a given time."
    )
    parser.add_argument("--minutes", type=float, default=60)
    end = time.monotonic() + 60 * parser.parse_args().minutes
    rounds = 0
    while not rounds or time.monotonic() < end:
        rounds += 1
        for files, histories in ROUND:
            print(f"round {rounds}: {histories} histories: {' '.join(files)}", flush=True)
            command = [sys.executable, "-m", "pytest", "-x", "-q", "--timeout", "0", *files]
            done = subprocess.run(command, env={**os.environ, "LAKESMITH_SOAK": str(histories)}, check=False)
            if done.returncode:
                return done.returncode
        if code := run(OLDER[rounds % len(OLDER)]):
            return code
    print(f"{rounds} rounds found nothing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
