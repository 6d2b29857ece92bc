"""Renders a deployment: each file of ``deploy/TARGET/`` by its path, always the same for the same project."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from lakesmith.deploy import github, machine, policies
from lakesmith.deploy.facts import Stack
from lakesmith.deploy.limits import limit_problems
from lakesmith.errors import ProjectError

if TYPE_CHECKING:
    from jinja2 import Environment

EMR_RELEASE: Final = "emr-spark-8.1.0"
GLUE_VERSION: Final = "6.0"
"""Where Spark 4.1.1 with Iceberg 1.11.0 is."""

WINDOW_SECONDS: Final = 30
"""How long calls of the gate are collected."""

_TEMPLATES: Final = (
    "versions.tf", "storage.tf", "catalog.tf", "compute.tf", "workflow.tf", "schedule.tf", "events.tf",
    "iam.tf", "observe.tf", "budget.tf", "athena.tf", "access.tf", "quality.tf", "recovery.tf", "backend.hcl",
    "github.tf", "bootstrap/main.tf", "bootstrap/github.tf",
)  # fmt: skip
_HOLDS: Final = re.compile(
    r'^resource "(aws_(?:s3_bucket|kms_|glue_catalog_database|s3tables_)\w*)" "(\w+)"', re.MULTILINE
)
_WIRES: Final = ("aws_s3_bucket_notification.", "aws_s3_bucket_replication_configuration.")
_DAY_SECONDS: Final = 86400
_IGNORED: Final = ".terraform/\n*.tfstate\n*.tfstate.*\n*.tfplan\n"


def rendered(stack: Stack, before: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Returns the texts of all files. Raises ProjectError LS144 if one is larger than AWS accepts.

    ``before``: the resources that hold data and their regions, as the folder's manifest remembers them. What
    is not declared any more is forgotten by Terraform, not deleted: its protection went with its block.
    """
    found = dict(_files(stack))
    if stack.deploy.protects and (removed := sorted(_forgotten({*before} - {*holding_data(stack, found)}))):
        facts = {"removed": removed, "regions": sorted({before[each] for each in removed})} | _facts(stack)
        text = _environment().get_template("removed.tf.j2").render(facts)
        found["removed.tf"] = _with_header(stack, "#", f"{text.strip()}\n")
    found = dict(sorted(found.items()))
    if problems := limit_problems(stack, found):
        raise ProjectError(problems)
    return found


def _forgotten(removed: set[str]) -> Iterator[str]:
    """What leaves a bucket ends with its declaration, but stays with a bucket that is forgotten."""
    for address in removed:
        if not address.startswith(_WIRES) or f"aws_s3_bucket.{address.partition('.')[2]}" in removed:
            yield address


def holding_data(stack: Stack, files: Mapping[str, str]) -> dict[str, str]:
    """Returns the addresses of resources that hold data, and of what protects them, with their regions."""
    texts = [text for name, text in files.items() if name.endswith(".tf") and "/" not in name]
    addresses = (f"{kind}.{key}" for text in texts for kind, key in _HOLDS.findall(text))
    other = stack.deploy.replica_region
    return {each: other if other and each.endswith("replica") else stack.deploy.region for each in addresses}


def digest(text: str) -> str:
    """Returns the hash that the manifest has of a file."""
    return hashlib.sha256(text.encode()).hexdigest()


def _files(stack: Stack) -> Iterator[tuple[str, str]]:
    environment = _environment()
    facts = _facts(stack)
    for name in _TEMPLATES:
        text = environment.get_template(f"{name}.j2").render(facts).strip("\n")
        if text:
            yield name, _with_header(stack, "#", f"{text}\n")
    if workflow := github.workflow_path(stack):
        text = _of_actions(environment).get_template("github.yml.j2").render(facts | github.facts(stack))
        yield workflow, _with_header(stack, "#", f"{text.strip()}\n")
    for name, document in (policies.documents(stack) | github.documents(stack)).items():
        yield f"policies/{name}.json", machine.as_json(document)
    for key, pattern in machine.arrivals(stack).items():
        yield f"events/{key}.json", machine.as_json(pattern)
    yield "machine.asl.json", machine.as_json(machine.machine(stack))
    yield "dashboard.json", machine.as_json(machine.dashboard(stack))
    yield ".gitignore", _IGNORED
    for table in stack.tables:
        if table.rules:
            rules = ",\n".join(f"  {rule}" for rule in table.rules)
            yield f"quality/{table.key}.dqdl", _with_header(stack, "#", f"Rules = [\n{rules}\n]\n")
        if stack.deploy.athena:
            query = f'SELECT *\nFROM "{table.database}"."{table.table}"\nLIMIT 100;\n'
            yield f"queries/{table.key}.sql", _with_header(stack, "--", query)


def _facts(stack: Stack) -> dict[str, object]:
    return {
        "stack": stack,
        "deploy": stack.deploy,
        "emr_release": EMR_RELEASE,
        "glue_version": GLUE_VERSION,
        "keep_days": int(stack.deploy.keep_versions // _DAY_SECONDS),
        "timeout_minutes": int(stack.deploy.timeout // 60),
        "window_seconds": WINDOW_SECONDS,
        "roles": policies.roles(stack),
        "logs_of_jobs": policies.logs_of_jobs(stack),
        "log_groups": policies.log_groups(stack),
        "secrets_path": policies.secrets_path(stack),
        "placeholders": policies.placeholders(stack),
        "rights_in": github.rights_in,
    }


def _with_header(stack: Stack, comment: str, text: str) -> str:
    """Adds who made the file, and the hash of its text: it changes only if the text does."""
    lines = (
        f"Written by lakesmith deploy for project {stack.name}, target {stack.target}. Do not edit: the next",
        "deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.",
        f"sha256 of the text below: {digest(text)}",
    )
    return "".join(f"{comment} {line}\n" for line in lines) + "\n" + text


def _of_actions(environment: Environment) -> Environment:
    """Returns the environment for a workflow, in which braces belong to GitHub."""
    return environment.overlay(variable_start_string="<%", variable_end_string="%>")


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("lakesmith.deploy", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # The texts are HCL; declared names are checked when the project is read.
        autoescape=False,
    )
