"""The numbers of rules: exact where a table's values are, compared and shown so that both agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Final

Number = Fraction | float
"""What a rule measures: exact, or a double if the table's values or the metric are ones."""

DOUBLE_DIGITS: Final = 15
"""Two numbers of so many digits have two doubles."""
_DIGITS: Final = (6, 9, 12, 15, 17, 40)
"""How many digits of a number are shown: the fewest that show what it is compared for."""
_MOST_WHOLE: Final = 21
_CENTS: Final = 2


def finite(value: Any) -> Number | None:
    """Returns a value of Spark as a number, exact unless it is a double; None for NULL, NaN and infinity."""
    if value is None or not math.isfinite(value):
        return None
    return value if isinstance(value, float) else Fraction(value)


def rounded(value: Number | None) -> float | None:
    """Returns the nearest double, as the record of a batch has it."""
    if value is None:
        return None
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def root(square: Fraction) -> Number:
    """Returns a square root, exact if it is a fraction."""
    parts = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if parts[0] ** 2 == square.numerator and parts[1] ** 2 == square.denominator:
        return Fraction(*parts)
    with localcontext(prec=_DIGITS[-1]):
        return float((Decimal(square.numerator) / Decimal(square.denominator)).sqrt())


def compared(value: Number, text: str) -> tuple[Number, Number]:
    """Returns a metric and a number of a rule as they are compared.

    Doubles are compared as doubles. So are numbers that no decimal is, such as 1/3, beside one with the
    digits of a double: that is how a metric is recorded.
    """
    other = Fraction(text)
    digits = len(Decimal(text).normalize().as_tuple().digits)
    if isinstance(value, float) or (digits > DOUBLE_DIGITS and not _is_decimal(value)):
        return float(value), float(other)
    return value, other


def _is_decimal(value: Fraction) -> bool:
    left = value.denominator
    for prime in (2, 5):
        while left % prime == 0:
            left //= prime
    return left == 1


def in_words(value: Number, meets: Callable[[Number], bool], times: int = 1) -> str:
    """Returns ``times`` a number for people, in digits that show whether the number ``meets`` something."""
    as_it_is, text = meets(value), ""
    exact = Fraction(repr(value)) if isinstance(value, float) else value
    for text in _texts(exact * times):
        if meets(Fraction(text) / times) == as_it_is:
            break
    whole, point, rest = text.partition(".")
    return f"{int(whole):,}{point}{rest}" if len(whole) > 3 and whole.isdigit() else text


def number(value: Number) -> str:
    """Returns a number for people, in the digits that tell it from other doubles."""
    return in_words(value, lambda other: rounded(other) == rounded(value))


def plain(value: float) -> str:
    """Returns a double as a rule would have it."""
    return f"{Decimal(repr(value)).normalize():f}"


def _texts(value: Fraction) -> Iterator[str]:
    """Yields a number in decimals, each nearer to it; of numbers that are not too
    large all digits before the point, and two behind it."""
    whole = len(str(abs(int(value))))
    for digits in _DIGITS:
        with localcontext(prec=max(digits, whole + _CENTS if whole <= _MOST_WHOLE else 0)):
            found = (Decimal(value.numerator) / Decimal(value.denominator)).normalize()
        yield f"{found:f}" if -_DIGITS[0] < found.adjusted() < _MOST_WHOLE else f"{found}".lower()
