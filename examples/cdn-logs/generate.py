"""Makes the logs of a day as CloudFront delivers them: seeded, so the same call makes the same files.

    python generate.py 2024-06-03 --requests 2000 --seed 7 --out landing/logs

Each file is a gzip of one hour in the W3C's format, named ``ID.YYYY-MM-DD-HH.unique.gz``. The day has:

* edges in four countries, each with its own latency; hits, misses, refreshed hits, errors, redirects;
* people, bots, and scanners that ask for what is not there; user agents and addresses with their escapes;
* late records: some of an hour are delivered with the files of the next day (``--late``);
* repeated records: a file delivered twice, under another name;
* lines that do not parse (``--bad``): cut, or with a status that is not a number;
* from 4 June 2024 on one more field, ``asn``.

``--outage``: from noon on, most answers are errors of the origin. Plain Python, nothing to install.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

FIELDS = [
    "date",
    "time",
    "x-edge-location",
    "sc-bytes",
    "c-ip",
    "cs-method",
    "cs(Host)",
    "cs-uri-stem",
    "sc-status",
    "cs(Referer)",
    "cs(User-Agent)",
    "cs-uri-query",
    "x-edge-result-type",
    "x-edge-request-id",
    "x-host-header",
    "cs-protocol",
    "cs-bytes",
    "time-taken",
    "ssl-protocol",
    "cs-protocol-version",
    "c-port",
    "time-to-first-byte",
    "x-edge-detailed-result-type",
    "sc-content-type",
    "c-country",
]
NEW_FIELD, NEW_FROM = "asn", date(2024, 6, 4)
EDGES = {
    "FRA56-P4": ("DE", 0.02),
    "AMS1-C1": ("NL", 0.03),
    "IAD89-P2": ("US", 0.05),
    "BOM78-P1": ("IN", 0.12),
}
"""Edges with the country of most of their viewers, and the seconds of a hit."""
AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/125.0.0.0"
    " Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "curl/8.5.0",
)
PATHS = (
    "/index.html",
    "/app.js",
    "/style.css",
    "/img/logo.png",
    "/img/été.jpg",
    "/api/items",
    "/video/a.mp4",
)
MISSING = ("/wp-login.php", "/.env", "/admin%20/")
TYPES = {
    "html": "text/html",
    "js": "text/javascript",
    "css": "text/css",
    "png": "image/png",
    "mp4": "video/mp4",
}
SAFE = "!$&()*+,-./:;=?@_"
"""What CloudFront writes as it is, besides letters and digits."""


@dataclass(frozen=True)
class Settings:
    """What to make. ``late`` and ``bad`` are shares of the records, between 0 and 1."""

    requests: int
    seed: int
    late: float = 0.02
    bad: float = 0.001
    outage: bool = False


@dataclass(frozen=True)
class File:
    """A file as delivered: its name and its content, packed."""

    name: str
    content: bytes


def files_of(day: date, settings: Settings) -> Iterator[File]:
    """Makes the files that are delivered on a day, in the order of their hours, late ones first."""
    before = day - timedelta(days=1)
    yield from _packed(before, _late(before, settings, is_late=True), "late", before)
    yield from _packed(day, _late(day, settings, is_late=False), "first", day)
    hour = random.Random(f"{settings.seed} {day} repeated").randrange(24)
    again = [record for record in _late(day, settings, is_late=False) if record[0] == hour]
    yield from _packed(day, iter(again), "again", day)


def _late(day: date, settings: Settings, is_late: bool) -> Iterator[tuple[int, dict[str, str]]]:
    """The records of a day that are, or are not, delivered a day later, each with its hour."""
    chance = random.Random(f"{settings.seed} {day} late")
    for record in records(day, settings):
        if (chance.random() < settings.late) is is_late:
            yield int(record["time"][:2]), record


def records(day: date, settings: Settings) -> Iterator[dict[str, str]]:
    """Makes the requests of a day in the order of their time: most in the evening."""
    chance = random.Random(f"{settings.seed} {day}")
    seconds = sorted(int(chance.triangular(0, 86_399, 70_000)) for _ in range(settings.requests))
    for number, second in enumerate(seconds):
        at = datetime.combine(day, datetime.min.time()) + timedelta(seconds=second)
        record = _record(chance, at, settings.outage and at.hour >= 12)
        key = hashlib.sha256(f"{settings.seed} {day} {number}".encode()).hexdigest()[:40]
        yield {**record, "x-edge-request-id": key + "=="}


def _record(chance: random.Random, at: datetime, outage: bool) -> dict[str, str]:
    edge, (country, latency) = chance.choice(list(EDGES.items()))
    agent = chance.choices(AGENTS, (50, 25, 15, 7, 3))[0]
    scans = agent == "curl/8.5.0" and chance.random() < 0.8
    path = chance.choice(MISSING) if scans else chance.choices(PATHS, (30, 25, 20, 15, 4, 5, 1))[0]
    result, status = _answer(chance, path, scans, outage)
    taken = chance.lognormvariate(0, 0.4) * latency * (1 if result == "Hit" else 8)
    size = (
        0 if status in (304, 301) else int(chance.lognormvariate(9, 1)) * (200 if path.endswith("mp4") else 1)
    )
    ending = path.rpartition(".")[2]
    return {
        "date": f"{at:%Y-%m-%d}", "time": f"{at:%H:%M:%S}", "x-edge-location": edge,
        "sc-bytes": str(size + 350), "c-ip": _address(chance), "sc-status": f"{status:03d}",
        "cs-method": "POST" if path == "/api/items" and chance.random() < 0.3 else "GET",
        "cs(Host)": "d111111abcdef8.cloudfront.net", "x-host-header": "www.example.com",
        "cs-uri-stem": quote(path, safe=SAFE), "cs(User-Agent)": quote(agent, safe=SAFE),
        "cs(Referer)": "https://www.example.com/" if chance.random() < 0.6 else "-",
        "cs-uri-query": f"page={chance.randrange(9)}&q=a+b" if path == "/api/items" else "-",
        "x-edge-result-type": result, "x-edge-detailed-result-type": result, "cs-protocol": "https",
        "cs-bytes": str(chance.randrange(60, 900)), "time-taken": f"{taken:.3f}", "ssl-protocol": "TLSv1.3",
        "cs-protocol-version": "HTTP/2.0", "c-port": str(chance.randrange(1024, 65536)),
        "time-to-first-byte": f"{taken * 0.8:.3f}", "sc-content-type": TYPES.get(ending, "-"),
        "c-country": country if chance.random() < 0.9 else chance.choice(("FR", "GB", "BR")),
        "asn": str(chance.choice((3320, 1136, 7922, 55836))),
    }  # fmt: skip


def _answer(chance: random.Random, path: str, scans: bool, outage: bool) -> tuple[str, int]:
    """The result and the status. Status 0: the viewer left before the response."""
    if outage and chance.random() < 0.7:
        return "Error", chance.choice((502, 503, 504))
    if scans:
        return "Error", 404
    result, status = chance.choices(
        (("Hit", 200), ("Miss", 200), ("RefreshHit", 200), ("Hit", 304), ("Redirect", 301), ("Error", 500),
         ("Miss", 0)),
        (70, 15, 5, 5, 2, 1, 1),
    )[0]  # fmt: skip
    return ("Miss" if path == "/api/items" and result == "Hit" else result), status


def _address(chance: random.Random) -> str:
    number = chance.randrange(400)
    return f"2001:db8:{number:x}::1" if number % 8 == 0 else f"198.51.100.{number % 250}"


def _packed(
    day: date, found: Iterator[tuple[int, dict[str, str]]], kind: str, fields_of: date
) -> Iterator[File]:
    """One file for each hour that has records."""
    hours: dict[int, list[dict[str, str]]] = {}
    for hour, record in found:
        hours.setdefault(hour, []).append(record)
    fields = [*FIELDS, NEW_FIELD] if fields_of >= NEW_FROM else FIELDS
    for hour, several in sorted(hours.items()):
        head = ["#Version: 1.0", "#Fields: " + " ".join(fields)]
        lines = ["\t".join(record[field] for field in fields) for record in several]
        text = "\n".join([*head, *lines, ""])
        unique = hashlib.sha256(f"{kind} {text}".encode()).hexdigest()[:8]
        yield File(f"E2EXAMPLE1.{day:%Y-%m-%d}-{hour:02d}.{unique}.gz", gzip.compress(text.encode(), mtime=0))


def spoiled(files: Iterator[File], settings: Settings, day: date) -> Iterator[File]:
    """The files with some lines that do not parse."""
    chance = random.Random(f"{settings.seed} {day} bad")
    for file in files:
        lines = gzip.decompress(file.content).decode().split("\n")
        for number in range(2, len(lines) - 1):
            if chance.random() < settings.bad:
                cut = chance.random() < 0.5
                lines[number] = lines[number][:90] if cut else lines[number].replace("\t200\t", "\tOK\t", 1)
        yield File(file.name, gzip.compress("\n".join(lines).encode(), mtime=0))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Makes the logs that CloudFront delivers on a day.")
    parser.add_argument("day", type=date.fromisoformat)
    parser.add_argument("--requests", type=int, default=2000, help="of the day")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--late", type=float, default=0.02, help="share of records delivered a day later")
    parser.add_argument("--bad", type=float, default=0.001, help="share of lines that do not parse")
    parser.add_argument("--outage", action="store_true", help="errors of the origin from noon on")
    parser.add_argument("--out", type=Path, default=Path("landing/logs"))
    asked = parser.parse_args()
    settings = Settings(asked.requests, asked.seed, asked.late, asked.bad, asked.outage)
    asked.out.mkdir(parents=True, exist_ok=True)
    made = 0
    for file in spoiled(files_of(asked.day, settings), settings, asked.day):
        (asked.out / file.name).write_bytes(file.content)
        made += 1
    print(f"{made} files in {asked.out}")


if __name__ == "__main__":
    main()
