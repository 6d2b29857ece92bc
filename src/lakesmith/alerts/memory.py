"""What was sent: a small file, written whole, so that alerts survive the process that sent them."""

from __future__ import annotations

import errno
import json
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

from lakesmith.alerts.decide import Firing, Firings
from lakesmith.catalog.lock import ProjectLock
from lakesmith.errors import LakesmithError, Problem, RunError
from lakesmith.execute.findings import Finding, Kind
from lakesmith.exports.places import BucketPlace, ExportPlace, FolderPlace
from lakesmith.project.definitions import Project, Severity

_FORMAT: Final = 1
_LOCK_SECONDS: Final = 5.0
_TRIES: Final = 20
_PAUSE_SECONDS: Final = 0.2
_RUBBISH: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What a file raises that is not as it was written."""

_NO_TIME: Final = 100_000_000_000.0
"""Seconds since the epoch, after the year 5000."""
_unkept: Final[dict[tuple[str, str], Firings]] = {}
"""By project and file, the alerts that could not be kept: this process at least does not repeat itself."""


def read_firings(project: Project) -> Firings:
    """Returns the alerts that have begun. Raises RunError LS662 if they cannot be read."""
    place, name = _place(project)
    try:
        return _parsed(place.read(name))
    except (OSError, *_RUBBISH) as error:
        raise RunError(_not_kept(place, name, error, "read")) from error


@dataclass
class Kept:
    """The alerts of a project, for the changes of one look. What goes wrong, LS662, goes to ``on_problem``;
    what could not be kept is remembered by this process, and nothing more is tried in this look."""

    project: Project
    on_problem: Callable[[Problem], None]
    _is_broken: bool = False

    def change(self, change: Callable[[Firings], Firings]) -> None:
        """Changes the alerts. No other process changes them meanwhile: ``change`` may be called often."""
        place, name = _place(self.project)
        mine = (str(self.project.root), name)
        content = _Content(change, _unkept.get(mine, {}))
        try:
            if not self._is_broken:
                self._do(place, name, content)
                _unkept.pop(mine, None)
        except (OSError, LakesmithError) as error:
            self._is_broken = True
            self.on_problem(_not_kept(place, name, error, "kept"))
        if self._is_broken:
            _unkept[mine] = change(content.unkept) if content.after is None else content.after
        elif content.rubbish is not None:
            self.on_problem(_not_kept(place, name, content.rubbish, "read: what fires is sent again"))

    def _do(self, place: FolderPlace | BucketPlace, name: str, content: _Content) -> None:
        if isinstance(place, BucketPlace):
            _change_object(place, name, content)
        elif content.changed(place.read(name)) is not None:
            with ProjectLock(self.project.state_dir, "alerts", name="alerts", wait_seconds=_LOCK_SECONDS):
                if (new := content.changed(place.read(name))) is not None:
                    place.write(name, new)


def _change_object(place: BucketPlace, name: str, content: _Content) -> None:
    for _ in range(_TRIES):
        before, version = place.read_version(name)
        new = content.changed(before)
        if new is None or place.write_version(name, new, version):
            return
        time.sleep(random.uniform(0.0, _PAUSE_SECONDS))
    raise OSError(errno.EBUSY, "other runs keep changing it")


@dataclass
class _Content:
    """The file's content, changed; ``unkept``: alerts that this process could not keep before."""

    change: Callable[[Firings], Firings]
    unkept: Firings
    after: Firings | None = None
    rubbish: Exception | None = None

    def changed(self, content: bytes | None) -> bytes | None:
        """Returns the new content; None if nothing changes."""
        kept: Firings = {}
        self.rubbish = None
        try:
            kept = _parsed(content)
        except _RUBBISH as error:
            self.rubbish = error
        self.after = self.change({**kept, **self.unkept})
        if self.after == kept and self.rubbish is None:
            return None
        data = {"format": _FORMAT, "alerts": [_as_data(each) for each in self.after.values()]}
        return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()


def _place(project: Project) -> tuple[FolderPlace | BucketPlace, str]:
    name = f"alerts-{project.target.name}.json"
    if project.alerts is not None and project.alerts.state is not None:
        return BucketPlace(project.alerts.state, project.target.store), f"{project.name}-{name}"
    return FolderPlace(project.state_dir, ".lakesmith/"), name


def _as_data(firing: Firing) -> dict[str, Any]:
    times = {"since": firing.since, "sent": dict(firing.sent), "claims": dict(firing.claims)}
    calm = {
        name: getattr(firing, name) for name in ("is_over", "is_settled", "good", "good_since", "returns")
    }
    return {**asdict(firing.finding), **times, **calm, "codes": list(firing.codes)}


def _parsed(content: bytes | None) -> Firings:
    if content is None:
        return {}
    data = json.loads(content)
    if data["format"] != _FORMAT:
        raise ValueError("a version that this lakesmith does not know")
    firings = [_firing(each) for each in data["alerts"]]
    return {firing.finding.key: firing for firing in firings}


def _firing(data: dict[str, Any]) -> Firing:
    table, hint = (None if data[name] is None else str(data[name]) for name in ("table", "hint"))
    what, subject, code = (str(data[name]) for name in ("what", "subject", "code"))
    kind, severity = Kind(data["kind"]), Severity(data["severity"])
    finding = Finding(kind, what, table, severity, subject, code, hint, bool(data.get("stops")))
    sent, claims = (
        {str(channel): _time(at) for channel, at in data.get(name, {}).items()} for name in ("sent", "claims")
    )
    return Firing(
        finding,
        _time(data["since"]),
        sent,
        bool(data["is_over"]),
        claims,
        int(data.get("good", 0)),
        _time(data.get("good_since", 0.0)),
        bool(data.get("is_settled")),
        int(data.get("returns", 0)),
        tuple(map(str, data.get("codes", ()))),
    )


def _time(value: Any) -> float:
    if not 0 <= float(value) < _NO_TIME:
        raise ValueError(f"{value} is not a time")
    return float(value)


def _not_kept(place: ExportPlace, name: str, error: Exception, what: str) -> Problem:
    problem = error.problems[0] if isinstance(error, LakesmithError) else None
    return Problem(
        "LS662",
        f"the file of alerts that were sent cannot be {what}",
        expected=f"{place.shown}{name}",
        found=f"{problem.what}: {problem.found}" if problem else str(error),
        hint="correct its place and permissions, or remove the file: what fires then is sent again",
    )
