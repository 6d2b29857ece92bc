"""What an intake says of itself is what it does: events that fit its schema are taken, others are not."""

import json
import re
import urllib.request
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from intake_process import Serving
from jsonschema import Draft202012Validator, FormatChecker

from lakesmith.graph.graph import load
from lakesmith.serve.intake import app
from lakesmith.serve.intake.events import EventReader
from lakesmith.serve.openapi import described
from lakesmith.serve.routes import EventSource, event_sources
from lakesmith.serve.send.values import EventMaker, Occasion

TABLE = """description: What the tills say.
source:
  http: {path: /sales, tokens: [TILL], event_id: [receipt]}
columns:
  receipt: string
  price: {type: "decimal(10,2)", required: true, doc: In euros}
  amount: int
  product_id: bigint
  weight: double
  gift: boolean
  day: date
  at: timestamp
  tags: array<string>
  more: "struct<a:int,b:map<string,bigint>>"
"""


def sources(root: Path, text: str = TABLE) -> tuple[EventSource, ...]:
    (root / "tables/bronze").mkdir(parents=True)
    (root / "lakesmith.yaml").write_text("name: shop\n")
    (root / "tables/bronze/sales.yaml").write_text(text)
    return event_sources(load(root, None, {})[0])


FORMATS = FormatChecker()
FORMATS.checks("date-time", ValueError)(
    lambda value: not isinstance(value, str) or bool(datetime.fromisoformat(value))
)


def schema(document: Any) -> Draft202012Validator:
    found = document["components"]["schemas"]["bronze.sales.http"]
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(found, format_checker=FORMATS)


def test_columns_are_told(tmp_path: Path) -> None:
    document = described("shop", sources(tmp_path))
    event = document["components"]["schemas"]["bronze.sales.http"]
    assert event["required"] == ["receipt", "price"]
    assert event["additionalProperties"] is False
    assert event["properties"]["price"] == {
        "type": "number",
        "format": "decimal",
        "description": "In euros. at most 8 digits before the point and 2 after it",
    }
    assert event["properties"]["amount"]["maximum"] == 2**31 - 1
    assert event["properties"]["at"] == {"type": ["string", "null"], "format": "date-time"}
    post = document["paths"]["/sales"]["post"]
    assert post["security"] == [{"token": []}]
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


def test_without_tokens_none_is_asked_for(tmp_path: Path) -> None:
    document = described("shop", sources(tmp_path, TABLE.replace("tokens: [TILL], ", "")))
    assert "securitySchemes" not in document["components"]
    post = document["paths"]["/sales"]["post"]
    assert "security" not in post
    assert "401" not in post["responses"]


def test_every_answer_is_told(tmp_path: Path) -> None:
    told = set(described("shop", sources(tmp_path))["paths"]["/sales"]["post"]["responses"])
    text = Path(app.__file__).read_text()
    refused = set(re.findall(r"Refused\((\d+)", text)) - {"405"}
    assert told == {"202", *refused}


def test_references_lead_somewhere(tmp_path: Path) -> None:
    document = described("shop", sources(tmp_path))
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert named == set(document["components"]["schemas"])


def test_what_fits_the_schema_is_taken_and_what_is_taken_fits(tmp_path: Path) -> None:
    (each,) = sources(tmp_path)
    validator, reader = schema(described("shop", [each])), EventReader(each.table.columns, ["receipt"])
    maker = EventMaker(each.table.columns, ["receipt"])
    for seed in range(200):
        occasion = Occasion(Random(seed), datetime(2026, 11, 23), seed)
        for text in (maker.good(occasion), maker.bad(occasion)):
            takes = not reader.read(text.encode()).faults
            assert validator.is_valid(json.loads(text)) is takes, text


@pytest.mark.parametrize(
    ("event", "fits"),
    [
        ({"receipt": "a", "price": 1.5, "amount": None}, True),
        ({"receipt": "a", "price": 1.5, "other": 1}, False),
        ({"receipt": None, "price": 1.5}, False),
        ({"receipt": "a", "price": 1, "amount": 2**31}, False),
        ({"receipt": "a", "price": 1, "gift": 1}, False),
        ({"receipt": "a", "price": 1, "tags": {}}, False),
    ],
)
def test_single_values(tmp_path: Path, event: Any, fits: bool) -> None:
    (each,) = sources(tmp_path)
    reader = EventReader(each.table.columns, ["receipt"])
    assert schema(described("shop", [each])).is_valid(event) is fits
    assert (not reader.read(json.dumps(event).encode()).faults) is fits


def test_it_is_served(serving: Serving) -> None:
    server = serving({"TILL": "x"}, sales=TABLE)
    with urllib.request.urlopen(f"{server.url}/openapi.json", timeout=10) as answer:
        assert answer.headers["Content-Type"] == "application/json"
        document = json.load(answer)
    assert document["openapi"] == "3.1.0"
    assert set(document["paths"]) == {"/sales", "/health", "/ready", "/metrics"}
