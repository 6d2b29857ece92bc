"""Lines as documents and other projects show them, of many years: their format's grammar has to fit each."""

import re
from collections.abc import Callable

import pytest

from lakesmith.project.definitions import CsvOptions, FileSource
from lakesmith.project.formats import FileFormat
from lakesmith.sources.formats.log_lines import grammar_of
from public_log_lines import LINES

Make = Callable[..., FileSource]


@pytest.mark.parametrize(("title", "format", "line", "field", "text"), LINES)
def test_a_line_is_read(make_source: Make, title: str, format: str, line: str, field: str, text: str) -> None:
    grammar = grammar_of(make_source(format=FileFormat(format), csv=CsvOptions()))
    found = re.fullmatch(grammar.pattern, line, re.DOTALL)
    assert found is not None, title
    values = dict(zip((each.name for each in grammar.fields), found.groups(), strict=True))
    assert (values[field] or "") == text, title


@pytest.mark.parametrize("before", ["192.0.2.1 - john [doe]", "www.example.com:80 192.0.2.1 - -"])
def test_a_line_of_another_form_is_none(make_source: Make, before: str) -> None:
    """A user like a time, and Debian's vhost_combined: which word is which is not to be guessed."""
    grammar = grammar_of(make_source(format=FileFormat.COMBINED, csv=CsvOptions()))
    line = '[10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1 "-" "x"'
    assert re.fullmatch(grammar.pattern, f"192.0.2.1 - john {line}", re.DOTALL)
    assert re.fullmatch(grammar.pattern, f"{before} {line}", re.DOTALL) is None


@pytest.mark.parametrize("host", ["www.example.com", "[2001:db8::1]"])
def test_a_host_with_its_port_is_read_by_its_own_format(make_source: Make, host: str) -> None:
    options = CsvOptions(log_format='%v:%p %h %l %u %t "%r" %>s')
    grammar = grammar_of(make_source(format=FileFormat.COMBINED, csv=options))
    line = f'{host}:443 192.0.2.1 - frank [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200'
    found = re.fullmatch(grammar.pattern, line, re.DOTALL)
    assert found is not None and found.groups()[:3] == (host, "443", "192.0.2.1")
