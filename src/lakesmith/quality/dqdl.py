"""DQDL, the Data Quality Definition Language of AWS Glue, for rules on single rows.

>>> from lakesmith.errors import Place
>>> rule, = parse_rules('Rules = [ IsComplete "email" ]', Place("tables/silver/customers.yaml", 7))
>>> rule.text, rule.predicate
('IsComplete "email"', '(`email` IS NOT NULL)')

``IsComplete``, ``ColumnValues`` and ``ColumnLength`` are supported in all their forms, with ``where`` filters
and joined by ``and`` and ``or``. :mod:`lakesmith.quality.predicate` says what each means, for NULL above all.
Everything else in DQDL is refused with its reason: rule types that check a whole dataset, thresholds, the
present time (a rebuild would give another result), variables, labels, sections other than ``Rules``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lakesmith.errors import Place, ProjectError
from lakesmith.quality import conditions, rule_types
from lakesmith.quality.foreign import UNREPEATABLE, where_problem
from lakesmith.quality.model import (
    Check,
    ColumnLength,
    ColumnValues,
    Composite,
    IsComplete,
    Rule,
    SimpleCheck,
    simple_checks,
)
from lakesmith.quality.predicate import predicate_of
from lakesmith.quality.reading import Fault, Reader, Token, joined, moved, raw_value, string_value, tokenize

_OTHER_SECTIONS = frozenset({"Metadata", "DataSources", "DefaultLabels", "Analyzers"})


@dataclass(frozen=True, slots=True)
class ParsedRule:
    """A parsed rule: ``check`` is its condition, ``text`` its words, ``line`` its first line from 0."""

    check: Check
    text: str
    line: int


class Parser:
    """Parser of the rules of one text. ``faults`` collects its problems, by line."""

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self._reader = Reader(tokens)
        self.faults: list[Fault] = []

    def rules(self) -> tuple[ParsedRule, ...]:
        """Returns all rules that could be parsed. They are not complete if there are ``faults``."""
        if not self._to_first_rule():
            return ()
        rules: list[ParsedRule] = []
        while True:
            rule = self._rule()
            rules += [rule] if rule else []
            if not self._reader.took(","):
                break
        self._end_of_document()
        return tuple(rules)

    def _to_first_rule(self) -> bool:
        start = self._reader.find("Rules", "=", "[")
        if start != 0:
            self.faults.append(self._opening_fault(start))
        if start is None:
            return False
        self._reader.skip_to(start + 3)
        if self._reader.sees("]"):
            self.faults.append(
                Fault("LS180", "there are no rules", self._reader.now, hint="write one, or remove `rules`")
            )
            return False
        return True

    def _opening_fault(self, start: int | None) -> Fault:
        token = self._reader.now
        if start is None or token.kind != "word":
            expected = "Rules = [ ... ], upper and lower case as here"
            return Fault("LS180", "the rules do not begin as DQDL does", token, expected, token.shown)
        return _unsupported_section(token)

    def _end_of_document(self) -> None:
        # A rule that ends with neither a comma nor a ] is among the faults already.
        if self._reader.took("]") and self._reader.now.kind != "end":
            self.faults.append(_unsupported_section(self._reader.now))

    def _rule(self) -> ParsedRule | None:
        first, known = self._reader.position, len(self.faults)
        token = self._reader.now
        try:
            check = self._either()
            self._end_of_rule()
        except Fault as fault:
            # After a fault, other faults in the same rule are often its consequences.
            self.faults += [fault] if len(self.faults) == known else []
            self._reader.skip_rule()
            return None
        if check is None:
            return None
        return ParsedRule(check, joined(self._reader.since(first)), token.line)

    def _end_of_rule(self) -> None:
        if not (self._reader.sees(",") or self._reader.sees("]")):
            raise conditions.unexpected(
                self._reader.now, "a comma and another rule, or the ] that closes the rules"
            )

    def _either(self) -> Check | None:
        return self._composite("or", [self._all()])

    def _all(self) -> Check | None:
        return self._composite("and", [self._primary()])

    def _composite(self, operator: Literal["and", "or"], parts: list[Check | None]) -> Check | None:
        while self._reader.took(operator, operator.upper()):
            parts.append(self._primary() if operator == "and" else self._all())
        found = tuple(part for part in parts if part is not None)
        if len(found) < len(parts):
            return None
        return found[0] if len(found) == 1 else Composite(operator, found)

    def _primary(self) -> Check | None:
        if not self._reader.took("("):
            return self._simple()
        check = self._either()
        if not self._reader.took(")"):
            raise conditions.unexpected(self._reader.now, "the ) that closes the rule, or `and` or `or`")
        return check

    def _simple(self) -> SimpleCheck | None:
        try:
            check = self._simple_check()
            self._refuse_extras()
        except Fault as fault:
            self.faults.append(fault)
            self._reader.skip_simple()
            return None
        return check

    def _simple_check(self) -> SimpleCheck:
        rule_type = self._rule_type()
        column = self._column(rule_type)
        if rule_type == "IsComplete":
            self._refuse_condition()
            return IsComplete(column, self._where())
        condition = conditions.condition(self._reader, lengths=rule_type == "ColumnLength")
        make = ColumnLength if rule_type == "ColumnLength" else ColumnValues
        return make(column, condition, self._where())

    def _rule_type(self) -> str:
        token = self._reader.take()
        if token.kind != "word" or token.text in conditions.RESERVED:
            raise conditions.unexpected(token, 'a rule, for example: IsComplete "column"')
        refused = rule_types.refusal(token.text)
        if refused:
            raise Fault("LS182", refused[0], token, found=token.text, hint=refused[1])
        if token.text not in rule_types.ROW_RULES:
            raise _unknown_type(token)
        return token.text

    def _column(self, rule_type: str) -> str:
        self._reader.took("of")
        token = self._reader.now
        if token.kind == "string" and string_value(token):
            return string_value(self._reader.take())
        if token.kind == "word" and token.text not in conditions.RESERVED:
            return self._reader.take().text
        raise conditions.unexpected(token, f'the name of a column: {rule_type} "column"')

    def _refuse_condition(self) -> None:
        if self._reader.now.text in conditions.OPERATORS:
            hint = "use ColumnValues to compare values"
            raise Fault(
                "LS180",
                "IsComplete takes no condition",
                self._reader.now,
                found=self._reader.now.shown,
                hint=hint,
            )

    def _where(self) -> str | None:
        if not self._reader.took("where"):
            return None
        token = self._reader.take()
        if token.kind != "string":
            raise conditions.unexpected(token, 'a Spark SQL predicate in double quotes: where "amount > 0"')
        sql = raw_value(token)
        wrong = where_problem(sql)
        if wrong:
            code = "LS184" if UNREPEATABLE in wrong else "LS185"
            raise Fault(code, f"the where filter {wrong}", token, found=token.shown)
        return sql

    def _refuse_extras(self) -> None:
        if self._reader.sees("with"):
            raise _refused_tag(self._reader.peek(0), self._reader.peek(1))
        if self._reader.sees("labels"):
            raise Fault("LS183", "labels are not supported", self._reader.now, hint="remove them")
        if self._reader.now.kind == "string":
            raise conditions.unexpected(self._reader.now, "one column only, then the condition")


def _unsupported_section(token: Token) -> Fault:
    if token.text in _OTHER_SECTIONS:
        what = f"the DQDL section {token.text} is not supported"
        return Fault("LS183", what, token, expected="only Rules = [ ... ]", hint="remove it")
    if token.kind == "word" and token.text != "Rules":
        what = "variables and other text around the rules are not supported"
        return Fault(
            "LS183", what, token, "only Rules = [ ... ]", token.shown, "write the values in the rules"
        )
    return conditions.unexpected(token, "nothing after the ] that closes the rules")


def _unknown_type(token: Token) -> Fault:
    near = rule_types.nearest(token.text)
    hint = f"did you mean {near}?" if near else None
    expected = "one of " + ", ".join(rule_types.ROW_RULES)
    return Fault("LS181", f"unknown rule type {token.text}", token, expected, token.text, hint)


def _refused_tag(word: Token, tag: Token) -> Fault:
    if tag.text == "threshold":
        what = (
            "`with threshold` is a share of all rows of a dataset, and a rule here checks each row by itself"
        )
        return Fault(
            "LS183", what, word, hint="remove it: rows that break the rule are handled by `on_bad_row`"
        )
    hint = 'for upper and lower case alike: matches "(?i)..."' if tag.text == "ignoreCase" else "remove it"
    return Fault("LS183", f"`with {tag.shown}` is not supported", word, hint=hint)


def parse_rules(text: str, place: Place) -> tuple[Rule, ...]:
    """Returns the rules of a DQDL document ``Rules = [ ... ]``, in order.

    Args:
        text: the document. Comments run from ``#`` to the end of the line.
        place: the place of the document's first line in the project.

    Raises:
        ProjectError: with every problem of the text, each at its line: LS180 it cannot be parsed, LS181 an
            unknown rule type, LS182 a rule type that does not check single rows, LS183 a part of DQDL that is
            not supported, LS184 a rule that changes with time, LS185 a value that is not possible there.
    """
    parser = Parser(tokenize(text))
    parsed = parser.rules()
    if parser.faults:
        raise ProjectError([fault.problem(place) for fault in parser.faults])
    return tuple(_rule(rule, place) for rule in parsed)


def _rule(parsed: ParsedRule, place: Place) -> Rule:
    leaves = simple_checks(parsed.check)
    return Rule(
        text=parsed.text,
        place=moved(place, parsed.line),
        columns=tuple(dict.fromkeys(leaf.column for leaf in leaves)),
        wheres=tuple(leaf.where for leaf in leaves if leaf.where is not None),
        predicate=predicate_of(parsed.check),
    )
