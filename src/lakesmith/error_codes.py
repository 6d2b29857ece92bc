"""The table of error codes: meaning, cause and way out of each, from ``error_codes.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """An error code such as LS101. The three texts are whole sentences; ``fix`` says what the user does."""

    code: str
    meaning: str
    cause: str
    fix: str


@cache
def error_codes() -> dict[str, ErrorCode]:
    """Returns every error code, in the order of their numbers."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return {code: ErrorCode(code, **entry) for code, entry in tomllib.loads(text).items()}
