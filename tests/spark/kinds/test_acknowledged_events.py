"""An acknowledged event is a row or in quarantine, whatever it holds and the definition became."""

import pytest
from harness import Harness, MakeShop
from out_of_quarantine import replay

from lakesmith import Lakehouse
from lakesmith.execute.events import RunResult
from lakesmith.serve.arrivals import Arrivals
from lakesmith.serve.intake.events import EventReader
from lakesmith.serve.intake.frames import Frame, Request
from lakesmith.serve.intake.segments import Segments
from lakesmith.serve.intake.writer import Writer
from lakesmith.serve.options import UpOptions
from lakesmith.serve.routes import event_sources
from lakesmith.serve.up import _Around
from lakesmith.serve.watch import TopicWatcher, Watcher

TABLE = """
    source: {{http: {{path: /{name}}}}}
    columns:
      id: {{type: bigint, required: true}}
      st: "struct<{fields}>"
      price: decimal(10,2)
      note: string
      shop: string
      {who}
    partition_by: [shop]
    {policy}
    """
POLICIES = {"plain": "", "fails": "on_bad_row: fail", "keeps": "on_bad_row: quarantine"}


def tables(fields: str = "a:int", who: str = "who: string") -> dict[str, str]:
    return {
        f"tables/bronze/{name}.yaml": TABLE.format(name=name, fields=fields, who=who, policy=policy)
        for name, policy in POLICIES.items()
    }


def acknowledge(shop: Harness, *events: str) -> None:
    """Writes a segment of these events for each table, as the intake, or an earlier release, would have."""
    for name in POLICIES:
        segments = Segments(shop.root / f".lakesmith/intake/bronze.{name}/http")
        segments.open()
        segments.append([Frame("".join(f"{event}\n" for event in events).encode())])
        segments.seal()
        segments.close()


NAMELESS = '{"st":{"a":1}}'
BAD = {
    '{"id":2,"st":{"b":1}}': "st.b: no such field", '{"id":3,"colour":"red"}': "colour: no such column",
    '{"id":4,"ID":5}': "ID: no such column", '{"id":5,"st":{"a":1,"A":2}}': "st.A: no such field",
    '{"id":6,"st":[]}': "st: not a struct", NAMELESS: "column id is required",
    '{"id":7,"price":1e99999999}': "a number out of all range",
    '{"id":8,"price":"1e-99999999"}': "a number out of all range",
    '{"id":9,"price":"1,50"}': "price: not a decimal(10,2): '1,50'", f'{{"id":10,"{"x" * 60_000}":1}}': "",
    f'{{"id":11,"note":{"[" * 1500}{"]" * 1500}}}': "", f'{{"id":12,"price":{"9" * 1500}}}': "",
    '{"id":13,"note":{"a":1,"a":2}}': "a key is given twice in one object",
    '{"id":14,"shop":"' + "é" * 100 + '"}': "shop: too long a text to partition by",
    "[]": "not one JSON object",
}  # fmt: skip
GOOD = [
    '{"id":20,"st":{"a":2.0},"price":"1.50","note":7.0}',
    '{"id":21.0,"note":"9e12345678","who":"Ann"}',
    f'{{"id":22,"note":[1.5,"{chr(92)}{chr(34)}{"z" * 100_000}"]}}',
    f'{{"id":23,"note":[1.5,"{chr(92) * 200_000}"]}}',
]
ROWS = [
    (20, 2, "7.0", None), (21, None, "9e12345678", "Ann"), (22, None, "[1.5", None), (23, None, "[1.5", None),
]  # fmt: skip


@pytest.mark.in_turn
def test_no_event_stops_a_batch_and_the_way_back_is_open(make_shop: MakeShop) -> None:
    shop = make_shop(tables())
    acknowledge(shop, NAMELESS)
    acknowledge(shop, *BAD, *GOOD)
    assert shop.run().problems == []
    for name in POLICIES:
        found = shop.rows(f"bronze.{name}", "id", "st.a", "note", "who")
        assert [(id_, a, note[:10] if id_ < 22 else note[:4], who) for id_, a, note, who in found] == ROWS, (
            name
        )
        bad = shop.quarantine(f"bronze.{name}")
        assert len(bad) == len(BAD) + 1, name
        reasons = {row["raw"]: " ".join(row["reasons"]) for row in bad if row["raw"]}
        parsed = " ".join(reason for row in bad if not row["raw"] for reason in row["reasons"])
        assert [event for event, reason in BAD.items() if reason not in reasons.get(event, parsed)] == [], (
            name
        )
    shop.write(tables("a:int,b:int", "name: {type: string, renamed_from: who}"))
    acknowledge(shop, '{"id":30,"who":"Bob"}', '{"id":31,"name":"Eve"}', '{"id":32,"name":"Eve","who":"Eve"}')
    shop.must_run()
    assert shop.rows("bronze.keeps", "id", "name")[-2:] == [(30, "Bob"), (31, "Eve")]
    replay(shop, table="bronze.keeps")
    assert (2, None, 1) in shop.rows("bronze.keeps", "id", "st.a", "st.b")


def test_an_event_that_is_put_right_is_no_duplicate(make_shop: MakeShop) -> None:
    """Neither a wrong type nor a broken rule, which only the batch can find, not even after a restart."""
    columns = 'columns: {id: string, n: "decimal(10,2)"}'
    rules = 'rules: Rules = [ ColumnValues "n" > 0 ]'
    source = "source: {http: {path: /a, event_id: [id]}}"
    policy = "on_bad_row: quarantine"
    shop = make_shop({"tables/bronze/a.yaml": "\n".join((source, columns, rules, policy))})
    assert sent(shop, '{"id":2,"n":100000000}', '{"id":3,"n":-1}', '{"id":"4","n":1}') == 0
    assert sent(shop, '{"id":"2","n":100}', '{"id":4,"n":1}', '{"id":"3","n":1}') == 2
    shop.must_run()
    tidy(shop)
    assert sent(shop, '{"id":"2","n":100}', '{"id":"3","n":1}', '{"id":4.0,"n":1}') == 1
    assert sent(shop, '{"id":3,"n":1}') == 1
    shop.must_run()
    assert [id_ for id_, _ in shop.rows("bronze.a", "id", "n")] == ["2", "3", "4", "4.0"]


def sent(shop: Harness, *events: str) -> int:
    """How many events count as duplicates; the intake begins and ends."""
    (source,) = event_sources(shop.load()[0])
    reader, writer = (
        EventReader(source.table.columns, source.source.event_id),
        Writer(Segments(source.folder)),
    )
    writer.start()
    found = reader.read("\n".join(events).encode())
    answer = writer.take(Request(found.as_lines(), b"", found.ids))
    writer.stop()
    return answer.result(0).duplicates


def tidy(shop: Harness) -> None:
    """What ``up`` does after a run."""
    around = _Around(
        UpOptions(shop.root), Arrivals(), Watcher(print, print), TopicWatcher(lambda _table: None), Lakehouse
    )
    around.tidy(RunResult({}, {"bronze.a": "as of now"}, {}, (), 0.0, 0))
