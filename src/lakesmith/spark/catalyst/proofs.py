"""Proofs about a query by Spark's plan, kept for later batches.

A proof is a walk over the plan through the gateway, a thousand calls and more, with the same result for the
same text over the same columns. A Python table may make another plan at each call, so nothing is kept for it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from pyspark.sql import DataFrame, SparkSession

from lakesmith import limits
from lakesmith.project.definitions import PythonQuery, SqlQuery, TableName

_T = TypeVar("_T")

_KEPT: Final[dict[tuple[object, ...], object]] = {}
SETTINGS: Final = (
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.session.timeZone",
    "spark.sql.optimizer.excludedRules",
)
"""Session settings that an analysed plan, and a proof, may depend on."""


@dataclass(frozen=True)
class Proofs:
    """The proofs of one query. ``about``: all that they depend on; None: nothing is kept."""

    about: tuple[object, ...] | None = field(default=None)

    def once(self, what: str, prove: Callable[[], _T]) -> _T:
        """Returns the result of ``prove``, now or in an earlier batch. An exception is not kept."""
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
"""The proofs of a query for which nothing is kept."""


def proofs_of(
    spark: SparkSession, query: SqlQuery | PythonQuery | None, inputs: Mapping[TableName, DataFrame]
) -> Proofs:
    """The proofs of a query over inputs of these columns, in this session."""
    if not isinstance(query, SqlQuery):
        return Proofs()
    settings = (spark.conf.get(name, None) for name in SETTINGS)
    columns = sorted((str(name), _columns(frame)) for name, frame in inputs.items())
    return Proofs((spark.sparkContext.applicationId, *settings, query.text, *columns))


def _columns(frame: DataFrame) -> str:
    """Names, types, nullability, and Spark's metadata of columns."""
    plan: Any = frame._jdf
    return str(plan.schema().json())
