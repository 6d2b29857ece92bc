"""DQDL, the Data Quality Definition Language of AWS Glue: texts to rules.

>>> from lakesmith.errors import Place
>>> rule, = parse_rules('Rules = [ IsComplete "email" ]', Place("tables/silver/customers.yaml", 7))
>>> rule.text, rule.predicate
('IsComplete "email"', '(`email` IS NOT NULL)')

A rule that can decide on each row by itself is a *row rule*: it has a predicate
(:mod:`lakesmith.quality.predicate`). Every other rule is a *table rule*: it measures the whole table. So is
a row rule ``with threshold``, one that compares with the present time, and one joined with a table rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, cast

from lark import Token, Tree

from lakesmith.errors import Place, ProjectError
from lakesmith.quality.conditions import Constants, condition, constant, raw_value, string_value
from lakesmith.quality.faults import Fault, Node, Written, first_of, moved
from lakesmith.quality.foreign import UNREPEATABLE, regex_problem, where_problem
from lakesmith.quality.grammar import parse
from lakesmith.quality.metrics import anomaly_metric
from lakesmith.quality.model import Call, Check, Composite, Condition, Rule, leaves
from lakesmith.quality.predicate import DATA_TYPE, DATE_FORMAT, is_row_check, predicate_of
from lakesmith.quality.rule_types import TYPES, RuleType, nearest, refusal

_TAGS: Final = ("threshold", "ignoreCase", "timeZone", "format")
_MOST_LABELS: Final = 10
_MOST_DECIMAL_DIGITS: Final = 38

Labels = dict[str, str]


class _Reader:
    """Reader of one document's tree. ``faults`` collects its problems."""

    def __init__(self, written: Written, place: Place, faults: list[Fault]) -> None:
        self.written, self.place, self.faults = written, place, faults
        self.constants: dict[str, tuple[Token, ...]] = {}
        self.defaults: Labels = {}

    def document(self, tree: Node) -> Iterator[Rule]:
        """Yields the rules and analyzers."""
        for section in tree.children:
            try:
                yield from self._section(section)
            except Fault as fault:
                self.faults.append(fault)

    def _section(self, section: Node) -> Iterator[Rule]:
        if section.data in ("metadata", "sources"):
            _check_keys(section)
        elif section.data == "constant":
            self._declare(section)
        elif section.data == "defaults":
            self.defaults = _labels(section, {})
        else:
            for each in section.find_pred(
                lambda tree: tree.data in ("rule", "analyzer") and bool(tree.children)
            ):
                yield from self._analyzers(each) if each.data == "analyzer" else self._rule(each)

    def _declare(self, tree: Node) -> None:
        name, *_ = tree.children
        if name[0] in "._":
            raise Fault("LS185", f"the constant {name} begins with {name[0]}", name, "a letter or a digit")
        if name in self.constants:
            raise Fault("LS185", f"the constant {name} is declared twice", name)
        if reference := next(tree.find_data("reference"), None):
            raise Fault("LS185", "a constant cannot be made of another one", reference.children[0])
        kinds = ("STRING", "NULL", "EMPTY", "WHITESPACES_ONLY")
        found = (each for each in tree.children[2:] if isinstance(each, Token) and each.type in kinds)
        self.constants[str(name)] = tuple(found)

    def _rule(self, tree: Node) -> Iterator[Rule]:
        labels: Labels = {}
        check = self._either(tree.children[0], labels)
        if check is not None:
            yield self._made(tree, check, {**self.defaults, **labels})

    def _analyzers(self, tree: Node) -> Iterator[Rule]:
        try:
            check = self._check(tree)
            if not TYPES[check.type].gives and TYPES[check.type].level != "analyzer":
                raise Fault(
                    "LS182", f"{check.type} is no metric", first_of(tree), "a rule type that gives a number"
                )
        except Fault as fault:
            self.faults.append(fault)
            return
        every = ("Completeness", "DistinctValuesCount", "Uniqueness")
        for name in every if check.type == "AllStatistics" else (check.type,):
            yield self._made(tree, Check(name, check.parameters), {}, is_analyzer=True)

    def _made(self, tree: Node, check: Check | Composite, labels: Labels, is_analyzer: bool = False) -> Rule:
        every = list(leaves(check))
        in_rows = not is_analyzer and all(map(is_row_check, every))
        return Rule(
            text=self.written.between(tree.meta.start_pos, tree.meta.end_pos),
            place=moved(self.place, tree.meta.line - 1),
            columns=tuple(dict.fromkeys(name for leaf in every for name in _columns(leaf))),
            wheres=tuple(leaf.where for leaf in every if leaf.where is not None),
            predicate=predicate_of(check) if in_rows else "",
            check=check,
            labels=tuple(sorted(labels.items())),
            is_analyzer=is_analyzer,
        )

    def _either(self, tree: Node, labels: Labels) -> Check | Composite | None:
        if tree.data == "group":
            labels.update(self._group_labels(tree))
            return self._either(tree.children[1], labels)
        if tree.data == "simple":
            try:
                labels.update(_labels(next(tree.find_data("labels"), None), self.defaults))
                return self._check(tree)
            except Fault as fault:
                self.faults.append(fault)
                return None
        parts = [self._either(child, labels) for child in tree.children if isinstance(child, Tree)]
        found = tuple(part for part in parts if part is not None)
        operator = cast(Literal["and", "or"], tree.children[1].lower())
        return Composite(operator, found) if len(found) == len(parts) else None

    def _group_labels(self, tree: Node) -> Labels:
        try:
            return _labels(tree.children[-1] if isinstance(tree.children[-1], Tree) else None, self.defaults)
        except Fault as fault:
            self.faults.append(fault)
            return {}

    def _check(self, tree: Node) -> Check:
        kind = _type(tree.children[0])
        parameters = tuple(self._parameter(each) for each in tree.children[1:] if each.data == "parameter")
        _check_parameters(kind, parameters, tree)
        tags = _tags(tree)
        texts = {name: _tag_text(tag, self.constants) for name, tag in tags.items() if name != "threshold"}
        found = next(iter(_of(tree, "condition")), None)
        read = None if found is None else condition(found, self.constants, texts.get("timeZone"))
        if tree.data == "simple":
            _check_condition(kind, read, found, tree)
        _check_tags(kind, read, tags)
        threshold = self._threshold(kind, tags["threshold"], read) if "threshold" in tags else None
        return Check(kind.name, parameters, read, _where(kind, tree), threshold, tuple(texts.items()))

    def _parameter(self, tree: Node) -> str:
        named = tree.children[-1]
        tokens = (named,) if isinstance(named, Token) else constant(named, self.constants)
        if len(tokens) != 1 or tokens[0].type not in ("STRING", "NAME"):
            raise Fault("LS185", "a list cannot be a parameter", first_of(tree), "one string")
        return string_value(tokens[0]) if tokens[0].type == "STRING" else str(tokens[0])

    def _threshold(self, kind: RuleType, tag: Node, read: Condition | None) -> Condition:
        name = tag.children[1]
        if not kind.threshold:
            takes = ", ".join(
                each.name for each in TYPES.values() if each.threshold and not refusal(each.name)
            )
            raise Fault("LS185", f"{kind.name} takes no threshold", name, f"it at one of {takes}")
        if kind.name == "CustomSql" and read is not None:
            raise Fault("LS185", "CustomSql with a condition takes no threshold", name, "one of the two")
        found = condition(tag.children[2], self.constants, None)
        if found.kind != "number" or found.keywords:
            raise Fault("LS185", "a threshold is a number", name, "with threshold > 0.9")
        return found


def _tags(tree: Node) -> dict[str, Node]:
    """Returns the tags by name. Raises Fault LS183 for an unknown one, LS185 for one that is there twice."""
    found: dict[str, Node] = {}
    for tag in _of(tree, "tag"):
        name = tag.children[1]
        if name not in _TAGS:
            raise Fault("LS183", f"`with {name}` is not supported", name, "one of " + ", ".join(_TAGS))
        if name in found:
            raise Fault("LS185", f"a rule has one {name} only", name)
        found[str(name)] = tag
    return found


def _of(tree: Node, kind: str) -> list[Node]:
    return [child for child in tree.children if isinstance(child, Tree) and child.data == kind]


def _type(token: Token) -> RuleType:
    if token not in TYPES:
        near = nearest(token)
        hint = f"did you mean {near}?" if near else None
        known = "one of " + ", ".join(name for name in TYPES if not refusal(name))
        expected = TYPES[near].form if near else known
        raise Fault("LS181", f"unknown rule type {token}", token, expected, str(token), hint)
    if refused := refusal(token):
        raise Fault("LS182", refused[0], token, found=str(token), hint=refused[1])
    return TYPES[token]


def _check_parameters(kind: RuleType, parameters: Sequence[str], tree: Node) -> None:
    token = tree.children[0]
    if tree.data == "simple" and kind.level == "analyzer":
        raise Fault("LS182", f"{kind.name} is an analyzer, not a rule", token, "Analyzers = [ ... ]")
    least, most = kind.counts
    named = (each.children[-1] for each in _of(tree, "parameter"))
    begins = next(
        (each for each in named if isinstance(each, Token) and each.type == "NAME" and each in TYPES), None
    )
    if begins is not None and len(parameters) > most:
        expected = "a comma and another rule, or the ] that closes the rules"
        raise Fault("LS180", "the rule cannot be read", begins, expected, str(begins))
    if not least <= len(parameters) <= most:
        found = {0: "no parameter", 1: "one parameter"}.get(len(parameters), f"{len(parameters)} parameters")
        what = f"{kind.name} cannot have {found}"
        raise Fault(
            "LS180", what, token, kind.form, found=" ".join(f'"{each}"' for each in parameters) or None
        )
    if "" in parameters:
        raise Fault("LS180", "the name of a column is empty", token, kind.form)
    if kind.name == "DetectAnomalies":
        _check_metric(parameters, token)
    if kind.parameters == "regex" and (wrong := regex_problem(parameters[0])):
        raise Fault("LS185", f"the regular expression is not valid: {wrong}", token, found=parameters[0])


def _check_metric(parameters: Sequence[str], token: Token) -> None:
    kind = TYPES.get(parameters[0])
    if kind is None or kind.level != "table" or kind.gives != ("number",) or not kind.where:
        expected = 'a metric of the table: DetectAnomalies "RowCount"'
        raise Fault("LS185", f"{parameters[0]} is no metric to follow", token, expected)
    least, most = kind.counts
    if not least <= len(parameters) - 1 <= most:
        raise Fault("LS185", f"{kind.name} has other parameters", token, f"DetectAnomalies {kind.form}")


def _check_condition(kind: RuleType, found: Condition | None, tree: Node | None, rule: Node) -> None:
    token = rule.children[0] if tree is None else first_of(tree)
    if not kind.gives:
        if found is not None:
            hint = "use ColumnValues to compare values" if kind.level == "row" else None
            raise Fault("LS180", f"{kind.name} takes no condition", token, found=str(token), hint=hint)
    elif found is None:
        if kind.name != "CustomSql":
            expected = f"a condition: {kind.form} > 1" if "number" in kind.gives else "a condition"
            raise Fault("LS180", f"{kind.name} needs a condition", token, expected)
    elif found.kind not in kind.gives or (found.keywords and kind.name != "ColumnValues"):
        hint = "NULL has the length 0" if kind.name == "ColumnLength" and "NULL" in found.keywords else None
        what = f"{kind.name} is compared with {' or '.join(_PLURALS[each] for each in kind.gives)} only"
        raise Fault("LS185", what, token, found=found.operator, hint=hint)
    elif kind.name == "ColumnDataType":
        _check_data_type(found, token)
    elif kind.level == "row" and found.kind == "number" and not found.is_fixed:
        hint = "use a metric of the table, such as Mean, Sum or Range"
        raise Fault(
            "LS183", f"{kind.name} compares single rows, which have no earlier runs", token, hint=hint
        )


_PLURALS: Final = {
    "text": "strings",
    "number": "numbers",
    "date": "dates",
    "duration": "durations",
    "size": "sizes",
}


def _check_data_type(found: Condition, token: Token) -> None:
    if found.operator not in ("=", "!=") or not found.fixed or not DATA_TYPE.fullmatch(found.fixed[0]):
        expected = "= or != with Boolean, Date, Timestamp, Integer, Long, Float, Double or DECIMAL(p,s)"
        raise Fault(
            "LS185", "ColumnDataType compares with the name of a type", token, expected, " ".join(found.fixed)
        )
    digits = [int(number) for number in re.findall(r"\d+", found.fixed[0])]
    if digits and not 0 < max(digits) == digits[0] <= _MOST_DECIMAL_DIGITS:
        expected = f"DECIMAL(p,s) of p digits, at most {_MOST_DECIMAL_DIGITS}, s of them after the point"
        raise Fault("LS185", "a decimal that no column can have", token, expected, found.fixed[0])


def _where(kind: RuleType, tree: Node) -> str | None:
    for found in _of(tree, "where"):
        token = found.children[1]
        if not kind.where:
            raise Fault("LS185", f"{kind.name} takes no where", token)
        sql = raw_value(token)
        if wrong := where_problem(sql):
            code = "LS184" if UNREPEATABLE in wrong else "LS185"
            raise Fault(code, f"the where filter {wrong}", token, found=str(token).splitlines()[0])
        return sql
    return None


def _tag_text(tree: Node, constants: Constants) -> str:
    name, found = tree.children[1], tree.children[2]
    read = condition(found, constants, None)
    if read.operator != "=" or not read.fixed:
        raise Fault("LS185", f"`with {name}` takes = and one value", name)
    if name == "timeZone":
        _check_zone(read.fixed[0], name)
    elif name == "format":
        if not DATE_FORMAT.fullmatch(read.fixed[0]):
            raise Fault(
                "LS185", "the format of dates is not known", name, "such as dd.MM.yyyy", read.fixed[0]
            )
    elif read.fixed[0].lower() not in ("true", "false"):
        raise Fault("LS185", f"`with {name}` is true or false", name, f'with {name} = "true"', read.fixed[0])
    return read.fixed[0]


_ABOUT: Final = {
    "ignoreCase": "a ColumnValues rule that compares strings",
    "timeZone": "a ColumnValues rule that compares times of day",
    "format": "a ColumnDataType rule with Date or Timestamp",
}


def _check_tags(kind: RuleType, read: Condition | None, tags: dict[str, Node]) -> None:
    """Raises Fault LS185 for a tag that would change nothing."""
    values = () if read is None else read.values
    compares = kind.name == "ColumnValues"
    has = {
        "ignoreCase": compares and bool(values) and read is not None and read.kind == "text",
        "timeZone": compares and any(isinstance(each, Call) and each.name == "time" for each in values),
        "format": kind.name == "ColumnDataType" and str(values[0]).lower() in ("date", "timestamp"),
    }
    for name, tag in tags.items():
        if not has.get(name, True):
            what = f"`with {name}` would change nothing here"
            raise Fault("LS185", what, tag.children[1], _ABOUT[name])


def _check_zone(zone: str, token: Token) -> None:
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(zone)
    except (ValueError, OSError, KeyError) as error:
        raise Fault("LS185", f"{zone!r} is not a time zone", token, "such as Europe/Amsterdam") from error


_KEYS: Final = {"metadata": ("Version",), "sources": ("Primary", "AdditionalDataSources")}


def _check_keys(section: Node) -> None:
    known = _KEYS[section.data]
    for pair in section.find_data("pair"):
        key, value = pair.children[0], pair.children[2]
        if string_value(key) not in known:
            raise Fault(
                "LS185", f"{key} is not a key of {section.children[0]}", key, "one of " + ", ".join(known)
            )
        if string_value(key) == "AdditionalDataSources" and isinstance(value, Token):
            raise Fault("LS185", "AdditionalDataSources is a list", value, '["reference"]')


def _labels(tree: Node | None, defaults: Labels) -> Labels:
    """Returns the labels that are written. Raises Fault LS185."""
    if tree is None:
        return {}
    first, found = first_of(tree), Labels()
    for label in tree.find_data("label"):
        key, value = string_value(label.children[0]), string_value(label.children[2])
        if not 1 <= len(key) <= 128 or not 1 <= len(value) <= 256:
            expected = "a key of 1 to 128 and a value of 1 to 256 characters"
            raise Fault("LS185", "a label is too short or too long", label.children[0], expected)
        if key in found:
            raise Fault("LS185", f"the label {key!r} is there twice", label.children[0])
        found[key] = value
    if not found or len(found) + len(defaults) > _MOST_LABELS:
        raise Fault(
            "LS185", "the number of labels is not possible", first, f"1 to {_MOST_LABELS} with defaults"
        )
    return found


def _columns(check: Check) -> Iterator[str]:
    """Yields the columns of the table that a check names."""
    check = anomaly_metric(check) if check.type == "DetectAnomalies" else check
    if check.type == "ReferentialIntegrity":
        yield from (name.strip() for name in check.column.split(","))
    if check.type == "DatasetMatch":
        pairs = [pair for text in check.parameters[1:] for pair in text.split(",")]
        yield from (pair.partition("->")[0].strip() for pair in pairs)
    kinds = TYPES[check.type].parameters.replace("?", "").split()
    for at, parameter in enumerate(check.parameters):
        if kinds[min(at, len(kinds) - 1)].strip("*") == "column" or check.type == "DuplicateRowCount":
            yield parameter


def parse_rules(text: str, place: Place) -> tuple[Rule, ...]:
    """Returns the rules and analyzers of a DQDL document, in order.

    Args:
        text: the document, such as ``Rules = [ ... ]``. Comments run from ``#`` to the end of the line.
        place: the place of the document's first line in the project.

    Raises:
        ProjectError: with every problem of the text, each at its line: LS180 it cannot be parsed, LS181 an
            unknown rule type, LS182 a rule type that lakesmith does not have, LS183 an unsupported part of
            DQDL, LS184 a row filter that changes with time, LS185 a value that is not possible there.
    """
    tree, written, faults = parse(text)
    rules = tuple(_Reader(written, place, faults).document(tree)) if tree else ()
    if tree is not None and not rules and not faults:
        hint = "write one, or remove `rules`"
        faults.append(Fault("LS180", "there are no rules", written.last, hint=hint))
    if faults:
        ordered = sorted(faults, key=lambda fault: fault.line)
        raise ProjectError([fault.problem(place) for fault in ordered])
    return rules
