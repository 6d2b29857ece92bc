"""Reads a plan of Terraform, and finds the loss of what holds data.

The format is that of ``terraform show -json``: ``resource_changes``, each with the actions of its change
(https://developer.hashicorp.com/terraform/internals/json-format). A replacement has ``delete`` among its
actions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lakesmith.errors import Place, Problem, UsageError

HOLDS_DATA: Final = {
    "aws_s3_bucket": "bucket",
    "aws_kms_key": "key",
    "aws_glue_catalog_database": "database",
    "aws_s3tables_table_bucket": "table bucket",
    "aws_s3tables_namespace": "namespace",
}
"""The types of resources that hold data, or without which it cannot be read."""

_VERSION: Final = "1."


@dataclass(frozen=True, slots=True)
class Loss:
    """A resource that a plan deletes. ``replaces``: whether it makes another one in its place."""

    address: str
    kind: str
    replaces: bool

    def __str__(self) -> str:
        return f"{self.kind} {self.address} would be {'replaced' if self.replaces else 'deleted'}"


def losses_in(path: Path) -> tuple[Loss, ...]:
    """Returns what holds data and would be deleted by the plan in a file.

    Raises UsageError LS283 for a file that is not the output of ``terraform show -json``.
    """
    try:
        plan: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _no_plan(path, str(error)) from None
    if not isinstance(plan, dict) or not str(plan.get("format_version", "")).startswith(_VERSION):
        raise _no_plan(path, "no format_version 1")
    if "resource_changes" not in plan and "planned_values" not in plan:
        raise _no_plan(path, "the state, or a plan without its changes")
    return tuple(_losses(plan.get("resource_changes") or ()))


def _losses(changes: Any) -> Iterator[Loss]:
    for each in changes:
        kind, actions = HOLDS_DATA.get(each.get("type", "")), each.get("change", {}).get("actions", ())
        if kind and each.get("mode") == "managed" and "delete" in actions:
            yield Loss(str(each.get("address")), kind, "create" in actions)


def loss_problems(losses: tuple[Loss, ...], path: Path) -> list[Problem]:
    """Returns LS282 for each loss."""
    hint = (
        "do not apply it; a renamed resource needs a moved block, one that is kept elsewhere a removed block"
    )
    return [
        Problem("LS282", f"{loss}, with all that it holds", Place(str(path)), "it stays", hint=hint)
        for loss in losses
    ]


def _no_plan(path: Path, found: str) -> UsageError:
    what = f"{path} is not a plan of Terraform as JSON"
    hint = "terraform plan -out FILE.tfplan && terraform show -json FILE.tfplan > FILE.json"
    return UsageError.of("LS283", what, None, "what terraform show -json prints of a plan", found, hint)
