"""Every error code of the source is in the table of codes, and the table has no other code."""

import re
from pathlib import Path

import lakesmith
from lakesmith.errors import error_codes

SOURCE = Path(lakesmith.__file__).parent


def test_the_table_has_exactly_the_codes_of_the_source() -> None:
    texts = (path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    used = {code for text in texts for code in re.findall(r'"(LS\d{3})"', text)}
    assert used == set(error_codes())


def test_each_code_has_whole_sentences_and_the_codes_are_sorted() -> None:
    codes = error_codes()
    assert list(codes) == sorted(codes)
    for each in codes.values():
        for text in (each.meaning, each.cause):
            assert text.endswith((".", "`")), each
        assert "  " not in f"{each.meaning} {each.cause} {each.fix}", each
