"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def write_whole(path: Path, content: str | bytes, *, to_disk: bool = False) -> None:
    """Puts a file, and its folder, in place at once: whoever reads ``path`` meanwhile finds what was there before.

    ``to_disk``: its content is on the disk itself before it takes that place. Raises OSError, and leaves nothing behind then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with beside.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            if to_disk:
                file.flush()
                os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
