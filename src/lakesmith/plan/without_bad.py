"""Has the files left out of a batch that turned out to be unreadable: what is left is taken, and they go on record. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lakesmith.plan.facts import SourceFacts
from lakesmith.plan.steps import FileIntake
from lakesmith.sources.bad_files import BadFile
from lakesmith.sources.model import FileIdentity, UnreadFile


def without_bad_files(sources: SourceFacts, bad: Sequence[BadFile]) -> SourceFacts:
    """What the sources give without the bad files; one that is another file by now is tried again."""
    if not bad:
        return sources
    reasons = {(each.source.name, each.file): each.reason for each in bad}
    return replace(sources, intakes=tuple(_without(intake, reasons) for intake in sources.intakes))


def _without(intake: FileIntake, reasons: dict[tuple[str, FileIdentity], str]) -> FileIntake:
    def reason(file: FileIdentity) -> str | None:
        return reasons.get((intake.source.name, file))

    unread = [
        UnreadFile(file, why, taken)
        for files, taken in ((intake.take, False), (intake.replace, True))
        for file in files
        if (why := reason(file)) is not None
    ]
    return replace(
        intake,
        take=tuple(file for file in intake.take if reason(file) is None),
        replace=tuple(file for file in intake.replace if reason(file) is None),
        unread=tuple(unread),
    )
