"""Kills runs of a project at random for as long as asked, and holds its lake against an oracle after each.

    python scripts/crash_soak.py --minutes 30 [--seed 7] [--every 10]

Each round something lands, a run is started, and Python, its JVM or both are killed: at a fault point of a
table, or at a moment that is drawn. What is published must then be right as far as it goes; after every few
rounds a run is left alone and everything must be there. Everything is drawn from the seed, which is printed.
(A process killed at a moment is not at the same instruction the next time, so a seed repeats the history and
not each detail of it.) A failure leaves the folder as it is.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "crash"))

from audit import TABLES, Audit  # noqa: E402
from audit import VERSIONS as VERSIONED  # noqa: E402
from killed_shop import FILES, VERSIONS, Shop  # noqa: E402
from processes import RunProcess, is_gone, kill, run, wait_until  # noqa: E402

from lakesmith.execute.faults import POINTS  # noqa: E402

ACTIONS = ("kill", "killjvm", "killboth")


@dataclass
class Soak:
    """One history of deaths. ``seconds`` is how long a run takes that is left alone: moments are drawn from
    that span.
    """

    shop: Shop
    draw: random.Random
    seconds: float = 20.0
    deaths: Counter[str] = field(default_factory=Counter)

    def round(self) -> None:
        """Something lands, a run dies, and what is published is right."""
        self.shop.land()
        if self.draw.random() < 0.15:
            self.shop.replace()
        fault = self._fault() if self.draw.random() < 0.5 else None
        with RunProcess.start(self.shop.root, fault) as process:
            jvm = process.wait_for_jvm() if fault else self._kill_at_a_moment(process)
            ended = process.end()
        how = fault.split("@")[0] if fault else "a moment"
        self.deaths[f"{how}: {'ended well' if ended.code == 0 else 'died'}"] += 1
        if jvm is not None:
            wait_until(lambda: is_gone(jvm), "the JVM ends", patience=60)
        Audit(self.shop).check()

    def leave_alone(self) -> None:
        """A run that nobody kills, after which everything is there."""
        began = time.monotonic()
        ended = run(self.shop.root)
        self.seconds = time.monotonic() - began
        assert ended.code == 0, ended.output
        Audit(self.shop).check_complete()

    def _fault(self) -> str:
        action = self.draw.choice(ACTIONS)
        later = f"/{self.draw.randrange(1, 400)}" if self.draw.random() < 0.4 else ""
        return f"{self.draw.choice(POINTS)}@{self.draw.choice((*TABLES, VERSIONED))}:{action}{later}"

    def _kill_at_a_moment(self, process: RunProcess) -> int | None:
        time.sleep(self.draw.uniform(0, self.seconds))
        action, jvm = self.draw.choice(ACTIONS), process.jvm()
        if action != "kill" and jvm is not None:
            kill(jvm)
        if action != "killjvm" and process.process.poll() is None:
            kill(process.pid)
        return jvm


def soak(options: argparse.Namespace, folder: Path) -> Soak:
    """Rounds until the time is up. Raises AssertionError when something is wrong."""
    state = Soak(
        Shop(folder / "shop", seed=options.seed, files=FILES | VERSIONS), random.Random(options.seed)
    )
    for number in _rounds(options.minutes):
        state.round()
        if number % options.every == 0:
            state.leave_alone()
            print(f"{number} runs killed, {len(state.shop.landed)} files landed, all is right", flush=True)
    state.leave_alone()
    return state


def _rounds(minutes: float) -> Iterator[int]:
    deadline, number = time.monotonic() + 60 * minutes, 0
    while time.monotonic() < deadline:
        number += 1
        yield number


def main() -> None:
    """Reads the options; exit code 1 when something is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--every", type=int, default=10, help="rounds between two runs that are left alone")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="lakesmith-soak-"))
    print(f"seed {options.seed}, in {folder}", flush=True)
    try:
        done = soak(options, folder)
    except AssertionError as error:
        sys.exit(f"seed {options.seed}: WRONG, left as it is in {folder}\n{error}")
    for how, count in sorted(done.deaths.items()):
        print(f"{count:5}  {how}")
    print(f"seed {options.seed}: {sum(done.deaths.values())} runs killed, all is right")


if __name__ == "__main__":
    main()
