"""Imports the modules of a Python table from the texts that its fingerprint was made of.

Python's own import would use ``__pycache__`` for a file of the same time and size, or the file's current
text.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from threading import Lock
from types import CodeType, ModuleType
from typing import Any, Final

from pyspark.cloudpickle import register_pickle_by_value

from lakesmith.execute.modules import module_file, project_modules
from lakesmith.project.definitions import PythonQuery

_LOADING: Final = Lock()
"""Modules are looked up in one place of the process, whichever thread asks."""


class _FromText(SourceFileLoader):
    """A loader of a file with a text that was read before."""

    def __init__(self, name: str, path: Path, text: str) -> None:
        super().__init__(name, str(path))
        self._text = text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._text, self.path, "exec", dont_inherit=True)


class _Texts(MetaPathFinder):
    """Finds the project's modules, by their texts."""

    def __init__(self, root: Path, texts: Mapping[str, str]) -> None:
        self._root, self._texts = root, texts

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = module_file(self._root, tuple(fullname.split("."))) if fullname in self._texts else None
        if file is None:
            return None
        inside = [str(file.parent)] if file.name == "__init__.py" else None
        loader = _FromText(fullname, file, self._texts[fullname])
        return importlib.util.spec_from_file_location(
            fullname, file, loader=loader, submodule_search_locations=inside
        )


def load_function(query: PythonQuery, root: Path, name: str) -> Any:
    """Returns the function of a Python table, in a module ``name``; ``root`` is the project's folder.

    Raises whatever the module raises when it is loaded.
    """
    spec = importlib.util.spec_from_file_location(
        name, query.file, loader=_FromText(name, query.file, query.source)
    )
    if spec is None or spec.loader is None:
        raise TypeError(f"not a Python file: {query.file}")
    module = importlib.util.module_from_spec(spec)
    with _LOADING:
        if sys.path[0] != str(root):
            # A table's file can import the project's modules.
            sys.path.insert(0, str(root))
        texts = project_modules(query, root)
        with _found_by(_Texts(root, texts)):
            _load_anew(list(texts))
            # Only while it is loaded, for decorators that look it up: Spark sends workers by value what is
            # not there.
            sys.modules[name] = module
            try:
                spec.loader.exec_module(module)
            finally:
                del sys.modules[name]
    return getattr(module, query.function)


@contextmanager
def _found_by(finder: MetaPathFinder) -> Iterator[None]:
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def _load_anew(names: list[str]) -> None:
    """Imports the project's modules as they are now; Spark sends them to its workers."""
    importlib.invalidate_caches()
    inside = tuple(f"{name}." for name in names)
    # A package's modules are bound to it when imported: they are removed together.
    for name in [each for each in sys.modules if each in names or each.startswith(inside)]:
        del sys.modules[name]
    send_along: Any = register_pickle_by_value
    for name in names:
        send_along(importlib.import_module(name))
