"""The process that takes events, as ``up`` starts, watches and ends it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from lakesmith.errors import EnvironmentProblem, Problem

_PATIENCE_SECONDS: Final = 15.0
"""How long the intake may take to seal what it holds."""


class IntakeProcess:
    """The process that takes events for a project. ``where``: the arguments that say at which address, and how."""

    def __init__(self, project: Path, target: str | None, where: Sequence[str]) -> None:
        chosen = ["--target", target] if target else []
        self._command = [sys.executable, "-m", "lakesmith.serve.server", str(project), *chosen, *where]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it."""
        # Ctrl-C is for this process: it ends the intake when its last batch is through.
        self._process = subprocess.Popen(self._command, start_new_session=True)

    def restart_if_gone(self) -> bool:
        """Starts it again if it has ended by itself; whether it had."""
        if self._process is None or self._process.poll() is None:
            return False
        self.start()
        return True

    def end(self) -> None:
        """Has it seal what it holds, and end."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def require_server() -> None:
    """Raises EnvironmentProblem LS309 where events cannot be taken."""
    if find_spec("uvicorn") is None:
        raise EnvironmentProblem(
            Problem(
                "LS309",
                "the package uvicorn, which takes events over HTTP, is not installed",
                expected="lakesmith with its extra `live`",
                hint="pip install 'lakesmith[live]'",
            )
        )
