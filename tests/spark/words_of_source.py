"""The names that the source gives to columns, fields and variables of lambdas, found in its text.

A table whose columns are called like all of them shows where such a name meets a user's. Taken are: names in
calls such as ``.alias("n")``, module constants that are a name, keys of dictionaries, and in texts of SQL
names behind AS, before ``->`` or a type, and those in ``named_struct``. A number in a name is 0 (``s{i}``).
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import lakesmith

_NAME = r"`?([A-Za-z_]\w*)`?"
_IN_SQL = re.compile(
    rf"\bAS {_NAME}|{_NAME}(?:, {_NAME}\))? ->|'{_NAME}',"
    rf"|(?:^|[<,( ]){_NAME}:? (?:string|bigint|int|boolean|timestamp|binary|array<|struct<|map<)"
)
_CALLS = {"alias", "withColumn", "withColumnRenamed", "col", "drop", "getField", "groupBy", "select"}


def words_of_source(package: str = "spark") -> list[str]:
    """The names, in lower case where they differ in case only."""
    found: dict[str, str] = {}
    for path in sorted((Path(lakesmith.__file__).parent / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            for word in _words(node):
                found.setdefault(word.lower(), word)
    return [found[word] for word in sorted(found)]


def _words(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) if name in _CALLS:
            yield from filter(_is_name, map(_text, node.args))
        case ast.Assign(value=ast.Tuple(elts=values)):
            yield from filter(_is_name, map(_text, values))
        case ast.Assign(value=value) | ast.AnnAssign(value=value) if value and _is_name(_text(value)):
            yield _text(value)
        case ast.Dict():
            yield from filter(_is_name, (_text(key) for key in node.keys if key))
        case ast.Constant() | ast.JoinedStr():
            text = _text(node)
            is_prose = text.count(". ") > 0 or "\n" in text
            for found in () if is_prose else _IN_SQL.finditer(text):
                yield from filter(None, found.groups())


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_name(text: str) -> bool:
    return re.fullmatch(_NAME, text) is not None
