"""Events of a run elsewhere: they are shown as those of a run here."""

import json
from pathlib import Path

import pytest

from lakesmith.api.running import event_to_dict
from lakesmith.api.submitting.remote_events import RemoteEvents
from lakesmith.catalog.record import Account, Gate, Pin, Record, Versions
from lakesmith.cli.render.live import Output
from lakesmith.cli.render.run_view import TextView
from lakesmith.errors import Place, Problem
from lakesmith.execute import events
from lakesmith.exports.publishing import ExportReport
from lakesmith.graph.graph import load
from lakesmith.plan.steps import Base, Strategy, TableStep


@pytest.fixture
def here(tmp_path: Path) -> tuple[list[events.Event], RemoteEvents]:
    """Each kind of event of a run, and what reads them."""
    (tmp_path / "tables/gold").mkdir(parents=True)
    (tmp_path / "lakesmith.yaml").write_text("name: shop\ntargets: {local: {}}\n")
    (tmp_path / "tables/gold/one.yaml").write_text(
        "from: gold.two\nkey: [id]\nhistory: type2\nlatest_by: [at]\n"
    )
    (tmp_path / "tables/gold/two.yaml").write_text(
        "source:\n  files: {path: landing/, format: csv}\ncolumns: {id: bigint, at: timestamp}\n"
    )
    project, _ = load(tmp_path, None, {})
    one, two = (table for table in sorted(project.tables, key=lambda each: str(each.name)))
    account = Account(5, 3, 1, quarantined=1, rows_after=7, versions=Versions(3, 1, 0))
    record = Record(
        "a", None, 4, "upsert", 1, "f", account, inputs={"gold.two": Pin("u", 7)}, notes=("n",),
        gates={"RowCount > 0": Gate("passed", 7.0, None)}, ahead={"at": (2, "2024")},
    )  # fmt: skip
    step = TableStep(one, Strategy.UPSERT, "3 rows are new", Base(), "f", notes=("late",))
    problem = Problem("LS601", "it broke", Place("tables/gold/two.yaml", 3), "a", "b", "c")
    report = events.BatchReport(record, 9, ("look",))
    happened: list[events.Event] = [
        events.RunStarted((two.name, one.name)),
        events.LockWaiting("a run on elsewhere"),
        events.EngineStarting(),
        events.EngineStarted(2.5, ("slow",)),
        events.TableStarted(step),
        events.PhaseStarted(one.name, "merging"),
        events.TableRedone(one.name, "it moved"),
        events.TablePublished(one.name, step, report, 3.5),
        events.TableExported(one.name, ExportReport("s3://b/e", 1, 2, 300, 1, ("n",)), 1.5),
        events.TableCurrent(two.name, "nothing new", ("n",), True),
        events.TableFailed(two.name, (problem,), 1, 2.5),
        events.ExportFailed(one.name, (problem,), 3),
        events.TableHeld(one.name, (two.name,)),
        events.AlertsSent("team", 2, 1),
        events.AlertFailed("team", problem),
        events.RunFinished(9.5, 3),
    ]
    return happened, RemoteEvents({str(table.name): table for table in project.tables})


def printed(found: list[events.Event]) -> bytes:
    """What ``run --json`` prints."""
    return "".join(f"{json.dumps(event_to_dict(event))}\n" for event in found).encode()


def shown(found: list[events.Event], capsys: pytest.CaptureFixture[str]) -> str:
    view = TextView(Output())
    for event in found:
        view(event)
    return capsys.readouterr().out


def test_they_are_shown_as_here(
    here: tuple[list[events.Event], RemoteEvents], capsys: pytest.CaptureFixture[str]
) -> None:
    happened, events_there = here
    again = list(events_there.events_in(printed(happened)))
    assert [type(event) for event in again] == [type(event) for event in happened]
    assert shown(again, capsys) == shown(happened, capsys)
    assert printed([event for event in again if not isinstance(event, events.TableStarted)]) == printed(
        [event for event in happened if not isinstance(event, events.TableStarted)]
    )
    assert events.result_of(again).to_dict() == events.result_of(happened).to_dict()


def test_what_another_version_says_otherwise_is_left_out(
    here: tuple[list[events.Event], RemoteEvents],
) -> None:
    happened, events_there = here
    lines = ('{"event": "table_sung"}', '{"event": "run_finished"}', "[]", "no JSON", '{"table": "a.b"}')
    unknown = "".join(f"{line}\n" for line in lines).encode()
    assert list(events_there.events_in(unknown + printed(happened[:2]))) == happened[:2]
