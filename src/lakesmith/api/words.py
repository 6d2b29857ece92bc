"""Numbers, sizes and times as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

from lakesmith.errors import count as count

_STEPS = ((60.0, "s"), (60.0, "min"), (24.0, "h"), (float("inf"), "d"))


def duration(seconds: float) -> str:
    """``0.42 s``, ``3.1 s``, ``2 min 05 s``."""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def moment(ms: int) -> str:
    """Milliseconds since the epoch as ``2026-01-31 12:30:05 UTC``."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def iso(ms: int) -> str:
    """Milliseconds since the epoch as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(ms // 1000, UTC).replace(microsecond=ms % 1000 * 1000).isoformat()


def ago(ms: int, now_ms: int) -> str:
    """How long ago, roughly: ``just now``, ``5 min ago``, ``3 h ago``, ``12 d ago``."""
    amount = max(0, now_ms - ms) / 1000
    for step, unit in _STEPS:
        if amount < step:
            return "just now" if unit == "s" and amount < 10 else f"{int(amount)} {unit} ago"
        amount /= step
    raise AssertionError("the last step has no end")


def size(number: int) -> str:
    """Bytes as ``812 B``, ``1.5 KB``, ``3.2 GB`` (of 1,000)."""
    amount = float(number)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
