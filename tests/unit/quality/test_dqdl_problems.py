"""DQDL texts that are wrong: every problem at its line, with what to do."""

import pytest

from lakesmith.errors import Place, ProjectError
from lakesmith.quality.dqdl import parse_rules
from lakesmith.quality.rule_types import ROW_RULES, known_types, refusal

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
        'Rules = [ ColumnValues "a" in ["x", "y",\n IsComplete "b",\n RowCount > 1 ]',
        [
            "LS180 t.yaml:11: the rule cannot be read",
            "LS182 t.yaml:12: RowCount checks a whole dataset and is not supported on single rows yet",
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
    "two columns": ('Rules = [ IsComplete "a" "b" ]', ["LS180 t.yaml:10: the rule cannot be read"]),
    "no column": ("Rules = [ IsComplete ]", ["LS180 t.yaml:10: the rule cannot be read"]),
    "an empty column name": ('Rules = [ IsComplete "" ]', ["LS180 t.yaml:10: the rule cannot be read"]),
    "no condition": ('Rules = [ ColumnValues "a" ]', ["LS180 t.yaml:10: the rule cannot be read"]),
    "a condition too much": (
        'Rules = [ IsComplete "a" > 1 ]',
        ["LS180 t.yaml:10: IsComplete takes no condition"],
    ),
    "several at once, each at its line": (
        """Rules = [
  Iscomplete "a",
  (ColumnValues "b" > (now() - 3 days)) and (Completeness "c" > 0.9),
  ColumnValues "d" in [1, "2"],  # and a comment
  IsComplete "fine",
  ColumnValues "e" matches "(" ]
Analyzers = [ RowCount ]""",
        [
            "LS181 t.yaml:11: unknown rule type Iscomplete",
            "LS184 t.yaml:12: now() changes with time: a rebuild would give another result",
            "LS182 t.yaml:12: Completeness checks a whole dataset and is not supported on single rows yet",
            "LS185 t.yaml:13: numbers and strings are mixed in one condition",
            "LS185 t.yaml:15: the regular expression is not valid: missing ), unterminated subpattern",
            "LS183 t.yaml:16: the DQDL section Analyzers is not supported",
        ],
    ),
    "a section before the rules": (
        'Metadata = { "Version": "1.0" }\nRules = [ IsComplete "a" ]',
        ["LS183 t.yaml:10: the DQDL section Metadata is not supported"],
    ),
    "a variable": (
        'x = ["a"]\nRules = [ ColumnValues "a" in $x ]',
        [
            "LS183 t.yaml:10: variables and other text around the rules are not supported",
            "LS183 t.yaml:11: variables are not supported",
        ],
    ),
    "a threshold": (
        'Rules = [ ColumnValues "a" = 1 with threshold > 0.9 ]',
        [
            "LS183 t.yaml:10: `with threshold` is a share of all rows of a dataset,"
            " and a rule here checks each row by itself"
        ],
    ),
    "another tag": (
        'Rules = [ ColumnValues "a" in ["x"] with ignoreCase = "true" ]',
        ["LS183 t.yaml:10: `with ignoreCase` is not supported"],
    ),
    "labels": (
        'Rules = [ IsComplete "a" labels = ["k"="v"], RowCount > 1 ]',
        [
            "LS183 t.yaml:10: labels are not supported",
            "LS182 t.yaml:10: RowCount checks a whole dataset and is not supported on single rows yet",
        ],
    ),
    "a dynamic rule": (
        'Rules = [ ColumnLength "a" > avg(last(3)) ]',
        ["LS183 t.yaml:10: functions, dynamic rules and arithmetic are not supported in conditions"],
    ),
    "now": (
        'Rules = [ ColumnValues "a" in [now(), "2024-01-01"] ]',
        ["LS184 t.yaml:10: now() changes with time: a rebuild would give another result"],
    ),
    "a time of the day": (
        'Rules = [ ColumnValues "a" > "09:30" ]',
        ['LS184 t.yaml:10: "09:30" is a time of the present day: a rebuild would give another result'],
    ),
    "arithmetic": (
        'Rules = [ ColumnValues "a" = 1 + 2 ]',
        ["LS183 t.yaml:10: arithmetic is not supported in conditions"],
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
    "an exponent": ('Rules = [ ColumnValues "a" > 1e5 ]', ["LS180 t.yaml:10: the rule cannot be read"]),
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
IsComplete "a" where x > 1 ]""",
        [
            "LS185 t.yaml:10: the where filter is empty",
            "LS185 t.yaml:11: the where filter leaves a parenthesis open",
            "LS185 t.yaml:11: the where filter closes a parenthesis that it does not open",
            "LS185 t.yaml:12: the where filter leaves a quote open",
            "LS185 t.yaml:12: the where filter has a `--`, which would hide or end what follows",
            "LS184 t.yaml:13: the where filter uses current_date: a rebuild would give another result",
            "LS185 t.yaml:13: the where filter has a subquery, which reads more than a single row",
            "LS180 t.yaml:14: the rule cannot be read",
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
    "a whole dataset's rule with a twin for rows": (
        'Completeness "a" > 0.5',
        'use IsComplete to check each row, for example: IsComplete "column"',
    ),
    "upper and lower case": (
        'ColumnValues "a" = "x" with ignoreCase = "true"',
        'for upper and lower case alike: matches "(?i)..."',
    ),
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


@pytest.mark.parametrize("rule_type", [name for name in known_types() if name not in ROW_RULES])
def test_every_other_rule_type_is_refused_once_with_its_reason(rule_type: str) -> None:
    reason = refusal(rule_type)
    assert reason
    text = (
        f'Rules = [ {rule_type} "a" "b" between 1 and 2 where "c > 1" with threshold > 0.5, IsComplete "a" ]'
    )
    assert problems(text) == [f"LS182 t.yaml:10: {reason[0]}"]


def test_a_text_is_read_in_linear_time() -> None:
    many = ",\n".join(f'ColumnValues "c{at}" in ["{at}", NULL]' for at in range(2_000))
    assert len(parse_rules(f"Rules = [\n{many}\n]", PLACE)) == 2_000
    unclosed = 'Rules = [ IsComplete "' + "\\\\" * 20_000
    assert problems(unclosed) == ["LS180 t.yaml:10: a string is not closed"]
