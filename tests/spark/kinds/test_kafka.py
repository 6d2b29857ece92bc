"""Topics of a real Kafka become bronze tables, each record once, whatever happens to the run or the topic."""

import json
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from confluent_kafka import Producer
from harness import Harness, fail
from out_of_quarantine import replay

from kafka_server import PASSWORD, Server, running
from lakesmith.execute import faults
from lakesmith.execute.decide import Decider
from lakesmith.plan.steps import UpToDate
from lakesmith.project.definitions import KafkaSource, TableName
from lakesmith.sources.kafka.broker import java_connection
from lakesmith.sources.kafka.slices import Slice
from lakesmith.spark.read.kafka import read_slices
from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.in_turn("file", of=3)

SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "sold", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}},
        {"name": "raw", "type": "bytes"},
    ],
}
ORDERS = """
    source: {kafka: {connection: SHOP_KAFKA, topic: TOPIC, SETTINGS}}
    columns: {id: {type: bigint, required: true}, price: "decimal(10,2)", page: string}
    on_bad_row: quarantine
    """


def table(topic: str, settings: str = "values: json") -> str:
    return ORDERS.replace("TOPIC", topic).replace("SETTINGS", settings)


FILES = {
    "schemas/order.avsc": json.dumps(SCHEMA),
    "tables/bronze/clicks.yaml": table("clicks", "keys: json"),
    "tables/bronze/bare.yaml": """
        source: {kafka: {connection: SHOP_KAFKA, topic: bare, values: avro}}
        avro_schema: schemas/order.avsc
        on_bad_row: quarantine
        """,
    "tables/bronze/framed.yaml": """
        source: {kafka: {connection: SHOP_KAFKA, topic: framed, values: avro, schema_ids: [7, 300]}}
        avro_schema: schemas/order.avsc
        on_bad_row: quarantine
        """,
    "tables/silver/current.yaml": """
        query: SELECT id, price, _tombstone, _source_position AS at FROM bronze.clicks
        key: [id]
        latest_by: [at]
        delete_when: _tombstone
        """,
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as server:
        yield server


@pytest.fixture(scope="module")
def shop(
    tmp_path_factory: pytest.TempPathFactory, session: SessionHandle, server: Server
) -> Iterator[Harness]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOP_KAFKA", server.connection)
        yield Harness(tmp_path_factory.mktemp("kafka") / "shop", session, FILES)


def decided(shop: Harness, name: str) -> object:
    return Decider(shop.load()[1], shop.lake()).decide(TableName.parse(name))


def test_json(shop: Harness, server: Server) -> None:
    """Values are as exact as in files; what does not parse is in quarantine as it came; tombstones delete."""
    for topic in ("clicks", "bare", "framed"):
        server.make(topic, 2)
    first = '{"id": 1, "price": 0.10, "page": "\\u00e9"}'
    server.send("clicks", [('{"id": 1}', first)], headers=[("till", b"4"), ("x", None), ("till", b"\xff")])
    server.send("clicks", [(None, "{ }"), (None, "no json"), (b"\xff\x00", '{"id": "1"}')])
    server.send("clicks", [(None, '{"id": 3, "page": "\ud83d"}'.encode("utf-8", "surrogatepass"))])
    server.send("clicks", [("k", ' \n{ "id": 12345678901234567, "price": 99999999.99}')], partition=1)
    record = shop.must_run().published["bronze.clicks"]
    assert (record.account.read, record.account.inserted, record.account.quarantined) == (6, 2, 4)
    headers = [("till", "4"), ("x", None), ("till", "0xff")]
    assert shop.rows("bronze.clicks", "id", "price", "page", "_key", "_headers", "_tombstone") == [
        (1, Decimal("0.10"), "é", '{"id": 1}', headers, False),
        (12345678901234567, Decimal("99999999.99"), None, "k", None, False),
    ]
    kept = shop.quarantine("bronze.clicks")
    bad = {row["source_position"]: (row["raw"], row["reasons"]) for row in kept}
    assert bad[1] == (None, ["column id is required"])
    assert bad[2] == ("no json", ["not one JSON object"])
    assert bad[3] == ('{"id": "1"}', ["id: not a bigint: '1'"])
    assert bad[4] == ('{"id": 3, "page": "\ufffd\ufffd\ufffd"}', ["not valid UTF-8"])
    besides = {row["source_position"]: row["row"] for row in kept}
    assert besides[2] == '{"_key":null,"_headers":null,"_tombstone":false}'
    assert besides[3] == '{"_key":"0xff00","_headers":null,"_tombstone":false}'
    assert isinstance(decided(shop, "bronze.clicks"), UpToDate)
    server.send("clicks", [('{"id": 1}', None), ("no json", None)])
    record = shop.must_run().published["bronze.clicks"]
    assert (record.account.read, record.account.inserted, record.account.quarantined) == (2, 1, 1)
    assert shop.rows("silver.current", "id") == [(12345678901234567,)]
    assert shop.rows("bronze.clicks", "_source_position", "id", "_tombstone")[-1] == (5, 1, True)


@pytest.mark.in_turn
def test_json_behind_the_number_of_a_schema(shop: Harness, server: Server) -> None:
    """A registry's prefix is no part of a value; with `schema_ids`, other and missing numbers are refused."""
    server.make("tagged")
    values = [
        b'\0\0\0\0\7{"id": 1}', b'\0\0\0\1\54 {"id": 2}', b'\0\0\0\0\x80{"id": 3}', b'{"id": 4}',
        b'\0\xff\xff\xff\xff{"id": "x"}', b"\0\0\0\0\7", b"\0\0\7",
    ]  # fmt: skip
    server.send("tagged", [(None, value) for value in values])
    tables = {
        f"tables/bronze/{name}.yaml": table("tagged", settings)
        for name, settings in (("any", "values: json"), ("some", "schema_ids: [7, 300]"))
    }
    shop.redefine(tables, "bronze.any", "bronze.some")
    assert shop.rows("bronze.any", "id") == [(1,), (2,), (3,), (4,)]
    assert shop.rows("bronze.some", "id") == [(1,), (2,)]
    bad = {row["source_position"]: (row["raw"], row["reasons"]) for row in shop.quarantine("bronze.any")}
    assert bad[4] == ('{"id": "x"}', ["id: not a bigint: 'x'"])
    assert (sorted(bad), bad[5]) == ([4, 5, 6], ("", ["not one JSON object"]))
    none = "its first bytes are not the number of a schema in `schema_ids`"
    bad = {row["source_position"]: (row["raw"], row["reasons"]) for row in shop.quarantine("bronze.some")}
    assert bad == {
        **{at: ("0x" + values[at].hex().upper(), [none]) for at in (2, 3, 4, 6)},
        5: ("", ["not one JSON object"]),
    }


def test_killed_between_intent_and_publishing(shop: Harness, server: Server) -> None:
    """What a batch that died had taken is taken again, with what came since; each record is there once."""
    server.make("killed", 3)
    shop.write({"tables/bronze/killed.yaml": table("killed")})
    for partition in range(3):
        server.send("killed", [(None, f'{{"id": {partition}}}')], partition)

    for number, point in enumerate(("after-intent", "before-publish")):
        faults.arrange(point, fail, "bronze.killed")
        assert shop.run("bronze.killed").code == 1
        faults.clear()
        server.send("killed", [(None, f'{{"id": {number}}}')], 1)
    shop.must_run("bronze.killed")
    assert [row[0] for row in shop.rows("bronze.killed", "_source_position")] == [0, 0, 0, 1, 2]
    assert shop.record("bronze.killed").account.read == 5


def test_a_topic_that_changes(shop: Harness, server: Server) -> None:
    """New partitions are reported; lost records and a recreated topic stop the table until a choice."""
    server.make("moving", 1)
    server.send("moving", [(None, '{"id": 1}')])
    shop.redefine({"tables/bronze/moving.yaml": table("moving")}, "bronze.moving")
    server.add_partitions("moving", 2)
    server.send("moving", [(None, '{"id": 2}')], partition=1)
    step = decided(shop, "bronze.moving")
    (note,) = step.notes  # type: ignore[attr-defined]
    assert note == "source 'kafka': partition 1 is new and taken from its beginning"
    shop.must_run("bronze.moving")

    server.send("moving", [(None, f'{{"id": {number}}}') for number in (3, 4, 5)])
    server.forget_before("moving", 3)
    (problem,) = shop.run("bronze.moving").problems
    assert (problem.code, problem.found) == ("LS463", "partition 0 begins at 3, 2 offsets are gone")
    shop.write({"tables/bronze/moving.yaml": table("moving", "on_gone: skip")})
    record = shop.must_run("bronze.moving").published["bronze.moving"]
    gap = "source 'kafka': partition 0: offsets 1 to 2 are gone and were not taken (on_gone: skip)"
    assert gap in record.notes
    assert shop.rows("bronze.moving", "id") == [(1,), (2,), (5,)]

    server.make("moving", 1)
    server.send("moving", [(None, '{"id": 6}')])
    (problem,) = shop.run("bronze.moving").problems
    assert problem.code == "LS462"
    shop.redefine({"tables/bronze/moving.yaml": table("moving", "on_recreated: restart")}, "bronze.moving")
    assert shop.rows("bronze.moving", "id") == [(1,), (2,), (5,), (6,)]
    assert isinstance(decided(shop, "bronze.moving"), UpToDate)


@pytest.mark.in_turn
def test_transactions(shop: Harness, server: Server) -> None:
    """Abandoned records are not ingested; missing offsets, and a start at the end, are reported."""
    server.make("paid", 1)
    shop.write({"tables/bronze/paid.yaml": table("paid", "start: latest")})
    server.send("paid", [(None, '{"id": 1}')])
    shop.must_run("bronze.paid")
    assert shop.rows("bronze.paid") == []
    server.send("paid", [(None, '{"id": 2}')], more={"transactional.id": "a"})
    producer = Producer({**server.properties, "transactional.id": "b"})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("paid", '{"id": 3}')
    producer.flush(20)
    producer.abort_transaction(20)
    record = shop.must_run("bronze.paid").published["bronze.paid"]
    assert shop.rows("bronze.paid", "id") == [(2,)]
    assert record.account.read == 1
    assert "3 of 4 offsets have no record" in record.notes[0]


def zigzag(number: int) -> bytes:
    left, found = (number << 1) ^ (number >> 63), bytearray()
    while left > 127:
        found.append(left & 127 | 128)
        left >>= 7
    return bytes([*found, left])


def avro(order: int, name: str | None, sold: int, cents: int) -> bytes:
    """A record of SCHEMA, by Avro's specification."""
    text = b"\0" if name is None else b"\2" + zigzag(len(name.encode())) + name.encode()
    price = cents.to_bytes(9, "big", signed=True)
    return zigzag(order) + text + zigzag(sold) + zigzag(len(price)) + price + zigzag(2) + b"\xff\x00"


@pytest.mark.in_turn
def test_avro(shop: Harness, server: Server) -> None:
    """Bare, and behind a schema's number; other bytes go to quarantine, none are read as something else."""
    sold = 1_700_000_000_123_456
    good, plain = avro(2**62, "né\u2028", sold, -(10**19)), avro(1, None, 0, 5)
    server.send("bare", [("a", good), (None, plain), (None, b"\xff"), (None, b""), ("d", None)])
    framed = [
        b"\0\0\0\0\7" + good, b"\0\0\0\1\54" + plain, b"\0\0\0\0\10" + plain, b"\1\0\0\0\7" + plain, good,
    ]  # fmt: skip
    server.send("framed", [(None, value) for value in framed])
    shop.must_run("bronze.bare", "bronze.framed")
    expected = [
        (1, None, datetime(1970, 1, 1), Decimal("0.05"), "FF00"),
        (2**62, "né\u2028", datetime(2023, 11, 14, 22, 13, 20, 123_456), -Decimal(10**17), "FF00"),
    ]
    names = ("id", "name", "sold", "price", "hex(raw)")
    assert shop.frame("bronze.framed").orderBy("id").selectExpr(*names).collect() == expected
    bare = shop.frame("bronze.bare").where("NOT _tombstone").orderBy("id").selectExpr(*names)
    assert bare.collect() == expected
    assert ("d", None, True) in shop.rows("bronze.bare", "_key", "id", "_tombstone")
    assert [(row["raw"], row["reasons"]) for row in shop.quarantine("bronze.bare")] == [
        ("0xFF", ["not a record of the `avro_schema`"]),
        ("0x", ["not a record of the `avro_schema`"]),
    ]
    assert [row["source_position"] for row in shop.quarantine("bronze.framed")] == [2, 3, 4]


@pytest.mark.in_turn
def test_what_is_kept_of_a_topic(shop: Harness, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers that are away fail their table alone; nothing that is kept or said has the password."""
    server.make("away")
    server.send("away", [(None, '{"id": 1}'), (None, '{"id": 2, "price": "x"}')])
    shop.redefine({"tables/bronze/away.yaml": table("away")}, "bronze.away")
    monkeypatch.setenv("SHOP_KAFKA", server.connection.replace(f":{server.port}", ":1"))
    shop.write({"tables/bronze/files.yaml": "source: {files: {path: landing, format: csv}}\n"})
    shop.land("landing/a.csv", "id\n1\n")
    result = shop.run("bronze.away", "bronze.files")
    assert [problem.code for problem in result.problems] == ["LS461"]
    assert set(result.published) == {"bronze.files"}
    kept = [
        path for path in shop.root.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()
    ]
    assert kept == []
    source = shop.load()[0].table(TableName.parse("bronze.away")).sources[0]
    assert isinstance(source, KafkaSource)
    here = {"SHOP_KAFKA": server.connection}
    slices = [Slice("away", "id", 0, 0, 2).as_file()]
    read = read_slices(shop.spark, source, slices, java_connection(source, here))
    assert PASSWORD not in str(read._jdf.queryExecution())
    assert PASSWORD not in str(result.events) + Path(shop.session.log_path).read_text()


@pytest.mark.in_turn
def test_ways_back(shop: Harness, server: Server) -> None:
    """Replayed without the topic, key and headers too; a rolled-back table ingests again what it lost."""
    server.make("back")
    server.send("back", [("k", '{"page": "a"}'), (None, "{}")], headers=[("h", b"1")])
    shop.write({"tables/bronze/back.yaml": table("back")})
    server.send("back", [(None, '{"id": 1}')])
    shop.must_run("bronze.back")
    first = shop.head("bronze.back")
    server.forget_before("back", 2)
    shop.write({"tables/bronze/back.yaml": table("back").replace(", required: true", "")})
    assert replay(shop, table="bronze.back").code == 0
    expected = [
        (None, None, None, None, [("h", "1")], False),
        (None, None, "a", "k", [("h", "1")], False),
        (1, None, None, None, None, False),
    ]
    assert shop.rows("bronze.back") == expected
    server.send("back", [(None, '{"id": 2}')])
    shop.must_run("bronze.back")
    shop.spark.sql(f"CALL lake.system.rollback_to_snapshot('bronze.back', {first.snapshot_id})")
    assert shop.rows("bronze.back", "id") == [(1,)]
    shop.must_run("bronze.back")
    assert shop.rows("bronze.back", "id") == [(1,), (2,)]
    assert len(shop.quarantine("bronze.back")) == 2
