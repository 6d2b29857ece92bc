"""Logs of CloudFront are tables of typed columns, each read by its own header, and lose no line."""

import gzip
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from harness import MakeShop
from log_files import FIELDS, line, log
from out_of_quarantine import replay

pytestmark = pytest.mark.in_turn("file", of=3)

LOGS = {
    "tables/bronze/requests.yaml": """
        source:
          files: {path: landing/logs/, pattern: "*.gz", format: cloudfront}
        """
}
DECLARED = """
    source:
      files: {{path: landing/logs/, pattern: "*.gz", format: cloudfront}}
    columns: {{sc_bytes: "{type}", sc_status: {status}}}
    """
TEXTS = [
    # title, field, in the log, in the table
    ("a dash is null", "cs(Referer)", "-", None),
    ("a blank", "cs(User-Agent)", "Mozilla/5.0%20(X11)", "Mozilla/5.0 (X11)"),
    ("an escape of the viewer's own", "cs-uri-stem", "/a%2520b", "/a%20b"),
    ("a plus is a plus", "cs-uri-query", "q=a+b%26c", "q=a+b&c"),
    (
        "a user agent that was encoded twice",
        "cs(User-Agent)",
        "Mozilla/4.0%2520(a;%2520b)",
        "Mozilla/4.0 (a; b)",
    ),
    ("a referer that was encoded twice", "cs(Referer)", "https://x/%253Fa", "https://x/?a"),
    ("a percent sign in a user agent", "cs(User-Agent)", "a%20%2525", "a %25"),
    ("a byte that is no text, encoded twice", "cs(User-Agent)", "x%2588", "x%88"),
    ("a letter beyond ASCII", "cs-uri-stem", "/caf%C3%A9", "/café"),
    ("bytes that are not UTF-8 stay", "cs-uri-stem", "/caf%E9%20x", "/caf%E9%20x"),
    ("a broken escape stays", "cs-uri-stem", "/100%", "/100%"),
    ("an escape of wrong digits stays", "cs(User-Agent)", "a%zz%20b", "a%zz%20b"),
    ("U+FFFD itself", "cs-uri-query", "x=%EF%BF%BD", "x=\ufffd"),
    ("U+FFFD beside a broken escape", "cs-uri-query", "x=\ufffd%zz", "x=\ufffd%zz"),
    ("a line break", "cs(User-Agent)", "a%0Ab", "a\nb"),
    ("a text of a megabyte", "cs(User-Agent)", "M" * 1_000_000 + "%20", "M" * 1_000_000 + " "),
]


def test_a_log_becomes_a_table_of_typed_columns(make_shop: MakeShop) -> None:
    shop = make_shop(LOGS)
    usual = {"time": "23:59:59", "time-taken": "1.25", "c-port": "443", "sc-content-len": "5000000000"}
    shop.land("landing/logs/E1.2026-11-01-23.a.gz", gzip.compress(log(usual, {"sc-status": "000"}).encode()))
    record = shop.must_run().published["bronze.requests"]

    assert record.account.read == record.account.inserted == 2
    frame = shop.frame("bronze.requests")
    types = {field.name: field.dataType.simpleString() for field in frame.schema if field.name[0] != "_"}
    assert next(iter(types)) == "event_time" and list(types)[-1] == "log_line"
    assert {name for name, kind in types.items() if kind == "int"} == {
        "sc_status",
        "c_port",
        "fle_encrypted_fields",
    }
    assert types["cs_user_agent"] == types["x_edge_request_id"] == "string"
    columns = ("unix_micros(event_time)", "sc_status", "time_taken", "c_port", "sc_content_len", "cs_referer")
    found = [tuple(row) for row in frame.selectExpr(*columns, "log_line").orderBy("sc_status").collect()]
    at = datetime(2026, 11, 1, 23, 59, 59, tzinfo=UTC)
    assert found == [
        (
            int(at.replace(hour=0, minute=0, second=1).timestamp() * 1e6),
            0,
            0.002,
            None,
            None,
            None,
            line({"sc-status": "000"}),
        ),
        (int(at.timestamp() * 1e6), 200, 1.25, 443, 5_000_000_000, None, line(usual)),
    ]


def test_texts_are_decoded_once(make_shop: MakeShop) -> None:
    shop = make_shop(LOGS)
    records = ({field: text, "x-edge-request-id": str(at)} for at, (_, field, text, _) in enumerate(TEXTS))
    shop.land("landing/logs/a.gz", gzip.compress(log(*records).encode()))
    shop.must_run()

    found = {row["x_edge_request_id"]: row for row in shop.frame("bronze.requests").collect()}
    column = {"cs(Referer)": "cs_referer", "cs(User-Agent)": "cs_user_agent", "cs-uri-stem": "cs_uri_stem"}
    read = [found[str(at)][column.get(field, "cs_uri_query")] for at, (_, field, _, _) in enumerate(TEXTS)]
    assert [title for (title, *_, expected), text in zip(TEXTS, read, strict=True) if text != expected] == []


def test_each_file_is_read_by_its_own_header(make_shop: MakeShop) -> None:
    shop = make_shop(LOGS)
    shop.land("landing/logs/a.gz", gzip.compress(log({"sc-status": "200"}).encode()))
    shop.must_run()
    few = ("x-edge-request-id", "sc-status", "asn", "x-new-thing", "time", "date")
    new = {"x-edge-request-id": "id-2", "sc-status": "404", "asn": "16509", "x-new-thing": "a%20b"}
    result = shop.take("landing/logs/b.gz", gzip.compress(log(new, fields=few).encode()))
    notes = " ".join(str(event) for event in result.of("bronze.requests"))

    columns = ("x_edge_request_id", "sc_status", "asn", "x_new_thing", "cs_method")
    assert shop.rows("bronze.requests", *columns) == [
        ("id-1==", 200, None, None, "GET"),
        ("id-2", 404, 16509, "a b", None),
    ]
    assert "asn" in notes and "x_new_thing" in notes and "cs_method" in notes
    times = shop.frame("bronze.requests").selectExpr("string(event_time)").distinct().collect()
    assert [row[0] for row in times] == ["2026-11-01 00:00:01"]


def test_a_file_may_repeat_its_header_and_have_many_members(make_shop: MakeShop) -> None:
    shop = make_shop(LOGS)
    parts = [log({"x-edge-request-id": str(at)}).encode() for at in range(3)]
    record = shop.take("landing/logs/a.gz", b"".join(map(gzip.compress, parts))).published["bronze.requests"]

    assert record.account.read == record.account.inserted == 3
    assert shop.rows("bronze.requests", "x_edge_request_id") == [("0",), ("1",), ("2",)]


def test_a_row_in_quarantine_comes_back_by_the_present_definition(make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/requests.yaml": DECLARED.format(type="int", status="int")})
    late = {"x-edge-request-id": "id-2", "sc-bytes": "5000000000", "cs(User-Agent)": "a%20b"}
    shop.take("landing/logs/a.gz", gzip.compress(log({}, late).encode()))
    assert len(shop.quarantine("bronze.requests")) == 1

    shop.write({"tables/bronze/requests.yaml": DECLARED.format(type="bigint", status="int")})
    account = replay(shop, table="bronze.requests").published["bronze.requests"].account
    assert (account.read, account.inserted) == (1, 1)
    columns = ("x_edge_request_id", "sc_bytes", "cs_user_agent", "log_line", "_source_position")
    assert shop.rows("bronze.requests", *columns)[1] == ("id-2", 5_000_000_000, "a b", line(late), 2)


def test_what_does_not_parse_is_in_quarantine(make_shop: MakeShop) -> None:
    shop = make_shop(LOGS)
    bad = [
        line({"sc-status": "many"}),
        line({"x-edge-request-id": "nul\0"}),
        line()[:80],
        line() + "\tmore",
        line({"time": "25:00:00"}),
    ]
    text = log({}).encode() + "\n".join(bad).encode() + b"\n" + line({"cs-method": "\\xe4"}).encode()
    shop.take(
        "landing/logs/a.gz",
        gzip.compress(text + b"\n" + line().replace("GET", "G\0").encode()[:-1] + b"\xff\n"),
    )

    found = [
        (row["source_position"], row["reasons"], row["raw"]) for row in shop.quarantine("bronze.requests")
    ]
    assert shop.count("bronze.requests") == 2
    assert [(position, *reasons) for position, reasons, _ in found] == [
        (2, "sc_status: not an int: 'many'"),
        (3, "a NUL byte in the row"),
        (4, "row has 8 fields, the header has 33"),
        (5, "row has 34 fields, the header has 33"),
        (6, "event_time: not a timestamp: '2026-11-01T25:00:00Z'"),
        (8, "not valid UTF-8"),
    ]
    assert [raw for _, _, raw in found][:5] == bad


def test_declared_columns_are_of_their_types_and_the_others_come_along(make_shop: MakeShop) -> None:
    shop = make_shop(LOGS)
    shop.write({"tables/bronze/requests.yaml": DECLARED.format(type="decimal(20,0)", status="string")})
    shop.take("landing/logs/a.gz", gzip.compress(log({"sc-status": "000"}).encode()))

    assert shop.rows("bronze.requests", "sc_bytes", "sc_status", "c_ip") == [(4512, "000", "192.0.2.10")]


def test_a_number_of_more_digits_than_declared_is_refused_or_rounded_and_reported(
    make_shop: MakeShop,
) -> None:
    shop = make_shop(LOGS)
    declared = DECLARED.format(type="decimal(5,1)", status="int")
    shop.write({"tables/bronze/requests.yaml": declared})
    content = log({"sc-bytes": "12.5"}, {"sc-bytes": "12.34"})
    shop.take("landing/logs/a.gz", gzip.compress(content.encode()))
    assert shop.rows("bronze.requests", "sc_bytes") == [(Decimal("12.5"),)]
    assert [row["reasons"] for row in shop.quarantine("bronze.requests")] == [
        ["sc_bytes: not a decimal(5,1): '12.34' (it has more than 1 digit after the point)"]
    ]

    rounding = declared.replace("format: cloudfront", "format: cloudfront, on_inexact: round")
    shop.write({"tables/bronze/requests.yaml": rounding})
    shop.take("landing/logs/b.gz", gzip.compress(log({"sc-bytes": "12.36"}).encode()))
    assert Decimal("12.4") in {row[0] for row in shop.rows("bronze.requests", "sc_bytes")}


def test_a_header_that_changes_in_a_file_is_refused(make_shop: MakeShop) -> None:
    shop = make_shop(LOGS)
    content = log({}) + log({}, fields=FIELDS[::-1])
    shop.land("landing/logs/a.gz", gzip.compress(content.encode()))
    result = shop.run()

    text = "\n".join(line for problem in result.problems for line in problem.lines())
    assert result.code == 1 and "LS422" in text and "its header changes in line 5" in text
    assert "bronze.requests" not in result.published


def test_a_file_of_another_service_is_refused_or_left_out(make_shop: MakeShop) -> None:
    shop = make_shop(LOGS)
    shop.land("landing/logs/a.gz", gzip.compress(log({}).encode()))
    shop.land("landing/logs/b.gz", gzip.compress(b'h2 2026-11-01T00:00:00.0Z app/x 192.0.2.1:1 "GET /"\n'))
    result = shop.run()
    text = "\n".join(line for problem in result.problems for line in problem.lines())
    assert result.code == 1 and "it is not a log of CloudFront" in text and "b.gz" in text

    shop.write(
        {
            "tables/bronze/requests.yaml": LOGS["tables/bronze/requests.yaml"].replace(
                "}", ", on_bad_file: skip}"
            )
        }
    )
    shop.must_run()
    assert shop.count("bronze.requests") == 1


def test_a_truncated_file_is_refused_whole(make_shop: MakeShop) -> None:
    shop = make_shop(LOGS)
    whole = gzip.compress(log(*({"x-edge-request-id": str(at * 7919)} for at in range(3000))).encode())
    shop.land("landing/logs/a.gz", whole[: len(whole) // 2])
    result = shop.run()
    text = "\n".join(line for problem in result.problems for line in problem.lines())
    assert result.code == 1 and "LS422" in text and "a.gz" in text

    shop.take("landing/logs/a.gz", whole)
    assert shop.count("bronze.requests") == 3000


@pytest.mark.parametrize("policy", ["ignore", "fail", "evolve"])
def test_a_field_that_aws_adds_comes_as_the_policy_says(make_shop: MakeShop, policy: str) -> None:
    shop = make_shop({"tables/bronze/requests.yaml": LOGS["tables/bronze/requests.yaml"].replace(
        "}", f", on_new_column: {policy}}}")})  # fmt: skip
    shop.take("landing/logs/a.gz", gzip.compress(log({}).encode()))
    known = shop.frame("bronze.requests").columns
    added = log({"x-added": "7", "x-edge-request-id": "id-2"}, fields=(*FIELDS, "x-added"))
    shop.land("landing/logs/b.gz", gzip.compress(added.encode()))
    result = shop.run()
    if policy == "fail":
        assert result.code == 1 and "x_added" in str(result.problems) and shop.count("bronze.requests") == 1
        return
    assert result.code == 0 and shop.count("bronze.requests") == 2
    new = {"x_added"} if policy == "evolve" else set()
    assert set(shop.frame("bronze.requests").columns) - set(known) == new
    assert shop.quarantine("bronze.requests") == []
