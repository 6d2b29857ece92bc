"""``lakesmith test``: stories run on real Iceberg, in lakes of their own and one Spark session."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lakesmith.api.testing.story_run import Scene, StoryResult, StoryRun
from lakesmith.errors import Problem, ProjectError
from lakesmith.graph.graph import Graph
from lakesmith.plan.cost import DataSize
from lakesmith.project.definitions import Project, Target
from lakesmith.project.files import FolderFiles, scratch_folder
from lakesmith.stories.coverage import Gaps, Met, gaps
from lakesmith.stories.loading import load_for
from lakesmith.stories.model import Story
from lakesmith.stories.reading import read_stories, story_paths
from lakesmith.stories.staging import problems_of, sql_settings
from lakesmith.stories.writing import with_rows
from lakesmith.whole_file import is_there, write_whole

if TYPE_CHECKING:
    from lakesmith.api.access import Access
    from lakesmith.spark.start.session import SessionHandle

_FOLDER: Final = "stories"


@dataclass(frozen=True, slots=True)
class Tested:
    """The results of stories. ``gaps``: what no story meets, if that was asked."""

    stories: tuple[StoryResult, ...]
    seconds: float
    gaps: Gaps | None = None

    @property
    def has_failed(self) -> bool:
        return any(not each.passed for each in self.stories)

    def to_dict(self) -> dict[str, Any]:
        stories = [{**asdict(replace(each, found=())), "passed": each.passed} for each in self.stories]
        gaps = {} if self.gaps is None else {"gaps": asdict(self.gaps)}
        return {"stories": stories, "seconds": round(self.seconds, 3), **gaps}


def test(
    access: Access,
    select: Sequence[str],
    on_story: Callable[[StoryResult], None],
    coverage: bool,
    update: bool,
) -> Tested:
    started, results = time.monotonic(), list[StoryResult]()
    with StoryRunner(access.folder, access.target, access.given) as runner:
        stories = runner.stories()
        for story in chosen(stories, select):
            results.append(access.do(partial(runner.run, story)))
            on_story(results[-1])
        met = gaps(runner.base[1], stories, runner.met) if coverage else None
    if update:
        _write_found(access.folder, results)
    return Tested(tuple(results), time.monotonic() - started, met)


def _write_found(root: Path, results: Sequence[StoryResult]) -> None:
    """Writes the rows that were found into the files of the stories that expected others."""
    files = FolderFiles(root)
    for file in dict.fromkeys(each.file for each in results if each.found):
        found = [rows for each in results if each.file == file for rows in each.found]
        write_whole(root / file, with_rows(files.read(file), found))


def chosen(stories: Sequence[Story], select: Sequence[str]) -> list[Story]:
    """Returns the stories whose file or title has one of the words, in any case, or that are about one of the
    tables; without a word all."""

    def is_meant(story: Story, word: str) -> bool:
        tables = {str(name) for name in (*story.expected, *story.given)}
        return word in tables or word.lower() in f"{story.file} {story.title}".lower()

    return [each for each in stories if not select or any(is_meant(each, word) for word in select)]


class StoryRunner:
    """Runs stories in a folder for their lakes, in a Spark session that starts with the first one.

    The folder is removed at the end; those that killed processes have left go with the next one.
    """

    def __init__(self, root: Path, target: str | None, given: Any = None) -> None:
        """``given``: the parent of its Spark session, in a process that has one."""
        self.root, self.target, self._given, self._count = root, target, given, 0
        self.met = Met()
        self._session: SessionHandle | None = None
        self._folder: Path | None = None

    def __enter__(self) -> StoryRunner:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._session is not None:
            self._session.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @cached_property
    def base(self) -> tuple[Project, Graph]:
        """The project as stories without variables of their own see it. Raises ProjectError."""
        return load_for(None, self.root, self.target)

    def stories(self) -> list[Story]:
        """Reads all stories. Raises ProjectError with every problem of the project and of its stories."""
        project, graph = self.base
        found, problems = list[Story](), list[Problem]()
        for path in story_paths(project.root):
            try:
                found += read_stories(FolderFiles(project.root).read(path), path)
            except ProjectError as error:
                problems += error.problems
        problems += [problem for each in found for problem in problems_of(each, graph)]
        if problems:
            raise ProjectError(problems)
        return found

    def run(self, story: Story) -> StoryResult:
        """Runs a story in a lake of its own."""
        self._count += 1
        place, session = self._place() / str(self._count), self._started()
        has_own = story.variables or story.environment
        base = load_for(story, self.root, self.target) if has_own else self.base
        return StoryRun(story, Scene(self.root, base, place, session, self.met)).result()

    def _place(self) -> Path:
        if self._folder is None:
            above = scratch_folder(self.root) / _FOLDER
            for left in above.glob("*"):
                if left.name.isdecimal() and not is_there(int(left.name)):
                    shutil.rmtree(left, ignore_errors=True)
            self._folder = above / str(os.getpid())
            self._folder.mkdir(parents=True)
        return self._folder

    def _started(self) -> SessionHandle:
        if self._session is None:
            from lakesmith.spark.open import open_session

            project, _ = self.base
            target = Target("story", "local", spark=sql_settings(project.target))
            empty = Project(self._place(), project.name, target, ())
            self._session = open_session(empty, DataSize.LITTLE, None, self._given)
        return self._session
