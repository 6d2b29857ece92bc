"""``pytest --lakesmith``: the stories of projects as tests, an item each.

A file ``tests/NAME.yaml`` is a file of stories if ``lakesmith.yaml`` is in the folder above ``tests/``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from lakesmith.api.testing.runner import StoryRunner
    from lakesmith.api.testing.story_run import StoryResult
    from lakesmith.stories.model import Story

_RUNNERS: pytest.StashKey[dict[Path, StoryRunner]] = pytest.StashKey()
_STORIES: pytest.StashKey[dict[Path, list[Story]]] = pytest.StashKey()
"""The stories of all files of a project, which are read together."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lakesmith")
    group.addoption("--lakesmith", action="store_true", help="Run the stories of lakesmith projects.")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not parent.config.getoption("--lakesmith") or file_path.suffix not in (".yaml", ".yml"):
        return None
    root = next((each.parent for each in file_path.parents if each.name == "tests"), None)
    if root is None or not (root / "lakesmith.yaml").is_file():
        return None
    return _StoryFile.from_parent(parent, path=file_path, root=root)


def pytest_unconfigure(config: pytest.Config) -> None:
    for runner in config.stash.get(_RUNNERS, {}).values():
        runner.__exit__()


class _StoryFile(pytest.File):
    def __init__(self, *, root: Path, **more: Any) -> None:
        super().__init__(**more)
        self.root = root

    def collect(self) -> Iterator[pytest.Item]:
        from lakesmith.errors import LakesmithError

        known = self.config.stash.setdefault(_STORIES, {})
        try:
            if self.root not in known:
                known[self.root] = self.runner().stories()
        except LakesmithError as error:
            raise self.CollectError(str(error)) from None
        file = self.path.relative_to(self.root).as_posix()
        for story in known[self.root]:
            if story.file == file:
                yield _StoryItem.from_parent(self, name=story.title, story=story)

    def runner(self) -> StoryRunner:
        from lakesmith.api.testing.runner import StoryRunner

        runners = self.config.stash.setdefault(_RUNNERS, {})
        if self.root not in runners:
            runners[self.root] = StoryRunner(self.root, None)
        return runners[self.root]


class _StoryFailed(Exception):
    def __init__(self, result: StoryResult) -> None:
        super().__init__(result)
        self.result = result


class _StoryItem(pytest.Item):
    parent: _StoryFile

    def __init__(self, *, story: Story, **more: Any) -> None:
        super().__init__(**more)
        self.story = story

    def runtest(self) -> None:
        result = self.parent.runner().run(self.story)
        if not result.passed:
            raise _StoryFailed(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, _StoryFailed):
            from lakesmith.cli.commands.test import lines_of

            return "\n".join(lines_of(excinfo.value.result))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, (self.story.place.line or 1) - 1, self.story.title
