"""Events of a run elsewhere, made again from what its ``--json`` printed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast, get_args

from lakesmith.catalog.record import FORMAT, SUMMARY_KEY, Record
from lakesmith.errors import Problem
from lakesmith.execute import events
from lakesmith.execute.events import BatchReport, Event
from lakesmith.exports.publishing import ExportReport
from lakesmith.plan.steps import Base, Strategy, TableStep
from lakesmith.project.definitions import TableDefinition, TableName

_KINDS: Final = {kind.__name__: kind for kind in get_args(events.Event)}


@dataclass
class RemoteEvents:
    """The events of a run, in their order. ``tables``: the definitions of its tables, as they are here."""

    tables: Mapping[str, TableDefinition]
    steps: dict[str, TableStep] = field(default_factory=dict)

    def events_in(self, text: bytes) -> Iterator[Event]:
        """Yields the events in whole lines. What another version of lakesmith says otherwise is left out."""
        for line in text.decode(errors="replace").splitlines():
            try:
                event = self._event(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            if event is not None:
                yield event

    def _event(self, data: dict[str, Any]) -> Event | None:
        kind = data.pop("event")
        if "table" in data and kind != "table_started":
            data["table"] = TableName.parse(data["table"])
        if "problems" in data:
            data["problems"] = tuple(map(Problem.from_dict, data["problems"]))
        match kind:
            case "table_started":
                return self._started(data)
            case "table_published":
                return self._published(data)
            case "table_exported":
                return self._exported(data)
            case "alert_failed":
                return events.AlertFailed(data["channel"], Problem.from_dict(data["problem"]))
            case "run_started":
                return events.RunStarted(tuple(map(TableName.parse, data["tables"])))
            case "table_held":
                return events.TableHeld(data["table"], tuple(map(TableName.parse, data["because"])))
        return _plain(kind, data)

    def _started(self, data: dict[str, Any]) -> Event:
        table = self.tables[data["table"]]
        step = TableStep(table, Strategy(data["strategy"]), data["reason"], Base(), "")
        self.steps[data["table"]] = step
        return events.TableStarted(step)

    def _published(self, data: dict[str, Any]) -> Event:
        summary = {SUMMARY_KEY: json.dumps({"format": FORMAT, **data["record"]})}
        record = cast("Record", Record.from_summary(summary))
        report = BatchReport(record, data["snapshot"], tuple(data["warnings"]))
        return events.TablePublished(data["table"], self.steps[str(data["table"])], report, data["seconds"])

    def _exported(self, data: dict[str, Any]) -> Event:
        table, seconds = data.pop("table"), data.pop("seconds")
        return events.TableExported(table, ExportReport(**{**data, "notes": tuple(data["notes"])}), seconds)


def _plain(kind: str, data: dict[str, Any]) -> Event | None:
    """Returns an event whose facts are its JSON data; None for an unknown kind."""
    made = _KINDS.get("".join(word.capitalize() for word in kind.split("_")))
    if made is None:
        return None
    facts = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
    event: Event = made(**facts)
    return event
