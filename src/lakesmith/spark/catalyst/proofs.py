"""What Spark's plan proved of a query, kept for the batches to come.

The proof is a walk over the plan through the gateway, a thousand calls and more, and comes out the same for the same text over the same
columns. A Python table may make another plan at each call, so of those nothing is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from pyspark.sql import DataFrame, SparkSession

from lakesmith import limits
from lakesmith.project.definitions import PythonQuery, SqlQuery, TableName

_T = TypeVar("_T")

_KEPT: Final[dict[tuple[object, ...], object]] = {}
_SETTINGS: Final = (
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.session.timeZone",
    "spark.sql.optimizer.excludedRules",
)
"""What a session may be set to otherwise than another, and a proof may rest on."""


@dataclass(frozen=True)
class Proofs:
    """The proofs of one query. ``about``: all that they rest on; None: nothing is kept."""

    about: tuple[object, ...] | None = field(default=None)

    def once(self, what: str, prove: Callable[[], _T]) -> _T:
        """What ``prove`` finds, or has found in a batch before. What it raises is not kept."""
        if self.about is None:
            return prove()
        key = (*self.about, what)
        if key not in _KEPT:
            found = prove()
            while len(_KEPT) >= limits.PROOFS_KEPT:
                _KEPT.pop(next(iter(_KEPT)), None)
            _KEPT[key] = found
        return cast("_T", _KEPT[key])


NO_PROOFS: Final = Proofs()
"""Of a query of which nothing is kept."""


def proofs_of(
    spark: SparkSession, query: SqlQuery | PythonQuery | None, inputs: Mapping[TableName, DataFrame]
) -> Proofs:
    """The proofs of a query over inputs of these columns, in this session."""
    if not isinstance(query, SqlQuery):
        return Proofs()
    settings = (spark.conf.get(name, None) for name in _SETTINGS)
    columns = sorted((str(name), _columns(frame)) for name, frame in inputs.items())
    return Proofs((spark.sparkContext.applicationId, *settings, query.text, *columns))


def _columns(frame: DataFrame) -> str:
    """Their names, types, whether they may be null, and what Spark has marked them with."""
    plan: Any = frame._jdf
    return str(plan.schema().json())
