"""The rule types of DQDL: their parameters, what they give, and on what they decide.

Source: the DQDL rule type reference of AWS Glue, ``rules-config.json`` of awslabs/dqdl, and the DQDL part of
awslabs/deequ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from lakesmith.quality.model import Kind

Level = Literal["row", "table", "files", "analyzer"]


@dataclass(frozen=True, slots=True)
class RuleType:
    """A rule type.

    Args:
        name: as in DQDL.
        level: what it decides on; ``row``: on each row, if nothing in the rule needs the whole table.
        parameters: what each parameter is: ``column``, ``regex``, ``table``, ``text``. ``*``: any number of
            the last.
        gives: the kinds of value that a condition can be about; without any there is no condition.
        meaning: what it measures, or what holds.
        where: whether it takes a filter; ``threshold``: whether it takes ``with threshold``.
    """

    name: str
    level: Level
    parameters: str
    gives: tuple[Kind, ...]
    meaning: str
    where: bool = True
    threshold: bool = False

    @property
    def counts(self) -> tuple[int, int]:
        """The least and the greatest number of parameters."""
        named = self.parameters.split()
        least = sum(name != "any*" and not name.endswith("?") for name in named)
        return least, 99 if "*" in self.parameters else len(named)

    @property
    def form(self) -> str:
        """The type with its parameters, for messages."""
        return " ".join((self.name, *(f'"{name}"' for name in self.parameters.replace("any*", "").split())))


def _number(name: str, parameters: str, meaning: str, level: Level = "table") -> RuleType:
    return RuleType(name, level, parameters, ("number",), meaning)


_ROWS: Final = (
    RuleType("IsComplete", "row", "column", (), "the column is not NULL"),
    RuleType(
        "ColumnValues",
        "row",
        "column",
        ("text", "number", "date"),
        "the value meets the condition",
        threshold=True,
    ),
    RuleType("ColumnLength", "row", "column", ("number",), "the number of characters meets the condition"),
    RuleType(
        "ColumnDataType", "row", "column", ("text",), "the value can be cast to the type", threshold=True
    ),
)
_TABLES: Final = (
    _number("RowCount", "", "rows"),
    RuleType("ColumnCount", "table", "", ("number",), "columns", where=False),
    _number("Completeness", "column", "share of rows in which the column is not NULL"),
    _number("Mean", "column", "arithmetic mean"),
    _number("Sum", "column", "sum"),
    _number("StandardDeviation", "column", "standard deviation of the population"),
    _number("Variance", "column", "variance of the population"),
    _number("Entropy", "column", "Shannon entropy of the values that are not NULL, with natural logarithms"),
    _number("DistinctValuesCount", "column", "different values; NULL counts as one"),
    _number("UniqueValueRatio", "column", "values seen once, as a share of the different values"),
    _number(
        "Uniqueness",
        "column*",
        "rows whose values are seen once, as a share of the rows with one that is not NULL",
    ),
    _number(
        "DuplicateRowCount",
        "any*",
        "rows whose values are seen more than once, without rows of NULLs alone; no column: all columns",
    ),
    _number("ColumnCorrelation", "column column", "Pearson's correlation of two columns"),
    _number("ZerosCount", "column", "rows in which the column is 0"),
    _number("Range", "column", "maximum - minimum"),
    _number("InterquartileRange", "column", "third quartile - first quartile, exact, interpolated"),
    _number("Skewness", "column", "skewness of the population; 0 if all values are the same"),
    _number("Kurtosis", "column", "excess kurtosis of the population; 0 if all values are the same"),
    RuleType("IsUnique", "table", "column*", (), "no value is seen twice; rows of NULLs alone do not count"),
    RuleType("IsPrimaryKey", "table", "column*", (), "no column is NULL, and no value is seen twice"),
    RuleType("ColumnExists", "table", "text", (), "the table has the column", where=False),
    RuleType(
        "ColumnNamesMatchPattern",
        "table",
        "regex",
        (),
        "the name of every column has a part that matches; `^` and `$` are its ends",
        where=False,
    ),
    RuleType(
        "DataFreshness", "table", "column", ("duration",), "the age of every row's value meets the condition"
    ),
    RuleType(
        "CustomSql",
        "table",
        "text",
        ("number",),
        "the one number of a query of `primary`; without a condition: the rows that it returns pass",
        where=False,
        threshold=True,
    ),
    RuleType(
        "RowCountMatch", "table", "table", ("number",), "rows, as a share of another table's", where=False
    ),
    RuleType(
        "SchemaMatch",
        "table",
        "table",
        ("number",),
        "share of columns with a name and type of the other table; 0 if it has more or fewer columns",
        where=False,
    ),
    RuleType(
        "ReferentialIntegrity",
        "table",
        "text text",
        ("number",),
        "share of rows whose values are in the other table; a row with NULL is not",
        where=False,
    ),
    RuleType(
        "AggregateMatch",
        "table",
        "text text",
        ("number",),
        "one `sum(column)` or `avg(column)` as a share of another; 0 of 0 is 1",
        where=False,
    ),
    RuleType(
        "DatasetMatch",
        "table",
        "table text text?",
        ("number",),
        "share of rows equal to the row of the other table with the same key",
        where=False,
    ),
    RuleType(
        "DetectAnomalies",
        "table",
        "text any*",
        (),
        "the metric is within 3 standard deviations of the mean of its last 30 values",
        where=False,
    ),
)
_FILES: Final = (
    RuleType("FileFreshness", "files", "text?", ("date",), "", where=False, threshold=True),
    RuleType("FileSize", "files", "text?", ("size", "number"), "", where=False, threshold=True),
    RuleType("FileUniqueness", "files", "text?", ("number",), "", where=False),
    RuleType("FileMatch", "files", "text? text?", ("text",), "", where=False),
)
_ANALYZERS: Final = (
    RuleType("AllStatistics", "analyzer", "column", (), "Completeness, DistinctValuesCount and Uniqueness"),
    RuleType("Distribution", "analyzer", "column", (), ""),
)

TYPES: Final = {each.name: each for each in (*_ROWS, *_TABLES, *_FILES, *_ANALYZERS)}


_INSTEAD: Final = {
    "FileFreshness": "declare `freshness` of the table: a table without new rows is an alert",
    "FileSize": "compare RowCount; files that are empty or cut short are said or refused as they are read",
    "FileUniqueness": "give the next table a `key`: a file is ingested once, and a key removes repeated rows",
    "FileMatch": "compare tables of the files: RowCountMatch, DatasetMatch",
}


def refusal(rule_type: str) -> tuple[str, str] | None:
    """Returns why lakesmith does not have a rule type and what to do instead; ``None`` if it has it."""
    if TYPES[rule_type].level == "files":
        return f"{rule_type} checks files, not the rows of a table", _INSTEAD[rule_type]
    if rule_type == "Distribution":
        return "Distribution is a histogram, and a metric here is one number", "use Entropy or Uniqueness"
    return None


def nearest(rule_type: str) -> str | None:
    """Returns the known rule type most similar to this one, in any case."""
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in TYPES}
    found = get_close_matches(rule_type.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else None
