"""The artifact of a deployment: packages and entry point, the gate, and the project's files.

It has two parts, each in a prefix of the bucket of artifacts that is named by the hash of its content: an
edited query changes the project's part alone. ``artifact.auto.tfvars.json``, which Terraform reads by itself,
names both, so a change shows in the plan.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from lakesmith.deploy.artifact.archives import (
    Entry,
    hash_of,
    of_folder,
    of_text,
    of_wheel,
    write_tar,
    write_zip,
)
from lakesmith.deploy.artifact.packages import Runtime, requirements, wheels_for
from lakesmith.deploy.facts import Stack
from lakesmith.deploy.folder import folder_of
from lakesmith.errors import EnvironmentProblem, UsageError
from lakesmith.project.definitions import KafkaSource, PostgresSource

VARIABLES: Final = "artifact.auto.tfvars.json"
EMR_PYTHON: Final = "3.11"
GATE_PYTHON: Final = "3.13"
MACHINES: Final = {"x86_64": "x86_64", "arm64": "aarch64"}
"""What wheels call the architectures of AWS."""
GATE_BYTES: Final = 250 * 1024**2
"""The most that a Lambda may have, unpacked."""
PROJECT_BYTES: Final = 20 * 1000**2
"""More is data, which does not belong beside the project's files."""

_REQUIREMENTS: Final = "requirements.txt"
_NOT_FOR_THE_GATE: Final = (
    *(f"pyarrow/{name}" for name in ("include/", "tests/", "src/", "_flight", "_substrait")),
    *(f"pyarrow/libarrow_{name}" for name in ("flight", "python_flight", "substrait")),
    "sqlalchemy/", "zstandard/_cffi",
)  # fmt: skip
"""Large parts of packages that planning on AWS needs nothing of."""


@dataclass(frozen=True, slots=True)
class Archive:
    """An object of the artifact, and how its files are written."""

    name: str
    entries: tuple[Entry, ...]
    write: Callable[[Iterable[Entry], BinaryIO], None]

    @property
    def size(self) -> int:
        """The bytes of its files, unpacked."""
        return sum(each.size for each in self.entries)


@dataclass(frozen=True)
class Part:
    """A part of the artifact: archives in one prefix. ``kind``: ``packages`` or ``projects``."""

    kind: str
    archives: tuple[Archive, ...]

    @cached_property
    def prefix(self) -> str:
        """Where they are in the bucket of artifacts. Every file is read for it, once."""
        named = (
            Entry(f"{archive.name}/{each.name}", each.size, each.read)
            for archive in self.archives
            for each in archive.entries
        )
        return f"{self.kind}/{hash_of(named)}"


def packages_of(stack: Stack) -> Part:
    """Fetches the packages; returns them with the entry point and the gate.

    Raises EnvironmentProblem LS341, LS342 if they cannot be fetched, LS343 if the gate is too large.
    """
    needed = [*requirements(_extras(stack)), *_further(stack)]
    machine = MACHINES[stack.deploy.architecture]
    gate_wheels = wheels_for(Runtime(GATE_PYTHON, machine), needed)
    gate = Archive("gate.zip", tuple(filter(_is_of_gate, _unpacked(gate_wheels))), write_zip)
    if gate.size > GATE_BYTES:
        raise _too_large(gate)
    if stack.deploy.compute == "glue":
        job = Archive("packages.gluewheels.zip", tuple(_wheels(gate_wheels)), write_zip)
    else:
        wheels = wheels_for(Runtime(EMR_PYTHON, machine), needed)
        job = Archive("packages.tar.gz", tuple(_unpacked(wheels)), write_tar)
    script = Path(__file__).parents[2] / "submit.py"
    entry = Entry(script.name, script.stat().st_size, script.read_bytes)
    return Part("packages", (Archive(script.name, (entry,), _write_plain), job, gate))


def project_of(stack: Stack) -> Part:
    """Returns the project's files. Raises UsageError LS291 if there is too much in its folder."""
    entries = tuple(of_folder(stack.project.root, _is_left_out(stack)))
    found = Archive("project.zip", entries, write_zip)
    if found.size > PROJECT_BYTES:
        what = f"{stack.project.root.name} has {found.size // 10**6} MB of files, which would be uploaded"
        hint = "move data out of the project's folder, or into a folder whose name begins with a dot"
        raise UsageError.of(
            "LS291", what, None, f"at most {PROJECT_BYTES // 10**6} MB", _largest(found), hint
        )
    return Part("projects", (found,))


def variables_text(packages: str, project: str) -> str:
    """Returns the text of the file that tells Terraform where the artifact is."""
    return json.dumps({"artifact": packages, "project": project}, indent=2) + "\n"


def uploaded_project(stack: Stack) -> str | None:
    """Returns the prefix of the project that was uploaded last, None if none was."""
    try:
        found = json.loads((folder_of(stack) / VARIABLES).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return str(found.get("project")) if isinstance(found, dict) else None


def _extras(stack: Stack) -> frozenset[str]:
    """The extras of lakesmith that the project uses."""
    found = {"aws"}
    for table in stack.own_tables:
        found |= {"postgres"} if table.sources_of(PostgresSource) else set()
        found |= {"kafka"} if table.sources_of(KafkaSource) else set()
    found |= {"alerts"} if stack.project.alerts is not None else set()
    folder = stack.project.root / "tables"
    texts = (path.read_bytes() for path in folder.rglob("*") if path.suffix in (".sql", ".py", ".yaml"))
    return frozenset(found | ({"logs"} if any(b"user_agent" in text for text in texts) else set()))


def _further(stack: Stack) -> Iterator[str]:
    """The packages that the project's own Python needs."""
    file = stack.project.root / _REQUIREMENTS
    if file.is_file():
        lines = (line.partition(" #")[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
        yield from (line for line in lines if line and not line.startswith("#"))


def _is_left_out(stack: Stack) -> Callable[[PurePosixPath], bool]:
    """Returns which files are not the project's: hidden ones, deployments, landing files and exports."""
    own = {"deploy", "landing", "exports", "__pycache__"}

    def left_out(name: PurePosixPath) -> bool:
        return (
            any(part.startswith(".") for part in name.parts)
            or "__pycache__" in name.parts
            or (len(name.parts) > 1 and name.parts[0] in own)
        )

    return left_out


def _unpacked(wheels: Sequence[Path]) -> Iterator[Entry]:
    for wheel in wheels:
        yield from of_wheel(wheel)


def _wheels(wheels: Sequence[Path]) -> Iterator[Entry]:
    """A zip of wheels, as Glue installs them without a network."""
    for wheel in wheels:
        yield Entry(f"wheels/{wheel.name}", wheel.stat().st_size, wheel.read_bytes)
    names = ("==".join(wheel.name.split("-")[:2]) for wheel in wheels)
    yield of_text("wheels/requirements.txt", "".join(f"{name}\n" for name in sorted(names)))


def _is_of_gate(entry: Entry) -> bool:
    return not entry.name.startswith(_NOT_FOR_THE_GATE) and not entry.name.endswith((".pyi", ".pxd", ".pyx"))


def _write_plain(entries: Iterable[Entry], to: BinaryIO) -> None:
    for each in entries:
        to.write(each.read())


def _too_large(gate: Archive) -> EnvironmentProblem:
    what = f"the packages of the gate have {gate.size // 1024**2} MB, more than a Lambda takes"
    hint = f"leave packages out of {_REQUIREMENTS}"
    expected = f"at most {GATE_BYTES // 1024**2} MB, unpacked"
    return EnvironmentProblem.of("LS343", what, None, expected, _largest(gate), hint)


def _largest(archive: Archive, most: int = 3) -> str:
    """Returns the folders, or files, that take most of an archive."""
    sizes: dict[str, int] = {}
    for each in archive.entries:
        top = each.name.partition("/")[0]
        sizes[top] = sizes.get(top, 0) + each.size
    biggest = sorted(sizes.items(), key=lambda each: -each[1])[:most]
    return ", ".join(f"{name}: {size // 10**6} MB" for name, size in biggest)
