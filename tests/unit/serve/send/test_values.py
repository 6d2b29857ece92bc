"""Made-up events: the intake's reader accepts those that fit and refuses the others."""

import json
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from lakesmith.project.definitions import Column
from lakesmith.serve.intake.events import EventReader
from lakesmith.serve.send.batches import Batches, Shares
from lakesmith.serve.send.values import EventMaker, Occasion

MOMENT = datetime(2026, 11, 23, 10, 15)
TYPES = (
    "boolean", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp", "timestamp_ntz",
    "decimal(10,2)", "decimal(38,10)", "decimal(2,2)", "decimal(1,0)", "array<bigint>", "map<string,int>",
    "struct<city:string,tags:array<struct<at:timestamp,price:decimal(5,3)>>>",
)  # fmt: skip


def parsed(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


def made(maker: EventMaker, number: int = 1, seed: int = 0) -> Any:
    return parsed(maker.good(Occasion(Random(seed), MOMENT, number)))


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("kind", TYPES)
def test_what_is_made_fits_and_what_is_bad_does_not(kind: str, required: bool) -> None:
    columns = [Column("a", kind, required=required)]
    maker, reader = EventMaker(columns), EventReader(columns)
    for seed in range(30):
        occasion = Occasion(Random(seed), MOMENT, seed)
        good, bad = reader.read(maker.good(occasion).encode()), reader.read(maker.bad(occasion).encode())
        assert (good.faults, len(good.lines)) == ((), 1)
        assert bad.faults, maker.bad(occasion)


def test_values_are_plausible() -> None:
    maker = EventMaker([
        Column("price", "decimal(10,2)"), Column("product_id", "bigint"), Column("quantity", "int"),
        Column("sale_time", "timestamp"), Column("city", "string"), Column("share", "decimal(4,4)"),
    ])  # fmt: skip
    for seed in range(200):
        event = made(maker, seed=seed)
        assert event["price"].as_tuple().exponent == -2
        assert 1 <= event["price"] < 100
        assert 1 <= event["product_id"] <= 50
        assert 1 <= event["quantity"] <= 5
        assert event["sale_time"] == "2026-11-23T10:15:00.000Z"
        assert event["city"][0].isupper()
        assert 0 < event["share"] < 1


@pytest.mark.parametrize("kind", ["string", "bigint", "int", "decimal(12,0)"])
def test_an_event_id_never_comes_twice(kind: str) -> None:
    maker = EventMaker([Column("id", kind), Column("product_id", "bigint")], ["id"])
    assert len({str(made(maker, number)["id"]) for number in range(1000)}) == 1000


def batches(**shares: float) -> Batches:
    maker = EventMaker([Column("at", "timestamp"), Column("id", "bigint", required=True)])
    return Batches(maker, Shares(**shares), seed=7)


def test_a_seed_gives_the_same_values() -> None:
    one, other = batches(), batches()
    assert one.run != other.run
    ids = [[parsed(line)["id"] for line in each.make(3, 30, 10).body.splitlines()] for each in (one, other)]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) > 1


def test_shares_are_kept() -> None:
    many = batches(late=0.25, duplicate=0.5, bad=0.1)
    made = [many.make(number, number * 10, 10) for number in range(1000)]
    assert 400 < sum(each.again for each in made) < 600
    assert 60 < sum(not each.is_good for each in made) < 140
    assert len({each.key for each in made}) == 1000
    good = [parsed(line) for each in made if each.is_good for line in each.body.splitlines()]
    newest = max(datetime.fromisoformat(event["at"]) for event in good)
    late = [newest - datetime.fromisoformat(event["at"]) for event in good]
    behind = [each for each in late if each > timedelta(seconds=50)]
    assert 0.2 < len(behind) / len(good) < 0.3
    assert max(behind) < timedelta(hours=7)
