"""The table of docs/deploy-examples.md: what the deployment of each example is made of, and costs.

python tests/unit/deploy/stack_shapes.py      # writes the table into the page again
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import deployed

from lakesmith.deploy.cost import cost_of, minute_of
from lakesmith.deploy.facts import Stack
from lakesmith.deploy.render import rendered

PAGE: Final = deployed.EXAMPLES.parent / "docs" / "deploy-examples.md"
EXAMPLES: Final = ("customer-orders", "cdn-logs", "dim-customers", "invoices", "retail-sales")
HOURS: Final = 720
"""Of a month of schedules: 30 days."""

_HEAD: Final = (
    "| example | tables | you write | resources | lines of Terraform | lines of JSON and rules | idle | "
    "idle chain of Glue jobs | its checks |",
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
)


def rows() -> Iterator[str]:
    """The table, a line each."""
    yield from _HEAD
    for example in EXAMPLES:
        root = deployed.EXAMPLES / example
        stack = deployed.stack(root)
        files = rendered(stack)
        terraform = [text for name, text in files.items() if name.endswith((".tf", ".hcl"))]
        others = [text for name, text in files.items() if not name.endswith((".tf", ".hcl"))]
        numbers = [
            len(stack.own_tables), f"{_written(root)} lines",
            sum(len(re.findall(r"^resource ", text, re.MULTILINE)) for text in terraform),
            *(f"{round(sum(text.count(chr(10)) for text in texts), -2):,}" for texts in (terraform, others)),
            f"${cost_of(stack).idle:.2f}", f"${chain(stack):.2f}", f"${checks(stack):.2f}",
        ]  # fmt: skip
        yield f"| {example} | {' | '.join(map(str, numbers))} |"


def chain(stack: Stack) -> float:
    """A month of a job for each layer that is started each hour and finds nothing: a minute each."""
    return HOURS * len(stack.layers) * minute_of("glue", 8)


def checks(stack: Stack) -> float:
    """A month of a run of Glue Data Quality each hour for each table with rules: a minute of five workers."""
    return HOURS * sum(bool(table.rules) for table in stack.tables) * minute_of("glue", 20)


def _written(root: Path) -> int:
    """The lines of the target in lakesmith.yaml."""
    text = (root / "lakesmith.yaml").read_text()
    found = re.search(r"^  prod:.*\n((?:    .*\n)+)", text, re.MULTILINE)
    assert found is not None
    return 1 + found[1].count("\n")


def page(text: str) -> str:
    """The page with its table written again."""
    return re.sub(r"\| example \|.*?(?=\n\n)", "\n".join(rows()), text, count=1, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
