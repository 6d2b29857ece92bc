"""Logs of load balancers, S3, Apache and nginx: lines of a grammar become typed columns, and none is lost."""

from datetime import UTC, datetime
from typing import Any

import pytest
from harness import Harness, MakeShop, RunResult

pytestmark = pytest.mark.in_turn("file", of=3)

ALB_LINE = (
    "https 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 2001:db8::1:2817 10.0.0.1:80"
    ' 0.086 -1 0.037 200 - 0 57 "GET https://www.example.com:443/a%20b?x=1 HTTP/1.1"'
    ' "curl/7.46.0 \\x22q\\x22"'
    " ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:12:targetgroup/t/7"
    ' "Root=1-58337281-1d84f3d73c47ec4e58577259" "www.example.com" "arn:aws:acm:us-east-2:12:c/12" 1'
    ' 2018-07-02T22:22:48.364000Z "authenticate,forward" "-" "-" "10.0.0.1:80" "200" "-" "-" TID_123456'
)
S3_LINE = (
    "79a59df900b949e5 amzn-s3-demo-bucket [06/Feb/2019:23:59:38 +0100] 192.0.2.3 arn:aws:iam::12:a 3E57427F3"
    ' REST.GET.OBJECT img/my%2520photo%25C3%25A9.jpg "GET /img/my%20photo.jpg HTTP/1.1" 200 - 113 4406 41 28'
    ' "-" "S3 "Console" 0.4" - s9lzHYrFp76ZVxRcpX9+5cjAnEH2ROuNkd2BHfIa6U= SigV4 ECDHE-RSA-AES128-GCM-SHA256'
    " AuthHeader amzn-s3-demo-bucket.s3.us-west-1.amazonaws.com TLSV1.2 - Yes us-east-1"
)
APACHE_LINE = (
    '127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326'
    ' "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"'
)
NGINX = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent rt=$request_time'
    ' "$http_host"'
)


def table(format: str, more: str = "") -> dict[str, str]:
    files = f"path: landing/logs/, format: {format}{more}"
    return {"tables/bronze/requests.yaml": f"source:\n  files: {{{files}}}\n"}


def taken(make_shop: MakeShop, files: dict[str, str], *lines: str) -> Harness:
    shop = make_shop(files)
    shop.land("landing/logs/access.log", "\n".join(lines) + "\n")
    shop.must_run()
    return shop


def row(shop: Harness, *columns: str) -> tuple[Any, ...]:
    (found,) = shop.rows("bronze.requests", *columns)
    return found


def event_time(shop: Harness) -> datetime:
    text = shop.frame("bronze.requests").selectExpr("string(event_time)").first()
    assert text is not None
    return datetime.fromisoformat(text[0]).replace(tzinfo=UTC)


def test_a_log_of_a_load_balancer(make_shop: MakeShop) -> None:
    shop = taken(make_shop, table("alb"), ALB_LINE)

    assert event_time(shop) == datetime(2018, 7, 2, 22, 23, 0, 186641, tzinfo=UTC)
    columns = ("type", "client_ip", "client_port", "target_port", "target_processing_time", "elb_status_code")
    assert row(shop, *columns) == ("https", "2001:db8::1", 2817, 80, None, 200)
    columns = ("request_method", "request_url", "request_protocol", "user_agent", "target_status_code")
    expected = ("GET", "https://www.example.com:443/a%20b?x=1", "HTTP/1.1", 'curl/7.46.0 "q"', None)
    assert row(shop, *columns) == expected
    columns = (
        "domain_name",
        "actions_executed",
        "redirect_url",
        "conn_trace_id",
        "transformed_host",
        "log_line",
    )
    assert row(shop, *columns) == (
        "www.example.com", "authenticate,forward", None, "TID_123456", None, ALB_LINE)  # fmt: skip


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("title", "line"),
    [
        ("as it was in 2016, without the fields since", ALB_LINE.split(' "Root=')[0]),
        ("with the fields of 2025", ALB_LINE + ' "-" "-" -'),
        ("with fields that are not documented", ALB_LINE + ' "-" "-" - TID_x "new" 7'),
        ("of no HTTP", ALB_LINE.replace("GET https", "- https").replace(" HTTP/1.1", "- ")),
        ("of a function, which has no port", ALB_LINE.replace("10.0.0.1:80 0.086", "- 0.086")),
    ],
)  # fmt: skip
def test_a_line_of_a_load_balancer_may_be(make_shop: MakeShop, title: str, line: str) -> None:
    shop = taken(make_shop, table("alb"), line)
    assert row(shop, "log_line", "received_bytes", "sent_bytes") == (line, 0, 57), title


def test_a_log_of_s3(make_shop: MakeShop) -> None:
    deleted = S3_LINE.replace("REST.GET.OBJECT", "BATCH.DELETE.OBJECT").replace("HTTP/1.1", "HTTP/1.0")
    old = S3_LINE.split(" s9lz")[0].replace("HTTP/1.1", "HTTP/1.2")
    shop = taken(make_shop, table("s3_access"), S3_LINE, deleted, old)

    columns = ("request_protocol", "key", "user_agent", "object_size", "source_region", "tls_version")
    assert shop.rows("bronze.requests", *columns) == [
        ("HTTP/1.0", "img/my%20photo%C3%A9.jpg", 'S3 "Console" 0.4', 4406, "us-east-1", "TLSV1.2"),
        ("HTTP/1.1", "img/my photoé.jpg", 'S3 "Console" 0.4', 4406, "us-east-1", "TLSV1.2"),
        ("HTTP/1.2", "img/my photoé.jpg", 'S3 "Console" 0.4', 4406, None, None),
    ]
    assert event_time(shop) == datetime(2019, 2, 6, 22, 59, 38, tzinfo=UTC)


def test_a_log_of_apache(make_shop: MakeShop) -> None:
    escaped = APACHE_LINE.replace("Win98", '\\\\\\"\\xc3\\xa9\\xff').replace("127.0.0.1", "::1")
    readable = APACHE_LINE.replace("Win98", '\\\\\\"\\xc3\\xa9%20+').replace("127.0.0.1", "::2")
    shop = taken(make_shop, table("combined"), APACHE_LINE, escaped, readable, APACHE_LINE + ' "0.3" extra')

    assert event_time(shop) == datetime(2000, 10, 10, 20, 55, 36, tzinfo=UTC)
    columns = ("remote_address", "remote_user", "request_url", "status", "body_bytes_sent", "user_agent")
    one = ("frank", "/apache_pb.gif", 200, 2326)
    assert shop.rows("bronze.requests", *columns) == [
        ("127.0.0.1", *one, "Mozilla/4.08 [en] (Win98; I ;Nav)"),
        ("127.0.0.1", *one, "Mozilla/4.08 [en] (Win98; I ;Nav)"),
        ("::1", *one, 'Mozilla/4.08 [en] (\\\\\\"\\xc3\\xa9\\xff; I ;Nav)'),
        ("::2", *one, 'Mozilla/4.08 [en] (\\"é%20+; I ;Nav)'),
    ]


def test_a_format_that_nginx_declares(make_shop: MakeShop) -> None:
    line = '192.0.2.1 - - [01/Nov/2026:00:00:01 +0000] "GET /a HTTP/1.1" 200 7 rt=0.25 "example.org"'
    shop = taken(make_shop, table("combined", f", log_format: '{NGINX}'"), line)
    columns = ("remote_address", "remote_user", "status", "body_bytes_sent", "request_time", "http_host")
    assert row(shop, *columns) == ("192.0.2.1", None, 200, 7, 0.25, "example.org")


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("title", "line"),
    [
        ("cut", APACHE_LINE[:60]),
        ("another service's", S3_LINE),
        ("a quote that stays open", APACHE_LINE[:-1]),
        ("a NUL", APACHE_LINE.replace("GET", "G\0T")),
        ("a time that is none", APACHE_LINE.replace("10/Oct", "99/Oct")),
        ("a month that is none", APACHE_LINE.replace("Oct", "Okt")),
        ("a status that is none", APACHE_LINE.replace(" 200 ", " OK ")),
    ],
)
def test_a_line_that_does_not_parse_is_in_quarantine(make_shop: MakeShop, title: str, line: str) -> None:
    shop = taken(make_shop, table("combined"), APACHE_LINE, line)
    assert shop.count("bronze.requests") == 1
    assert [row["raw"] for row in shop.quarantine("bronze.requests")] == [line], title


@pytest.mark.in_turn
@pytest.mark.parametrize("filler", ["M", '\\"', '" x', "\\", "%41"])
def test_a_text_of_a_megabyte_is_read_in_time(make_shop: MakeShop, filler: str) -> None:
    long = filler * (1_000_000 // len(filler))
    lines = [APACHE_LINE, APACHE_LINE.replace("Mozilla", long)]
    shop = taken(make_shop, table("combined"), *lines)
    assert shop.count("bronze.requests") + len(shop.quarantine("bronze.requests")) == 2

    shop.write(
        {"tables/bronze/s3.yaml": table("s3_access")["tables/bronze/requests.yaml"].replace("logs", "s3")}
    )
    shop.land("landing/s3/a", "\n".join((S3_LINE, S3_LINE.replace("Console", long))) + "\n")
    shop.must_run()
    assert shop.count("bronze.s3") + len(shop.quarantine("bronze.s3")) == 2


OTHERS = [
    ("alb", ALB_LINE, S3_LINE),
    ("s3_access", S3_LINE, APACHE_LINE),
    ("combined", APACHE_LINE, ALB_LINE),
]


@pytest.mark.parametrize(("format", "own", "other"), OTHERS)
def test_a_log_of_another_service_is_refused_or_left_out(
    make_shop: MakeShop, format: str, own: str, other: str
) -> None:
    shop = make_shop(table(format))
    shop.land("landing/logs/a.log", own + "\n")
    shop.land("landing/logs/b.log", (other + "\n") * 3)
    result = shop.run()
    text = "\n".join(line for problem in result.problems for line in problem.lines())
    assert result.code == 1 and "LS422" in text and f"is of a log of the format {format}" in text
    assert "landing/logs/b.log" in text and other[:30] in text and "a.log" not in text
    assert "bronze.requests" not in result.published

    shop.write(table(format, ", on_bad_file: skip"))
    shop.must_run()
    assert shop.rows("bronze.requests", "log_line") == [(own,)]


@pytest.mark.parametrize(("format", "own", "other"), OTHERS)
def test_lines_of_another_service_are_in_quarantine(
    make_shop: MakeShop, format: str, own: str, other: str
) -> None:
    shop = taken(make_shop, table(format), own, other, own, other + " more")
    found = [
        (row["source_position"], row["raw"], *row["reasons"]) for row in shop.quarantine("bronze.requests")
    ]
    assert [(position, raw) for position, raw, *_ in found] == [(2, other), (4, other + " more")]
    assert all(reasons and format in reasons[0] for _, _, *reasons in found), found
    assert shop.rows("bronze.requests", "_source_position") == [(1,), (3,)]


def notes(result: RunResult) -> list[str]:
    return [note for note in result.published["bronze.requests"].notes if "first lines" in note]


def test_columns_that_no_first_line_has_are_said_once_a_batch(make_shop: MakeShop) -> None:
    shop = make_shop(table("alb"))
    old = ALB_LINE.split(' "authenticate,forward"')[0]
    shop.land("landing/logs/a.log", f"{old}\n{old}\n")
    shop.land("landing/logs/b.log", f"{old}\n")
    shop.land("landing/logs/c.log", ALB_LINE + ' "-" "-" -\n')
    (note,) = notes(shop.must_run())
    assert "null in lines without them: actions_executed, redirect_url" in note
    assert "landing/logs/a.log and 1 more" in note and ": trace_id" not in note

    shop.take("landing/logs/d.log", f"{old}\n" * 30 + ALB_LINE + "\n")
    assert shop.count("bronze.requests") == 35
    values = {row[0] for row in shop.rows("bronze.requests", "actions_executed")}
    assert values == {None, "authenticate,forward"}
    newest = shop.take("landing/logs/e.log", ALB_LINE + ' "-" "-" -\n')
    assert notes(newest) == []
