"""The shared session: one JVM for the whole suite, with an embedded catalog in a temporary folder.

``harness`` (tests/spark) runs whole projects on it, for the tests of other folders as well.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from py4j.clientserver import FinalizerWorker
from spent import folder

from lakesmith.catalog.local import LocalCatalog
from lakesmith.execute import faults
from lakesmith.plan.cost import DataSize
from lakesmith.spark.start.session import SessionHandle, SessionSettings, local_catalog_conf, start_session
from lakesmith.spark.start.versions import POSTGRES_JARS, installed_pair

if TYPE_CHECKING:
    from harness import Harness, MakeShop
    from pyspark.sql import SparkSession

    import postgres_server
    import rest_server
    import s3_server

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parent / "spark"))

from prefixes import PREFIXES, watch_patches

import turns

watch_patches()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names bytes and long texts by their argument: times and processes in them differ between workers."""
    return argname if isinstance(val, bytes) or (isinstance(val, str) and len(val) > 300) else None


LONGEST = (
    "tests/spark/refresh/test_refresh_histories.py",
    "tests/crash/test_faults.py",
    "tests/crash/test_other_hands.py",
)
"""Files that take minutes each. They come first, so that no worker ends with one while the other waits."""


STARTED = {"s3", "rest", "jdbc", "postgres", "serving", "kept", "up", "intake", "landing"}
"""Fixtures that start servers or other processes: ``make unit`` leaves their tests to ``make test``."""


def pytest_configure(config: pytest.Config) -> None:
    """Settles which cases have their turn: all where files are named. Workers are told by the environment."""
    if not hasattr(config, "workerinput") and config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        os.environ["LAKESMITH_PART"] = turns.ALL
    # A shell's background jobs are born deaf to Ctrl-C, which some tests send themselves.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    part = turns.part_of(os.environ, config.rootpath)
    os.environ["LAKESMITH_PART"] = turns.ALL if part is None else str(part)


def pytest_report_header(config: pytest.Config) -> str:
    return turns.said(turns.part_of(os.environ, config.rootpath))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is due, the longest files first, the others in their order."""
    for item in items:
        if STARTED.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("processes")
        if "deploys" in item.keywords and "deploys" not in config.option.markexpr:
            item.add_marker(pytest.mark.skip(reason="takes minutes: make deploy-tests"))
    part = turns.part_of(os.environ, config.rootpath)
    rest = [] if part is None else [item for item in items if item.get_closest_marker("release")]
    if part is not None:
        rest += [item for of in (turns.PARTS, turns.USUAL, 3) for item in _not_due(items, part, of)]
    left_out = set(map(id, rest))
    items[:] = [item for item in items if id(item) not in left_out]
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))
    config.hook.pytest_deselected(items=rest)


def _not_due(items: list[pytest.Item], part: int, of: int) -> list[pytest.Item]:
    marked = [item for item in items if _turns_of(item) == of]
    due = turns.due([(item.nodeid, _whole_file(item)) for item in marked], part, of)
    return [item for item, is_due in zip(marked, due, strict=True) if not is_due]


def _turns_of(item: pytest.Item) -> int | None:
    """In how many parts a case comes back; None: each commit runs it."""
    marker = item.get_closest_marker("in_turn")
    if marker is None or item.get_closest_marker("always") is not None:
        return None
    return int(marker.kwargs.get("of", turns.USUAL))


def _whole_file(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("in_turn")
    return marker is not None and bool(marker.args)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The time of each part of the suite, summed over the workers."""
    seconds: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[folder(report.nodeid)] += report.duration
    if PREFIXES.asked:
        terminalreporter.write_line(f"{PREFIXES.found} of {PREFIXES.asked} runs were there already")
    if seconds:
        terminalreporter.section("time of each part")
    for part, spent in sorted(seconds.items(), key=lambda each: -each[1]):
        terminalreporter.write_line(f"{spent:7.0f} s  {part}")


@dataclass(frozen=True, slots=True)
class LakePaths:
    """Where the catalog ``lake`` of the shared session lives."""

    catalog_db: Path
    warehouse: Path
    log_path: Path


@pytest.fixture(scope="session")
def lake_paths(tmp_path_factory: pytest.TempPathFactory) -> LakePaths:
    root = tmp_path_factory.mktemp("lake")
    (root / "warehouse").mkdir()
    return LakePaths(root / "catalog.db", root / "warehouse", root / "spark.log")


@pytest.fixture(scope="session")
def session(lake_paths: LakePaths) -> Iterator[SessionHandle]:
    """The running session with what is known of its start."""
    catalog = LocalCatalog(lake_paths.catalog_db, lake_paths.warehouse)
    catalogs = local_catalog_conf(catalog.prepared(), catalog.warehouse)
    # As a run on little data has it: the suite takes two thirds of the time.
    # What Spark remembers of thousands of queries for a page that nobody looks at fills the heap.
    forgetful = {
        "spark.ui.retainedJobs": "50",
        "spark.ui.retainedStages": "50",
        "spark.ui.retainedTasks": "500",
        "spark.sql.ui.retainedExecutions": "10",
    }
    pair = installed_pair()
    settings = SessionSettings(
        catalogs=catalogs,
        log_path=lake_paths.log_path,
        driver_memory_mb=3072,
        size=DataSize.LITTLE,
        conf=forgetful,
        more_coordinates=(*pair.kafka_jars, *pair.aws_jars, *POSTGRES_JARS),
    )
    started = start_session(settings)
    yield started.result()
    frees = [thread for thread in threading.enumerate() if isinstance(thread, FinalizerWorker)]
    started.stop()
    assert frees, (
        "a test ended the thread that frees Java's objects: the heap filled up, all after it was slow"
    )


@pytest.fixture(scope="session")
def spark(session: SessionHandle) -> SparkSession:
    """The one SparkSession of the suite. Tests make their own namespaces in the catalog ``lake``."""
    return session.spark


@pytest.fixture(scope="module")
def interpreted(spark: SparkSession) -> SparkSession:
    """A session that interprets expressions, as those of projects in tests do."""
    from harness import INTERPRETED

    session = spark.newSession()
    for key, value in INTERPRETED.items():
        session.conf.set(key, value)
    return session


@pytest.fixture(scope="session")
def s3() -> Iterator[s3_server.Server]:
    """S3 and Glue on loopback. Tests make their own buckets and databases."""
    from s3_server import running

    with running() as server:
        yield server


@pytest.fixture(scope="session")
def rest(s3: s3_server.Server) -> Iterator[rest_server.Server]:
    """An Iceberg REST catalog on loopback, with its files on ``s3``. Tests make their own namespaces."""
    from rest_server import running

    with running(s3) as server:
        yield server


@pytest.fixture(scope="session")
def jdbc() -> Iterator[postgres_server.Server]:
    """PostgreSQL on loopback, for catalogs that Java opens too. Tests make their own databases."""
    from postgres_server import listening

    with listening() as server:
        yield server


@pytest.fixture
def tmp_path(
    request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder of the test's own. Cases on Spark have the same one, one after the other: those of a module
    that begin alike share their beginning (``prefixes``)."""
    if not {"session", "spark"}.intersection(request.fixturenames):
        return tmp_path
    return PREFIXES.folder_of(request.path, tmp_path_factory)


@pytest.fixture
def make_shop(tmp_path: Path, session: SessionHandle) -> MakeShop:
    """Makes the test's project: the folder ``shop`` in its temporary folder, on the shared session."""
    from harness import Harness

    return partial(Harness, tmp_path / "shop", session)


@pytest.fixture(scope="module")
def make_lake(tmp_path_factory: pytest.TempPathFactory, session: SessionHandle) -> MakeShop:
    """Makes a project that the cases of a module share, each in a folder of its own."""
    from harness import Harness

    return lambda *args, **named: Harness(tmp_path_factory.mktemp("shop") / "shop", session, *args, **named)


@pytest.fixture
def shop(make_shop: MakeShop, request: pytest.FixtureRequest) -> Harness:
    """The test's project: its module's ``FILES``, after a run of each file in ``TAKEN``."""
    module = request.module
    shop = make_shop(module.FILES, approves=getattr(module, "APPROVES", False))
    for name, content in getattr(module, "TAKEN", {}).items():
        shop.take(name, content)
    return shop


@pytest.fixture
def by_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refreshes small tables by keys, as large ones are."""
    from harness import refresh_by_keys

    refresh_by_keys(monkeypatch)


@pytest.fixture(autouse=True)
def _no_faults_left() -> Iterator[None]:
    yield
    faults.clear()
