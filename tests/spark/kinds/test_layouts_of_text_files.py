"""Text files as people and services write them: every record is ingested once or refused."""

import gzip
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from harness import MakeShop
from pyspark import cloudpickle

from lakesmith.sources.formats.csv_records import csv_records
from lakesmith.sources.formats.json_values import json_values
from lakesmith.spark.read.in_python import Split, for_workers

pytestmark = pytest.mark.in_turn("file", of=3)

EVENTS = """
    source:
      files: {{path: landing/{name}/, format: json{more}}}
    columns: {{id: bigint, s: string, n: "struct<x:decimal(9,2)>"}}
    """
PRETTY = [{"id": at, "s": f'"}}{{ {at}\n', "n": {"x": at / 4}} for at in range(40)]
GLUED = [{"id": at, "s": "é"} for at in range(100, 3100)]
JSON_FILES = {
    "glued.json.gz": gzip.compress("".join(json.dumps(row, ensure_ascii=False) for row in GLUED).encode()),
    "pretty.json": "\n".join(json.dumps(row, indent=2) for row in PRETTY[:20]).replace("\n", "\r\n"),
    "array.json": "\ufeff" + json.dumps(PRETTY[20:], indent=1),
    "lines.json": '{"id": 50}\n{"id": 51\n{"id": 52}\n{"id": 53}{"id": 54}\n',
    "broken.json": '{\n  "id": 60\n}\n{\n  "id": 61,\n  "s": \n}\n{\n  "id": 62\n}\n',
    "bytes.json": b'{"id": 70}{"id": 71, "s": "\xff"}{"id": 72, "n": {"x": 1.999}}[{"id": 73}',
}


def test_json_of_every_layout(make_shop: MakeShop) -> None:
    files = {
        "tables/bronze/events.yaml": EVENTS.format(name="events", more=""),
        "tables/bronze/wide.yaml": EVENTS.format(name="wide", more=", encoding: UTF-16"),
        "tables/bronze/lines.yaml": EVENTS.format(name="lines", more=""),
        "tables/bronze/told.yaml": EVENTS.format(name="told", more=", multiline: true"),
    }
    shop = make_shop(files)
    for name, content in JSON_FILES.items():
        shop.land(f"landing/events/{name}", content)
    shop.land("landing/wide/a.json", json.dumps(PRETTY, indent=1).encode("utf-16"))
    late = "".join(f'{{"id": {at}}}\n' for at in range(2000)) + '{"id": 2000}{"id": 2001}\n{\n"id": 2002\n}\n'
    for folder in ("lines", "told"):
        shop.land(f"landing/{folder}/a.json", late)

    published = shop.must_run().published

    taken = [
        *(("array.json", at - 19, row["id"], row["s"]) for at, row in enumerate(PRETTY) if at >= 20),
        ("broken.json", 1, 60, None),
        ("broken.json", 3, 62, None),
        ("bytes.json", 1, 70, None),
        ("bytes.json", 4, 73, None),
        *(("glued.json.gz", at, row["id"], "é") for at, row in enumerate(GLUED, 1)),
        *(("lines.json", at, row, None) for at, row in ((1, 50), (3, 52), (4, 53), (5, 54))),
        *(("pretty.json", at + 1, row["id"], row["s"]) for at, row in enumerate(PRETTY) if at < 20),
    ]
    found = shop.rows("bronze.events", "_source_file", "_source_position", "id", "s")
    assert sorted(found) == sorted((f"landing/events/{file}", *row) for file, *row in taken)
    assert {
        (row["source_file"].rpartition("/")[2], row["source_position"]): (row["raw"], row["reasons"][0][:20])
        for row in shop.quarantine("bronze.events")
    } == {
        ("broken.json", 2): ('{\n  "id": 61,\n  "s": \n}', "not one JSON object"),
        ("bytes.json", 2): ('{"id": 71, "s": "\ufffd"}', "not valid UTF-8"),
        ("bytes.json", 3): ('{"id": 72, "n": {"x": 1.999}}', "n: not a struct<x:de"),
        ("bytes.json", 5): ("[", "an array that is not"),
        ("lines.json", 2): ('{"id": 51', "not one JSON object"),
    }
    account = published["bronze.events"].account
    assert (account.read, account.inserted, account.quarantined) == (len(taken) + 5, len(taken), 5)
    assert shop.rows("bronze.wide", "id", "s") == [(row["id"], row["s"]) for row in PRETTY]
    assert shop.rows("bronze.told", "id") == [(at,) for at in range(2003)]
    # Of a file that begins with lines, what is none says what would read it.
    assert shop.rows("bronze.lines", "id") == [(at,) for at in range(2000)]
    assert {"multiline: true" in row["reasons"][0] for row in shop.quarantine("bronze.lines")[:1]} == {True}


TITLES = 'sep=;\r\nReport "Q1\r\n\r\n# made by hand\r\nid;s\r\n'
CSV_FILES: list[tuple[str, str, bytes, list[tuple[object, ...]], list[tuple[int, str]]]] = [
    (
        "lines_before_and_after",
        "delimiter: ';', skip_lines: 3, skip_last: 2, comment: '#'",
        (TITLES + "1;a\r\n# no row\r\nx;b\r\n2;#c\r\n\r\nTotal;;\r\n3\r\n").encode(),
        [(1, "a", 1), (2, "#c", 3)],
        [(2, "id: not a bigint: 'x'")],
    ),
    (
        "with_values_over_lines",
        "delimiter: ';', skip_lines: 3, skip_last: 1, comment: '#', multiline: true, encoding: windows-1252",
        (TITLES + '1;"a\r\n#é"\n2;"b\nc"\r# no row\r\n\n3;€\r\n"4;5";"\n;\n"\nTotal;"\n').encode(
            "windows-1252"),
        [(1, "a\r\n#é", 1), (2, "b\nc", 2), (3, "€", 3)],
        [(4, "id: not a bigint: '4;5'")],
    ),
    ("wide", "encoding: UTF-16, multiline: true", 'id,s\r\n1,"Ċ\r\nഊ"\n2,"b\nc"\r\n'.encode("utf-16"),
     [(1, "Ċ\r\nഊ", 1), (2, "b\nc", 2)], []),
    ("blanks_first", "{}", b"\n  \r\nid,s\n1,a\n", [(1, "a", 1)], []),
    ("an_index", "on_new_column: ignore", b",id,s,\n0,1,a,\n1,2,b,\n,id,s,\n", [(1, "a", 1), (2, "b", 2)],
     [(3, "the header again")]),
    ("no_header", "header: false, skip_lines: 1, comment: '-'", b"a;b;c\n--\n1,a\n", [(1, "a", 1)], []),
    ("nothing_left", "skip_last: 3", b"id,s\n1,a\n", [], []),
]  # fmt: skip


def test_csv_from_peoples_hands(make_shop: MakeShop) -> None:
    source = (
        "source:\n  files: {{path: landing/{name}/, format: csv{more}}}\ncolumns: {{id: bigint, s: string}}\n"
    )
    files = {
        f"tables/bronze/{name}.yaml": source.format(name=name, more="" if more == "{}" else f", {more}")
        for name, more, *_ in CSV_FILES
    }
    titled = {
        "sep": (b"sep=;\nid;s\n1;a\n", "skip_lines: 1"),
        "title": (b"Report Q1\n\nid,s\n1,a\n2,b\n3,c\n", "skip_lines"),
    }
    for name in titled:
        files[f"tables/bronze/{name}.yaml"] = f"source:\n  files: {{path: landing/{name}/, format: csv}}\n"
    shop = make_shop(files)
    for name, _, content, *_ in CSV_FILES:
        shop.land(f"landing/{name}/a.csv", content)
        shop.land(f"landing/{name}/b.csv.gz", gzip.compress(content))
    for name, (content, _) in titled.items():
        shop.land(f"landing/{name}/a.csv", content)

    result = shop.run()

    for name, _, _, taken, bad in CSV_FILES:
        assert f"bronze.{name}" in result.published, (name, result.problems)
        assert sorted(shop.rows(f"bronze.{name}", "id", "s", "_source_position")) == sorted(taken * 2), name
        found = [(row["source_position"], *row["reasons"]) for row in shop.quarantine(f"bronze.{name}")]
        assert sorted(found) == sorted(bad * 2), name
        assert result.published[f"bronze.{name}"].account.read == 2 * len(taken + bad), name
    problems = {Path(problem.place.file).stem: problem for problem in result.problems if problem.place}
    assert {name: problem.code for name, problem in problems.items()} == dict.fromkeys(titled, "LS435")
    for name, (_, setting) in titled.items():
        assert setting in str(problems[name].hint), name


def test_a_packed_file_that_was_cut_is_left_out_whatever_its_layout(make_shop: MakeShop) -> None:
    noise = b"".join(b'{"id":%d,"s":"%x"}' % (number, number * 7919) for number in range(9000))
    table = 'b\n1,"' + "".join(f"{number * 7919:x}\n" for number in range(9000)) + '"\n'
    source = (
        "source:\n  files: {{path: landing/{0}/, format: {0}, multiline: true, on_bad_file: skip}}\n"
        "columns: {{id: bigint, s: string}}\n"
    )
    shop = make_shop({f"tables/bronze/{kind}.yaml": source.format(kind) for kind in ("json", "csv")})
    for kind, whole in (("json", noise), ("csv", b"id,s" + table[1:].encode())):
        shop.land(f"landing/{kind}/a.{kind}.gz", gzip.compress(whole))
        shop.land(f"landing/{kind}/b.{kind}.gz", gzip.compress(whole)[:-2000])
    published = shop.must_run().published
    assert {name: (record.files, record.account.read) for name, record in published.items()} == {
        "bronze.json": (1, 9000),
        "bronze.csv": (1, 1),
    }
    assert all("b." in " ".join(record.notes) for record in published.values())


WORKER = """
import pickle, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "lakesmith":
            raise ImportError(name)
sys.meta_path.insert(0, Missing())
rows = [b'{"file":"a","at":5}\\n{"id": 1}{"id"', b': 2}\\xff', b"x,y"]
for split in pickle.loads(sys.stdin.buffer.read()):
    print(list(split(rows)))
"""


def test_workers_need_no_lakesmith() -> None:
    whole = partial(csv_records, delimiter=",", quote='"', escape="", comment="#", skip=0)
    given = cloudpickle.dumps([for_workers(Split(json_values)), for_workers(Split(whole))])
    done = subprocess.run([sys.executable, "-c", WORKER], input=given, capture_output=True, check=True)
    of_json, of_csv = done.stdout.decode().splitlines()
    assert of_json.startswith("[(b'{\"id\": 1}', 'a', 1, 5), (b'{\"id\"\\n: 2}', 'a', 2, 5)")
    assert of_csv.endswith("(b'x,y', 'a', 3, 5)]")
