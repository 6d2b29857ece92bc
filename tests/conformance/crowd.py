"""A crowd on one lake: writers, a compactor and an eraser loop as processes while files land.

What refuses one of them is a code that they know what to do about, and they call again. At the end every row
that landed is accounted for.
"""

import random
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from machines import QUICKLY
from places import Place, project_file
from processes import Ended, RunProcess, kill

from lakesmith.sources.objects import bucket_and_key

_SOURCE: Final = """
source:
  files: {{path: "${{vars.landing}}/{0}/", pattern: "*.csv", on_erase: remove}}
columns: {{{1}}}
"""
FILES: Final = {
    "tables/bronze/orders.yaml": _SOURCE.format(
        "orders", "order_id: bigint, customer: string, amount: bigint, version: bigint"
    ),
    "tables/bronze/payments.yaml": _SOURCE.format(
        "payments", "payment_id: bigint, order_id: bigint, customer: string, paid: bigint"
    ),
    "tables/silver/newest.yaml": """
key: [order_id]
latest_by: [version]
delete_when: "amount = -1"
query: SELECT order_id, customer, amount, version FROM bronze.orders
""",
    "tables/silver/good.yaml": """
rules: |
  Rules = [ ColumnValues "amount" > 0 ]
query: SELECT order_id, customer, amount FROM bronze.orders
""",
    "tables/gold/sums.sql": "SELECT customer, count(*) AS orders, sum(amount) AS amount FROM silver.good"
    " GROUP BY customer\n",
    "tables/gold/paid.sql": (
        "SELECT p.payment_id, o.order_id, o.customer, o.amount, p.paid "
        "FROM silver.newest o JOIN bronze.payments p ON p.order_id = o.order_id\n"
    ),
}
KNOWN: Final = frozenset({"LS511", "LS701", "LS703"})
"""What may refuse a command of a crowd: another one is at work, or was before it."""
AGAIN: Final = "call this again"
"""What an erasure says while rows of the person are in files that no table has taken yet."""
PATIENCE: Final = 400.0
"""Seconds after which a command counts as one that hangs."""
MAINTAINED: Final = 60.0
"""Seconds after which maintenance is told to end."""
STAYING: Final = ("Bo", "Cy", "Di")


class Order(NamedTuple):
    """A row that lands in ``orders``."""

    order_id: int
    customer: str
    amount: int
    version: int


class Payment(NamedTuple):
    """A row that lands in ``payments``."""

    payment_id: int
    order_id: int
    customer: str
    paid: int


@dataclass
class Landed:
    """All that landed, and who has gone since. ``bad``: the lines that are no rows."""

    orders: list[Order] = field(default_factory=list)
    payments: list[Payment] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)
    people: list[str] = field(default_factory=list)
    erased: set[str] = field(default_factory=set)


@dataclass
class Crowd:
    """``shared``: each member has a folder of its own, as machines have; otherwise all are in one folder."""

    work: Path
    place: Place
    seed: int
    landed: Landed = field(default_factory=Landed)
    ended: Counter[str] = field(default_factory=Counter)
    over: threading.Event = field(default_factory=threading.Event)
    _files: int = 0
    _begun: str | None = None

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def work_together(self, seconds: float, writers: int) -> None:
        """All of them for so long, and until each has once done something; then what was begun is ended."""
        members: list[Callable[[], object]] = [self._lander, self._compactor, self._eraser]
        members += [lambda at=number: self._writer(at) for number in range(writers)]  # type: ignore[misc]
        with ThreadPoolExecutor(len(members)) as pool:
            begun = [pool.submit(self._until_over, member) for member in members]
            try:
                self._wait(begun, time.monotonic() + seconds)
            finally:
                self.over.set()
            for each in begun:
                each.result()
        self.finish()

    def finish(self) -> None:
        """What was begun is ended, and the last run, when nobody else is at work."""
        if self._begun is not None:
            self._erase(self._begun)
        assert self._begun is None, "nobody was in the way"
        self.land()
        self.must("writer 0", "run")

    def must(self, member: str, *words: str) -> str:
        done = self._call(member, words)
        assert done.code == 0, done.output
        return done.output

    def root_of(self, member: str) -> Path:
        root = self.work / (member.replace(" ", "-") if self.place.is_remote else "all") / "shop"
        if not (root / "lakesmith.yaml").exists():
            self._write_project(root)
        return root

    def _write_project(self, root: Path) -> None:
        for name, text in {
            **FILES,
            "lakesmith.yaml": project_file("shop", self.place, {"spark": QUICKLY}),
        }.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def _wait(self, begun: Sequence[Future[object]], end: float) -> None:
        """Until the time is up and each has done something, or one has failed."""
        while time.monotonic() < end or not all(self.ended[f"{name}: done"] for name in ("run", "erase")):
            assert time.monotonic() < end + PATIENCE, f"some never came to it: {self.ended}"
            if any(each.done() for each in begun):
                return
            time.sleep(0.2)

    def _until_over(self, member: Callable[[], object]) -> None:
        try:
            while not self.over.is_set():
                member()
        except BaseException:
            self.over.set()
            raise

    def _lander(self) -> None:
        self.land()
        self.over.wait(self._random.uniform(1, 3))

    def _writer(self, number: int) -> None:
        """One waits for others, the next does not; then it is its loop that comes again."""
        waiting = ("--wait", "120") if number % 2 else ()
        self._try(f"writer {number}", "run", *waiting)
        self.over.wait(self._random.uniform(0, 2))

    def _compactor(self) -> None:
        """Maintains again and again. It yields before each piece, so it is told to end if that is long."""
        if not self._has_run():
            return
        with RunProcess.start(self.root_of("compactor"), None, ("maintain",)) as process:
            over = threading.Timer(MAINTAINED, lambda: kill(process.pid, signal.SIGTERM))
            over.start()
            done = self._end(process, "maintain")
            over.cancel()
        assert done.code == 0 or (done.code == 130 and "stopped: what was done stays" in done.output), done
        self.ended[f"maintain: {'done' if done.code == 0 else 'stopped'}"] += 1
        self.ended["maintain: tables"] += len(re.findall(r"^\w+\.\w+: .* \([0-9.]+ s\)$", done.output, re.M))

    def _eraser(self) -> None:
        """Somebody's rows, until they are gone: once begun, the same call until it is done."""
        if not self._has_run():
            return
        if self._begun is None:
            here = [each for each in self.landed.people if each not in self.landed.erased]
            self._begun = self._random.choice(here)
        self._erase(self._begun)

    def _has_run(self) -> bool:
        if not self.ended["run: done"]:
            self.over.wait(0.2)
        return bool(self.ended["run: done"])

    def _erase(self, person: str) -> None:
        where = ("--where", f"customer = '{person}'", "--yes", "--wait", "120")
        if self._try("eraser", "erase", "gold.paid", *where):
            self.landed.erased.add(person)
            self._begun = None

    def _try(self, member: str, *words: str) -> bool:
        """Whether the command was done; what refused it has to be known, and comes again after a moment."""
        done = self._call(member, words)
        codes = set(re.findall(r"LS\d{3}", done.output))
        self.ended[f"{words[0]}: {'done' if done.code == 0 else ' '.join(sorted(codes)) or AGAIN}"] += 1
        if done.code == 0:
            return True
        refused = codes <= KNOWN if codes else words[0] == "erase" and AGAIN in done.output
        assert refused and "Traceback" not in done.output, (words, done.code, done.output)
        self.over.wait(self._random.uniform(0.1, 0.5))
        return False

    def _call(self, member: str, words: Sequence[str]) -> Ended:
        with RunProcess.start(self.root_of(member), None, words) as process:
            return self._end(process, f"{member}: {' '.join(words)}")

    def _end(self, process: RunProcess, what: str) -> Ended:
        try:
            output, _ = process.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{what} hangs: {self.ended}") from None
        return Ended(process.process.returncode, output)

    def land(self) -> None:
        """Lands a file in each folder: new orders, newer versions, deletes, bad rows, a line without one."""
        number, self._files = self._files, self._files + 1
        orders = [self._order(number, each) for each in range(6)] + self._again(number)
        bad = f"{1000 * number + 999},{self._random.choice(STAYING)},many,1"
        about = self._random.sample(self._not_leaving(self.landed.orders + orders), 4)
        payments = [
            Payment(10 * number + each, order.order_id, order.customer, each + 1)
            for each, order in enumerate(about)
        ]
        self.landed.orders += orders
        self.landed.payments += payments
        self.landed.bad.append(bad)
        self._put("orders", number, [",".join(Order._fields), *map(_line, orders), bad])
        self._put("payments", number, [",".join(Payment._fields), *map(_line, payments)])

    def _order(self, file: int, each: int) -> Order:
        """Of a customer who stays, or of one of some people who come and go."""
        if each % 2:
            person = f"P{file // 2:04}-{self._random.choice('ab')}-Lovelace"
            if person not in self.landed.people:
                self.landed.people.append(person)
        else:
            person = self._random.choice(STAYING)
        return Order(1000 * file + each, person, self._random.randrange(0, 50), 1)

    def _again(self, file: int) -> list[Order]:
        known = [order for order in self._not_leaving(self.landed.orders) if order.version == 1]
        chosen = self._random.sample(known, min(3, len(known)))
        return [order._replace(amount=self._random.choice((-1, 7, 60)), version=file + 2) for order in chosen]

    def _not_leaving(self, orders: Iterable[Order]) -> list[Order]:
        """Without those of somebody who is being erased: while theirs land, an erasure is never done."""
        leaving = self._begun
        return [order for order in orders if order.customer != leaving]

    def _put(self, folder: str, number: int, lines: Sequence[str]) -> None:
        text, name = "\n".join(lines) + "\n", f"{folder}/{number:05}.csv"
        if self.place.s3 is not None:
            bucket, key = bucket_and_key(f"{self.place.landing}/{name}")
            self.place.s3.client().put_object(Bucket=bucket, Key=key, Body=text)
            return
        path = self.root_of("writer 0") / self.place.landing / name
        path.parent.mkdir(parents=True, exist_ok=True)
        hidden = path.with_name(f".{path.name}")
        hidden.write_text(text)
        hidden.rename(path)


def _line(row: Order | Payment) -> str:
    return ",".join(map(str, row))
