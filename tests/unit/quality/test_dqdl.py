"""DQDL texts and what becomes of them: the rules as they are shown, and their predicates."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakesmith.errors import Place, ProjectError
from lakesmith.quality.dqdl import parse_rules
from lakesmith.quality.metrics import gate_in_words

PLACE = Place("tables/silver/customers.yaml", 10)


def dbl(column: str) -> str:
    """The column read as a double."""
    java_only = f"typeof(`{column}`) LIKE 'string%' AND CAST(`{column}` AS STRING) RLIKE '[DFXdfx]'"
    return f"nanvl(try_cast(if({java_only}, NULL, `{column}`) AS DOUBLE), NULL)"


PREDICATES = {
    "is complete": ('IsComplete "email"', "(`email` IS NOT NULL)"),
    "a column without quotes, and `of`": ("IsComplete of email", "(`email` IS NOT NULL)"),
    "a column's name with everything in it": (r'IsComplete "a`b.c\"d\\e"', '(`a``b.c"d\\e` IS NOT NULL)'),
    "a number": (
        'ColumnValues "p" > 0',
        f"coalesce({dbl('p')} > 0D OR ({dbl('p')} = 0D AND try_cast(`p` AS DECIMAL(38, 18)) > 0BD), false)",
    ),
    "or equal": (
        'ColumnValues "p" <= -1.50',
        f"coalesce({dbl('p')} < -1.50D OR ({dbl('p')} = -1.50D AND"
        " try_cast(`p` AS DECIMAL(38, 18)) <= -1.50BD), false)",
    ),
    "a number with many digits before the point gets a decimal that holds it": (
        'ColumnValues "p" = 1234567890123456789012345',
        f"coalesce({dbl('p')} = 1234567890123456789012345D AND"
        " try_cast(`p` AS DECIMAL(38, 12)) = 1234567890123456789012345BD, false)",
    ),
    "a number with many digits behind the point gets a decimal that holds it": (
        'ColumnValues "p" = 0.1234567890123456789012345',
        f"coalesce({dbl('p')} = 0.1234567890123456789012345D AND"
        " try_cast(`p` AS DECIMAL(38, 25)) = 0.1234567890123456789012345BD, false)",
    ),
    "leading zeros are not digits": (
        'ColumnValues "p" in [007, 8]',
        f"coalesce({dbl('p')} IN (7D, 8D) AND try_cast(`p` AS DECIMAL(38, 18)) IN (7BD, 8BD), false)",
    ),
    "none of some numbers": (
        'ColumnValues "p" != 7',
        f"coalesce(`p` IS NULL OR NOT {dbl('p')} = 7D OR ({dbl('p')} = 7D AND"
        " NOT try_cast(`p` AS DECIMAL(38, 18)) = 7BD), false)",
    ),
    "a string": ('ColumnValues "s" = "x"', "coalesce(CAST(`s` AS STRING) = 'x', false)"),
    "a string with quotes, backslashes and a variable of Spark's": (
        r'ColumnValues "s" = "it\'s \"a\\b\" \c ${x}"'.replace(r"\'", "'"),
        r"""coalesce(CAST(`s` AS STRING) = 'it\'s "a\\b" \\c ${x}', false)""",
    ),
    "not a string: NULL passes": (
        'ColumnValues "s" != "x"',
        "coalesce(`s` IS NULL OR NOT (CAST(`s` AS STRING) = 'x'), false)",
    ),
    "none of some strings and not NULL": (
        'ColumnValues "s" not in ["x", "y", NULL]',
        "coalesce(NOT (CAST(`s` AS STRING) IN ('x', 'y')), false)",
    ),
    "keywords, in small letters too": (
        'ColumnValues "s" in [null, EMPTY, whitespaces_only]',
        r"coalesce(CAST(`s` AS STRING) = '' OR CAST(`s` AS STRING) RLIKE '(?U)\\A\\s+\\z' OR `s` IS NULL, "
        r"false)",
    ),
    "NULL": ('ColumnValues "s" = NULL', "coalesce(`s` IS NULL, false)"),
    "not NULL": ('ColumnValues "s" != NULL', "coalesce(`s` IS NOT NULL, false)"),
    "a date": (
        'ColumnValues "d" >= "2024-01-31"',
        "coalesce(try_cast(`d` AS DATE) >= DATE'2024-01-31', false)",
    ),
    "not between is exclusive too": (
        'ColumnValues "d" not between "2024-01-01" and "2024-02-01"',
        "coalesce(try_cast(`d` AS DATE) <= DATE'2024-01-01' OR try_cast(`d` AS DATE) >= DATE'2024-02-01', "
        "false)",
    ),
    "a date beside a string is a string": (
        'ColumnValues "d" in ["2024-01-31", "never"]',
        "coalesce(CAST(`d` AS STRING) IN ('2024-01-31', 'never'), false)",
    ),
    "a time is a string when it is not ordered": (
        'ColumnValues "t" = "09:30"',
        "coalesce(CAST(`t` AS STRING) = '09:30', false)",
    ),
    "a regular expression keeps its backslashes": (
        r'ColumnValues "s" matches "\d+\\\"a|b"',
        r"""coalesce(CAST(`s` AS STRING) RLIKE '\\A(?:\\d+\\\\"a|b)\\z', false)""",
    ),
    "not matches": (
        'ColumnValues "s" not matches "a"',
        r"coalesce(NOT CAST(`s` AS STRING) RLIKE '\\A(?:a)\\z', false)",
    ),
    "a string in any case": (
        'ColumnValues "s" not in ["X", EMPTY] with ignoreCase = "true"',
        "coalesce(lower(CAST(`s` AS STRING)) IS NULL OR NOT (CAST(lower(CAST(`s` AS STRING)) AS STRING)"
        " IN ('x', '')), false)",
    ),
    "a regular expression in any case": (
        'ColumnValues "s" matches "[a-c]x" with ignoreCase = "true"',
        r"coalesce(CAST(`s` AS STRING) RLIKE '\\A(?:(?iu)[a-c]x)\\z', false)",
    ),
    "a length": ('ColumnLength "s" != 5', "(NOT coalesce(length(CAST(`s` AS STRING)), 0) IN (5))"),
    "a length between": (
        'ColumnLength "s" between 1 and 5',
        "(coalesce(length(CAST(`s` AS STRING)), 0) > 1 AND coalesce(length(CAST(`s` AS STRING)), 0) < 5)",
    ),
    "a filter": (
        r'IsComplete "a" where "b rlike \"\\d\" and (c > 1)"',
        r'(NOT coalesce((b rlike "\\d" and (c > 1)), false) OR (`a` IS NOT NULL))',
    ),
    "and binds closer than or": (
        'IsComplete "a" or IsComplete "b" AND IsComplete "c"',
        "((`a` IS NOT NULL) OR ((`b` IS NOT NULL) AND (`c` IS NOT NULL)))",
    ),
    "parentheses": (
        '((IsComplete "a") OR (IsComplete "b")) and (IsComplete "c")',
        "(((`a` IS NOT NULL) OR (`b` IS NOT NULL)) AND (`c` IS NOT NULL))",
    ),
    "between in a composite": (
        'ColumnLength "a" between 1 and 3 and IsComplete "b"',
        "((coalesce(length(CAST(`a` AS STRING)), 0) > 1 AND coalesce(length(CAST(`a` AS STRING)), 0) < 3)"
        " AND (`b` IS NOT NULL))",
    ),
}


@pytest.mark.parametrize(("rule", "predicate"), PREDICATES.values(), ids=PREDICATES.keys())
def test_predicates(rule: str, predicate: str) -> None:
    (parsed,) = parse_rules(f"Rules = [ {rule} ]", PLACE)
    assert parsed.predicate == predicate


def test_rules_know_their_text_place_columns_and_filters() -> None:
    text = """# the customers
Rules = [  # an opening
  IsComplete "email",
  (ColumnValues   "price" > 0  # not free
     where "op  <> 'D'")
     and (ColumnLength "name"<5) and (IsComplete "price"), ColumnValues "s" = "two  spaces # no comment"
]  # the end"""
    rules = parse_rules(text, PLACE)
    assert [rule.text for rule in rules] == [
        'IsComplete "email"',
        """(ColumnValues "price" > 0 where "op  <> 'D'") and """
        """(ColumnLength "name"<5) and (IsComplete "price")""",
        'ColumnValues "s" = "two  spaces # no comment"',
    ]
    assert [str(rule.place) for rule in rules] == [
        f"tables/silver/customers.yaml:{line}" for line in (12, 13, 15)
    ]
    assert [rule.columns for rule in rules] == [("email",), ("price", "name"), ("s",)]
    assert [rule.wheres for rule in rules] == [(), ("op  <> 'D'",), ()]


def test_a_place_without_a_line_stays_without() -> None:
    (rule,) = parse_rules('Rules = [\n IsComplete "a" ]', Place("t.yaml"))
    assert rule.place == Place("t.yaml")


def test_line_ends_of_other_systems() -> None:
    rules = parse_rules('Rules = [\r\n  IsComplete "a",\r\n  # b\r\n  IsComplete "b"\r\n]\r\n', PLACE)
    assert [(rule.text, rule.place.line) for rule in rules] == [
        ('IsComplete "a"', 11),
        ('IsComplete "b"', 13),
    ]


SOUP = st.lists(
    st.sampled_from(
        [
            "Rules", "=", "[", "]", "(", ")", ",", "\n", "and", "or", "not", "in", "between", "matches",
            "where", "with", "labels", "threshold", "now()", "-", "5", "1.5", "NULL", "EMPTY", '"a"',
            '"2024-01-31"', '"', "$x", "!=", ">", "# c\n", "\\", "é",
            "IsComplete", "ColumnValues", "ColumnLength", "RowCount", 'IsComplete "a"', "Analyzers",
            'ColumnValues "b" = 1', "RowCount > avg(last(3))", "DataFreshness",
            "Uniqueness", "days", "last(", "of",
        ]
    )
)  # fmt: skip


@given(SOUP, st.booleans())
@settings(max_examples=500, deadline=None)
def test_any_text_gives_rules_or_problems_at_lines_of_the_text(words: list[str], in_list: bool) -> None:
    text = " ".join(["Rules = [", *words, "]"] if in_list else words)
    lines = range(10, 11 + text.count("\n"))
    try:
        rules = parse_rules(text, PLACE)
    except ProjectError as error:
        assert error.problems
        assert all(problem.place and problem.place.line in lines for problem in error.problems)
    else:
        assert rules
        assert isinstance(gate_in_words([rule for rule in rules if not rule.predicate]), str)
        again = parse_rules("Rules = [" + ", ".join(rule.text for rule in rules) + "]", PLACE)
        assert [(rule.text, rule.predicate) for rule in again] == [
            (rule.text, rule.predicate) for rule in rules
        ]


@pytest.mark.parametrize(
    "pattern", [r"\\p{L}+", "a{99999999999999999999}", "(?<n>x)", "[[a]", "(" * 2000 + ")" * 2000]
)
def test_a_regular_expression_that_python_does_not_know_is_left_to_java(pattern: str) -> None:
    (rule,) = parse_rules(f'Rules = [ ColumnValues "s" matches "{pattern}" ]', PLACE)
    assert rule.predicate
