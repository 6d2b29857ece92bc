"""The command a JVM is started with, the settings file it reads, the environment it gets."""

import os
import zipfile
from pathlib import Path

import pytest

from lakesmith.spark.jvm.gateway import CLASSES_JAR
from lakesmith.spark.start.find_java import JavaRuntime
from lakesmith.spark.start.launch import (
    LaunchError,
    LaunchPlan,
    connect,
    direct_command,
    launch,
    ordinary_command,
    properties_text,
    spark_class_path,
    write_properties,
)
from lakesmith.spark.start.session_folder import SessionFolder, new_session_folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionFolder:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return new_session_folder()


def plan_of(folder: SessionFolder, home: Path = Path("/jdk")) -> LaunchPlan:
    return LaunchPlan(
        java=JavaRuntime(home, 17, "test"),
        class_path=(Path("/spark/a.jar"), Path("/ours/b.jar")),
        memory_mb=1536,
        folder=folder,
        log_path=folder.path.parent / "logs" / "spark.log",
        python="/env/bin/python",
        java_options=("-Dmine=1",),
    )


def test_a_direct_start_runs_spark_submit_in_the_jvm_itself(folder: SessionFolder) -> None:
    command = direct_command(plan_of(folder), None)
    assert command[:3] == ["/jdk/bin/java", "-cp", "/spark/a.jar:/ours/b.jar"]
    assert "-Xmx1536m" in command
    assert "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED" in command
    assert "-Dmine=1" in command
    tail = ["org.apache.spark.deploy.SparkSubmit", "--properties-file", f"{folder.path}/spark.properties"]
    assert command[-4:] == [*tail, "pyspark-shell"]
    assert not [part for part in command if "SharedArchive" in part]


def test_an_archive_is_mapped_but_never_demanded(folder: SessionFolder) -> None:
    command = direct_command(plan_of(folder), Path("/cache/x.jsa"))
    assert "-XX:SharedArchiveFile=/cache/x.jsa" in command
    assert "-Xshare:auto" in command


def test_the_ordinary_start_adds_only_our_jars_and_the_same_options(folder: SessionFolder) -> None:
    command = ordinary_command(plan_of(folder))
    assert command[0].endswith("/pyspark/bin/spark-submit")
    assert command[command.index("--driver-memory") + 1] == "1536m"
    assert "-Dmine=1" in command[command.index("--driver-java-options") + 1]
    assert command[-1] == "pyspark-shell"


def test_spark_jars_come_first_and_in_a_fixed_order() -> None:
    path = spark_class_path([Path("/ours/z.jar"), Path("/ours/a.jar")])
    assert path[-2:] == (Path("/ours/z.jar"), Path("/ours/a.jar"))
    assert list(path[:-2]) == sorted(path[:-2])
    assert any(jar.name.startswith("spark-core_") for jar in path)


def test_the_jar_of_our_classes_was_made_from_their_sources() -> None:
    """After a change of a source: python scripts/java_classes.py."""
    with zipfile.ZipFile(CLASSES_JAR) as jar:
        sources = {f"lakesmith/{source.name}": source for source in CLASSES_JAR.parent.glob("*.java")}
        packed = {name: jar.read(name) for name in jar.namelist() if name.endswith(".java")}
        assert packed == {name: source.read_bytes() for name, source in sources.items()}
        assert {name.replace(".java", ".class") for name in sources} <= {*jar.namelist()}


def test_settings_survive_the_file_with_every_character() -> None:
    assert properties_text({"spark.b": "x", "spark.a": "p@ss=w:o#r!d\\ \n"}) == (
        "spark.a=p@ss\\=w\\:o\\#r\\!d\\\\\\ \\n\nspark.b=x\n"
    )
    assert properties_text({"k": "ü€😀"}) == "k=\\u00fc\\u20ac\\ud83d\\ude00\n"


def test_only_this_user_reads_the_settings(folder: SessionFolder) -> None:
    plan = plan_of(folder)
    write_properties(plan, {"spark.secret": "x"})
    assert plan.properties.stat().st_mode & 0o077 == 0
    assert folder.path.stat().st_mode & 0o077 == 0


def script_home(tmp_path: Path, body: str) -> Path:
    """A Java home whose `java` is a script."""
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text(f"#!/bin/sh\n{body}\n")
    (home / "bin" / "java").chmod(0o755)
    return home


def test_foreign_spark_settings_do_not_reach_the_jvm(
    folder: SessionFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", "/elsewhere")
    monkeypatch.setenv("SPARK_HOME", "/other-spark")
    monkeypatch.setenv("KEPT", "yes")
    plan = plan_of(folder, script_home(tmp_path, "env"))
    driver = launch(plan, direct_command(plan, None), "direct")
    driver.end(patience=10)
    said = dict(line.split("=", 1) for line in plan.log_path.read_text().splitlines() if "=" in line)
    assert "SPARK_CONF_DIR" not in said
    assert said["SPARK_HOME"].endswith("/pyspark")
    assert (said["KEPT"], said["PYSPARK_PYTHON"]) == ("yes", "/env/bin/python")
    assert os.environ["SPARK_HOME"] == "/other-spark"


def test_a_jvm_that_ends_is_told_with_its_last_words(folder: SessionFolder, tmp_path: Path) -> None:
    plan = plan_of(folder, script_home(tmp_path, "echo Unrecognized VM option; exit 3"))
    driver = launch(plan, direct_command(plan, None), "direct")
    with pytest.raises(LaunchError, match="ended with code 3: Unrecognized VM option"):
        connect(plan, driver, seconds=20)


def test_a_jvm_that_says_nothing_is_ended(folder: SessionFolder, tmp_path: Path) -> None:
    plan = plan_of(folder, script_home(tmp_path, "exec sleep 60"))
    driver = launch(plan, direct_command(plan, None), "direct")
    with pytest.raises(LaunchError, match=r"no connection within 0\.2 seconds"):
        connect(plan, driver, seconds=0.2)
    assert driver.process.returncode is not None


def test_a_java_that_cannot_be_run(folder: SessionFolder, tmp_path: Path) -> None:
    plan = plan_of(folder, tmp_path / "nowhere")
    with pytest.raises(LaunchError, match="cannot be run: No such file"):
        launch(plan, direct_command(plan, None), "direct")
