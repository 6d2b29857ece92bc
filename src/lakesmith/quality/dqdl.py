"""DQDL, the Data Quality Definition Language of AWS Glue, for rows that can be judged one by one.

>>> from lakesmith.errors import Place
>>> rule, = parse_rules('Rules = [ IsComplete "email" ]', Place("tables/silver/customers.yaml", 7))
>>> rule.text, rule.predicate
('IsComplete "email"', '(`email` IS NOT NULL)')

``IsComplete``, ``ColumnValues`` and ``ColumnLength`` are supported in all their forms, with ``where`` filters and joined by
``and`` and ``or``. What each means, NULL above all, is written in :mod:`lakesmith.quality.predicate`.
Everything else that DQDL has is refused with its reason: rule types that judge a whole dataset, thresholds, the present time
(a rebuild would judge otherwise), variables, labels, sections other than ``Rules``.
"""

from __future__ import annotations

from lakesmith.errors import Place, ProjectError
from lakesmith.quality.lexer import tokenize
from lakesmith.quality.model import Rule, simple_checks
from lakesmith.quality.parser import ParsedRule, Parser
from lakesmith.quality.predicate import predicate_of
from lakesmith.quality.reading import moved


def parse_rules(text: str, place: Place) -> tuple[Rule, ...]:
    """The rules of a DQDL document ``Rules = [ ... ]``, in their order.

    Args:
        text: the document. Comments run from ``#`` to the end of the line.
        place: where the document's first line stands in the project.

    Raises:
        ProjectError: with every problem of the text, each at its line: LS180 it cannot be read, LS181 an
            unknown rule type, LS182 a rule type that does not judge single rows, LS183 a part of DQDL that is not
            supported, LS184 a rule that changes with time, LS185 a value that is not possible there.
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
