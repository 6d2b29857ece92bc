"""JSON Schemas of the project's files for editors, generated from the declared settings.

``python -m lakesmith.project.reference.json_schema`` writes them into the package's folder ``schemas/``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from lakesmith.project.definitions import TableDefinition
from lakesmith.project.project_file import ProjectForm
from lakesmith.project.written import defaults_model, model_of

FOLDER: Final = Path(__file__).parents[2] / "schemas"
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


def main() -> None:
    """Writes the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in schema_texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
