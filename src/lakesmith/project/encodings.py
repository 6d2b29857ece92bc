"""Names of encodings: headers are read by Python, rows by Java, and some names only one of them knows."""

from __future__ import annotations

import codecs
import re
from typing import Final

_UNICODE: Final = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16LE",
    "utf-16-be": "UTF-16BE",
    "utf-32": "UTF-32",
    "utf-32-le": "UTF-32LE",
    "utf-32-be": "UTF-32BE",
}


def usual_name(encoding: str) -> str:
    """The name that both know, for what has several; any other as it is.

    >>> usual_name("utf16"), usual_name("latin-1"), usual_name("windows_1252"), usual_name("Shift_JIS")
    ('UTF-16', 'ISO-8859-1', 'windows-1252', 'Shift_JIS')
    """
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        return encoding
    if family := re.fullmatch(r"(iso8859-|cp)(\d+)", name):
        number = family[2]
        if family[1] == "iso8859-":
            return f"ISO-8859-{number}"
        return f"windows-{number}" if number.startswith("125") else encoding
    return _UNICODE.get(name, encoding)
