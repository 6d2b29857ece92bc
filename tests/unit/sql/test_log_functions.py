"""The functions for logs: their values, where a query uses them, and what decides their values."""

import pytest

from lakesmith.errors import RunError
from lakesmith.sql import log_functions
from lakesmith.sql.log_functions import (
    deciding,
    hashed_address,
    truncated_address,
    url_parts,
    used_in_sql,
    user_agent,
)
from lakesmith.sql.parse import parse
from lakesmith.sql.tokens import SqlParseError

SALT = "not-a-secret-in-tests"


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("203.0.113.77", "203.0.113.0/24"), (" 203.0.113.77 ", "203.0.113.0/24"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"), ("2001:DB8::1", "2001:db8::/48"),
        ("::ffff:203.0.113.77", "203.0.113.0/24"), ("fe80::1%eth0", "fe80::/48"),
        ("203.0.113.077", None), ("203.0.113.1, 10.0.0.1", None), ("", None), ("-", None),
    ],
)  # fmt: skip
def test_an_address_is_truncated_to_its_network(text: str, network: str | None) -> None:
    assert truncated_address(text) == network


def test_a_hash_depends_on_the_address_and_the_salt_alone() -> None:
    salt = SALT.encode()
    assert hashed_address("2001:DB8:0::1", salt) == hashed_address("2001:db8::1", salt)
    assert hashed_address("203.0.113.1", salt) != hashed_address("203.0.113.1", salt + b"x")
    assert len(hashed_address("unknown", salt)) == 32


@pytest.mark.parametrize(
    ("text", "path", "extension", "keys"),
    [
        ("/img/Logo.PNG", "/img/Logo.PNG", "png", []),
        ("https://x.org:8/a/b.tar.gz?b=1&a=&b=2#c", "/a/b.tar.gz", "gz", ["a", "b"]),
        ("//double/slash.css", "//double/slash.css", "css", []),
        ("/.htaccess", "/.htaccess", None, []), ("/a.b/c", "/a.b/c", None, []), ("/", "/", None, []),
        ("/x?q=%C3%A9&r%20s=1", "/x", None, ["q", "r s"]), ("/v1.2.3/", "/v1.2.3/", None, []),
        ("?a=1", "", None, ["a"]), ("/a%2Eb", "/a%2Eb", None, []),
    ],
)  # fmt: skip
def test_a_url_has_parts(text: str, path: str, extension: str | None, keys: list[str]) -> None:
    assert url_parts(text) == {"path": path, "extension": extension, "query_keys": keys}


def test_a_text_that_is_no_url_has_none() -> None:
    assert url_parts("http://[::1") is None


@pytest.mark.parametrize(
    ("text", "family", "os", "is_bot"),
    [
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0"
         " Safari/537.36", "Chrome", "Windows", False),
        ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "Googlebot", None, True),
        ("x" * 1_000_000, None, None, False), ("", None, None, False),
    ],
)  # fmt: skip
def test_a_user_agent_has_parts(text: str, family: str | None, os: str | None, is_bot: bool) -> None:
    found = user_agent(text)
    assert found is not None
    assert (found["family"], found["os"], found["is_bot"]) == (family, os, is_bot)


def test_what_a_query_uses_is_found() -> None:
    sql = "SELECT user_agent(a).family, hashed_address(coalesce(b, 'x'), 'SALT') FROM t -- url_parts(x)"
    found = used_in_sql(sql)
    assert (found.functions, found.salts) == (("hashed_address", "user_agent"), ("SALT",))


def test_a_column_of_a_functions_name_uses_nothing() -> None:
    assert used_in_sql("SELECT user_agent FROM t").functions == ()


def test_a_salt_must_be_named() -> None:
    with pytest.raises(SqlParseError, match="the name of an environment variable"):
        parse("SELECT hashed_address(a, b) AS h FROM bronze.t")


def test_new_rules_and_another_salt_decide_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    found = used_in_sql("SELECT user_agent(a).family, hashed_address(b, 'SALT') FROM t")
    before = deciding(found, {"SALT": SALT})
    other = deciding(found, {"SALT": SALT + "!"})
    assert before.keys() == other.keys() and SALT not in str(before)
    assert {name for name in before if before[name] != other[name]} == {"hashed_address SALT"}
    monkeypatch.setattr(log_functions, "rules_version", lambda: "209901")
    assert {name for name, data in deciding(found, {"SALT": SALT}).items() if data != before[name]} == {
        "user_agent"
    }


def test_workers_need_the_rules_that_the_driver_has(monkeypatch: pytest.MonkeyPatch) -> None:
    log_functions.require_rules(log_functions.rules_version())
    with pytest.raises(ImportError, match=r"user_agent needs ua-parser-builtins 209901 .*, found 2\d+"):
        log_functions.require_rules("209901")
    monkeypatch.setattr(log_functions, "_installed", lambda: None)
    with pytest.raises(ImportError, match="found none"):
        log_functions.require_rules("209901")


@pytest.mark.parametrize("salt", ["", "short"])
def test_a_salt_that_is_absent_or_short_is_refused_without_showing_it(salt: str) -> None:
    with pytest.raises(RunError, match="LS315") as caught:
        deciding(used_in_sql("SELECT hashed_address(b, 'SALT') FROM t"), {"SALT": salt})
    assert "short" not in "\n".join(caught.value.problems[0].lines()).replace("shorter", "")
