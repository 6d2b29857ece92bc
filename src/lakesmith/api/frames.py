"""Rows of the lake as frames: Spark's, Arrow's or pandas'."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lakesmith.api.access import Access
from lakesmith.api.question import Question
from lakesmith.quoting import quoted

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from pyspark.sql import DataFrame

    from lakesmith.spark.ask import QueryResult as QueryResult
    from lakesmith.spark.start.session import SessionHandle


@dataclass(frozen=True)
class Rows:
    """The rows of a query, read when one of the methods is called.

    Each raises UsageError LS244 for a query that Spark refuses, RunError with the root cause where it fails. Ctrl-C ends the query.
    """

    _session: SessionHandle
    _question: Question
    _secrets: tuple[str, ...]
    _access: Access

    def spark(self) -> DataFrame:
        """As a frame of Spark's, which is computed where it is used."""
        return self._access.do(self._frame)

    def arrow(self) -> pyarrow.Table:
        """As a table of Arrow's, in this process' memory."""
        return self._access.do_in_spark(self._session, self._computed)

    def pandas(self) -> pandas.DataFrame:
        """As a frame of pandas', in this process' memory. Asks for pandas to be installed."""
        return self.arrow().to_pandas()

    @contextmanager
    def stream(self, limit: int | None = None) -> Iterator[QueryResult]:
        """Gives the rows one after the other while the context lasts; at most ``limit``, None: all."""
        from lakesmith.spark.ask import run_query

        asked = self._question
        with run_query(self._session, asked.sql, asked.as_of, limit, self._secrets, asked.others) as result:
            yield result

    def to_dict(self) -> list[dict[str, Any]]:
        """All rows as JSON data without loss, an object each."""
        with self.stream() as result:
            return [dict(zip(result.columns, map(exact, row), strict=True)) for row in result.rows]

    def _frame(self) -> DataFrame:
        from lakesmith.spark.ask import query_frame

        asked = self._question
        return query_frame(self._session, asked.sql, asked.as_of, self._secrets, asked.others)

    def _computed(self) -> pyarrow.Table:
        from lakesmith.spark.ask import arrow_table

        return arrow_table(self._session, self._frame(), self._secrets)


@dataclass(frozen=True)
class Table:
    """A table of the project: ``name`` is ``layer.name``. ``as_of``: a time, a tag or a snapshot's id; None: now."""

    _query: Callable[..., Rows]
    name: str

    def rows(self, as_of: str | None = None) -> Rows:
        """All rows. Raises UsageError LS240 where it was not built yet."""
        layer, _, table = self.name.partition(".")
        return self._query(f"SELECT * FROM {quoted(layer)}.{quoted(table)}", as_of=as_of)

    def spark(self, as_of: str | None = None) -> DataFrame:
        """As a frame of Spark's."""
        return self.rows(as_of).spark()

    def arrow(self, as_of: str | None = None) -> pyarrow.Table:
        """As a table of Arrow's."""
        return self.rows(as_of).arrow()

    def pandas(self, as_of: str | None = None) -> pandas.DataFrame:
        """As a frame of pandas'."""
        return self.rows(as_of).pandas()


def exact(value: Any) -> Any:
    """A value as JSON data without loss."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case datetime():
            return value.isoformat().removesuffix("+00:00") + ("Z" if value.tzinfo else "")
        case Decimal():
            return format(value, "f")
        case date():
            return value.isoformat()
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case dict():
            return {_key(key): exact(item) for key, item in value.items()}
        case list():
            return [exact(item) for item in value]
    # Intervals, variants: as Python writes them.
    return str(value)


def _key(key: Any) -> str:
    found = exact(key)
    return found if isinstance(found, str) else json.dumps(found)
