"""Which functions a query calls, by name and line, and which of them tie it to more than the row at hand."""

from lakesmith.sql.model import FunctionUse
from lakesmith.sql.tokens import Token, TokenKind, position
from lakesmith.sql.words import (
    AGGREGATES,
    CALLS_CODE,
    GENERATORS,
    KEYWORDS,
    NONDETERMINISTIC,
    OWN,
    SCALARS,
    TIME_WINDOWS,
    WINDOW_FUNCTIONS,
)

_KNOWN = AGGREGATES | GENERATORS | NONDETERMINISTIC | OWN | SCALARS | TIME_WINDOWS | WINDOW_FUNCTIONS
# These need no parentheses; `user` does too, but that is far more often a column.
_CALLED_BARE = frozenset(
    {"current_date", "current_timestamp", "current_time", "current_user", "session_user"}
)
_CLOCK_WORDS = frozenset({"NOW", "TODAY", "YESTERDAY", "TOMORROW"})
_CLOCK_TYPES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"})
_CLOCK_CASTS = _CLOCK_TYPES | {
    "CAST",
    "TRY_CAST",
    "TO_DATE",
    "TO_TIMESTAMP",
    "TO_TIMESTAMP_LTZ",
    "TO_TIMESTAMP_NTZ",
}
_NO_ARGUMENTS_MEANS_NOW = frozenset({"unix_timestamp", "to_unix_timestamp"})
_QUANTIFIERS = frozenset({"ANY", "SOME", "ALL"})


def calls(tokens: tuple[Token, ...]) -> list[tuple[str, int]]:
    """Every name with an argument list, without keywords: the name in lower case, the token's index."""
    in_hint = _in_hints(tokens)
    return [(_plain(t), i) for i, t in enumerate(tokens) if i not in in_hint and _is_call(tokens, i)]


def _in_hints(tokens: tuple[Token, ...]) -> set[int]:
    """The indexes of the tokens in ``/*+ ... */``, which are no calls."""
    found: set[int] = set()
    inside = False
    for index, token in enumerate(tokens):
        inside = token.text == "/*+" or (inside and token.text != "*/")
        if inside:
            found.add(index)
    return found


def _plain(token: Token) -> str:
    return token.text.strip("`").lower()


def _text(tokens: tuple[Token, ...], index: int) -> str:
    return tokens[index].upper if 0 <= index < len(tokens) else ""


def _is_call(tokens: tuple[Token, ...], index: int) -> bool:
    token, before = tokens[index], _text(tokens, index - 1)
    if (
        token.kind not in (TokenKind.WORD, TokenKind.QUOTED)
        or _text(tokens, index + 1) != "("
        or before == "AS"
    ):
        return False
    if token.upper in _QUANTIFIERS and before in ("LIKE", "ILIKE", "=", "<", ">", "<=", ">=", "<>", "!="):
        return False
    return _plain(token) in _KNOWN or token.upper not in KEYWORDS


def calls_code(sql: str, tokens: tuple[Token, ...]) -> FunctionUse | None:
    """Returns the first call of a function that does more than compute."""
    return next((_use(sql, tokens[index]) for name, index in calls(tokens) if name in CALLS_CODE), None)


def nondeterministic(sql: str, tokens: tuple[Token, ...]) -> tuple[FunctionUse, ...]:
    """Returns the calls whose value does not depend on the row alone, in the order of the text."""
    found = [
        index
        for name, index in calls(tokens)
        if name in NONDETERMINISTIC or _reads_clock(tokens, name, index)
    ]
    found += [
        index for index in range(len(tokens)) if _is_bare_call(tokens, index) or _is_clock(tokens, index)
    ]
    return tuple(_use(sql, tokens[index]) for index in sorted(set(found)))


def _use(sql: str, token: Token) -> FunctionUse:
    return FunctionUse(_plain(token), position(sql, token.start)[0])


def _reads_clock(tokens: tuple[Token, ...], name: str, index: int) -> bool:
    return name in _NO_ARGUMENTS_MEANS_NOW and _text(tokens, index + 2) == ")"


def _is_bare_call(tokens: tuple[Token, ...], index: int) -> bool:
    token = tokens[index]
    free = _text(tokens, index - 1) not in (".", "AS") and _text(tokens, index + 1) != "."
    return free and token.kind is TokenKind.WORD and token.text.lower() in _CALLED_BARE


def _is_clock(tokens: tuple[Token, ...], index: int) -> bool:
    """``DATE 'today'``, ``to_date('today')``, ``'now'::timestamp`` and their like."""
    before, value = _text(tokens, index - 1), tokens[index]
    if value.kind is not TokenKind.STRING or not is_clock_word(value.text.strip("'\"")):
        return False
    called = before == "(" and _text(tokens, index - 2) in _CLOCK_CASTS
    return before in _CLOCK_TYPES or called or _text(tokens, index + 1) == "::"


def is_clock_word(text: str) -> bool:
    """Whether Spark reads a text as the current time when it is cast to a date or a timestamp."""
    first = text.split()
    return bool(first) and first[0].upper() in _CLOCK_WORDS


_WHY = (
    (AGGREGATES, "the aggregate {} at line {}"),
    (WINDOW_FUNCTIONS, "the window function {} at line {}"),
    (TIME_WINDOWS, "the time window {} at line {}"),
    (GENERATORS, "{} at line {}, which makes several rows of one"),
)


def of_several_rows(tokens: tuple[Token, ...]) -> str | None:
    """Returns the first call that aggregates rows, or None."""
    return next((name for name, _ in calls(tokens) if name in AGGREGATES | WINDOW_FUNCTIONS), None)


def not_scalar(sql: str, tokens: tuple[Token, ...]) -> str | None:
    """Returns the first call that is not certainly one value of one row, as a reason; None if all are."""
    for name, index in calls(tokens):
        line = position(sql, tokens[index].start)[0]
        why = next((text for names, text in _WHY if name in names), None)
        if why:
            return why.format(name, line)
        if name not in _KNOWN or _text(tokens, index - 1) == ".":
            return f"the function {name} at line {line}, which lakesmith does not know"
    return None
