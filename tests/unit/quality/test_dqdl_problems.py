"""DQDL texts that are wrong: every problem at its line, with what to do."""

import pytest

from lakesmith.errors import Place, ProjectError
from lakesmith.quality.dqdl import parse_rules
from lakesmith.quality.rule_types import TYPES, refusal

PLACE = Place("tables/silver/customers.yaml", 10)


def problems(text: str) -> list[str]:
    with pytest.raises(ProjectError) as raised:
        parse_rules(text, Place("t.yaml", 10))
    return [problem.lines()[0] for problem in raised.value.problems]


PROBLEMS = {
    "nothing": ("", ["LS180 t.yaml:10: the rules do not begin as DQDL does"]),
    "no rules": ("Rules = [\n]", ["LS180 t.yaml:11: there are no rules"]),
    "the list's name in small letters": (
        'rules = [ IsComplete "a" ]',
        ["LS180 t.yaml:10: the rules do not begin as DQDL does"],
    ),
    "no list": ('IsComplete "a"', ["LS180 t.yaml:10: the rules do not begin as DQDL does"]),
    "a list that is not closed": ('Rules = [\nIsComplete "a"', ["LS180 t.yaml:11: the rule cannot be read"]),
    "a comma at the end": (
        'Rules = [ IsComplete "a",\n]',
        ["LS180 t.yaml:11: a comma ends the list of rules"],
    ),
    "a comma that is missing": (
        'Rules = [ IsComplete "a"\nIsComplete "b" ]',
        ["LS180 t.yaml:11: the rule cannot be read"],
    ),
    "a parenthesis that is not closed": (
        'Rules = [ (IsComplete "a",\n IsComplet "b" ]',
        ["LS180 t.yaml:10: the rule cannot be read", "LS181 t.yaml:11: unknown rule type IsComplet"],
    ),
    "a list of values that is not closed": (
        'Rules = [ ColumnValues "a" in ["x", "y",\n IsComplete "b",\n FileSize > 1 B ]',
        [
            "LS180 t.yaml:11: the rule cannot be read",
            "LS182 t.yaml:12: FileSize checks files, not the rows of a table",
        ],
    ),
    "a string that is not closed": (
        'Rules = [\n IsComplete "a ]\n',
        ["LS180 t.yaml:11: a string is not closed"],
    ),
    "quotes of a word processor": (
        "Rules = [ IsComplete \u201ca\u201d ]",
        ["LS180 t.yaml:10: a character that DQDL does not have"],
    ),
    "single quotes": ("Rules = [ IsComplete 'a' ]", ["LS180 t.yaml:10: a character that DQDL does not have"]),
    "two columns": (
        'Rules = [ IsComplete "a" "b" ]',
        ["LS180 t.yaml:10: IsComplete cannot have 2 parameters"],
    ),
    "no column": ("Rules = [ IsComplete ]", ["LS180 t.yaml:10: IsComplete cannot have no parameter"]),
    "an empty column name": ('Rules = [ IsComplete "" ]', ["LS180 t.yaml:10: the name of a column is empty"]),
    "no condition": ('Rules = [ ColumnValues "a" ]', ["LS180 t.yaml:10: ColumnValues needs a condition"]),
    "a condition too much": (
        'Rules = [ IsComplete "a" > 1 ]',
        ["LS180 t.yaml:10: IsComplete takes no condition"],
    ),
    "several at once, each at its line": (
        """Rules = [
  Iscomplete "a",
  (ColumnValues "b" > "x") and (Completeness "c"),
  ColumnValues "d" in [1, "2"],  # and a comment
  IsComplete "fine",
  ColumnValues "e" matches "(" ]
Analyzers = [ IsComplete "a" ]""",
        [
            "LS181 t.yaml:11: unknown rule type Iscomplete",
            "LS185 t.yaml:12: > does not compare strings",
            "LS180 t.yaml:12: Completeness needs a condition",
            "LS185 t.yaml:13: numbers, strings and other values are mixed in one condition",
            "LS185 t.yaml:15: the regular expression is not valid: missing ), unterminated subpattern",
            "LS182 t.yaml:16: IsComplete is no metric",
        ],
    ),
    "keys of sections": (
        'Metadata = { "Versio": "1.0" }\nDataSources = { "AdditionalDataSources": "b" }\n'
        "Rules = [ RowCount > 1 ]",
        [
            'LS185 t.yaml:10: "Versio" is not a key of Metadata',
            "LS185 t.yaml:11: AdditionalDataSources is a list",
        ],
    ),
    "constants": (
        'x = ["a", "b"]\nx = "b"\n_y = "c"\nz = $x\nRules = [ ColumnValues "a" in $y, IsComplete $x ]',
        [
            "LS185 t.yaml:11: the constant x is declared twice",
            "LS185 t.yaml:12: the constant _y begins with _",
            "LS185 t.yaml:13: a constant cannot be made of another one",
            "LS185 t.yaml:14: the constant $y is not declared",
            "LS185 t.yaml:14: a list cannot be a parameter",
        ],
    ),
    "thresholds": (
        'Rules = [ IsComplete "a" with threshold > 0.9, ColumnLength "a" > 1 with threshold > 0, '
        'ColumnValues "a" = 1 with threshold > 0.9 '
        'with threshold < 1,\n ColumnValues "a" = 1 with threshold = "x", '
        'CustomSql "select 1" > 1 with threshold > 0 ]',
        [
            "LS185 t.yaml:10: IsComplete takes no threshold",
            "LS185 t.yaml:10: ColumnLength takes no threshold",
            "LS185 t.yaml:10: a rule has one threshold only",
            "LS185 t.yaml:11: a threshold is a number",
            "LS185 t.yaml:11: CustomSql with a condition takes no threshold",
        ],
    ),
    "other tags": (
        'Rules = [ ColumnValues "a" in ["x"] with colour = "y", ColumnValues "a" > "9:30 AM" '
        'with timeZone = "Mars" ]',
        ["LS183 t.yaml:10: `with colour` is not supported", "LS185 t.yaml:10: 'Mars' is not a time zone"],
    ),
    "tags that would change nothing": (
        'Rules = [ RowCount > 1 with ignoreCase = "true", ColumnValues "a" > 1 with ignoreCase = "true",\n'
        'ColumnValues "a" = NULL with ignoreCase = "true", ColumnValues "a" = "9:30" with timeZone = "UTC",\n'
        'ColumnValues "a" = "x" with ignoreCase = "yes", ColumnValues "a" = "x" with ignoreCase = "true" '
        'with ignoreCase = "false",\nColumnDataType "a" = "Long" with format = "yyyy", '
        'ColumnDataType "a" = "Date" with format = "invalid-format" ]',
        [
            "LS185 t.yaml:10: `with ignoreCase` would change nothing here",
            "LS185 t.yaml:10: `with ignoreCase` would change nothing here",
            "LS185 t.yaml:11: `with ignoreCase` would change nothing here",
            "LS185 t.yaml:11: `with timeZone` would change nothing here",
            "LS185 t.yaml:12: `with ignoreCase` is true or false",
            "LS185 t.yaml:12: a rule has one ignoreCase only",
            "LS185 t.yaml:13: `with format` would change nothing here",
            "LS185 t.yaml:13: the format of dates is not known",
        ],
    ),
    "labels": (
        'Rules = [ IsComplete "a" labels = ["k"="v", "k"="w"], RowCount > 1 labels = [], RowCount > 1 '
        'labels = ["k"=""] ]',
        [
            "LS185 t.yaml:10: the label 'k' is there twice",
            "LS185 t.yaml:10: the number of labels is not possible",
            "LS185 t.yaml:10: a label is too short or too long",
        ],
    ),
    "dynamic rules": (
        'Rules = [ ColumnLength "a" > avg(last(3)), RowCount > last(3), RowCount > index(last(2), 2), '
        "RowCount > top(last()),\n RowCount > last(0), RowCount > last(1000) ]",
        [
            "LS183 t.yaml:10: ColumnLength compares single rows, which have no earlier runs",
            "LS185 t.yaml:10: last(k) gives several values here",
            "LS185 t.yaml:10: index 2 is beyond last(2); the newest is 0",
            "LS185 t.yaml:10: top(1 values) is not a function of DQDL's dynamic rules",
            "LS185 t.yaml:11: last(k) takes a whole number of earlier runs",
            "LS185 t.yaml:11: last(k) takes a whole number of earlier runs",
        ],
    ),
    "times": (
        'Rules = [ ColumnValues "a" > "09:70", ColumnValues "a" > "13:00 PM" ]',
        ["LS185 t.yaml:10: a time that no clock has"] * 2,
    ),
    "arithmetic": (
        'Rules = [ ColumnValues "a" = 1 / 0, RowCount > NULL + 1, DataFreshness "a" < 1.5 days ]',
        [
            "LS185 t.yaml:10: a division by zero",
            "LS185 t.yaml:10: NULL is not a number to calculate with",
            "LS185 t.yaml:10: 1.5 days is not a whole number",
        ],
    ),
    "an order of strings": (
        'Rules = [ ColumnValues "a" > "x", ColumnValues "a" between "1" and "2" ]',
        ["LS185 t.yaml:10: > does not compare strings", "LS185 t.yaml:10: between does not compare strings"],
    ),
    "an order of NULL": (
        'Rules = [ ColumnValues "a" between NULL and 2 ]',
        ["LS185 t.yaml:10: NULL has no order: it can stand with =, !=, in and not in only"],
    ),
    "a keyword for strings among numbers": (
        'Rules = [ ColumnValues "a" in [1, EMPTY] ]',
        ["LS185 t.yaml:10: EMPTY is a keyword for strings"],
    ),
    "bounds that nothing is between": (
        'Rules = [ ColumnValues "a" between 2 and 2.0, ColumnValues "d" between "2024-02-01" and '
        '"2024-01-01" ]',
        ["LS185 t.yaml:10: no value is between the bounds: the lower has to be below the upper one"] * 2,
    ),
    "a date that does not exist": (
        'Rules = [ ColumnValues "a" = "2024-02-30" ]',
        ["LS185 t.yaml:10: a date that no calendar has"],
    ),
    "too many digits": (
        f'Rules = [ ColumnValues "a" in [{"1" * 30}, 0.{"1" * 9}] ]',
        ["LS185 t.yaml:10: the numbers need more than 37 digits"],
    ),
    "decimals that no column can have": (
        'Rules = [ ColumnDataType "a" = "DECIMAL(99,2)", ColumnDataType "a" = "decimal(2, 3)",\n'
        'ColumnDataType "a" = "DECIMAL(0,0)", ColumnDataType "a" != "DECIMAL(38,38)" ]',
        [
            *["LS185 t.yaml:10: a decimal that no column can have"] * 2,
            "LS185 t.yaml:11: a decimal that no column can have",
        ],
    ),
    "an exponent": (
        'Rules = [ ColumnValues "a" > 1e5 ]',
        ["LS180 t.yaml:10: 1e5 is not a number as DQDL writes it"],
    ),
    "an exponent before another rule": (
        'Rules = [ Mean "a" > 1e30,\nMean "b" > -1E5, Mean "c" > 1e-3, Mean "d" > 1e999999999 ]',
        [
            "LS180 t.yaml:10: 1e30 is not a number as DQDL writes it",
            "LS180 t.yaml:11: 1E5 is not a number as DQDL writes it",
            "LS180 t.yaml:11: 1e-3 is not a number as DQDL writes it",
            "LS180 t.yaml:11: 1e999999999 is not a number as DQDL writes it",
        ],
    ),
    "words in place of values": (
        'Rules = [ ColumnValues "a" in [x, "y"],\nMean "b" > 1e, Mean "c" = 5x, Mean "d" > .5 ]',
        [
            "LS180 t.yaml:10: x is no value",
            "LS180 t.yaml:11: 1e is not a number as DQDL writes it",
            "LS180 t.yaml:11: 5x is not a number as DQDL writes it",
            "LS180 t.yaml:11: .5 is not a number as DQDL writes it",
        ],
    ),
    "a length of NULL": (
        'Rules = [ ColumnLength "a" = NULL ]',
        ["LS185 t.yaml:10: ColumnLength is compared with numbers only"],
    ),
    "a keyword in capitals": (
        'Rules = [ ColumnValues "a" BETWEEN 1 and 2 ]',
        ["LS180 t.yaml:10: the rule cannot be read"],
    ),
    "filters": (
        """Rules = [ IsComplete "a" where "",
IsComplete "a" where "x > (1", IsComplete "a" where "x) or (true",
IsComplete "a" where "x = 'y", IsComplete "a" where "x > 1 -- y",
IsComplete "a" where "x < current_date", IsComplete "a" where "x in (select 1)",
IsComplete "a" where x > 1,
IsComplete "a" where "raise_error ('no')" ]""",
        [
            "LS185 t.yaml:10: the where filter is empty",
            "LS185 t.yaml:11: the where filter leaves a parenthesis open",
            "LS185 t.yaml:11: the where filter closes a parenthesis that it does not open",
            "LS185 t.yaml:12: the where filter leaves a quote open",
            "LS185 t.yaml:12: the where filter has a `--`, which would hide or end what follows",
            "LS184 t.yaml:13: the where filter uses current_date: a rebuild would give another result",
            "LS185 t.yaml:13: the where filter has a subquery, which reads more than a single row",
            "LS180 t.yaml:14: the rule cannot be read",
            "LS185 t.yaml:15: the where filter uses raise_error, which is no condition of a row: it ends the "
            "batch",
        ],
    ),
}


@pytest.mark.parametrize(("text", "expected"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_problems(text: str, expected: list[str]) -> None:
    assert problems(text) == expected


HINTS = {
    "a name that is nearly right": ('isComplet "a"', "did you mean IsComplete?"),
    "capitals": ('ColumnValues "a" BETWEEN 1 and 2', "DQDL writes it in lower case: between"),
    "word processor": ("IsComplete \u201ca\u201d", 'use straight double quotes: "'),
    "a word of DQDL as a name": ("IsComplete days", 'days is a word of DQDL; if it is a name, write "days"'),
    "the length of NULL": ('ColumnLength "a" = NULL', "NULL has the length 0"),
    "numbers in quotes": (
        'ColumnValues "a" > "5"',
        "numbers have no quotes; strings can be compared with =, !=, in and matches",
    ),
}


@pytest.mark.parametrize(("rule", "hint"), HINTS.values(), ids=HINTS.keys())
def test_problems_say_what_to_do(rule: str, hint: str) -> None:
    with pytest.raises(ProjectError) as raised:
        parse_rules(f"Rules = [ {rule} ]", PLACE)
    assert [problem.hint for problem in raised.value.problems] == [hint]


@pytest.mark.parametrize("rule_type", [name for name in TYPES if refusal(name)])
def test_a_rule_type_that_lakesmith_does_not_have_is_refused_once_with_its_reason(rule_type: str) -> None:
    reason = refusal(rule_type)
    assert reason
    text = f'Rules = [ {rule_type} "a" > 1 where "c > 1" with threshold > 0.5, IsComplete "a" ]'
    assert problems(text) == [f"LS182 t.yaml:10: {reason[0]}"]


def test_a_text_is_read_in_linear_time() -> None:
    many = ",\n".join(f'ColumnValues "c{at}" in ["{at}", NULL]' for at in range(2_000))
    assert len(parse_rules(f"Rules = [\n{many}\n]", PLACE)) == 2_000
    unclosed = 'Rules = [ IsComplete "' + "\\\\" * 20_000
    assert problems(unclosed) == ["LS180 t.yaml:10: a string is not closed"]


@pytest.mark.parametrize(
    ("number", "found", "hint"),
    [
        ("1e3", "1e3", "write it as 1000"),
        ("1.5E2", "1.5E2", "write it as 150"),
        ("-1e-3", "1e-3", "write it as 0.001"),
        (".5", ".5", "write it as 0.5"),
        ("1e999999999", "1e999999999", "write it without an exponent"),
        ("0x10", "0x10", None),
    ],
)
def test_a_number_that_dqdl_does_not_have_is_found_and_written_out(
    number: str, found: str, hint: str | None
) -> None:
    with pytest.raises(ProjectError) as raised:
        parse_rules(f'Rules = [ Mean "x" > {number}, RowCount > 1 ]', Place("t.yaml", 1))
    (problem,) = raised.value.problems
    assert (problem.found, problem.hint) == (found, hint)
