"""Python queries, read from their syntax tree. A project's code is never run while it is loaded."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lakesmith.errors import Place, Problem, ProjectError, did_you_mean, nearest
from lakesmith.project.definitions import PythonQuery, TableName


@dataclass(frozen=True, slots=True)
class PythonSettings:
    """The settings of a table's function. ``inputs``: tables by parameter; ``place``: their place."""

    function: str
    inputs: Mapping[str, TableName]
    deterministic: bool
    place: Place


def python_query(source: str, file: str, root: Path, settings: PythonSettings) -> PythonQuery:
    """Returns the function in a file and the table for each of its parameters.

    Raises ProjectError: LS101 the file is not Python, LS116 no such function, LS117 a parameter without a
    table, an input without a parameter, or a kind of parameter that cannot be filled.
    """
    function = _function(_tree(source, file), file, settings)
    problems: list[Problem] = []
    arguments = tuple(_arguments(function, file, settings, problems))
    if problems:
        raise ProjectError(problems)
    place = Place(file, function.lineno)
    return PythonQuery(root / file, settings.function, source, place, arguments, settings.deterministic)


def _tree(source: str, file: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError) as error:
        line = error.lineno if isinstance(error, SyntaxError) else None
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ProjectError.of("LS101", "this is not Python", Place(file, line), found=said) from error


def _function(tree: ast.Module, file: str, settings: PythonSettings) -> ast.FunctionDef:
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if settings.function in functions:
        return functions[settings.function]
    found = ", ".join(functions) or "no function"
    known = nearest(settings.function, functions) or next(iter(functions), "…")
    hint = f"rename it, or name it in the table's YAML: function: {known}"
    what = f"there is no function {settings.function!r}"
    expected = f"def {settings.function}(…)"
    raise ProjectError.of("LS116", what, Place(file, 1), expected, found, hint)


def _arguments(
    function: ast.FunctionDef, file: str, settings: PythonSettings, problems: list[Problem]
) -> list[tuple[str, TableName]]:
    signature = function.args
    parameters = [*signature.args, *signature.kwonlyargs]
    names = [parameter.arg for parameter in parameters]
    for other in (*signature.posonlyargs, signature.vararg, signature.kwarg):
        if other is not None:
            what = f"the parameter {other.arg!r} cannot be filled"
            expected = "plain parameters, each for one table"
            problems.append(Problem("LS117", what, Place(file, other.lineno), expected))
    for unknown in sorted(set(settings.inputs) - set(names)):
        what = f"{settings.function} has no parameter {unknown!r}"
        hint = did_you_mean(unknown, names)
        problems.append(
            Problem("LS117", what, settings.place, f"one of {', '.join(names) or 'none'}", hint=hint)
        )
    found = [(parameter.arg, _table(parameter, file, settings, problems)) for parameter in parameters]
    return [(name, table) for name, table in found if table is not None]


def _table(
    parameter: ast.arg, file: str, settings: PythonSettings, problems: list[Problem]
) -> TableName | None:
    if parameter.arg in settings.inputs:
        return settings.inputs[parameter.arg]
    layer, two, name = parameter.arg.partition("__")
    if two and layer and name:
        return TableName(layer, name)
    what = f"the parameter {parameter.arg!r} names no table"
    hint = f"write inputs: {{{parameter.arg}: layer.table}} in the table's YAML"
    problems.append(Problem("LS117", what, Place(file, parameter.lineno), "layer__table", hint=hint))
    return None
