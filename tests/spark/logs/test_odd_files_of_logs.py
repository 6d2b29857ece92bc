"""Files of logs as they should not be: each is read whole or refused whole, and no line is lost."""

import gzip
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from harness import Harness, MakeShop
from log_files import FIELDS, line, log

from lakesmith.catalog.record import Account

CLOUDFRONT = {"tables/bronze/requests.yaml": "source:\n  files: {path: landing/logs/, format: cloudfront}\n"}
COMBINED = {"tables/bronze/requests.yaml": "source:\n  files: {path: landing/logs/, format: combined}\n"}
Text = Callable[..., str]
MANY = range(1000, 1300)


def one(*numbers: int) -> str:
    return log(*({"x-edge-request-id": str(number)} for number in numbers))


def apache(*numbers: int) -> str:
    known = '192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET /{} HTTP/1.1" 200 7 "-" "curl"\n'
    return "".join(known.format(number) for number in numbers)


def whole(text: Text) -> dict[str, tuple[bytes, list[int]]]:
    """Files by name, each with the numbers of its records."""
    pack = gzip.compress
    return {
        "crlf.log": (text(1, 2).replace("\n", "\r\n").encode(), [1, 2]),
        "crlf.gz": (pack(text(3, 4).replace("\n", "\r\n").encode()), [3, 4]),
        "no-end.log": (text(5, 6).encode()[:-1], [5, 6]),
        "members.gz": (pack(text(7).encode()) + pack(b"") + pack(text(8).encode()), [7, 8]),
        "cut-between-members.gz": (pack(text(9).encode()[:-40]) + pack(text(9).encode()[-40:]), [9]),
        "no-bytes.log": (b"", []),
        "no-bytes.gz": (b"", []),
        "nothing.gz": (pack(b""), []),
        "blank.log": (b"\n \n\r\n\n", []),
        "bom.log": (b"\xef\xbb\xbf" + text(11).encode(), [11]),
        "blank-lines.log": (text(12).replace("\n", "\n\n").encode() + b"   \n" + text(13).encode(), [12, 13]),
        "many.gz": (b"".join(pack(text(number).encode()) for number in MANY), list(MANY)),
    }  # fmt: skip


def damaged(text: Text) -> dict[str, bytes]:
    packed = gzip.compress("".join(map(text, range(2000, 2300))).encode())
    return {
        "cut.gz": packed[:-200],
        "cut-in-the-sum.gz": packed[:-3],
        "second-member-cut.gz": gzip.compress(text(3000).encode()) + packed[: len(packed) // 2],
        "plain.gz": text(3000).encode(),
        "bytes-after-it.gz": packed + b"and more",
        "wrong-sum.gz": packed[:-6] + b"\0\0" + packed[-4:],
        "packed.log": packed,
        "of-another.log": b"date,time,status\n2026-11-01,00:00:01,200\n",
        "binary.log": bytes(range(256)) * 100,
        "no-text.gz": gzip.compress(bytes(range(256)) * 100),
    }


def numbers(shop: Harness) -> list[int]:
    frame = shop.frame("bronze.requests")
    column = "x_edge_request_id" if "x_edge_request_id" in frame.columns else "substring(request_url, 2)"
    return sorted(row[0] for row in frame.selectExpr(f"cast({column} AS int)").collect())


@pytest.mark.parametrize(
    ("files", "text"), [(CLOUDFRONT, one), (COMBINED, apache)], ids=["cloudfront", "combined"]
)
def test_a_whole_file_is_read_whole_and_a_damaged_one_not_at_all(
    make_shop: MakeShop, files: dict[str, str], text: Text
) -> None:
    shop = make_shop(files)
    expected: list[int] = []
    for name, (content, records) in whole(text).items():
        shop.land(f"landing/logs/{name}", content)
        expected += records
    shop.must_run()
    assert numbers(shop) == sorted(expected) and shop.quarantine("bronze.requests") == []

    before = shop.head("bronze.requests").snapshot_id
    bad = damaged(text)
    for name, content in bad.items():
        shop.land(f"landing/logs/{name}", content)
    while bad:
        result = shop.run()
        texts = ["\n".join(problem.lines()) for problem in result.problems]
        named = [name for name in bad if any(f"/{name}" in each for each in texts)]
        assert result.code == 1 and named and shop.head("bronze.requests").snapshot_id == before
        assert not [each for each in texts if "Traceback" in each or "Exception" in each]
        for name in named:
            del bad[name]
            (shop.root / "landing/logs" / name).unlink()

    # Left out as declared, and what is whole comes.
    for name, content in damaged(text).items():
        shop.land(f"landing/logs/{name}", content)
    name = "tables/bronze/requests.yaml"
    shop.write({name: files[name].replace("}", ", on_bad_file: skip}")})
    shop.take("landing/logs/z.log", text(9999))
    assert numbers(shop) == sorted([*expected, 9999])
    assert shop.quarantine("bronze.requests") == []


USUAL = line({"x-edge-request-id": "1"})
ODD = [
    USUAL.replace("GET", "G\0T"),
    USUAL.replace("GET", "G\udcffT"),
    USUAL.replace("\t", " "),
    USUAL + "\t",
    USUAL.replace("00:00:01", "00:00:61"),
    USUAL.replace("2026-11-01", "2026-02-30"),
    USUAL.replace("0.002", "1e999x"),
    USUAL.replace("4512", "99999999999999999999"),
    "x" * 1_000_000,
    "\t" * 1_000_000,
]
TIMES = ["1762000000123", "1762000000", "-99999999999999", "-62135596800000", "99999999999999"]
TIMES += ["1" * 19, "0", "x", "-1"]
CLOCKS = ["timestamp(ms)", "timestamp"]
FILLERS = ["M", '\\"', '" x', "\\", "%41", '"']
LOAD_BALANCER = (
    "https 2018-07-02T22:23:00.186641Z app/x/50dc 192.0.2.1:2817 10.0.0.1:80 0.0 0.0 0.0 200 200 0 57 "
    '"GET https://x/{} HTTP/1.1" "curl" - - arn "Root=1" "-" "-" 0 2018-07-02T22:22:48.364000Z "forward" '
    '"-" "-" "10.0.0.1:80" "200" "-" "-" TID\n'
)


@dataclass(frozen=True)
class Read:
    """What a run made of the files of all cases: rows and rows in quarantine, by file."""

    account: Account
    rows: Counter[str]
    bad: dict[str, list[int]]
    times: dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def read(make_lake: MakeShop) -> Read:
    shop = make_lake(
        {f"tables/bronze/{each}.yaml": f"source:\n  files: {{path: landing/{each}/, format: {each}}}\n"
         for each in ("cloudfront", "alb")}
    )  # fmt: skip
    head = log({"x-edge-request-id": "0"})
    content = head + "\n".join(ODD) + "\n#Fields: " + " ".join(FIELDS) + "\n" + USUAL
    shop.land("landing/cloudfront/odd.gz", gzip.compress(content.encode("utf-8", "surrogateescape")))
    for field in CLOCKS:
        records = ({field: time, "x-edge-request-id": str(at)} for at, time in enumerate(TIMES))
        shop.land(f"landing/cloudfront/{field}.log", log(*records, fields=(field, "x-edge-request-id")))
    for number, filler in enumerate(FILLERS):
        longest = LOAD_BALANCER.format(filler * (1_000_000 // len(filler)))
        texts = [LOAD_BALANCER.format("a"), longest, LOAD_BALANCER.format("b")]
        shop.land(f"landing/alb/{number}.log", "".join(texts))
    published = shop.must_run().published
    assert published["bronze.alb"].account.read == 3 * len(FILLERS)
    bad = defaultdict[str, list[int]](list)
    for row in [*shop.quarantine("bronze.cloudfront"), *shop.quarantine("bronze.alb")]:
        bad[row["source_file"]].append(row["source_position"])
    times = defaultdict[str, dict[str, str]](dict)
    columns = ("_source_file", "x_edge_request_id", "string(event_time)")
    found = shop.frame("bronze.cloudfront").selectExpr(*columns).collect()
    for file, record, time in found:
        times[file][record] = time
    files = [*(file for file, *_ in found), *(file for (file,) in shop.rows("bronze.alb", "_source_file"))]
    return Read(published["bronze.cloudfront"].account, Counter(files), bad, times)


def test_lines_that_are_no_records_are_in_quarantine_and_counted(read: Read) -> None:
    odd, timed = "landing/cloudfront/odd.gz", len(CLOCKS) * len(TIMES)
    assert (read.account.read, read.account.inserted, read.account.quarantined) == (
        len(ODD) + 2 + timed, 2 + 4 * len(CLOCKS), len(ODD) + 5 * len(CLOCKS)
    )  # fmt: skip
    assert read.rows[odd] == 2
    assert read.bad[odd] == list(range(2, len(ODD) + 2))


@pytest.mark.parametrize("field", CLOCKS)
def test_a_time_that_no_clock_shows_is_in_quarantine(read: Read, field: str) -> None:
    file = f"landing/cloudfront/{field}.log"
    assert read.times[file] == {
        "0": "2025-11-01 12:26:40.123", "1": "2025-11-01 12:26:40", "6": "1970-01-01 00:00:00",
        "4": "5138-11-16 09:46:39.999",
    }  # fmt: skip
    assert len(read.bad[file]) == 5


@pytest.mark.parametrize("filler", FILLERS)
def test_a_text_of_a_megabyte_in_a_log_of_a_load_balancer(read: Read, filler: str) -> None:
    file = f"landing/alb/{FILLERS.index(filler)}.log"
    assert read.rows[file] + len(read.bad[file]) == 3 and read.rows[file] >= 2
