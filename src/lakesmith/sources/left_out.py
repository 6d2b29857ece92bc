"""The names that a listing leaves out: counted, and reported if they are unexpected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from lakesmith.project.definitions import Source
from lakesmith.sources.names import named

TEMPORARY_ENDINGS = (
    ".tmp",
    ".temp",
    ".part",
    ".partial",
    ".filepart",
    ".crdownload",
    ".download",
    ".inprogress",
    ".swp",
    "._copying_",
    "~",
)
"""Endings, in lower case, of files that browsers, copy tools and editors have not finished."""

_COMPRESSED = (".gz", ".bz2")


def is_left_out(name: str) -> bool:
    """Whether a file or folder of this name is never ingested.

    >>> is_left_out("_SUCCESS"), is_left_out("a.csv.tmp"), is_left_out("a.csv")
    (True, True, False)
    """
    return name[:1] in ("_", ".") or name.lower().endswith(TEMPORARY_ENDINGS)


def is_before(name: str, since: str | None) -> bool:
    """Whether a file, by its name below the source's path (with folders), comes before ``since``.

    >>> is_before("dt=2026-10-31/a.csv", "dt=2026-11-01"), is_before("dt=2026-11-01/a.csv", "dt=2026-11-01")
    (True, False)
    """
    return since is not None and name < since


def all_before(folder: str, since: str | None) -> bool:
    """Whether everything in a folder comes before ``since``: it need not be searched.

    >>> all_before("2026/", "2026/11"), all_before("2025/", "2026/11")
    (False, True)
    """
    return since is not None and folder < since and not since.startswith(folder)


@dataclass(slots=True)
class LeftOut:
    """The names that a listing left out. A folder that is left out counts once.

    ``dots``: names that begin with a dot, which nobody expects; ``unfinished``: with an underscore, or of
    files being written; ``unmatched``: not matched by the pattern, ``nearly`` those that miss it by their
    case or by a compression's ending; ``odd``: pipes, devices, files that disappeared. Of links: ``astray``
    lead nowhere, ``second`` (link, file) to a file that is listed itself, ``again`` to such a folder.
    """

    dots: int = 0
    unfinished: int = 0
    unmatched: int = 0
    odd: int = 0
    nearly: list[str] = field(default_factory=list)
    astray: list[str] = field(default_factory=list)
    second: list[tuple[str, str]] = field(default_factory=list)
    again: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        links = len(self.astray) + len(self.second) + len(self.again)
        return self.dots + self.unfinished + self.unmatched + self.odd + links

    def hide(self, name: str) -> None:
        self.dots += name[0] == "."
        self.unfinished += name[0] != "."

    def miss(self, name: str, shown: str, matches: Callable[[str], object]) -> None:
        """Adds a name that the pattern does not match; ``matches`` ignores case."""
        self.unmatched += 1
        if matches(name) or (name.lower().endswith(_COMPRESSED) and matches(name.rpartition(".")[0])):
            self.nearly.append(shown)

    def notes(self, source: Source) -> Iterator[str]:
        """Yields the notes for every run."""
        start = f"source {source.name!r}: left out: "
        if self.second:
            links = sorted(self.second)
            yield (
                f"{start}{named([link for link, _ in links])}, a link to a file that is taken under its own"
                " name"
                f" ({links[0][1]})"
            )
        for paths, why in (
            (self.again, "a link to a folder that is searched under its own name"),
            (self.astray, "a link that leads nowhere"),
            (
                self.nearly,
                f"which the pattern {source.pattern!r} misses by its case, or by the ending of its"
                " compression",
            ),
        ):
            if paths:
                yield f"{start}{named(sorted(paths))}, {why}"

    def summary(self, source: Source) -> str | None:
        """Returns everything that was left out, by reason; None if nothing was."""
        counts = (
            (self.unfinished, "with an underscore first, or as of files being written"),
            (self.unmatched, f"not matched by {source.pattern!r}"),
            (len(self.second) + len(self.again), "of links to what is listed itself"),
            (len(self.astray), "of links that lead nowhere"),
            (self.odd, "of other things than files"),
        )
        names = ", ".join(f"{why} ({number})" for number, why in counts if number)
        return f"source {source.name!r} leaves out in {source.path}: names {names}" if names else None
