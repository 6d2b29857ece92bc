"""Provides lakesmith's functions for logs to a session, as Python functions over Arrow.

A value that repeats is computed once in a task. A salt is part of the function that Spark sends to its
workers; no plan shows it.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Final

from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakesmith.sql import log_functions
from lakesmith.sql.log_functions import FUNCTIONS, OWN_PREFIX, SALTED, Used, salt_of

_KEPT: Final = 100_000


def provide(spark: SparkSession, found: Used, environment: Mapping[str, str] = os.environ) -> None:
    """Registers the functions that a query uses. Raises RunError LS315 if a salt is absent."""
    salts = {name: salt_of(name, environment) for name in found.salts}
    session: Any = spark._jsparkSession
    for name in found.functions:
        function = FUNCTIONS[name]
        compute, require = function.compute, _nothing
        if name == SALTED:
            compute = partial(_with_salt, salts=salts)
        elif name == "user_agent":
            require = partial(log_functions.require_rules, log_functions.rules_version())
        made: Any = getattr(_made(compute, function.returns, require), "_unwrapped")  # noqa: B009
        made._name = OWN_PREFIX + name
        session.udf().registerPython(name, made._judf)


def _nothing() -> None:
    """Requires nothing of a worker."""


def _made(compute: Callable[..., Any], returns: str, require: Callable[[], None]) -> Any:
    """A Python function over Arrow, or row by row where Spark is older. A task calls ``require`` first."""
    send_along: Any = register_pickle_by_value
    for module in (log_functions, sys.modules[__name__]):
        send_along(module)
    if not hasattr(F, "arrow_udf"):
        return F.udf(_by_row(_Kept(compute, require)), returns)
    from pyspark.sql.pandas.functions import ArrowUDFType
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import _parse_datatype_string

    by_batch = _by_batch(_Kept(compute, require), to_arrow_type(_parse_datatype_string(returns)))
    with warnings.catch_warnings():
        # Spark prefers hints of types, which name modules that are imported in the workers.
        warnings.simplefilter("ignore", UserWarning)
        return F.arrow_udf(by_batch, returns, ArrowUDFType.SCALAR)


def _with_salt(text: str, name: str, salts: Mapping[str, bytes]) -> str:
    return log_functions.hashed_address(text, salts[name])


class _Kept:
    """A function with the results of earlier calls, which a task begins without."""

    def __init__(self, compute: Callable[..., Any], require: Callable[[], None]) -> None:
        self.compute, self.require = compute, require
        self.cached: Callable[..., Any] | None = None

    def __call__(self, *given: Any) -> Any:
        if self.cached is None:
            self.require()
            self.cached = lru_cache(maxsize=_KEPT)(self.compute)
        return self.cached(*given)


def _by_row(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda text, *constants: None if text is None else compute(text, *constants)


def _by_batch(compute: Callable[..., Any], type_: Any) -> Callable[..., Any]:
    """Computes each distinct text of a batch once. The arguments after the text are the same in all rows."""

    def of_batch(texts, *constants):  # type: ignore[no-untyped-def]
        import pyarrow as pa

        coded, others = texts.dictionary_encode(), [each[0].as_py() for each in constants if len(each)]
        values = [compute(text, *others) for text in coded.dictionary.to_pylist()]
        return pa.array(values, type_).take(coded.indices)

    return of_batch
