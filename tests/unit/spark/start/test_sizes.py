"""Which JVMs serve which work, how they are set up, and when their class archive is made."""

from dataclasses import replace
from pathlib import Path

import pytest

from lakesmith.catalog.protocol import SPARK_CATALOG
from lakesmith.plan.cost import DataSize
from lakesmith.spark.jvm.growing import ADAPTIVE, COMPILING, PARTITIONS
from lakesmith.spark.start import train_archive
from lakesmith.spark.start.jars import held
from lakesmith.spark.start.keeper import differing
from lakesmith.spark.start.resident import parts_of, wanted
from lakesmith.spark.start.settings import SessionSettings, java_options, session_conf
from lakesmith.spark.start.train_archive import QUIET_WITHIN_SECONDS, make_in_a_quiet_moment


@pytest.mark.parametrize(
    ("work", "jvms"),
    [
        (DataSize.LITTLE, {DataSize.LITTLE, DataSize.MIXED}),
        (DataSize.MIXED, {DataSize.MIXED}),
        (DataSize.LARGE, {DataSize.LARGE}),
    ],
)
def test_a_jvm_that_was_kept_serves_its_own_work_and_less(work: DataSize, jvms: set[DataSize]) -> None:
    want = wanted(parts_of([], work), work)
    answers = {kept: differing(want, parts_of([], kept)) for kept in DataSize}
    assert {kept for kept, differs in answers.items() if not differs} == jvms
    assert all(differs in ([], ["size"]) for differs in answers.values())
    assert differing(want, parts_of(["another setting"], work)) == ["settings"]


def _settings(size: DataSize, **conf: str) -> SessionSettings:
    given = {name.replace("_", "."): value for name, value in conf.items()}
    return SessionSettings(catalogs={}, log_path=Path("spark.log"), cores=2, conf=given, size=size)


def test_only_mixed_work_has_the_second_compiler_late() -> None:
    found = {size: " ".join(java_options(_settings(size), ())) for size in DataSize}
    assert "-XX:TieredStopAtLevel=1" in found[DataSize.LITTLE] and "Tier4" not in found[DataSize.LITTLE]
    assert "-XX:Tier4InvocationThreshold=200000" in found[DataSize.MIXED]
    assert "-XX:Tier4InvocationThreshold=20000 " in found[DataSize.LARGE]
    assert ["-Xmn128m" in found[size] for size in DataSize] == [True, True, False]


@pytest.mark.parametrize(
    ("size", "given", "adaptive", "partitions"),
    [
        (DataSize.LITTLE, {}, "false", "1"),
        (DataSize.LITTLE, {"spark_sql_shuffle_partitions": "7"}, "true", "7"),
        (DataSize.LITTLE, {"spark_sql_adaptive_enabled": "true"}, "true", "2"),
        (DataSize.MIXED, {}, "true", "2"),
        (DataSize.LARGE, {}, "true", "8"),
    ],
)
def test_only_little_data_is_shuffled_by_plans_made_once(
    size: DataSize, given: dict[str, str], adaptive: str, partitions: str
) -> None:
    conf = session_conf(_settings(size, **given), Path("/tmp"))
    assert (conf[ADAPTIVE], conf[PARTITIONS]) == (adaptive, partitions)
    assert conf.get(COMPILING) == ("NO_CODEGEN" if adaptive == "false" else None)


def test_only_tables_of_the_embedded_catalog_are_read_without_defaults_of_hadoop() -> None:
    def files(uri: str, **given: str) -> str | None:
        catalog = {f"{SPARK_CATALOG}.uri": uri, f"{SPARK_CATALOG}.warehouse": "file:///lake"}
        settings = replace(_settings(DataSize.LITTLE, **given), catalogs=catalog)
        return session_conf(settings, Path("/tmp")).get(f"{SPARK_CATALOG}.io-impl")

    assert files("jdbc:sqlite:/lake/catalog.db") == "lakesmith.TableFiles"
    assert files("http://127.0.0.1:8181") is None
    assert files("jdbc:sqlite:/lake/catalog.db", spark_master="spark://here:7077") is None


def _made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made: list[str] = []
    monkeypatch.setattr(train_archive, "make_archive", made.extend)
    return made


def test_the_class_archive_is_made_in_a_quiet_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    made, loads, slept = _made(monkeypatch), [2.5, 1.4, 0.8, 0.7], list[float]()
    assert make_in_a_quiet_moment(["a:b:1"], tmp_path, lambda: loads.pop(0), slept.append)
    assert (made, loads, len(slept)) == (["a:b:1"], [], 3)


def test_a_machine_that_is_always_busy_gets_its_archive_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, slept = _made(monkeypatch), list[float]()
    assert make_in_a_quiet_moment(["a:b:1"], tmp_path, lambda: 99.0, slept.append)
    assert made == ["a:b:1"] and sum(slept) == QUIET_WITHIN_SECONDS


def test_one_process_waits_for_the_quiet_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = _made(monkeypatch)
    with held(tmp_path / "waiting.lock"):
        assert not make_in_a_quiet_moment(["a:b:1"], tmp_path, lambda: 0.0, lambda seconds: None)
    assert made == []
