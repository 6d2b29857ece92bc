"""The workflow on GitHub, and the two roles it takes: what each job may do, and what none may."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deployed
import pytest
from ruamel.yaml import YAML

from lakesmith.deploy import folder, github
from lakesmith.deploy.render import rendered
from lakesmith.errors import ProjectError, UsageError

GITHUB = f"{deployed.USUAL}, github: {{repository: acme/lake@7}}"
READS = re.compile(r"[a-z0-9-]+:(Get|List|Describe|View|Validate)\w+")
STEP = re.compile(r"\$\{\{")


def shop(root: Path, deploy: str = GITHUB) -> Path:
    """A project that a workflow deploys."""
    return deployed.project(root, deployed.EVERYTHING, deploy)


def workflow_of(root: Path) -> tuple[Path, dict[str, Any]]:
    """The workflow, written and read."""
    stack = deployed.stack(root)
    folder.write(stack, rendered(stack))
    places = (root, root.parent, root.parent.parent)
    found = [path for place in places for path in (place / ".github/workflows").glob("*")]
    assert len(found) == 1
    # "on" is true in YAML 1.1, not in 1.2.
    return found[0], YAML(typ="safe").load(found[0])


def steps(workflow: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each step with the name of its job."""
    for name, job in workflow["jobs"].items():
        yield from ((name, step) for step in job["steps"])


def test_the_workflow_and_both_roles_are_written(tmp_path: Path) -> None:
    path, found = workflow_of(shop(tmp_path / "shop"))
    assert path == tmp_path / "shop/.github/workflows/lakesmith-shop-prod.yml"
    assert [*found["jobs"]] == ["test", "plan", "comment", "apply"]
    assert {*found["on"]} == {"pull_request", "push", "schedule"}
    roles = re.findall(r"arn:aws:iam::123456789012:role/([\w-]+)", path.read_text())
    text = (tmp_path / "shop/deploy/prod/bootstrap/github.tf").read_text()
    assert roles == ["shop-prod-ci-plan", "shop-prod-ci-apply"]
    assert all(f'"{role}"' in text for role in roles)


def test_jobs_have_no_rights_but_those_they_need(tmp_path: Path) -> None:
    _, found = workflow_of(shop(tmp_path / "shop"))
    jobs = found["jobs"]
    assert found["permissions"] == {}
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "test": {"contents": "read"},
        "plan": {"contents": "read", "id-token": "write"},
        "comment": {"pull-requests": "write"},
        "apply": {"contents": "read", "id-token": "write"},
    }
    # What runs a pull request's own code before anyone has seen it can take no role.
    assert "environment" not in jobs["test"]
    assert (jobs["plan"]["environment"], jobs["apply"]["environment"]) == ("shop-prod-plan", "shop-prod")
    assert "head.repo.full_name == github.repository" in jobs["plan"]["if"]
    assert jobs["apply"]["if"].startswith("github.event_name == 'push'")
    assert found["concurrency"]["cancel-in-progress"] is False


def test_no_value_of_others_becomes_code_and_no_key_is_stored(tmp_path: Path) -> None:
    path, found = workflow_of(shop(tmp_path / "shop"))
    for _, step in steps(found):
        assert not STEP.search(step.get("run", "")), step
        if uses := step.get("uses"):
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", uses), uses
            assert step["with"].get("persist-credentials") is False or "checkout" not in uses
    assert "secrets." not in path.read_text()
    assert "access-key" not in path.read_text()


def test_a_merge_applies_the_plan_that_was_saved(tmp_path: Path) -> None:
    _, found = workflow_of(shop(tmp_path / "shop"))
    runs = {
        name: "\n".join(step.get("run", "") for step in job["steps"]) for name, job in found["jobs"].items()
    }
    assert "terraform plan" not in runs["apply"]
    assert re.findall(r"terraform apply .*", runs["apply"]) == [
        'terraform apply -input=false -no-color "$RUNNER_TEMP/plan/plan.tfplan"'
    ]
    assert '-out="$SAVED/plan.tfplan"' in runs["plan"]
    assert "--check --plan" in runs["plan"]
    assert "auto-approve" not in runs["plan"] + runs["apply"]


def policies(root: Path) -> dict[str, dict[str, Any]]:
    """The policies of a project by their names."""
    texts = rendered(deployed.stack(root))
    return {Path(name).stem: json.loads(text) for name, text in texts.items() if name.startswith("policies/")}


def test_a_role_trusts_one_environment_of_one_repository(tmp_path: Path) -> None:
    found = policies(shop(tmp_path / "shop"))
    for role, environment in (("ci_plan", "shop-prod-plan"), ("ci_apply", "shop-prod")):
        (statement,) = found[f"{role}_trust"]["Statement"]
        assert statement["Condition"] == {
            "StringEquals": {
                "token.actions.githubusercontent.com:aud": "sts.amazonaws.com",
                "token.actions.githubusercontent.com:sub": f"repo:acme/lake@7:environment:{environment}",
            }
        }


@pytest.mark.parametrize("settings", [deployed.USUAL, deployed.EVERY_SETTING.partition(", github")[0]])
def test_the_plan_reads_and_neither_role_loses_data_or_widens_itself(tmp_path: Path, settings: str) -> None:
    found = policies(shop(tmp_path / "shop", f"{settings}, github: {{repository: acme/lake}}"))
    plan = found["ci_plan"]["Statement"]
    assert all(READS.fullmatch(action) for each in plan for action in each["Action"])
    both = [*plan, *found["ci_apply_data"]["Statement"], *found["ci_apply_runs"]["Statement"]]
    actions = {action for each in both for action in each["Action"]}
    assert not actions & {
        "s3:DeleteBucket", "kms:ScheduleKeyDeletion", "glue:DeleteDatabase", "s3tables:DeleteTableBucket",
        "s3tables:DeleteNamespace", "kms:Decrypt", "glue:GetTable", "sts:AssumeRole",
    }  # fmt: skip
    for each in both:
        objects = {"s3:GetObject", "s3:GetObjectVersion", "s3:PutObject", "s3:DeleteObject"} & {
            *each["Action"]
        }
        for resource in each["Resource"] if objects else ():
            assert re.search(r":::shop-prod-(state|artifacts)-", resource), each
            assert "s3:GetObjectVersion" not in objects or resource.endswith("/shop-prod.rights"), each
        if any(action.startswith("iam:") for action in each["Action"]):
            assert not any("ci-" in resource or resource.endswith("role/*") for resource in each["Resource"])


def test_the_roles_manage_each_type_of_resource_that_is_written(tmp_path: Path) -> None:
    """A type of a template that is new has to be added to the roles."""
    known = {
        "athena": "athena", "budgets": "budgets", "cloudwatch_dashboard": "cloudwatch",
        "cloudwatch_event": "events", "cloudwatch_log": "logs", "cloudwatch_metric": "cloudwatch",
        "emrserverless": "emr-serverless", "glue": "glue", "iam": "iam", "kms": "kms",
        "lakeformation": "lakeformation", "lambda": "lambda",
        "s3_bucket": "s3", "s3tables": "s3tables", "scheduler": "scheduler", "sfn": "states", "sns": "sns",
        "sqs": "sqs",
    }  # fmt: skip
    for settings, catalog in (
        (deployed.EVERY_SETTING, deployed.PROD), (GITHUB, deployed.PROD), (GITHUB, deployed.TABLE_BUCKET)
    ):  # fmt: skip
        root = deployed.project(
            tmp_path / str(len(settings)) / str(len(catalog)), deployed.EVERYTHING, settings, catalog
        )
        texts = rendered(deployed.stack(root))
        kinds = {kind for name, text in texts.items() if name.endswith(".tf") and "/" not in name
                 for kind in re.findall(r'^resource "aws_(\w+)"', text, re.MULTILINE)}  # fmt: skip
        found = policies(root)
        for kind in kinds:
            (service,) = {known[each] for each in known if kind.startswith(f"{each}_") or kind == each}
            for name in ("ci_plan", "ci_apply_data", "ci_apply_runs"):
                actions = {
                    action.partition(":")[0] for each in found[name]["Statement"] for action in each["Action"]
                }
                if service in actions:
                    break
            else:
                pytest.fail(f"no right for {kind}")


def test_an_edited_workflow_is_refused_and_one_that_is_not_wanted_is_removed(tmp_path: Path) -> None:
    root = shop(tmp_path / "shop")
    path, _ = workflow_of(root)
    written = path.read_text()
    path.write_text(written + "# mine\n")
    stack = deployed.stack(root)
    with pytest.raises(UsageError, match="LS281"):
        folder.write(stack, rendered(stack))
    path.write_text(written)
    deployed.project(root, {}, f"{deployed.USUAL}, github: {{repository: acme/lake@7, workflow: false}}")
    stack = deployed.stack(root)
    folder.write(stack, rendered(stack))
    assert not path.exists()
    assert (root / "deploy/prod/bootstrap/github.tf").exists()


def test_a_project_in_a_folder_has_its_workflow_in_the_repository(tmp_path: Path) -> None:
    settings = f"{deployed.USUAL}, github: {{repository: acme/lake, folder: data/shop, branch: release/1}}"
    path, found = workflow_of(shop(tmp_path / "data/shop", settings))
    assert path == tmp_path / ".github/workflows/lakesmith-shop-prod.yml"
    assert found["jobs"]["plan"]["defaults"]["run"]["working-directory"] == "data/shop"
    assert found["on"]["push"]["branches"] == ["release/1"]
    assert [
        step["working-directory"] for job, step in steps(found) if "terraform apply" in step.get("run", "")
    ] == ["data/shop/deploy/prod"]
    with pytest.raises(ProjectError, match=r"LS140 .*not in this folder"):
        deployed.stack(shop(tmp_path / "other", settings))


@pytest.mark.parametrize("repository", ["acme", "acme/lake/x", "acme/*", "acme/lake:ref", '"acme/lake x"'])
def test_a_repository_that_would_match_others_is_refused(tmp_path: Path, repository: str) -> None:
    with pytest.raises(ProjectError, match="LS105"):
        deployed.stack(shop(tmp_path / "shop", f"{deployed.USUAL}, github: {{repository: {repository}}}"))


GH = """#!/usr/bin/env python3
import json, os, sys
file, words = os.environ["STORE"], sys.argv[1:]
found = json.load(open(file))
if "--jq" in words:
    for number, (login, body) in found.items():
        if login == "github-actions[bot]" and body.startswith(os.environ["marker"]):
            print(number)
else:
    body = open(words[words.index("-F") + 1].removeprefix("body=@")).read()
    number = next(each for each in words if each.startswith("repos/")).rpartition("/")[2]
    found[number if "PATCH" in words else str(len(found))] = ["github-actions[bot]", body]
    json.dump(found, open(file, "w"))
"""


def test_one_comment_is_kept_up_to_date(tmp_path: Path) -> None:
    _, found = workflow_of(shop(tmp_path / "shop"))
    (script,) = [step["run"] for job, step in steps(found) if job == "comment" and "run" in step]
    (tmp_path / "gh").write_text(GH)
    (tmp_path / "gh").chmod(0o755)
    store = tmp_path / "store.json"
    forged = ["someone", "<!-- lakesmith shop-prod -->"]
    store.write_text(json.dumps({"0": forged}))
    environ = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "STORE": str(store), "RUN": "r",
               "COMMENTS": "repos/a/b/issues/1/comments", "COMMENT": "repos/a/b/issues/comments"}  # fmt: skip
    for commit, plan in (
        ("one", "+ a bucket" * 20_000),
        ("two", "~ a role; `rm -rf /` $(date)"),
        ("three", None),
    ):
        (tmp_path / "plan.txt").unlink(missing_ok=True)
        if plan:
            (tmp_path / "plan.txt").write_text(plan)
        subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
                       cwd=tmp_path, env={**environ, "COMMIT": commit}, check=True)  # fmt: skip
        comments = json.loads(store.read_text())
        assert comments["0"] == forged
        assert [*comments] == ["0", "1"]
        assert commit in comments["1"][1]
        assert len(comments["1"][1]) < 65_536
        assert plan is None or plan[:20] in comments["1"][1]


@pytest.mark.parametrize(
    "settings", [GITHUB, f"{deployed.USUAL}, github: {{repository: a/b, folder: c/shop}}"]
)
@pytest.mark.parametrize(
    "words", [["actionlint"], ["zizmor", "--offline", "--no-progress", "--persona", "pedantic", "--quiet"]]
)
def test_linters_of_workflows_find_nothing(tmp_path: Path, settings: str, words: list[str]) -> None:
    places = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if (program := shutil.which(words[0], path=places)) is None:
        pytest.skip(f"{words[0]} is not on this machine: make actionlint")
    path, _ = workflow_of(shop(tmp_path / "c/shop", settings))
    command = [program, *words[1:], str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_actions_are_named_with_their_versions() -> None:
    assert all(
        re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each) for each in github.ACTIONS.values()
    )
