"""The grammar of DQDL, and its parser, which continues after a problem.

Source: the ANTLR grammar of awslabs/dqdl, whose tokens and precedences this one has. ``and`` before a
parameter is a connector there; here it joins two rules if the name of a rule type follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from lakesmith.quality.faults import Fault, Written, shown, unexpected
from lakesmith.quality.rule_types import TYPES

_GRAMMAR: Final = r"""
unreadable: UNCLOSED | BAD
document: metadata? sources? constant* defaults? (rules analyzers? | analyzers)

metadata: METADATA "=" dictionary
sources: DATASOURCES "=" dictionary
dictionary: "{" pair ("," pair)* "}"
pair: STRING ":" (STRING | strings)
strings: "[" STRING ("," STRING)* "]"
constant: NAME "=" (plain | "[" plain ("," plain)* "]")
?plain: STRING | reference | NULL | EMPTY | WHITESPACES_ONLY
defaults: DEFAULTLABELS "=" label_list
labels: LABELS "=" label_list
label_list: "[" (label ("," label)*)? "]"
label: STRING "=" STRING

rules: RULES "=" "[" (rule ("," rule)*)? "]"
analyzers: ANALYZERS "=" "[" (analyzer ("," analyzer)*)? "]"
rule: either
?either: both (OR both)*
?both: primary (AND primary)*
?primary: simple | "(" either ")" -> group | "(" either ")" labels -> group
simple: NAME parameter* condition? where? _rest?
analyzer: NAME parameter*
parameter: CONNECTOR? (STRING | NAME | reference)
where: WHERE STRING
_rest: labels tag* | tag+ labels?
tag: WITH NAME condition

condition: ("=" | "!" "=" | ">" | ">=" | "<" | "<=") value
    | NOT? BETWEEN value AND value
    | NOT? IN (list | reference)
    | NOT? MATCHES STRING
list: "[" value ("," value)* "]"
?value: STRING | reference | EMPTY | WHITESPACES_ONLY | date | amount | number
reference: "$" NAME
date: NOW | "(" NOW ("-" | "+") amount ")"
amount: NUMBER UNIT
?number: operand | number ("+" | "-" | "*" | "/") operand -> arithmetic
?operand: NUMBER | NULL | "-" NUMBER -> negative | "(" number ")" -> group | call
call: NAME "(" (number ("," number)*)? ")"

STRING: /"(?:[^"\\]|\\["\\]?)*+"/
UNCLOSED: /"(?s:.*)/
NUMBER: /[0-9]+(?:\.[0-9]+)?(?![A-Za-z0-9_.])/
NOW.1: "now()"
NAME: /[A-Za-z0-9_.]+/
BAD.-9: /(?s:.)/
SPACE: /(?:[ \t\r\n]|#[^\n]*)+/
%ignore SPACE
%declare METADATA DATASOURCES DEFAULTLABELS RULES ANALYZERS LABELS WHERE WITH NOT BETWEEN IN MATCHES
%declare AND OR CONNECTOR NULL EMPTY WHITESPACES_ONLY UNIT
"""

_SECTIONS: Final = ("Metadata", "DataSources", "DefaultLabels", "Rules", "Analyzers")
UNITS: Final = ("days", "hours", "minutes", "B", "KB", "MB", "GB", "TB")
_WORDS: Final = {
    **{
        word: word.upper()
        for word in (*_SECTIONS, "labels", "where", "with", "not", "between", "in", "matches")
    },
    **{
        word: name
        for name in ("AND", "OR", "NULL", "EMPTY", "WHITESPACES_ONLY")
        for word in (name, name.lower())
    },
    **dict.fromkeys(UNITS, "UNIT"),
    **dict.fromkeys(("of", "OF"), "CONNECTOR"),
}
"""Words that name neither a rule type nor a column, and their terminals."""


_BROKEN: Final = frozenset({"rule", "analyzer"})


@cache
def _lark() -> Lark:
    return Lark(
        _GRAMMAR,
        parser="lalr",
        lexer="basic",
        start=["document", "unreadable"],
        keep_all_tokens=True,
        propagate_positions=True,
        maybe_placeholders=False,
    )


def tokens_of(text: str) -> tuple[Token, ...]:
    """Returns the tokens of a text. What cannot be read is a token of type ``UNCLOSED`` or ``BAD``."""
    found = [_worded(token) for token in _lark().lex(text)]
    return tuple(_connected(found, at) if head else found[at] for at, head in enumerate(_in_heads(found)))


def _worded(token: Token) -> Token:
    if token.type != "NAME" or token not in _WORDS:
        return token
    return Token.new_borrow_pos(_WORDS[token], str(token), token)


def _in_heads(tokens: Sequence[Token]) -> Iterator[bool]:
    """Yields for each token whether it is among the parameters of a rule."""
    inside = False
    for token in tokens:
        yield inside
        if token.type == "NAME":
            inside = True
        elif token.type not in ("STRING", "CONNECTOR", "AND", "DOLLAR"):
            inside = False


def _connected(tokens: Sequence[Token], at: int) -> Token:
    """Returns the token, ``and`` as a connector unless a rule follows."""
    token, after = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else None
    if token.type != "AND" or after is None:
        return token
    joins = after.type not in ("STRING", "NAME", "DOLLAR") or str(after) in TYPES
    return token if joins else Token.new_borrow_pos("CONNECTOR", str(token), token)


def parse(text: str) -> tuple[Tree[Any] | None, Written, list[Fault]]:
    """Returns the tree of a document, its tokens, and its problems.

    A rule that cannot be parsed is an empty tree. There is no tree if a section cannot be parsed.
    """
    written, faults = Written(text, tokens_of(text)), list[Fault]()
    if not any(token.type in ("RULES", "ANALYZERS") for token in written.tokens):
        expected = "Rules = [ ... ], upper and lower case as here"
        first = written.tokens[0] if written.tokens else written.last
        return (
            None,
            written,
            [Fault("LS180", "the rules do not begin as DQDL does", first, expected, shown(first))],
        )
    parser, at, broken_at = _lark().parse_interactive(start="document"), 0, -1
    ends = (*written.tokens, Token.new_borrow_pos("$END", "", written.last))
    while at < len(ends):
        try:
            found = parser.feed_token(ends[at])
            at += 1
        except UnexpectedToken:
            # Directly after a rule with a problem, another problem is its consequence.
            faults += [] if at == broken_at else [unexpected(written, at, _accepted(parser))]
            after = _recover(parser, written.tokens, at)
            if after is None or at == broken_at:
                return None, written, faults
            at = broken_at = after
    return found, written, faults


def _accepted(parser: Any) -> frozenset[str]:
    return frozenset(parser.accepts())


def _recover(parser: InteractiveParser, tokens: Sequence[Token], at: int) -> int | None:
    """Ends the rule that has a problem, in the parser too. Returns where its tokens end; None: in no rule."""
    state = parser.parser_state
    gotos = state.parse_conf.parse_table.states
    depth = next(
        (n for n in reversed(range(len(state.state_stack))) if _BROKEN & gotos[state.state_stack[n]].keys()),
        0,
    )
    if not depth:
        return None
    (kind,) = _BROKEN & gotos[state.state_stack[depth]].keys()
    del state.state_stack[depth + 1 :], state.value_stack[depth:]
    state.state_stack.append(gotos[state.state_stack[depth]][kind][1])
    state.value_stack.append(Tree(kind, []))
    while at < len(tokens) and not _ends_rule(tokens, at):
        at += 1
    return at


def _ends_rule(tokens: Sequence[Token], at: int) -> bool:
    if tokens[at].type == "COMMA":
        return _begins_rule(tokens, at + 1)
    return _closes_rules(tokens, at)


def _closes_rules(tokens: Sequence[Token], at: int) -> bool:
    return tokens[at].type == "RSQB" and (at + 1 == len(tokens) or tokens[at + 1].type == "ANALYZERS")


def _begins_rule(tokens: Sequence[Token], at: int) -> bool:
    # One of the brackets may be wrong, so they are not counted: a rule is recognised by its first word.
    if at == len(tokens):
        return False
    if tokens[at].type == "LPAR":
        return at + 1 < len(tokens) and tokens[at + 1].type in ("NAME", "LPAR")
    return tokens[at].type == "NAME" or _closes_rules(tokens, at)
