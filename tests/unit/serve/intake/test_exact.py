"""What an event's values are in their columns, at the door."""

import pytest

from exact_values import CASES
from lakesmith.project.definitions import Column
from lakesmith.serve.intake.events import EventReader


@pytest.mark.parametrize(("type_", "text", "is_exact"), CASES)
def test_the_door_keeps_the_rules_of_exactness(type_: str, text: str, is_exact: bool) -> None:
    """``tests/spark/read/test_events.py`` has the batch keep them, case by case."""
    events = EventReader([Column("c", type_)]).read(f'{{"c":{text}}}'.encode())
    assert events.lines, events
    assert (not events.faults) is is_exact, events.faults
