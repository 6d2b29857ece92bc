"""The class-data archive: Spark's classes as the JVM keeps them in memory, mapped at start instead of parsed
again.

One file a combination of Java, Spark and class path, in the user's cache. It is a *static* archive (``java
-Xshare:dump`` from a list of classes): it holds the JDK's own classes too, so it works for Java 17 and 21
alike, and for a jlinked runtime that came without an archive of its own and whose folder cannot be written.
The JVM refuses an archive whose jars changed (by size or time), so these are part of its name.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lakesmith.spark.start.find_java import JavaRuntime
from lakesmith.whole_file import write_whole

KEPT = 4
RENEWED, REFUSED = 2, 4
"""After so many failed starts in a row an archive is made again, and not used: a JVM may die of anything."""


@dataclass(frozen=True, slots=True)
class Archive:
    """Where one archive lives: `folder` in the cache and the `key` that its files are named by."""

    folder: Path
    key: str

    @property
    def file(self) -> Path:
        return self.folder / f"{self.key}.jsa"

    @property
    def seal(self) -> Path:
        """Written after the archive: its size, so that a half or cut one is known."""
        return self.folder / f"{self.key}.json"

    @property
    def failed(self) -> Path:
        """Why the last attempt to make it failed; while it exists no other is made in the background."""
        return self.folder / f"{self.key}.failed"

    @property
    def doubts(self) -> Path:
        """Why the last starts with it failed, one a line; removed by a start that maps it."""
        return self.folder / f"{self.key}.doubts"

    @property
    def log(self) -> Path:
        """What the process that made it said."""
        return self.folder / f"{self.key}.log"

    @property
    def lock(self) -> Path:
        """Held by the process that makes it."""
        return self.folder / f"{self.key}.lock"


def archive_for(cache: Path, java: JavaRuntime, class_path: Sequence[Path]) -> Archive:
    """The archive that fits this Java and class path; it need not exist."""
    return Archive(cache / "start", archive_key(java, class_path))


def archive_key(java: JavaRuntime, class_path: Sequence[Path]) -> str:
    """Returns a name that changes with all that invalidates an archive: the JVM, the jars."""
    parts = [str(java.home), java_build(java), *(_fingerprint(jar) for jar in class_path)]
    return f"java{java.major}-{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:16]}"


def _fingerprint(jar: Path) -> str:
    """Returns path, size and time of a class path file; the JVM ignores missing ones."""
    if not jar.exists():
        return f"{jar}|missing"
    stat = jar.stat()
    return f"{jar}|{stat.st_size}|{int(stat.st_mtime)}"


def java_build(java: JavaRuntime) -> str:
    """What tells two builds of a Java apart: the size and time of its virtual machine, without running it."""
    library = next(iter(sorted((java.home / "lib").glob("**/libjvm.*"))), java.executable)
    stat = library.stat()
    return f"{library.name}|{stat.st_size}|{stat.st_mtime_ns}"


def usable(archive: Archive) -> bool:
    """Whether the archive is there, whole and of the size it was sealed with. Marks it as used."""
    try:
        size: int = json.loads(archive.seal.read_text())["size"]
        if archive.file.stat().st_size != size:
            return False
        os.utime(archive.seal)
    except (OSError, ValueError, KeyError):
        return False
    return True


def seal(archive: Archive, made: Path) -> None:
    """Put the file `made` in its place at once, and say that it is whole. Old archives beyond a few go."""
    archive.seal.unlink(missing_ok=True)
    size = made.stat().st_size
    made.replace(archive.file)
    write_whole(archive.seal, json.dumps({"size": size}))
    archive.failed.unlink(missing_ok=True)
    _prune(archive.folder)


def discard(archive: Archive) -> None:
    """Remove an archive that did not serve; the next start makes do without and a new one is made."""
    for path in (archive.seal, archive.file):
        path.unlink(missing_ok=True)


def refuse(archive: Archive, reason: str) -> None:
    """Throw away an archive that the JVM does not take, and keep from making it again at once for nothing."""
    discard(archive)
    archive.failed.write_text(reason + "\n")


def doubt(archive: Archive, reason: str) -> None:
    """Notes that a start with the archive failed. The next start tries it again, see ``REFUSED``."""
    doubts = [*_lines(archive.doubts), " ".join(reason.split())]
    if len(doubts) >= REFUSED:
        trust(archive)
        return refuse(archive, doubts[-1])
    write_whole(archive.doubts, "\n".join(doubts) + "\n")
    return discard(archive) if len(doubts) == RENEWED else None


def trust(archive: Archive) -> None:
    """Forgets failed starts: a JVM maps the archive."""
    archive.doubts.unlink(missing_ok=True)


def last_doubt(archive: Archive) -> str | None:
    """Returns why the last start with the archive failed; None if it did not fail."""
    return next(reversed(_lines(archive.doubts)), None)


def why_missing(archive: Archive) -> str | None:
    """Returns why there is no archive, and none is made now; None if the next session's end makes it."""
    if failed := _lines(archive.failed):
        return failed[-1]
    parent = next(each for each in (archive.folder, *archive.folder.parents) if each.exists())
    return None if os.access(parent, os.W_OK) else f"the folder {parent} cannot be written"


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").strip().splitlines()
    except OSError:
        return []


def _prune(folder: Path) -> None:
    """Keeps the few archives that were used last; each has 200 MB."""
    seals = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in seals[KEPT:]:
        discard(Archive(folder, old.stem))
