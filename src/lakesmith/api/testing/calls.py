"""The calls of a ``Lakehouse`` that test the project."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lakesmith.api.access import Access, ignore

if TYPE_CHECKING:
    from lakesmith.api.testing.runner import Tested
    from lakesmith.api.testing.story_run import StoryResult


class Testing:
    """A part of ``Lakehouse``."""

    access: Access

    def test(
        self,
        *select: str,
        on_story: Callable[[StoryResult], None] = ignore,
        coverage: bool = False,
        update: bool = False,
    ) -> Tested:
        """Runs the stories in ``tests/``, each in a lake of its own, which is removed afterwards.

        Args:
            select: words of titles or files, or tables; none: all stories.
            on_story: is called with each story's end.
            coverage: whether the result says what of the project no story meets.
            update: whether the rows that were found are written into the stories that expected others.

        Raises ProjectError LS101 to LS105, LS150 to LS153 if a story cannot be run.

        Example:
            assert not shop.test("orders").has_failed
        """
        from lakesmith.api.testing.runner import test

        return test(self.access, select, on_story, coverage, update)

    def create_story(self, table: str, rows: int = 5) -> str:
        """Writes a story of some rows of a table and of its sources, and returns its file. Values of columns
        that are marked ``pii`` are masked.

        Raises UsageError LS201, LS205, LS263 (the file is there), LS264 (no rows).

        Example:
            print(shop.create_story("silver.customers"))
        """
        from lakesmith.api.testing.creating import create

        return create(self.access, table, rows)
