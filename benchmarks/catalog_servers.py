"""The servers of ``catalogs.py``, and what they were asked: a proxy counts for REST, moto's own log for S3
and Glue, PostgreSQL's for statements.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))
sys.path.append(str(Path(__file__).parents[1] / "tests" / "conformance"))

import places

import faulty_proxy
import postgres_server
import rest_server
import s3_server

_STATEMENT = re.compile(r"^\S+ LOG:  (?:statement|execute [^:]*): (\w+)")


@dataclass(frozen=True)
class Servers:
    """What is played on this machine. ``proxy`` is in front of the REST catalog, for what is counted and not
    timed.
    """

    s3: s3_server.Server
    rest: rest_server.Server
    postgres: postgres_server.Server
    proxy: faulty_proxy.Proxy

    def place(self, kind: str) -> places.Place:
        """A new place to run on."""
        makers: dict[str, Callable[[], places.Place]] = {
            places.EMBEDDED: places.embedded,
            places.REST: lambda: places.on_rest(self.rest, self.s3),
            places.GLUE: lambda: places.in_glue(self.s3),
            places.JDBC: lambda: places.in_postgres(self.postgres, self.s3),
        }
        return makers[kind]()

    @contextmanager
    def asked(self) -> Iterator[Counter[str]]:
        """What is asked within the block, by kind, there when that ends."""
        found: Counter[str] = Counter()
        self.proxy.clear()
        before = len(self._log())
        with self.s3.asked() as lines:
            yield found
        found.update(_s3_kind(line) for line in lines)
        found.update(f"REST {each.method}" for each in self.proxy.asked)
        matches = map(_STATEMENT.match, self._log()[before:].splitlines())
        found.update(f"SQL {match[1].upper()}" for match in matches if match)

    def _log(self) -> str:
        return (self.postgres.folder / "log").read_text(errors="replace")


def _s3_kind(line: str) -> str:
    method, path, *more = line.split()
    if more and more[0].startswith("AWSGlue."):
        return more[0].replace("AWSGlue.", "Glue ")
    what = " list" if "list-type" in path else " metadata" if path.partition("?")[0].endswith(".json") else ""
    return f"S3 {method}{what}"


@contextmanager
def running() -> Iterator[Servers]:
    """The servers, until the end of the block."""
    with ExitStack() as stack:
        s3 = stack.enter_context(s3_server.running())
        rest = stack.enter_context(rest_server.running(s3))
        postgres = stack.enter_context(postgres_server.listening())
        postgres.do("ALTER SYSTEM SET log_statement = 'all'", "ALTER SYSTEM SET log_line_prefix = '%d '")
        postgres.do("SELECT pg_reload_conf()")
        yield Servers(s3, rest, postgres, stack.enter_context(faulty_proxy.running(rest.uri)))
