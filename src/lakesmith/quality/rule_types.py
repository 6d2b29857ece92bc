"""The rule types of DQDL, and why most of them cannot check a single row.

Source: the DQDL rule type reference of AWS Glue, ``rules-config.json`` of awslabs/dqdl, and the DQDL part of
awslabs/deequ.
"""

from __future__ import annotations

ROW_RULES = ("IsComplete", "ColumnValues", "ColumnLength")

_WHOLE_DATASET = [
    "AggregateMatch",
    "AllStatistics",
    "ColumnCorrelation",
    "Completeness",
    "CustomSql",
    "DatasetMatch",
    "DetectAnomalies",
    "DistinctValuesCount",
    "DuplicateRowCount",
    "Entropy",
    "InterquartileRange",
    "IsPrimaryKey",
    "IsUnique",
    "Kurtosis",
    "Mean",
    "Range",
    "ReferentialIntegrity",
    "RowCount",
    "RowCountMatch",
    "Skewness",
    "StandardDeviation",
    "Sum",
    "UniqueValueRatio",
    "Uniqueness",
    "Variance",
    "ZerosCount",
]
_SCHEMA = ["ColumnCount", "ColumnDataType", "ColumnExists", "ColumnNamesMatchPattern", "SchemaMatch"]
_FILES = ["FileFreshness", "FileMatch", "FileSize", "FileUniqueness"]

_HINTS = {
    "Completeness": 'use IsComplete to check each row, for example: IsComplete "column"',
    "IsPrimaryKey": "declare the table's `key` instead: it keeps one row per key and quarantines NULL keys",
    "IsUnique": "declare the table's `key` instead: it keeps one row per key",
}


def known_types() -> tuple[str, ...]:
    """Returns every rule type of DQDL, the row rules first."""
    return (*ROW_RULES, *_WHOLE_DATASET, *_SCHEMA, *_FILES, "DataFreshness")


def refusal(rule_type: str) -> tuple[str, str] | None:
    """Returns why a rule type is not a row rule and what to do instead; ``None`` for a row rule or an unknown
    type."""
    if rule_type in _WHOLE_DATASET:
        why = f"{rule_type} checks a whole dataset and is not supported on single rows yet"
        return why, _HINTS.get(rule_type, "remove it, or use one of " + ", ".join(ROW_RULES))
    if rule_type in _SCHEMA:
        return (
            f"{rule_type} checks the columns of a table, not its rows",
            "declare the table's `columns` instead",
        )
    if rule_type in _FILES:
        return (
            f"{rule_type} checks files, not the rows of a table",
            "remove it; `source: files:` has settings of its own",
        )
    if rule_type == "DataFreshness":
        return (
            "DataFreshness compares with the present time: a rebuild would give another result",
            "remove it",
        )
    return None


def nearest(rule_type: str) -> str | None:
    """Returns the known rule type most similar to this one, in any case."""
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in known_types()}
    found = get_close_matches(rule_type.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else None
