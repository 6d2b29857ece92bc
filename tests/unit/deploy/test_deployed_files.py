"""The files of a deployment: always the same, formatted and valid for Terraform."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import deployed
import pytest

from terraform_here import config_of, needs_provider, needs_terraform


@pytest.mark.parametrize("case", deployed.CASES)
def test_the_files_are_the_golden_ones(case: str) -> None:
    folder = deployed.GOLDEN / case
    golden = {
        path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()
    }
    assert deployed.texts(case) == golden, f"python {Path(deployed.__file__).name} writes them anew"


def test_another_process_makes_the_same_files(tmp_path: Path) -> None:
    root = deployed.project(tmp_path, deployed.EVERYTHING, deployed.EVERY_SETTING)
    code = (
        "import sys, pathlib, hashlib; sys.path.append(sys.argv[1]); import deployed\n"
        "from lakesmith.deploy.render import rendered\n"
        "found = rendered(deployed.stack(pathlib.Path(sys.argv[2])))\n"
        "print(hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest())"
    )
    words = [sys.executable, "-c", code, str(Path(deployed.__file__).parent), str(root)]
    hashes = {
        subprocess.run(
            words, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(hashes) == 1


def test_a_header_has_the_hash_of_its_file() -> None:
    for name, text in deployed.texts("everything").items():
        if name.endswith((".tf", ".hcl", ".dqdl", ".sql")):
            header, _, body = text.partition("\n\n")
            assert header.endswith(hashlib.sha256(body.encode()).hexdigest()), name


def test_nothing_that_runs_or_reads_may_do_everything() -> None:
    for case in deployed.CASES:
        for name, text in deployed.texts(case).items():
            if not name.startswith("policies/") or name.endswith(
                ("bucket_tls.json", "queue.json", "key.json")
            ):
                continue
            for statement in json.loads(text)["Statement"]:
                assert statement["Effect"] == "Allow"
                assert not any("*" in action for action in statement["Action"]), name
                if statement.get("Resource") == ["*"]:
                    logs = all(action.startswith("logs:") for action in statement["Action"])
                    assert logs or "Condition" in statement, (name, statement["Sid"])


def test_one_table_with_personal_data_closes_its_layer_and_owners_that_differ_have_no_tag(
    tmp_path: Path,
) -> None:
    tables = deployed.SMALL | {
        "tables/silver/people.yaml": "from: bronze.orders\nkey: [id]\ntags: [pii]\nowner: Ana & Bo\n",
        "tables/silver/places.yaml": "from: bronze.orders\nkey: [id]\nowner: Ana & Bo\n",
        "tables/gold/_defaults.yaml": "owner: BI\n",
        "tables/gold/days.sql": "SELECT count(*) AS orders FROM bronze.orders",
        "tables/gold/days.yaml": "owner: data\n",
    }
    found = deployed.stack(deployed.project(tmp_path, tables)).grants
    assert {each.database.layer: (each.is_pii, each.owner) for each in found} == {
        "bronze": (False, None),
        "gold": (False, None),
        "silver": (True, "ana - bo"),
        "lakesmith": (True, None),
    }


@pytest.mark.parametrize("case", deployed.CASES)
def test_production_protects_what_holds_data(case: str) -> None:
    files = deployed.texts(case)
    protected = sum(text.count("prevent_destroy = true") for text in files.values())
    emptied = sum(text.count("force_destroy = true") for name, text in files.items() if name != "athena.tf")
    in_production = case != "everything"
    assert (protected > 5, emptied > 3) == (in_production, not in_production)
    assert 0 in (protected, emptied)


def test_workers_find_the_packages_in_their_folder_and_in_one_of_a_session(tmp_path: Path) -> None:
    machine = json.loads(deployed.texts("customer-orders")["machine.asl.json"])
    (words,) = (
        each["Parameters"]["JobDriver"]["SparkSubmit"]["SparkSubmitParameters"].split()
        for each in machine["States"].values()
        if "JobDriver" in each.get("Parameters", {})
    )
    conf = dict(word.split("=", 1) for word in words if word != "--conf")
    unpacked = tmp_path / conf["spark.archives"].rpartition("#")[2]
    session = tmp_path / "0c6d5a1e"
    for folder in (unpacked, session):
        folder.mkdir()
    for worker in (tmp_path, session):
        found = [(worker / each).resolve() for each in conf["spark.executorEnv.PYTHONPATH"].split(":")]
        assert unpacked in found, worker


def terraform(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs Terraform with the providers of this machine alone."""
    environ = {**os.environ, **config_of(folder)}
    return subprocess.run(
        ["terraform", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environ,
        timeout=120,
        check=False,
    )


@needs_terraform
@pytest.mark.parametrize("case", deployed.CASES)
def test_terraform_finds_the_files_formatted(case: str) -> None:
    done = subprocess.run(
        ["terraform", "fmt", "-check", "-diff", "-recursive"],
        cwd=deployed.GOLDEN / case, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


MODULE = 'module "%s" {\n  source = "./%s"\n%s}\n'
VALUES = '  artifact = "a"\n  project = "b"\n'


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What Terraform finds wrong in all cases, which it reads as modules of one configuration."""
    folder = tmp_path_factory.mktemp("deploy")
    shutil.copytree(deployed.GOLDEN, folder, dirs_exist_ok=True)
    modules = [MODULE % (case, case, VALUES) for case in deployed.CASES]
    modules += [MODULE % ("bootstrap", "everything/bootstrap", "")]
    (folder / "main.tf").write_text("".join(modules))
    begun = terraform(folder, "init", "-backend=false", "-input=false", "-no-color")
    assert begun.returncode == 0, begun.stderr
    done = terraform(folder, "validate", "-no-color", "-json")
    found = [each for each in json.loads(done.stdout)["diagnostics"] if each["severity"] == "error"]
    assert done.returncode == (1 if found else 0), done.stdout + done.stderr
    assert {each["range"]["filename"].partition("/")[0] for each in found} <= {*deployed.CASES}, found
    return found


@pytest.mark.processes
@needs_provider
@pytest.mark.parametrize("case", deployed.CASES)
def test_terraform_finds_the_files_valid(case: str, errors: list[dict[str, Any]]) -> None:
    assert [each for each in errors if each["range"]["filename"].startswith(f"{case}/")] == []
