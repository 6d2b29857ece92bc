"""A drop or a rename that was begun: noted before its first change, so that one that was killed is finished and not built upon."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from lakesmith.errors import Problem, StateError
from lakesmith.project.definitions import TableName
from lakesmith.whole_file import write_whole


@dataclass(frozen=True, slots=True)
class Unfinished:
    """``command`` finishes it. ``tables`` are what it is about; ``folders`` are still to be deleted."""

    command: str
    tables: tuple[str, ...]
    folders: tuple[str, ...] = ()

    def problem(self) -> Problem:
        """LS513: why nothing is done with these tables before."""
        return Problem(
            "LS513",
            f"'{self.command}' was begun and did not finish",
            expected="a table that is all there under one name, or gone",
            found=f"one in between: {', '.join(self.tables)}",
            hint=f"{self.command} --yes finishes it",
        )


def read_unfinished(state_dir: Path) -> Unfinished | None:
    """What was begun, None when nothing was. Raises StateError LS513 where the note cannot be read."""
    try:
        data = json.loads(_file(state_dir).read_bytes())
        return Unfinished(data["command"], tuple(data["tables"]), tuple(data["folders"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        what, hint = f"{_file(state_dir)} cannot be read", "call the drop or the rename again that was begun"
        raise StateError(Problem("LS513", what, None, found=str(error), hint=hint)) from error


def begin(state_dir: Path, unfinished: Unfinished) -> None:
    """Notes what is begun, on the disk itself before this returns."""
    write_whole(_file(state_dir), json.dumps(asdict(unfinished)), to_disk=True)


def finish(state_dir: Path) -> None:
    """Takes the note away: it is done."""
    _file(state_dir).unlink(missing_ok=True)


def require_finished(state_dir: Path, name: TableName) -> None:
    """Raises StateError LS513 when a drop or a rename of the table was begun and not finished."""
    found = read_unfinished(state_dir)
    if found is not None and str(name) in found.tables:
        raise StateError(found.problem())


def _file(state_dir: Path) -> Path:
    return state_dir / "unfinished.json"
