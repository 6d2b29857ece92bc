"""The project's own modules that a Python table imports: part of its definition."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lakesmith.errors import Place, Problem, ProjectError
from lakesmith.project.definitions import PythonQuery

_Name = tuple[str, ...]
_STAR: Final = "*"
_IMPORTERS: Final = frozenset({"import_module", "__import__"})


def project_modules(query: PythonQuery, root: Path) -> dict[str, str]:
    """Dotted name -> source of every module below ``root`` that the query's file imports, directly or through
    others.

    Imports are found wherever they stand, inside functions too, and by ``import_module("name")``; what is
    imported by a computed name is not. Raises ProjectError LS101 when one of them is not Python, or not
    UTF-8.
    """
    found: dict[str, str] = {}
    waiting = list(_imported(ast.parse(query.source), ()))
    while waiting:
        name = waiting.pop()
        if name[-1] == _STAR:
            waiting += _listed(root, name[:-1])
            continue
        path = module_file(root, name)
        if path is None or ".".join(name) in found:
            continue
        source = found[".".join(name)] = _text(path, path.relative_to(root))
        package = name if path.name == "__init__.py" else name[:-1]
        waiting += _imported(_parsed(source, path.relative_to(root)), package)
    return dict(sorted(found.items()))


def _listed(root: Path, package: _Name) -> Iterator[_Name]:
    """What ``from package import *`` imports besides the package itself: the modules that its ``__all__``
    lists, however that is made: any that it names by a text.
    """
    path = module_file(root, package) if package else None
    if path is None:
        return
    tree = _parsed(_text(path, path.relative_to(root)), path.relative_to(root))
    yield from ((*package, text) for text in _texts(tree) if text.isidentifier())


def _texts(tree: ast.AST) -> Iterator[str]:
    return (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def module_file(root: Path, name: _Name) -> Path | None:
    """Returns the file that Python would import for a module, a package first; None if there is no file."""
    module = root.joinpath(*name)
    candidates = (module / "__init__.py", module.with_name(f"{module.name}.py"))
    return next((path for path in candidates if path.is_file()), None)


def _text(path: Path, shown: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        problem = Problem("LS101", "this is not UTF-8", Place(shown.as_posix(), 1), found=error.reason)
        raise ProjectError(problem) from error


def _parsed(source: str, path: Path) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        place = Place(path.as_posix(), error.lineno)
        raise ProjectError.of("LS101", "this is not Python", place, found=error.msg) from error


def _imported(tree: ast.Module, package: _Name) -> Iterator[_Name]:
    """Yields the modules that a tree may import, with their packages."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_packages(tuple(alias.name.split(".")))
        elif isinstance(node, ast.ImportFrom):
            module = _above(package, node.level) + (tuple(node.module.split(".")) if node.module else ())
            yield from _with_packages(module)
            yield from ((*module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in _IMPORTERS:
            for text in (text for argument in node.args[:1] for text in _texts(argument)):
                inside = text.lstrip(".")
                names = tuple(inside.split("."))
                if all(map(str.isidentifier, names)):
                    yield from _with_packages((*_above(package, len(text) - len(inside)), *names))


def _above(package: _Name, level: int) -> _Name:
    """Returns the package that an import with this many dots starts from; empty: the root."""
    return package[: len(package) - level + 1] if level else ()


def _with_packages(name: _Name) -> Iterator[_Name]:
    return (name[:length] for length in range(1, len(name) + 1))
