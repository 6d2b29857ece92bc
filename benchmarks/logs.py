"""Logs of CloudFront, load balancers and S3 read as such, against the same bytes read as TSV by lakesmith's
own reader.

    python benchmarks/logs.py              200 MB of each
    python benchmarks/logs.py --small      20 MB

One session reads the files in turns and writes the rows nowhere. As TSV the same texts are divided by tabs,
and columns have the same types where they can; as a log they are decoded, there is one time, and the line is
a column. The goal is a ratio of times of 1.43 or less: 0.7 of the speed.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import common

sys.path.append(str(common.EXAMPLES / "cdn-logs"))
GOAL = 1.43
FILES = 8
BYTES_A_REQUEST = {"cloudfront": 360, "alb": 570, "s3_access": 500}

TYPES = {
    "alb": "s timestamp sss double double double int int bigint bigint ssssssss int timestamp ssssssss",
    "s3_access": "sssssssss int s bigint bigint bigint bigint ssssssssssss",
}
"""The types of the columns as TSV; ``s``: a string."""


def alb(record: dict[str, str]) -> list[str]:
    """A request as a load balancer logs it: its fields."""
    at = f"{record['date']}T{record['time']}.186641Z"
    agent = record["cs(User-Agent)"].replace("%20", " ")
    request = f"{record['cs-method']} https://www.example.com:443{record['cs-uri-stem']} HTTP/1.1"
    taken, status = record["time-taken"], record["sc-status"]
    return [
        *("https", at, "app/my-loadbalancer/50dc6c495c0c9188", f"{record['c-ip']}:{record['c-port']}"),
        *("10.0.0.1:80", "0.000", taken, "0.000", status, status, record["cs-bytes"], record["sc-bytes"]),
        *(f'"{request}"', f'"{agent}"', "ECDHE-RSA-AES128-GCM-SHA256", "TLSv1.2"),
        "arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067",
        *('"Root=1-58337262-36d228ad5d99923122bbe354"', '"www.example.com"', '"-"', "0", at),
        *('"forward"', '"-"', '"-"', '"10.0.0.1:80"', f'"{status}"', '"-"', '"-"', "TID_dc57"),
    ]


def s3_access(record: dict[str, str]) -> list[str]:
    """A request as S3 logs it: its fields."""
    day, path = date.fromisoformat(record["date"]), record["cs-uri-stem"]
    owner = "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be"
    agent = record["cs(User-Agent)"].replace("%20", " ")
    return [
        *(owner, "amzn-s3-demo-bucket", f"[{day:%d/%b/%Y}:{record['time']} +0000]", record["c-ip"], "-"),
        *(record["x-edge-request-id"][:16], "REST.GET.OBJECT", path[1:].replace("%", "%25")),
        *(f'"GET {path} HTTP/1.1"', record["sc-status"], "-", record["sc-bytes"], record["sc-bytes"]),
        *(
            "70",
            "10",
            '"-"',
            f'"{agent}"',
            "-",
            "s9lzHYrFp76ZVxRcpX9+5cjAnEH2ROuNkd2BHfIa6UkFVdtjf5mKR3/eTPFvsiP",
        ),
        *("SigV4", "ECDHE-RSA-AES128-GCM-SHA256", "AuthHeader", "amzn-s3-demo-bucket.s3.amazonaws.com"),
        *("TLSV1.2", "-", "-", "us-east-1"),
    ]


def cloudfront(record: dict[str, str]) -> list[str]:
    """A request as CloudFront logs it: its fields."""
    import generate

    return [record[name] for name in generate.FIELDS]


FORMATS = {"cloudfront": cloudfront, "alb": alb, "s3_access": s3_access}


def write_logs(root: Path, format: str, megabytes: int) -> int:
    """Writes files of about so many megabytes, unpacked, as a log and as TSV; returns the log's bytes."""
    import generate

    written = 0
    settings = generate.Settings(megabytes * 10**6 // BYTES_A_REQUEST[format] // FILES, seed=7)
    for number in range(FILES):
        found = [FORMATS[format](each) for each in generate.records(date(2024, 6, number + 4), settings)]
        head = ["#Version: 1.0", "#Fields: " + " ".join(generate.FIELDS)] if format == "cloudfront" else []
        for kind, end in (("log", "\t" if head else " "), ("tsv", "\t")):
            text = "\n".join([*head, *map(end.join, found), ""]).encode()
            (root / format / kind).mkdir(parents=True, exist_ok=True)
            (root / format / kind / f"{number}.gz").write_bytes(gzip.compress(text, 1))
        written += len(text)
    return written


class Reading:
    """A session that reads the files as one format or the other."""

    def __init__(self, root: Path) -> None:
        from lakesmith.spark.start.session import SessionSettings, start_session

        self.root = root
        self.started = start_session(
            SessionSettings(catalogs={}, log_path=root / "spark.log", driver_memory_mb=2048)
        )
        self.spark = self.started.result().spark

    def seconds(self, format: str, kind: str) -> float:
        """Seconds to read all rows; the rows are written nowhere."""
        from lakesmith.spark.read.files import read_files

        begin = time.monotonic()
        read_files(self.spark, self.request(format, kind)).write.format("noop").mode("overwrite").save()
        return time.monotonic() - begin

    def request(self, format: str, kind: str):  # type: ignore[no-untyped-def]
        """What to read: a log by its own shape, or TSV with declared columns."""
        from lakesmith.errors import Place
        from lakesmith.project.definitions import CsvOptions, FileSource
        from lakesmith.project.formats import FileFormat
        from lakesmith.sources.columns.reading import ReadGroup
        from lakesmith.sources.inspect import group_by_shape
        from lakesmith.sources.model import FileIdentity
        from lakesmith.sources.shape import Layout
        from lakesmith.spark.read.request import ReadRequest

        folder = f"{format}/{kind}"
        found = [(f"{folder}/{it.name}", it.stat()) for it in sorted((self.root / folder).iterdir())]
        files = tuple(FileIdentity(name, stat.st_size, stat.st_mtime_ns) for name, stat in found)
        read_as = FileFormat("tsv" if kind == "tsv" else format)
        skipped, comment = (2, "#") if format == "cloudfront" else (0, "")
        options = CsvOptions(
            header=False, delimiter="\t", skip_lines=skipped, quote="", escape="", null_value="-",
            comment="" if kind == "tsv" else comment,
        )  # fmt: skip
        source = FileSource("logs", folder, read_as, Place("logs.yaml", 1), csv=options)
        if kind == "tsv":
            columns = tuple(tsv_columns(format))
            names = tuple(name for name, _ in columns)
            return ReadRequest(
                source, self.root, (ReadGroup(files, names, layout=Layout(lines_before=skipped)),), columns
            )
        ((shape, files),) = ((each.shape, each.files) for each in group_by_shape(files, source, self.root))
        columns = tuple(zip(shape.columns, (str(it) for it in shape.types), strict=True))
        group = ReadGroup(files, shape.columns, layout=shape.layout)
        return ReadRequest(source, self.root, (group,), columns)


def tsv_columns(format: str) -> Iterator[tuple[str, str]]:
    """The columns as TSV: with the types that they have as a log, where the texts allow it."""
    import generate

    from lakesmith.errors import Place
    from lakesmith.project.definitions import FileSource
    from lakesmith.project.formats import FileFormat
    from lakesmith.sources.formats.logs import column_of, log_fields

    if format == "cloudfront":
        source = FileSource("logs", "logs", FileFormat.CLOUDFRONT, Place("logs.yaml", 1))
        for field in log_fields(source, tuple(generate.FIELDS)):
            yield column_of(field.name), "date" if field.name == "date" else field.type
        return
    number = 0
    for word in TYPES[format].split():
        for kind in ["string"] * len(word) if set(word) == {"s"} else [word]:
            yield f"c{number}", kind
            number += 1


def measure(work: Path, options: argparse.Namespace) -> common.Outcome:
    """Both, in turns, after one reading of each that is not counted."""
    sizes = {format: write_logs(work, format, 20 if options.small else 200) for format in FORMATS}
    reading, comparisons = Reading(work), []
    try:
        for format, size in sizes.items():
            sides = [
                lambda it=format: reading.seconds(it, "log"),
                lambda it=format: reading.seconds(it, "tsv"),
            ]
            common.take_turns(sides, 1)
            ours, theirs = common.take_turns(sides, options.rounds or (2 if options.small else 5))
            what = f"{size // 10**6:,} MB of logs of {format}"
            comparisons.append(common.Comparison(what, ours, theirs, GOAL))
    finally:
        reading.started.stop()
    return common.Outcome("logs", tuple(comparisons), {"files": FILES}, theirs="as TSV")


def main() -> None:
    """The command line."""
    options = common.arguments("Logs read as logs, against the same bytes read as TSV.").parse_args()
    with common.workspace(options) as work:
        common.show(measure(work, options), options.json)


if __name__ == "__main__":
    main()
