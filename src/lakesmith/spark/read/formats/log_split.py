r"""Lines of a grammar divided into fields: at quotes and blanks if they are usual, else by its expression.

In a usual line all texts are in quotes, none has a backslash, and each other field is a word. Then the parts
between quotes, and the words between these texts, are exactly the groups of the expression, found in a third
of the time. All other lines are matched by the expression.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from lakesmith.quoting import literal
from lakesmith.sources.formats.log_lines import Form, Grammar
from lakesmith.spark.read.records import VALUE
from lakesmith.spark.read.request import PROVENANCE

_NUL = "\\u0000"


@dataclass(slots=True)
class _Run:
    """The words between two texts: as many as ``forms`` need, of which all lines have ``required``."""

    number: int
    forms: list[Form] = field(default_factory=list)
    required: int = 0

    @property
    def text(self) -> str:
        return f"get(p, {2 * self.number})"

    @property
    def words(self) -> int:
        return sum(2 if form is Form.TIME else 1 for form in self.forms)

    def word(self, index: int) -> str:
        """SQL of a word; before the first one of all but the first run there is a blank."""
        return f"get(h{self.number}, {index + (self.number > 0)})"


def split_lines(records: DataFrame, grammar: Grammar) -> DataFrame:
    """Returns the records with their fields, ``g0``, ``g1``, …, and whether each is a line (``whole``)."""
    count = len(grammar.fields)
    if not grammar.forms:
        split = records.selectExpr("*", f"{_by_expression(grammar)} AS q", "false AS usual")
        return _fields(split, [f"get(q, {i})" for i in range(count)], count)
    runs = _runs(grammar)
    limit = 2 * len(runs)
    quoted = records.selectExpr("*", f"split({VALUE}, '\"', {limit}) AS p")
    divided = quoted.selectExpr(
        "*", *(f"split({run.text}, ' ') AS h{run.number}" for run in runs if run.forms)
    )
    tried = divided.selectExpr("*", f"coalesce({_is_usual(runs, grammar)}, false) AS usual")
    split = tried.selectExpr("*", f"IF(usual, NULL, {_by_expression(grammar)}) AS q")
    values = (f"IF(usual, {value}, get(q, {i}))" for i, value in enumerate(_values(runs, grammar)))
    return _fields(split, list(values), count)


def _fields(split: DataFrame, values: list[str], count: int) -> DataFrame:
    named = (f"{value} AS g{i}" for i, value in enumerate(values))
    return split.selectExpr(VALUE, *PROVENANCE, f"usual OR size(q) = {count} AS whole", *named)


def _by_expression(grammar: Grammar) -> str:
    """SQL of the groups as an array. A line without the grammar has one element."""
    groups = literal("\0".join(f"${number + 1}" for number in range(len(grammar.fields))))
    pattern = literal(f"(?s)^{grammar.pattern}\\z")
    return f"split(regexp_replace({VALUE}, {pattern}, {groups.replace(chr(0), _NUL)}), '{_NUL}')"


def _runs(grammar: Grammar) -> list[_Run]:
    runs = [_Run(0)]
    for index, form in enumerate(grammar.forms):
        if form is Form.TEXT:
            runs.append(_Run(len(runs)))
        else:
            runs[-1].forms.append(form)
            if index < grammar.required:
                runs[-1].required = runs[-1].words
    return runs


def _values(runs: list[_Run], grammar: Grammar) -> Iterator[str]:
    """SQL of each field of a usual line."""
    run, at = runs[0], 0
    for form in grammar.forms:
        word = run.word(at)
        at += 2 if form is Form.TIME else 1
        match form:
            case Form.TEXT:
                yield f"get(p, {2 * run.number + 1})"
                run, at = runs[run.number + 1], 0
            case Form.WORD:
                yield word
            case Form.TIME:
                yield f"concat(substr({word}, 2), ' ', substr({run.word(at - 1)}, 1, 5))"
            case Form.ENDPOINT:
                port = f"substring_index({word}, ':', -1)"
                yield f"IF({word} = '-', '', substr({word}, 1, length({word}) - length({port}) - 1))"
                yield f"IF({word} = '-', '', {port})"


def _is_usual(runs: list[_Run], grammar: Grammar) -> str:
    """SQL that is true for a usual line; NULL or false for others."""
    least = sum(form is Form.TEXT for form in grammar.forms[: grammar.required])
    last = len(runs) - 1
    sizes = ", ".join(str(2 * texts + 1) for texts in range(least, last + 1))
    # Asked of each text instead, a load balancer's lines took twice the time: too much code in one method.
    tests = [f"size(p) IN ({sizes})", f"NOT contains({VALUE}, '\\\\')"]
    for run in runs:
        inner, final = _inner(run), _final(run, is_last=run.number == last)
        if run.number < least:
            tests.append(inner)
        else:
            size = 2 * run.number + 1
            inner = f"size(p) > {size} AND {inner} OR " if run.number < last else ""
            tests.append(f"(size(p) < {size} OR {inner}size(p) = {size} AND {final})")
        tests += _tests(run)
    return " AND ".join(tests)


def _inner(run: _Run) -> str:
    """SQL that is true if the words before a text are all there, divided by single blanks."""
    if not run.forms:
        return f"{run.text} = ' '"
    begin = "NOT startswith" if run.number == 0 else "startswith"
    size = run.words + 1 + (run.number > 0)
    return (
        f"({begin}({run.text}, ' ') AND endswith({run.text}, ' ') AND size(h{run.number}) = {size}"
        f" AND NOT contains({run.text}, '  '))"
    )


def _final(run: _Run, *, is_last: bool) -> str:
    """SQL that is true if the words after the last text are the required ones, and not too many."""
    nothing = f"{run.text} = ''"
    if not run.forms and not is_last:
        return nothing
    some = f"startswith({run.text}, ' ') AND NOT endswith({run.text}, ' ') AND NOT contains({run.text}, '  ')"
    if run.forms:
        size = f"size(h{run.number})"
        some += f" AND {size} > {run.required}" + ("" if is_last else f" AND {size} <= {run.words + 1}")
    return f"({some})" if run.required else f"({nothing} OR {some})"


def _tests(run: _Run) -> Iterator[str]:
    """SQL that is true if words of a special form have that form."""
    at = 0
    for form in run.forms:
        word, next_word = run.word(at), run.word(at + 1)
        if form is Form.ENDPOINT:
            yield f"({word} = '-' OR {word} RLIKE ':[0-9]++\\\\z')"
        if form is Form.TIME:
            closed = f"octet_length({next_word}) = 6 AND instr({next_word}, ']') = 6"
            yield f"(startswith({word}, '[') AND NOT contains({word}, ']') AND {closed})"
        at += 2 if form is Form.TIME else 1
