"""JSON Schemas for editors and reference pages in Markdown, made from the declared settings.

``python scripts/setting_pages.py docs/reference`` writes the pages into that folder, and the
schemas into the package's folder ``schemas/``.
"""

from __future__ import annotations

import enum
import inspect
import json
import re
import sys
import textwrap
import types
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from lakesmith.project.declaring import all_settings, doc_of
from lakesmith.project.definitions import (
    Column,
    Deployment,
    Emit,
    Export,
    ExternalTable,
    GitHub,
    HttpSource,
    KafkaSource,
    Lookup,
    Maintenance,
    Orphans,
    PostgresSource,
    Schedule,
    Source,
    TableDefinition,
    Tls,
    WebPage,
)
from lakesmith.project.project_file import CatalogForm, ChecksForm, EngineForm, ProjectForm, TargetForm
from lakesmith.project.written import defaults_model, field_of, model_of, user_doc
from lakesmith.quality import predicate
from lakesmith.quality.model import Keyword, Operator
from lakesmith.quality.rule_types import TYPES, RuleType, refusal

_NOTE: Final = "<!-- generated: python scripts/setting_pages.py docs/reference -->"
_WORDS: Final = {str: "text", bool: "true or false", int: "number", float: "number"}
_TABLE_EXAMPLE: Final = """```yaml
# tables/bronze/orders.yaml
source:
  files: {path: landing/orders/, pattern: "*.csv"}
columns: {order_id: bigint, city: string, updated_at: timestamp}
```
```yaml
# tables/silver/orders.yaml
from: bronze.orders
key: [order_id]
latest_by: [updated_at]
rules: |
  Rules = [ IsComplete "city" ]
```"""
_PROJECT_EXAMPLE: Final = """```yaml
name: shop
default_target: local
targets:
  local: {}
  prod:
    catalog: {type: glue, warehouse: "s3://shop-lake/", glue.region: "${AWS_REGION}"}
vars: {first_day: "2024-01-01"}
defaults: {owner: data team}
```"""


_RULES: Final = (
    "The `rules` of a [table](table.md) are DQDL, the language of AWS Glue Data Quality."
    " [Quality](../quality.md) explains them; this page lists them."
)
_RULES_EXAMPLE: Final = """```
Rules = [
    IsComplete "email",
    ColumnValues "price" > 0 where "status = 'paid'",
    (ColumnValues "country" in ["NO", "SE"]) or (ColumnLength "vat_id" between 7 and 15)
]
```"""
_OPERANDS: Final = {
    "between": " 1 and 3",
    "not between": " 1 and 3",
    "in": ' ["a", "b"]',
    "not in": ' ["a", "b"]',
    "matches": ' "[a-z]+"',
    "not matches": ' "[a-z]+"',
}


def pages() -> dict[str, str]:
    """Returns file names and the texts of the pages."""
    made = {"table.md": _table_page(), "project.md": _project_page(), "rules.md": _rules_page()}
    return {name: "\n".join(map(_wrapped, lines)) for name, lines in made.items()}


def _wrapped(text: str) -> str:
    """Wraps a paragraph or a list item at 118 characters; leaves tables and code."""
    body = text.rstrip("\n")
    if text.startswith(("|", "#", "<", "`")) or "\n" in body:
        return text
    indent = "  " if text.startswith("- ") else ""
    lines = textwrap.wrap(body, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) + text[len(body) :]


def _table_page() -> Iterator[str]:
    yield from ("# A table's settings", "", _NOTE, "", user_doc(TableDefinition), "", _TABLE_EXAMPLE, "")
    yield from section("What the table is", TableDefinition, shared=False)
    yield from section("How it is kept", TableDefinition, shared=True)
    yield "These can be given to all tables of a folder in its `_defaults.yaml`; the nearest one wins.\n"
    yield from section("source: files", Source)
    yield from section("source: http", HttpSource)
    yield from section("source: postgres", PostgresSource)
    yield from section("source: kafka", KafkaSource)
    yield from section("external", ExternalTable)
    yield from section("emit", Emit)
    yield from section("lookups", Lookup)
    yield from section("columns: the long form", Column)
    yield from section("schedule: the long form", Schedule)
    yield from section("export", Export)
    yield from section("maintain", Maintenance)
    yield from section("maintain: orphans", Orphans)


def _project_page() -> Iterator[str]:
    yield from ("# lakesmith.yaml", "", _NOTE, "", user_doc(ProjectForm), "", _PROJECT_EXAMPLE, "")
    yield from section("Settings", ProjectForm)
    yield from section("targets", TargetForm)
    yield from section("engine", EngineForm)
    yield from section("checks", ChecksForm)
    yield from section("deploy", Deployment)
    yield from section("deploy: github", GitHub)
    yield from section("ui", WebPage)
    yield from section("tls", Tls)
    yield from section("catalog", CatalogForm)
    yield f"{user_doc(CatalogForm)}\n"
    shared = {key for key, (_, each) in all_settings(TableDefinition).items() if each.shared}
    fields = defaults_model().model_fields
    own = {key: (it, it.description or "") for key, it in fields.items() if key not in shared}
    yield from ("## _defaults.yaml", "", user_doc(defaults_model()), "")
    yield "It has the settings of a table's [How it is kept](table.md#how-it-is-kept), and:\n"
    yield from _rows(own)


def _rules_page() -> Iterator[str]:
    yield from ("# Rules", "", _NOTE, "", _RULES, "", _RULES_EXAMPLE, "")
    known = [each for name, each in TYPES.items() if not refusal(name) and each.level != "analyzer"]
    rows, tables = ([each for each in known if each.level == level] for level in ("row", "table"))
    yield from _types("Row rules", "a row passes if", rows)
    yield from _types("Table rules", "what is compared, or has to hold", tables)
    yield from ("## Conditions", "")
    yield from ("A condition is one of:", "")
    yield from (f"- `{operator}{_OPERANDS.get(operator, ' 1')}`" for operator in get_args(Operator))
    keywords = ", ".join(f"`{keyword}`" for keyword in get_args(Keyword))
    values = "Values are numbers, strings in double quotes, or, with `=`, `!=`, `in` and `not in`"
    yield from ("", f"{values}, {keywords}.", "")
    yield from ("## What is checked", "", *_terms(predicate.__doc__ or ""), "")
    yield from (
        "## Rule types of DQDL that are refused",
        "",
        "| rule type | why | instead |",
        "|---|---|---|",
    )
    for name in TYPES:
        if (refused := refusal(name)) is not None:
            yield f"| `{name}` | {refused[0]} | {refused[1]} |"
    yield ""


def _types(title: str, meaning: str, kinds: Sequence[RuleType]) -> Iterator[str]:
    yield from (
        f"## {title}",
        "",
        f"| rule type | {meaning} | condition | `where` | `threshold` |",
        "|---|---|---|---|---|",
    )
    for kind in kinds:
        takes = ("yes" if each else "" for each in (kind.where, kind.threshold))
        yield f"| `{kind.form}` | {kind.meaning} | {', '.join(kind.gives)} | {' | '.join(takes)} |"
    yield ""


def _terms(text: str) -> Iterator[str]:
    """The terms of a docstring, with the explanation indented below each, as a list."""
    for found in re.finditer(r"^(\w[\w ]*)\n((?: {4}.*\n)+)", inspect.cleandoc(text) + "\n", re.MULTILINE):
        yield f"- **{found[1]}** {_sentence(found[2])}"


def _sentence(text: str | None) -> str:
    return re.sub(r":class:`\w+`", "`IsComplete`", " ".join((text or "").split())).replace("``", "`")


def section(title: str, kind: type, shared: bool | None = None) -> Iterator[str]:
    """Yields the rows of a class's settings; ``shared``: whether ``_defaults.yaml`` may have them."""
    settings = all_settings(kind)
    fields = {field.alias or name: field for name, field in model_of(kind).model_fields.items()}
    chosen = [key for key, (_, each) in settings.items() if shared in (None, each.shared)]
    yield from (f"## {title}", "")
    ordered = sorted(chosen, key=lambda key: settings[key][1].shared)
    yield from _rows(
        {key: (fields[key], doc_of(owner := settings[key][0], field_of(owner, key))) for key in ordered}
    )


def _rows(fields: dict[str, tuple[FieldInfo, str]]) -> Iterator[str]:
    yield from ("| setting | value | |", "|---|---|---|")
    for name, (field, doc) in fields.items():
        needed = " **Required.**" if field.is_required() else ""
        yield f"| `{field.alias or name}` | {_value(field)} | {doc.replace('|', '&#124;')}{needed} |"
    yield ""


def _value(field: FieldInfo) -> str:
    return ", ".join(dict.fromkeys(_words(field.annotation)))


def _words(kind: Any) -> Iterator[str]:
    origin = get_origin(kind)
    if origin is Annotated:
        yield from _words(get_args(kind)[0])
    elif origin is Literal:
        yield " · ".join(f"`{value}`" for value in get_args(kind))
    elif origin in (Union, types.UnionType):
        yield from _either(part for part in get_args(kind) if part is not type(None))
    elif origin is list:
        yield "list"
    elif origin is dict or (isinstance(kind, type) and issubclass(kind, BaseModel)):
        yield "mapping"
    elif isinstance(kind, type) and issubclass(kind, enum.Enum):
        yield " · ".join(f"`{member.value}`" for member in kind)
    else:
        yield _WORDS[kind]


def _either(kinds: Iterable[Any]) -> Iterator[str]:
    for kind in kinds:
        yield from _words(kind)


FOLDER: Final = Path(__file__).parents[1] / "src" / "lakesmith" / "schemas"
MODELS: Final[dict[str, type[BaseModel]]] = {
    "project.schema.json": model_of(ProjectForm),
    "table.schema.json": model_of(TableDefinition),
    "defaults.schema.json": defaults_model(),
}


def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Returns the schema of a file (JSON Schema 2020-12), as data."""
    schema = model.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def schema_texts() -> dict[str, str]:
    """Returns file names and the texts of the files."""
    return {
        name: json.dumps(json_schema(model), indent=2, ensure_ascii=False) + "\n"
        for name, model in MODELS.items()
    }


def main(folder: str) -> None:
    """Writes the pages into a folder, and the schemas into the package."""
    for where, texts in ((Path(folder), pages()), (FOLDER, schema_texts())):
        where.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (where / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
