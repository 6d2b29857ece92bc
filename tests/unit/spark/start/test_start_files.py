"""Archive names and seals, the cached jars, the session's folder, sizes: what a start finds on disk."""

import os
import zipfile
from pathlib import Path

import pytest

from lakesmith.errors import EnvironmentProblem
from lakesmith.graph.graph import load
from lakesmith.plan.cost import DataSize
from lakesmith.spark.open import session_settings
from lakesmith.spark.start import jars
from lakesmith.spark.start.class_archive import (
    KEPT,
    Archive,
    archive_for,
    archive_key,
    discard,
    doubt,
    last_doubt,
    refuse,
    seal,
    trust,
    usable,
    why_missing,
)
from lakesmith.spark.start.find_java import JavaRuntime
from lakesmith.spark.start.jars import (
    cache_folder,
    cached_jars,
    ensure_jars,
    held,
    is_whole_jar,
    jars_folder,
    make_folder,
)
from lakesmith.spark.start.session_folder import living_folders, new_session_folder, sweep
from lakesmith.spark.start.settings import (
    SessionSettings,
    default_memory_mb,
    local_catalog_conf,
    memory_mb,
    session_conf,
)
from lakesmith.spark.start.sizes import memory_conf

COORDINATES = ("org.one:first:1.0", "org.two:second_2.13:2.0")


def make_jar(path: Path, text: str = "x" * 500) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("A.class", text)
    return path


def make_java(folder: Path) -> JavaRuntime:
    (folder / "lib" / "server").mkdir(parents=True)
    (folder / "lib" / "server" / "libjvm.so").write_text("jvm")
    return JavaRuntime(folder, 17, "test")


def test_the_cache_folder_by_environment() -> None:
    assert cache_folder({"LAKESMITH_CACHE": "/a", "XDG_CACHE_HOME": "/b"}) == Path("/a")
    assert cache_folder({"XDG_CACHE_HOME": "/b"}) == Path("/b/lakesmith")
    assert cache_folder({}) == Path.home() / ".cache" / "lakesmith"


def test_a_cache_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem) as caught:
        make_folder(tmp_path / "file" / "cache")
    assert caught.value.problems[0].code == "LS304"


def test_a_lock_is_held_once(tmp_path: Path) -> None:
    with held(tmp_path / "lock") as first, held(tmp_path / "lock", wait=False) as second:
        assert (first, second) == (True, False)
    with held(tmp_path / "lock", wait=False) as again:
        assert again


def test_the_archive_key_changes_with_whatever_the_jvm_looks_at(tmp_path: Path) -> None:
    java = make_java(tmp_path / "jdk")
    one, two = make_jar(tmp_path / "one.jar"), make_jar(tmp_path / "two.jar")
    key = archive_key(java, [one, two])
    assert key == archive_key(java, [one, two])
    assert key.startswith("java17-")
    changed = {archive_key(java, [two, one]), archive_key(java, [one])}
    os.utime(two, (1, 1))
    changed.add(archive_key(java, [one, two]))
    make_jar(two, "longer" * 100)
    os.utime(two, (1, 1))
    changed.add(archive_key(java, [one, two]))
    (tmp_path / "jdk" / "lib" / "server" / "libjvm.so").write_text("another build")
    changed.add(archive_key(java, [one, two]))
    two.unlink()
    changed.add(archive_key(java, [one, two]))
    assert len(changed | {key}) == 7


def made(archive: Archive, text: str = "archive") -> Archive:
    archive.folder.mkdir(parents=True, exist_ok=True)
    fresh = archive.folder / "fresh"
    fresh.write_text(text)
    seal(archive, fresh)
    return archive


def test_only_a_sealed_archive_of_its_size_is_used(tmp_path: Path) -> None:
    archive = archive_for(tmp_path, make_java(tmp_path / "jdk"), [])
    assert not usable(archive)
    assert usable(made(archive))
    archive.file.write_text("arch")
    assert not usable(archive)
    made(archive)
    archive.seal.write_text("{")
    assert not usable(archive)
    made(archive)
    discard(archive)
    assert not archive.file.exists()


def test_a_refused_archive_goes_and_the_reason_stays(tmp_path: Path) -> None:
    archive = made(Archive(tmp_path, "a"))
    refuse(archive, "the JVM said no")
    assert not usable(archive)
    assert archive.failed.read_text() == "the JVM said no\n"
    made(archive)
    assert not archive.failed.exists()


def test_an_archive_outlives_the_deaths_of_jvms_and_not_its_own(tmp_path: Path) -> None:
    archive = made(Archive(tmp_path, "a"))
    doubt(archive, "Answer from\nJava side is empty")
    assert (usable(archive), last_doubt(archive)) == (True, "Answer from Java side is empty")
    trust(archive)
    doubt(archive, "killed")
    assert (usable(archive), why_missing(archive)) == (True, None)
    doubt(archive, "killed")
    assert (usable(archive), why_missing(archive)) == (False, None), "made again at the session's end"
    made(archive)
    doubt(archive, "killed")
    assert usable(archive)
    doubt(archive, "killed again")
    assert (usable(archive), why_missing(archive)) == (False, "killed again")
    assert last_doubt(archive) is None


def test_old_archives_go(tmp_path: Path) -> None:
    for number in range(KEPT + 2):
        archive = made(Archive(tmp_path, f"a{number}"))
        os.utime(archive.seal, (number, number))
    made(Archive(tmp_path, "newest"))
    assert sorted(path.stem for path in tmp_path.glob("*.jsa")) == ["a3", "a4", "a5", "newest"]


def no_resolving(*_: object) -> str:
    raise AssertionError("resolved although the jars are there")


def test_jars_put_there_by_hand_are_taken_under_either_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "_fetch", no_resolving)
    folder = jars_folder(COORDINATES, tmp_path)
    make_jar(folder / "first-1.0.jar")
    make_jar(folder / "org.two_second_2.13-2.0.jar")
    java = make_java(tmp_path / "jdk")
    assert [jar.name for jar in ensure_jars(java, COORDINATES, tmp_path)] == [
        "first-1.0.jar",
        "org.two_second_2.13-2.0.jar",
    ]
    assert cached_jars(folder) == ensure_jars(java, COORDINATES, tmp_path)


def test_a_jar_that_changed_its_size_is_not_taken(tmp_path: Path) -> None:
    folder = jars_folder(COORDINATES, tmp_path)
    make_jar(folder / "first-1.0.jar")
    half = make_jar(folder / "second_2.13-2.0.jar")
    ensure_jars(make_java(tmp_path / "jdk"), COORDINATES, tmp_path)
    half.write_bytes(half.read_bytes()[:200])
    assert cached_jars(folder) is None
    assert not is_whole_jar(half)


def fetching(text: str, *names: str, half: str = "") -> object:
    """A stand-in for Spark's resolution: makes jars of these names, `half` cut off, and says `text`."""

    def run(java: JavaRuntime, coordinates: tuple[str, ...], ivy: Path) -> str:
        for name in names:
            make_jar(ivy / "jars" / name)
        if half:
            (ivy / "jars" / half).write_bytes((ivy / "jars" / half).read_bytes()[:200])
        return text

    return run


def test_what_was_fetched_is_put_in_place_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch = fetching("", "org.one_first-1.0.jar", "org.two_second_2.13-2.0.jar", "org.x_xz-1.10.jar")
    monkeypatch.setattr(jars, "_fetch", fetch)
    found = ensure_jars(make_java(tmp_path / "jdk"), COORDINATES, tmp_path)
    # xz is among Spark's own jars: not taken a second time.
    assert [jar.name for jar in found] == ["org.one_first-1.0.jar", "org.two_second_2.13-2.0.jar"]
    assert sorted(path.name for path in (tmp_path / "jars").iterdir()) == [
        found[0].parent.name,
        f"{found[0].parent.name}.lock",
    ]


@pytest.mark.parametrize(
    ("fetch", "found"),
    [
        (
            fetching(
                "Server access error\nException in thread: [unresolved dependency: org.one#first;1.0: not "
                "found]"
            ),
            "not found",
        ),
        (
            fetching("", "org.one_first-1.0.jar", half="org.one_first-1.0.jar"),
            "damaged: org.one_first-1.0.jar",
        ),
        (fetching(""), "nothing was fetched"),
    ],
)
def test_jars_that_cannot_be_had_are_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fetch: object, found: str
) -> None:
    monkeypatch.setattr(jars, "_fetch", fetch)
    with pytest.raises(EnvironmentProblem) as caught:
        ensure_jars(make_java(tmp_path / "jdk"), COORDINATES, tmp_path)
    problem = caught.value.problems[0]
    assert problem.code == "LS302"
    assert found in (problem.found or "")
    assert "org.one:first:1.0" in (problem.expected or "")
    assert str(jars_folder(COORDINATES, tmp_path)) in (problem.hint or "")
    assert cached_jars(jars_folder(COORDINATES, tmp_path)) is None


def test_folders_of_dead_sessions_are_swept_and_living_ones_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    living = new_session_folder()
    dead = tmp_path / "lakesmith-session-dead"
    dead.mkdir()
    (dead / "alive").write_text("")
    (tmp_path / "lakesmith-session-being-made").mkdir()
    (tmp_path / "lakesmith-session-whose-lock-cannot-be-opened" / "alive").mkdir(parents=True)
    left = set(tmp_path.iterdir()) - {dead}
    assert sweep(tmp_path) == [dead]
    assert set(tmp_path.iterdir()) == left
    living.remove()
    assert not living.path.exists()


def test_the_folders_of_a_project_s_living_sessions_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ours, others = new_session_folder("shop"), new_session_folder("other shop")
    assert living_folders("shop") == [ours.path]
    ours.remove()
    assert living_folders("shop") == []
    others.remove()


def settings(**conf: str) -> SessionSettings:
    return SessionSettings(catalogs={}, log_path=Path("x.log"), conf=conf)


@pytest.mark.parametrize(
    ("text", "mb"), [("4g", 4096), ("512m", 512), ("2048", 2048), ("1 GB", 1024), ("1048576k", 1024)]
)
def test_spark_sizes(text: str, mb: int) -> None:
    assert memory_mb(settings(**{"spark.driver.memory": text})) == mb


def test_a_size_that_is_none() -> None:
    with pytest.raises(EnvironmentProblem, match="LS307"):
        memory_mb(settings(**{"spark.driver.memory": "much"}))


def test_memory_by_default_is_within_bounds() -> None:
    assert 1024 <= default_memory_mb() <= 16 * 1024


def test_settings_of_the_target_win_over_defaults() -> None:
    conf = session_conf(settings(**{"spark.sql.session.timeZone": "Asia/Tokyo"}), Path("/tmp/x"))
    assert conf["spark.sql.session.timeZone"] == "Asia/Tokyo"
    assert conf["spark.sql.ansi.enabled"] == "true"
    assert conf["spark.master"] == "local[*]"


def test_texts_mean_what_they_say_whatever_is_set() -> None:
    wrong = {"spark.sql.variable.substitute": "true", "spark.sql.parser.escapedStringLiterals": "true"}
    conf = session_conf(settings(**wrong), Path("/tmp/x"))
    assert {conf[key] for key in wrong} == {"false"}


def test_a_folder_that_spark_would_take_for_another(tmp_path: Path) -> None:
    for name, fits in (("${env:HOME}", False), ("a$b", True), ("${", True)):
        root = tmp_path / name
        root.mkdir()
        (root / "lakesmith.yaml").write_text("name: shop\n")
        project = load(root, None, {})[0]
        if fits:
            assert session_settings(project).log_path.is_relative_to(root)
            continue
        with pytest.raises(EnvironmentProblem, match="LS308"):
            session_settings(project)


def test_the_embedded_catalog_waits_for_locks_and_is_never_cached() -> None:
    conf = local_catalog_conf(Path("/p/.lakesmith/catalog.db"), Path("/p/.lakesmith/warehouse"))
    assert conf["spark.sql.catalog.lake.uri"].startswith("jdbc:sqlite:/p/.lakesmith/catalog.db?busy_timeout=")
    assert conf["spark.sql.catalog.lake.jdbc.schema-version"] == "V1"
    assert conf["spark.sql.catalog.lake.cache-enabled"] == "false"


@pytest.mark.parametrize("size", list(DataSize))
@pytest.mark.parametrize("memory", [1024, 4096, 12_000, 16_384, 200_000])
def test_spark_writes_to_disk_before_a_task_has_all_pages(size: DataSize, memory: int) -> None:
    conf = memory_conf(size, memory, {})
    share = float(conf.get("spark.memory.fraction", "0.6"))
    pages = (memory - 300) * 1024 * share / int(conf["spark.buffer.pageSize"].removesuffix("k"))
    assert pages <= 8192 * 1.001
    assert share > 0.001


def test_a_page_size_of_the_project_is_left_to_spark() -> None:
    assert memory_conf(True, 4096, {"spark.buffer.pageSize": "1m"}).keys() == {
        "spark.sql.codegen.cache.maxEntries"
    }
