"""A project in memory, for tests of what its files say."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lakesmith.errors import Place, Problem, ProjectError


@dataclass(frozen=True)
class MemoryFiles:
    """A project as a mapping of paths to texts; see ``ProjectFiles``."""

    texts: Mapping[str, str]
    root: Path = Path()

    def table_paths(self) -> tuple[str, ...]:
        return tuple(sorted(path for path in self.texts if path.startswith("tables/")))

    def exists(self, path: str) -> bool:
        return path in self.texts

    def read(self, path: str) -> str:
        if path not in self.texts:
            expected, found = "a file that can be read", "No such file or directory"
            raise ProjectError(Problem("LS101", f"{path} cannot be read", Place(path), expected, found))
        return self.texts[path]
