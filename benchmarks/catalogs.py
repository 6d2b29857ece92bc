"""The example customer-orders on shared catalogs with its files in S3, all played on this machine, beside the
embedded catalog.

    python benchmarks/catalogs.py [--small] [--places rest glue jdbc]

Whole processes, in turns: the first run of two files, a run that takes a third one, and an idle run of 100
tables (``--small``: 20). Then, untimed, what an idle run and a batch ask of the catalog and of S3. The
servers share the two cores with what is measured.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import common
from catalog_servers import Servers, running
from places import EMBEDDED, KINDS, REST, Place, project_file

from lakesmith.catalog.open import open_catalog
from lakesmith.project.definitions import TableName
from lakesmith.project.files import FolderFiles
from lakesmith.project.loader import parse_project

GOAL = 1.5
ARRIVALS = sorted((common.EXAMPLES / "customer-orders" / "arrivals").glob("*.csv"))
COPIED = TableName("gold", "customers_by_city_month")


@dataclass
class Shop:
    """The example on a place."""

    root: Path
    place: Place

    @classmethod
    def made(cls, root: Path, place: Place) -> Shop:
        """A new copy of the example, in the place of what was there."""
        shutil.rmtree(root, ignore_errors=True)
        common.copy_example("customer-orders", root)
        shop = cls(root, place)
        shop.point_at(place)
        return shop

    def point_at(self, place: Place) -> None:
        """Has the project run on ``place``: the same lake by another way."""
        (self.root / "lakesmith.yaml").write_text(project_file("customer_orders", place))

    def land(self, *files: Path) -> None:
        """Brings files."""
        for file in files:
            if self.place.s3 is None:
                common.deliver(file, self.root / "landing/orders")
                continue
            at = urlsplit(f"{self.place.landing}/orders/{file.name}")
            self.place.s3.client().upload_file(str(file), at.netloc, at.path[1:])

    def run(self) -> float:
        """Seconds of ``lakesmith run``."""
        return common.timed(common.lakesmith("run"), self.root)

    def grow(self, count: int) -> None:
        """Has the project ``count`` tables: the gold one again and again, each with a metadata file of its
        own.
        """
        catalog = open_catalog(parse_project(FolderFiles(self.root), "local").project)
        sql = (self.root / f"tables/{COPIED.layer}/{COPIED.name}.sql").read_text()
        there = len(parse_project(FolderFiles(self.root), "local").project.tables)
        state = catalog.table(COPIED.layer, COPIED.name)
        assert state is not None
        for number in range(count - there):
            name = TableName(COPIED.layer, f"copy_{number:03d}")
            (self.root / f"tables/{name.layer}/{name.name}.sql").write_text(sql)
            location = self._copied(state.metadata_location, number)
            namespace = catalog.physical(name)
            writer: Any = catalog.writer()
            getattr(writer, "catalog", writer).register_table(namespace, location)

    def _copied(self, location: str, number: int) -> str:
        copy = location.replace("/metadata/", f"/metadata/{number + 90000}-")
        at, to = urlsplit(location), urlsplit(copy)
        if self.place.s3 is None:
            shutil.copyfile(at.path, to.path)
        else:
            source = {"Bucket": at.netloc, "Key": at.path[1:]}
            self.place.s3.client().copy_object(Bucket=to.netloc, Key=to.path[1:], CopySource=source)
        return copy


class Sides:
    """The embedded catalog, and one of the shared ones beside it."""

    def __init__(self, work: Path, servers: Servers, kind: str) -> None:
        self.work, self.servers, self.kind = work, servers, kind
        self.shops: dict[str, Shop] = {}

    def first(self, kind: str) -> float:
        """Seconds of the first run, of two files."""
        self.shops[kind] = Shop.made(self.work / kind / "customer-orders", self.servers.place(kind))
        self.shops[kind].land(*ARRIVALS[:2])
        return self.shops[kind].run()

    def batch(self, kind: str) -> float:
        """Seconds of a run that takes one file more."""
        self.shops[kind].land(*ARRIVALS[2:])
        return self.shops[kind].run()

    def compare(self, rounds: int) -> Iterator[tuple[str, tuple[float, ...], tuple[float, ...]]]:
        """First runs and batches, after one of each that is not counted."""
        kinds = (self.kind, EMBEDDED)
        seconds: dict[tuple[str, str], list[float]] = {}
        for number in range(rounds + 1):
            for kind in kinds if number % 2 else reversed(kinds):
                first, batch = self.first(kind), self.batch(kind)
                if number:
                    seconds.setdefault(("first run", kind), []).append(first)
                    seconds.setdefault(("a batch", kind), []).append(batch)
        for what in ("first run", "a batch"):
            yield what, *(tuple(seconds[what, kind]) for kind in kinds)

    def idle(self, tables: int, rounds: int) -> tuple[tuple[float, ...], ...]:
        """Seconds of idle runs over so many tables, after one of each that is not counted."""
        for shop in self.shops.values():
            shop.grow(tables)
            shop.run()
        return tuple(common.take_turns([self.shops[kind].run for kind in (self.kind, EMBEDDED)], rounds))

    def counted(self) -> Iterator[tuple[str, Counter[str]]]:
        """What is asked by an idle run, the first after the cache is gone and one after it, and by a batch of
        four tables.
        """
        shop = self.shops[self.kind]
        tables = len(parse_project(FolderFiles(shop.root), "local").project.tables)
        by_proxy = replace(shop, place=self._by_proxy(shop.place))
        by_proxy.point_at(by_proxy.place)
        shutil.rmtree(shop.root / ".lakesmith")
        for what in (f"idle, {tables} tables, nothing cached", f"idle, {tables} tables"):
            with self.servers.asked() as found:
                shop.run()
            yield what, found
        fresh = Shop.made(self.work / "counted", self._by_proxy(self.servers.place(self.kind)))
        fresh.land(*ARRIVALS[:2])
        fresh.run()
        fresh.land(*ARRIVALS[2:])
        with self.servers.asked() as found:
            fresh.run()
        yield "a batch, 4 tables", found

    def _by_proxy(self, place: Place) -> Place:
        if self.kind != REST:
            return place
        return replace(place, catalog={**place.catalog, "uri": self.servers.proxy.uri})


def measure(work: Path, servers: Servers, kind: str, options: argparse.Namespace) -> common.Outcome:
    """One of the shared catalogs beside the embedded one."""
    sides = Sides(work / f"beside-{kind}", servers, kind)
    rounds = options.rounds or (1 if options.small else 3)
    tables = 20 if options.small else 100
    runs = [
        common.Comparison(f"{kind}: {what}", ours, theirs, GOAL)
        for what, ours, theirs in sides.compare(rounds)
    ]
    idle = common.Comparison(f"{kind}: idle, {tables} tables", *sides.idle(tables, rounds * 2 + 1))
    lines = [
        f"{kind}: {what}: {sum(found.values())} requests: {_counts(found)}" for what, found in sides.counted()
    ]
    return common.Outcome(f"catalogs: {kind}", (*runs, idle), {}, tuple(lines), theirs="embedded")


def _counts(found: Counter[str]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in sorted(found.items())) or "none"


@contextmanager
def _environment(environ: dict[str, str]) -> Iterator[None]:
    """Keys where clients look for them that no setting tells."""
    os.environ.update(environ)
    common.environment.cache_clear()
    yield


def main() -> None:
    """The command line."""
    parser = common.arguments("The example customer-orders on shared catalogs, beside the embedded one.")
    remote = [kind for kind in KINDS if kind != EMBEDDED]
    parser.add_argument("--places", nargs="+", default=remote, choices=remote, help="which catalogs")
    options = parser.parse_args()
    with common.workspace(options) as work, running() as servers, _environment(servers.s3.environ):
        for kind in options.places:
            common.show(measure(work, servers, kind, options), options.json)


if __name__ == "__main__":
    main()
