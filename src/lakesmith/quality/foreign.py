"""Checks of the foreign languages in DQDL, without their parsers: ``where`` (Spark SQL) and ``matches`` (Java
regex).

They find early what would fail the whole batch in Spark, or give another result in a rebuild. Spark checks
the rest when it analyses the predicate.
"""

from __future__ import annotations

import re
import warnings

_SQL_TOKEN = re.compile(
    r"""
      (?P<quoted>'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|`[^`]*+`)
    | (?P<open_quote>['"`])
    | (?P<comment>--|/\*)
    | (?P<call>[A-Za-z_]\w*(?=\s*\())
    | (?P<word>[A-Za-z_]\w*)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOCK_WORDS = frozenset({"current_date", "current_timestamp", "current_time", "localtimestamp"})
_UNREPEATABLE_CALLS = _CLOCK_WORDS | {
    "now", "curdate", "unix_timestamp", "rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle",
    "monotonically_increasing_id", "spark_partition_id", "input_file_name", "input_file_block_start",
    "input_file_block_length",
}  # fmt: skip
UNREPEATABLE = "a rebuild would give another result"
"""The reason why nothing in a rule may change with time or chance."""

_UNBALANCED = ("unterminated character set", "missing ), unterminated subpattern", "unbalanced parenthesis")

_FAILING_CALLS = frozenset({"raise_error", "assert_true"})


def where_problem(sql: str) -> str | None:
    """Returns what is wrong with a ``where`` filter, in words that follow "the filter ..."; ``None`` if no
    fault is found."""
    if not sql.strip():
        return "is empty"
    depth = 0
    for match in _SQL_TOKEN.finditer(sql):
        depth += {"(": 1, ")": -1}.get(match.group(), 0)
        problem = "closes a parenthesis that it does not open" if depth < 0 else _token_problem(match)
        if problem:
            return problem
    return "leaves a parenthesis open" if depth else None


def _token_problem(match: re.Match[str]) -> str | None:
    word, kind = match.group().lower(), match.lastgroup
    if kind == "open_quote":
        return "leaves a quote open"
    if kind == "comment" or word == ";":
        return f"has a `{word}`, which would hide or end what follows"
    if kind in {"call", "word"} and word == "select":
        return "has a subquery, which reads more than a single row"
    if word in (_UNREPEATABLE_CALLS if kind == "call" else _CLOCK_WORDS):
        return f"uses {word}: {UNREPEATABLE}"
    if kind == "call" and word in _FAILING_CALLS:
        return f"uses {word}, which is no condition of a row: it ends the batch"
    return None


def regex_problem(pattern: str) -> str | None:
    """Returns what is wrong with a regular expression; ``None`` if no fault is found.

    Python's compiler replaces Java's. Only its complaints about open groups and character classes count,
    because the two languages agree on these.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            re.compile(pattern)
    except re.error as error:
        return error.msg if error.msg in _UNBALANCED else None
    except (OverflowError, RecursionError):
        return None
    return None
