"""Logs of load balancers, S3, Apache and nginx: lines of a grammar become typed columns, and none is lost.

The cases share a lake and a table for each format: each has a file of its own in it.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from harness import Harness, MakeShop, RunResult, in_order
from pyspark.sql import Row

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


OWN = "as it is"
"""The file of a format's own lines, in its table."""
MAY_BE = [
    ("as it was in 2016, without the fields since", ALB_LINE.split(' "Root=')[0]),
    ("with the fields of 2025", ALB_LINE + ' "-" "-" -'),
    ("with fields that are not documented", ALB_LINE + ' "-" "-" - TID_x "new" 7'),
    ("of no HTTP", ALB_LINE.replace("GET https", "- https").replace(" HTTP/1.1", "- ")),
    ("of a function, which has no port", ALB_LINE.replace("10.0.0.1:80 0.086", "- 0.086")),
]
S3_DELETED = S3_LINE.replace("REST.GET.OBJECT", "BATCH.DELETE.OBJECT").replace("HTTP/1.1", "HTTP/1.0")
S3_OLD = S3_LINE.split(" s9lz")[0].replace("HTTP/1.1", "HTTP/1.2")
ESCAPED = APACHE_LINE.replace("Win98", '\\\\\\"\\xc3\\xa9\\xff').replace("127.0.0.1", "::1")
READABLE = APACHE_LINE.replace("Win98", '\\\\\\"\\xc3\\xa9%20+').replace("127.0.0.1", "::2")
NGINX_LINE = '192.0.2.1 - - [01/Nov/2026:00:00:01 +0000] "GET /a HTTP/1.1" 200 7 rt=0.25 "example.org"'
NOT_PARSED = [
    ("cut", APACHE_LINE[:60]),
    ("another service's", S3_LINE),
    ("a quote that stays open", APACHE_LINE[:-1]),
    ("a NUL", APACHE_LINE.replace("GET", "G\0T")),
    ("a time that is none", APACHE_LINE.replace("10/Oct", "99/Oct")),
    ("a month that is none", APACHE_LINE.replace("Oct", "Okt")),
    ("a status that is none", APACHE_LINE.replace(" 200 ", " OK ")),
]
OTHERS = [
    ("alb", ALB_LINE, S3_LINE),
    ("s3_access", S3_LINE, APACHE_LINE),
    ("combined", APACHE_LINE, ALB_LINE),
]
FILLERS = ["M", '\\"', '" x', "\\", "%41"]


def filled(line: str, text: str, filler: str) -> list[str]:
    return [line, line.replace(text, filler * (1_000_000 // len(filler)))]


FILES: dict[str, dict[str, list[str]]] = {
    "alb": {OWN: [ALB_LINE], **{title: [line] for title, line in MAY_BE}},
    "s3_access": {
        OWN: [S3_LINE, S3_DELETED, S3_OLD],
        **{f"a megabyte of {each}": filled(S3_LINE, "Console", each) for each in FILLERS},
    },
    "combined": {
        OWN: [APACHE_LINE, ESCAPED, READABLE, APACHE_LINE + ' "0.3" extra'],
        **{title: [APACHE_LINE, line] for title, line in NOT_PARSED},
        **{f"a megabyte of {each}": filled(APACHE_LINE, "Mozilla", each) for each in FILLERS},
    },
    "nginx": {OWN: [NGINX_LINE]},
}
"""The lines of each table's files, by what they are about."""
for name, own, other in OTHERS:
    FILES[name]["of another service"] = [own, other, own, other + " more"]


def table(name: str, format: str, more: str = "") -> dict[str, str]:
    files = f"path: landing/{name}/, format: {format}{more}"
    return {f"tables/bronze/{name}.yaml": f"source:\n  files: {{{files}}}\n"}


@dataclass(frozen=True)
class Logs:
    """The lake after a run: each table's rows and bad rows by the file that they are from."""

    shop: Harness
    read: dict[tuple[str, str], list[Row]]
    bad: dict[tuple[str, str], list[dict[str, Any]]]

    def rows(self, table: str, case: str, *columns: str) -> list[tuple[Any, ...]]:
        return in_order(tuple(row[name] for name in columns) for row in self.read[table, case])

    def row(self, table: str, *columns: str, case: str = OWN) -> tuple[Any, ...]:
        (found,) = self.rows(table, case, *columns)
        return found

    def event_time(self, table: str) -> datetime:
        return datetime.fromisoformat(self.read[table, OWN][0]["at"]).replace(tzinfo=UTC)


@pytest.fixture(scope="module")
def logs(make_lake: MakeShop) -> Logs:
    nginx = table("nginx", "combined", f", log_format: '{NGINX}'")
    shop = make_lake({**table("alb", "alb"), **table("s3_access", "s3_access"),
                      **table("combined", "combined"), **nginx})  # fmt: skip
    read, bad = defaultdict[tuple[str, str], list[Row]](list), defaultdict[Any, list[dict[str, Any]]](list)
    for name, files in FILES.items():
        for number, lines in enumerate(files.values()):
            shop.land(f"landing/{name}/{number}.log", "\n".join(lines) + "\n")
    shop.must_run()
    for name, files in FILES.items():
        case = {f"landing/{name}/{number}.log": title for number, title in enumerate(files)}
        for row in shop.frame(f"bronze.{name}").selectExpr("*", "string(event_time) AS at").collect():
            read[name, case[row["_source_file"]]].append(row)
        for each in shop.quarantine(f"bronze.{name}"):
            bad[name, case[each["source_file"]]].append(each)
    return Logs(shop, read, bad)


def test_a_log_of_a_load_balancer(logs: Logs) -> None:
    assert logs.event_time("alb") == datetime(2018, 7, 2, 22, 23, 0, 186641, tzinfo=UTC)
    columns = ("type", "client_ip", "client_port", "target_port", "target_processing_time", "elb_status_code")
    assert logs.row("alb", *columns) == ("https", "2001:db8::1", 2817, 80, None, 200)
    columns = ("request_method", "request_url", "request_protocol", "user_agent", "target_status_code")
    expected = ("GET", "https://www.example.com:443/a%20b?x=1", "HTTP/1.1", 'curl/7.46.0 "q"', None)
    assert logs.row("alb", *columns) == expected
    columns = (
        "domain_name",
        "actions_executed",
        "redirect_url",
        "conn_trace_id",
        "transformed_host",
        "log_line",
    )
    assert logs.row("alb", *columns) == (
        "www.example.com", "authenticate,forward", None, "TID_123456", None, ALB_LINE)  # fmt: skip


@pytest.mark.parametrize(("title", "line"), MAY_BE)
def test_a_line_of_a_load_balancer_may_be(logs: Logs, title: str, line: str) -> None:
    found = logs.row("alb", "log_line", "received_bytes", "sent_bytes", case=title)
    assert found == (line, 0, 57), title


def test_a_log_of_s3(logs: Logs) -> None:
    columns = ("request_protocol", "key", "user_agent", "object_size", "source_region", "tls_version")
    assert logs.rows("s3_access", OWN, *columns) == [
        ("HTTP/1.0", "img/my%20photo%C3%A9.jpg", 'S3 "Console" 0.4', 4406, "us-east-1", "TLSV1.2"),
        ("HTTP/1.1", "img/my photoé.jpg", 'S3 "Console" 0.4', 4406, "us-east-1", "TLSV1.2"),
        ("HTTP/1.2", "img/my photoé.jpg", 'S3 "Console" 0.4', 4406, None, None),
    ]
    assert logs.event_time("s3_access") == datetime(2019, 2, 6, 22, 59, 38, tzinfo=UTC)


def test_a_log_of_apache(logs: Logs) -> None:
    assert logs.event_time("combined") == datetime(2000, 10, 10, 20, 55, 36, tzinfo=UTC)
    columns = ("remote_address", "remote_user", "request_url", "status", "body_bytes_sent", "user_agent")
    one = ("frank", "/apache_pb.gif", 200, 2326)
    assert logs.rows("combined", OWN, *columns) == [
        ("127.0.0.1", *one, "Mozilla/4.08 [en] (Win98; I ;Nav)"),
        ("127.0.0.1", *one, "Mozilla/4.08 [en] (Win98; I ;Nav)"),
        ("::1", *one, 'Mozilla/4.08 [en] (\\\\\\"\\xc3\\xa9\\xff; I ;Nav)'),
        ("::2", *one, 'Mozilla/4.08 [en] (\\"é%20+; I ;Nav)'),
    ]


def test_a_format_that_nginx_declares(logs: Logs) -> None:
    columns = ("remote_address", "remote_user", "status", "body_bytes_sent", "request_time", "http_host")
    assert logs.row("nginx", *columns) == ("192.0.2.1", None, 200, 7, 0.25, "example.org")


@pytest.mark.parametrize(("title", "line"), NOT_PARSED)
def test_a_line_that_does_not_parse_is_in_quarantine(logs: Logs, title: str, line: str) -> None:
    assert len(logs.read["combined", title]) == 1
    assert [row["raw"] for row in logs.bad["combined", title]] == [line], title


@pytest.mark.parametrize("filler", FILLERS)
def test_a_text_of_a_megabyte_is_read_in_time(logs: Logs, filler: str) -> None:
    case = f"a megabyte of {filler}"
    assert len(logs.read["combined", case]) + len(logs.bad["combined", case]) == 2
    assert len(logs.read["s3_access", case]) + len(logs.bad["s3_access", case]) == 2


@pytest.mark.parametrize(("format", "own", "other"), OTHERS)
def test_a_log_of_another_service_is_refused_or_left_out(
    logs: Logs, format: str, own: str, other: str
) -> None:
    shop, name = logs.shop, f"refused_{format}"
    shop.write(table(name, format))
    shop.land(f"landing/{name}/a.log", own + "\n")
    shop.land(f"landing/{name}/b.log", (other + "\n") * 3)
    result = shop.run(f"bronze.{name}")
    text = "\n".join(line for problem in result.problems for line in problem.lines())
    assert result.code == 1 and "LS422" in text and f"is of a log of the format {format}" in text
    assert f"landing/{name}/b.log" in text and other[:30] in text and "a.log" not in text
    assert f"bronze.{name}" not in result.published

    shop.write(table(name, format, ", on_bad_file: skip"))
    shop.must_run(f"bronze.{name}")
    assert shop.rows(f"bronze.{name}", "log_line") == [(own,)]


@pytest.mark.parametrize(("format", "own", "other"), OTHERS)
def test_lines_of_another_service_are_in_quarantine(logs: Logs, format: str, own: str, other: str) -> None:
    case = (format, "of another service")
    found = [(row["source_position"], row["raw"], *row["reasons"]) for row in logs.bad[case]]
    assert [(position, raw) for position, raw, *_ in found] == [(2, other), (4, other + " more")]
    assert all(reasons and format in reasons[0] for _, _, *reasons in found), found
    assert logs.rows(*case, "_source_position") == [(1,), (3,)]


def notes(result: RunResult) -> list[str]:
    return [note for note in result.published["bronze.evolves"].notes if "first lines" in note]


def test_columns_that_no_first_line_has_are_said_once_a_batch(logs: Logs) -> None:
    shop = logs.shop
    shop.write(table("evolves", "alb"))
    old = ALB_LINE.split(' "authenticate,forward"')[0]
    shop.land("landing/evolves/a.log", f"{old}\n{old}\n")
    shop.land("landing/evolves/b.log", f"{old}\n")
    shop.land("landing/evolves/c.log", ALB_LINE + ' "-" "-" -\n')
    (note,) = notes(shop.must_run("bronze.evolves"))
    assert "null in lines without them: actions_executed, redirect_url" in note
    assert "landing/evolves/a.log and 1 more" in note and ": trace_id" not in note

    shop.take("landing/evolves/d.log", f"{old}\n" * 30 + ALB_LINE + "\n", "bronze.evolves")
    assert shop.count("bronze.evolves") == 35
    values = {row[0] for row in shop.rows("bronze.evolves", "actions_executed")}
    assert values == {None, "authenticate,forward"}
    newest = shop.take("landing/evolves/e.log", ALB_LINE + ' "-" "-" -\n', "bronze.evolves")
    assert notes(newest) == []
