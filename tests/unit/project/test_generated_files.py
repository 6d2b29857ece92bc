"""The files made from the models are those the models would make now."""

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from setting_pages import FOLDER, MODELS, json_schema, pages, schema_texts

from lakesmith.project.yaml_reader import read_yaml

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", MODELS)
def test_schemas_are_as_the_models_are(name: str) -> None:
    found = (FOLDER / name).read_text(encoding="utf-8")

    assert found == schema_texts()[name], "make them again: python scripts/setting_pages.py docs/reference"


@pytest.mark.parametrize("name", pages())
def test_reference_pages_are_as_the_models_are(name: str) -> None:
    found = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")

    assert found == pages()[name], "make them again: python scripts/setting_pages.py docs/reference"


@pytest.mark.parametrize("name", MODELS)
def test_every_setting_is_documented(name: str) -> None:
    schema = json_schema(MODELS[name])
    models = [schema, *(d for d in schema["$defs"].values() if d["type"] == "object")]

    undocumented = [
        key for model in models for key, field in model["properties"].items() if not field.get("description")
    ]
    assert models
    assert not undocumented


@pytest.mark.parametrize(
    ("schema", "text", "valid"),
    [
        (
            "table.schema.json",
            "source: {files: {path: a/, format: csv}}\ncolumns: {a: int, b: {type: date}}",
            True,
        ),
        ("table.schema.json", "source: {web: {files: {path: a/}}, shop: {files: {path: b/}}}", True),
        ("table.schema.json", "from: bronze.orders\nkey: [a]\nowner:", True),
        ("table.schema.json", "from: bronze.orders\nkey: a", False),
        ("table.schema.json", "sauce: {files: {path: a/}}", False),
        ("table.schema.json", "source: {files: {path: a/, format: xml}}", False),
        (
            "project.schema.json",
            "name: shop\ntargets: {local:, prod: {catalog: {type: glue, warehouse: x}}}",
            True,
        ),
        ("project.schema.json", "targets: {local: {}}", False),
        ("project.schema.json", "name: shop\ntargets: {prod: {catalog: {type: hive}}}", False),
        ("defaults.schema.json", "source: {files: {format: csv}}", True),
        ("defaults.schema.json", "description: a", False),
    ],
)
def test_schemas_say_what_the_loader_says(schema: str, text: str, valid: bool) -> None:
    validator = Draft202012Validator(json_schema(MODELS[schema]))

    assert validator.is_valid(read_yaml(text, "f").value) is valid
