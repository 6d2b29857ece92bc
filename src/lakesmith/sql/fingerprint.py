"""One hash per meaning of a query's text: layouts hash the same, different meanings never do.

It works on tokens, not on a parser's normal form: a parser knows equivalences that Spark does not have
(types, function names, implied aliases). If a word could be a keyword or a name, it is used as written: a
needless difference costs a rebuild, a missed one costs correct results.
"""

import hashlib
import re
from dataclasses import dataclass, field

from lakesmith.sql.tokens import Token, TokenKind, tokenize
from lakesmith.sql.words import (
    AGGREGATES,
    GENERATORS,
    KEYWORDS,
    NONDETERMINISTIC,
    SCALARS,
    WINDOW_FUNCTIONS,
    words,
)

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FUNCTIONS = AGGREGATES | GENERATORS | NONDETERMINISTIC | SCALARS | WINDOW_FUNCTIONS
# Keywords anywhere, except right after AS or a dot, or alone as an item of a list.
_KEYWORDS_ANYWHERE = words(
    """
    SELECT DISTINCT FROM WHERE GROUP ORDER SORT DISTRIBUTE CLUSTER BY HAVING LIMIT OFFSET JOIN LEFT RIGHT
    INNER FULL OUTER CROSS SEMI ANTI NATURAL ON USING UNION INTERSECT EXCEPT MINUS AND OR NOT IN IS LIKE
    ILIKE RLIKE REGEXP BETWEEN CASE WHEN THEN ELSE AS WITH RECURSIVE LATERAL OVER PARTITION CAST TRY_CAST
    TABLESAMPLE PIVOT UNPIVOT DIV
    """
)
_VALUES = frozenset({"NULL", "TRUE", "FALSE"})
# In these clauses a name's case means nothing for the result, so every keyword may be folded.
_CLAUSES_WITHOUT_NAMES = frozenset(
    {"WHERE", "GROUP", "ORDER", "SORT", "DISTRIBUTE", "CLUSTER", "HAVING", "PARTITION"}
)
_CLAUSES = _CLAUSES_WITHOUT_NAMES | {"SELECT", "FROM", "ON", "LATERAL", "PIVOT", "UNPIVOT", "WINDOW"}
_SET_OPERATORS = frozenset({"UNION", "INTERSECT", "EXCEPT", "MINUS"})


@dataclass(slots=True)
class _Frame:
    """The state of one pair of parentheses: its clause, whether it is a CAST, how many CASEs are open."""

    clause: str = ""
    is_cast: bool = False
    in_type: bool = False
    cases: int = 0


@dataclass(slots=True)
class _Folder:
    """Walks the tokens once and gives the form of each that counts."""

    tokens: tuple[Token, ...]
    frames: list[_Frame] = field(default_factory=lambda: [_Frame()])

    def folded(self) -> list[str]:
        return [self._fold(index, token) for index, token in enumerate(self.tokens)]

    def _fold(self, index: int, token: Token) -> str:
        if token.kind is TokenKind.QUOTED:
            return self._unquoted(index, token)
        if token.kind is TokenKind.WORD:
            return self._word(index, token)
        self._track_parenthesis(index, token)
        return token.text

    def _unquoted(self, index: int, token: Token) -> str:
        """Without its backticks when a bare word would be read as the same name."""
        name = token.text[1:-1]
        plain = _PLAIN_NAME.fullmatch(name) and name.upper() not in KEYWORDS and self._text(index + 1) != "("
        return name if plain else token.text

    def _word(self, index: int, token: Token) -> str:
        if not self._is_keyword(index, token):
            called = self._text(index + 1) == "(" and self._text(index - 1) not in (".", "AS")
            return token.text.lower() if called and token.text.lower() in _FUNCTIONS else token.text
        self._track_keyword(token)
        return token.upper

    def _is_keyword(self, index: int, token: Token) -> bool:
        before, after, frame = self._text(index - 1), self._text(index + 1), self.frames[-1]
        if frame.in_type:
            return token.upper in KEYWORDS and not self._is_field(index)
        if token.upper not in KEYWORDS or before in (".", "AS") or after == ".":
            return False
        if token.upper in _VALUES:
            return True
        if before in (",", "SELECT") and after in (",", "FROM", "AS", ")", ""):
            return False
        return self._is_certain(index, token)

    def _is_field(self, index: int) -> bool:
        """Whether it may be the name of a struct's field: its type follows, with a colon or without."""
        follows = self._text(index + 1) == ":" or self._kind(index + 1) in (TokenKind.WORD, TokenKind.QUOTED)
        return self._text(index - 1) in ("<", ",") and follows

    def _is_certain(self, index: int, token: Token) -> bool:
        frame, word = self.frames[-1], token.upper
        if word == "END":
            return frame.cases > 0
        if word == "ALL":
            return self._text(index - 1) in _SET_OPERATORS | {"SELECT", "BY"}
        if word in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "INTERVAL", "X"):
            return self._kind(index + 1) in (TokenKind.STRING, TokenKind.NUMBER)
        if self._text(index - 2) == "INTERVAL":
            return True
        return word in _KEYWORDS_ANYWHERE or (
            frame.clause in _CLAUSES_WITHOUT_NAMES and self._text(index + 1) != "("
        )

    def _track_keyword(self, token: Token) -> None:
        frame = self.frames[-1]
        frame.cases += {"CASE": 1, "END": -1}.get(token.upper, 0)
        frame.in_type = frame.in_type or (frame.is_cast and token.upper == "AS")
        if token.upper in _CLAUSES:
            frame.clause = token.upper

    def _track_parenthesis(self, index: int, token: Token) -> None:
        if token.text == "(":
            outer = self.frames[-1]
            is_cast = self._text(index - 1) in ("CAST", "TRY_CAST")
            self.frames.append(_Frame(outer.clause, is_cast, in_type=outer.in_type))
        elif token.text == ")" and len(self.frames) > 1:
            self.frames.pop()

    def _text(self, index: int) -> str:
        return self.tokens[index].upper if 0 <= index < len(self.tokens) else ""

    def _kind(self, index: int) -> TokenKind | None:
        return self.tokens[index].kind if 0 <= index < len(self.tokens) else None


def fingerprint(sql: str) -> str:
    """The SHA-256 (hex) of what ``sql`` says: white space, comments, the case of keywords and of Spark's own
    functions, needless backticks and a closing semicolon do not count; everything else does.

    Raises:
        SqlParseError: a string, a quoted name or a comment is not closed.

    >>> fingerprint("select a from s.t -- all") == fingerprint("SELECT `a`\\nFROM s.t;")
    True
    >>> fingerprint("select a from s.t") == fingerprint("select A from s.t")
    False
    """
    tokens = tokenize(sql)
    while tokens and tokens[-1].text == ";":
        tokens = tokens[:-1]
    return hashlib.sha256("\x1f".join(_Folder(tokens).folded()).encode()).hexdigest()
