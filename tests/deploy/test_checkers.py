"""Checkers of others over rendered deployments: clean, or waived with a reason (waivers.toml).

`make checkers` installs them to a place of their own, since they pin libraries that lakesmith uses, and runs
this file.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "unit" / "deploy"))

import deployed

CHECKERS = Path(
    os.environ.get("LAKESMITH_CHECKERS", Path(__file__).parents[2] / ".venv" / "checkers" / "bin")
)
WAIVED: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_name("waivers.toml").read_text())

pytestmark = [
    pytest.mark.processes,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not (CHECKERS / "checkov").exists(), reason="the checkers are not here: make checkers"
    ),
]
_FILLED = {
    "application": "arn:aws:emr-serverless:eu-central-1:123456789012:/applications/00f1",
    "bucket": "arn:aws:s3:::shop-lake",
}
_PARLIAMENT = """
import json, parliament, sys
for text in json.load(sys.stdin):
    for found in parliament.analyze_policy_string(text).findings:
        detail = found.detail if isinstance(found.detail, list) else [found.detail]
        names = [each["action"] if isinstance(each, dict) else str(each) for each in detail]
        if "ESCALATION" in found.issue:
            names = ["s3:*"]
        print(found.issue, names[0] if len(names) == 1 else names[0].partition(":")[0] + ":*")
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The rendered folder of each golden case."""
    found = {case: tmp_path_factory.mktemp("checked") / case for case in deployed.CASES}
    for case, folder in found.items():
        for name, text in deployed.texts(case).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    return found


def ran(*command: str | Path, given: str = "", codes: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(
        list(map(str, command)), input=given, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode in codes, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_checkov_finds_what_is_waived_and_nothing_else(folders: dict[str, Path]) -> None:
    words = ("--skip-download", "--compact", "--quiet", "--framework", "terraform", "-o", "json")
    (parent,) = {folder.parent.parent for folder in folders.values()}
    said = json.loads(ran(CHECKERS / "checkov", "-d", parent, *words, codes=(0, 1)))
    reports = said if isinstance(said, list) else [said]
    found = {
        each["check_id"]: each["check_name"] for one in reports for each in one["results"]["failed_checks"]
    }
    assert found.keys() == WAIVED["checkov"].keys(), found


def test_parliament_finds_what_is_waived_and_nothing_else(folders: dict[str, Path]) -> None:
    texts = [
        re.sub(
            r"\$\{(\w+)\}",
            lambda match: _FILLED.get(match[1], "arn:aws:kms:eu-central-1:123456789012:key/1"),
            text,
        )
        for folder in folders.values()
        for file in sorted(folder.glob("policies/*.json"))
        if "_trust" not in file.name
        for text in [file.read_text()]
    ]
    assert len(texts) > 20
    found = ran(CHECKERS / "python", "-c", _PARLIAMENT, given=json.dumps(texts))
    assert set(found.splitlines()) == set(WAIVED["parliament"]), found


def test_statelint_finds_nothing(folders: dict[str, Path]) -> None:
    for folder in folders.values():
        assert not ran(CHECKERS / "statelint", folder / "machine.asl.json").strip()
    broken = folders["customer-orders"] / "broken.json"
    broken.write_text(
        (folders["customer-orders"] / "machine.asl.json").read_text().replace('"Done"', '"Dnoe"', 1)
    )
    assert "Dnoe" in ran(CHECKERS / "statelint", broken, codes=(0, 1))
