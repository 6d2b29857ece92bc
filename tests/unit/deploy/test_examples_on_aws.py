"""docs/deploy-examples.md: its table is what the examples render, its figures are those of the estimate."""

import re

import deployed
import pytest
import stack_shapes

from lakesmith.deploy.cost import cost_of, minute_of


def test_the_table_is_what_the_examples_render() -> None:
    """Lines and resources may differ by a tenth: they change with each feature of deployments."""
    shown = [line for line in stack_shapes.PAGE.read_text().splitlines() if line.startswith("| ")]
    for row in [*stack_shapes.rows()][2:]:
        cells = row.strip("| ").split(" | ")
        (there,) = [line.strip("| ").split(" | ") for line in shown if line.startswith(f"| {cells[0]} |")]
        for found, wanted in zip(there[1:], cells[1:], strict=True):
            numbers = [float(re.sub(r"[^\d.]", "", each)) for each in (found, wanted)]
            assert numbers[0] == pytest.approx(numbers[1], rel=0.1), (
                "python tests/unit/deploy/stack_shapes.py"
            )


def test_the_sentences_have_the_figures_of_the_estimate() -> None:
    text = " ".join(stack_shapes.PAGE.read_text().split())
    found = {
        word: float(re.findall(rf"{word} \$([\d.]+)", text)[0]) for word in ("about", "chain", "cost", "it")
    }
    run = cost_of(deployed.stack(deployed.EXAMPLES / "customer-orders")).run
    assert found["cost"] == pytest.approx(run, abs=0.001)
    assert found["about"] == pytest.approx(720 * run, abs=0.5)
    assert found["chain"] == pytest.approx(720 * 3 * 2 * minute_of("glue", 8), abs=0.5)
    assert found["it"] == pytest.approx(30 * 4 * run + 0.023, abs=0.01)
