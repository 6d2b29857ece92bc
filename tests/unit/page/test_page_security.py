"""Who can read the page, and what its requests can do."""

import random
import stat
import string
from pathlib import Path
from urllib.parse import quote

import pytest

from lakesmith.page.guard import is_here, is_ours, token_in
from made_lake import HOSTILE, MadeLake
from page_server import Served, served

pytestmark = pytest.mark.processes


def test_nothing_is_shown_without_the_token(page: Served) -> None:
    for path in ("/", "/t/silver.part_0", "/live", "/static/page.css", "/?token=", "/?token=wrong%ff"):
        found = page.ask(path)
        assert found.status == 401 and "part_0" not in found.text
    assert page.ask("/", {"Authorization": "Bearer x"}).status == 401
    assert page.ask("/", {"Cookie": f"lakesmith_{page.ui.port}={page.token}"}).status == 401


def test_the_link_is_exchanged_for_a_cookie_that_scripts_cannot_read(page: Served) -> None:
    found = page.ask(f"/?show=silver.*&token={page.token}")
    assert (found.status, found.headers["location"]) == (303, "/?show=silver.%2A")
    cookie = found.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and page.token not in cookie
    shown = page.ask("/", {"Cookie": f"other=1; {cookie.split(';')[0]}"})
    assert shown.status == 200 and "part_0" in shown.text


def test_the_exchange_leads_nowhere_else(page: Served) -> None:
    for path in ("//evil.example/", "/%2f%2fevil.example", "/\\\\evil.example"):
        found = page.ask(f"{path}?token={page.token}")
        place = found.headers.get("location", "/")
        assert place.startswith("/") and not place.startswith(("//", "/\\"))


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "", "[::1"])
def test_another_name_for_this_machine_is_refused(page: Served, host: str) -> None:
    found = page.ask("/", {"Host": host, "Authorization": f"Bearer {page.token}"})
    assert found.status == 400 and "part_0" not in found.text


def test_the_names_of_this_machine_are_known() -> None:
    assert all(map(is_here, (b"localhost", b"LOCALHOST:80", b"127.0.0.1:8090", b"[::1]:1", b"[::1]")))
    assert not any(map(is_here, (b"", b"localhost:x", b"a@localhost", b"localhost.", b"::1")))


def test_a_form_of_another_site_changes_nothing(page: Served) -> None:
    cookie = page.ask(f"/?token={page.token}").headers["set-cookie"].split(";")[0]
    headers = {"Cookie": cookie, "Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert page.ask("/", headers, "POST", "drop=1").status == 403
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        assert page.ask("/", headers, method, "drop=1").status == 405
    assert page.ask("/", {"Sec-Fetch-Site": "same-origin"}, "POST", "drop=1").status == 401


OURS: list[tuple[dict[str, str], bool]] = [
    ({"Sec-Fetch-Site": "same-origin"}, True),
    ({"Sec-Fetch-Site": "same-origin", "Origin": "null"}, True),
    ({"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost:8090"}, True),
    ({"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"}, False),
    ({"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:8090"}, False),
    ({"Sec-Fetch-Site": "cross-site"}, False),
    ({"Sec-Fetch-Site": "none"}, False),
    ({"Sec-Fetch-Site": "cross-site", "Authorization": "Bearer x"}, False),
    ({"Origin": "http://localhost:8090"}, True),
    ({"Origin": "https://localhost:8090"}, True),
    ({"Origin": "http://localhost:9000"}, False),
    ({"Origin": "http://localhost:8090.evil.example"}, False),
    ({"Origin": "null"}, False),
    ({}, False),
    ({"Authorization": "Bearer x"}, True),
    ({"Authorization": "Basic x"}, False),
]


@pytest.mark.parametrize(("headers", "ours"), OURS)
def test_only_the_page_and_scripts_with_the_token_may_post(headers: dict[str, str], ours: bool) -> None:
    given = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    assert is_ours({"headers": [(b"host", b"localhost:8090"), *given]}) is ours


def test_every_answer_forbids_what_the_page_does_not_need(page: Served) -> None:
    for found in (page.get("/"), page.get("/nothing"), page.ask("/"), page.get("/static/page.js")):
        policy = found.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "unsafe" not in policy
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["cache-control"] == "no-store"
        assert found.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in found.headers


def test_pages_load_nothing_from_elsewhere_and_hold_no_script(page: Served) -> None:
    for path in ("/", "/t/silver.part_0"):
        text = page.get(path).text
        assert "http://" not in text and "https://" not in text and "style=" not in text
        assert text.count("<script") == 1 and '<script src="/static/page.js" defer>' in text


UP = ("/static/../guard.py", "/static/guard.py", "/static/templates/base.html", "/static/%2e%2e/guard.py",
      "/static//etc/passwd", "/t/../../lakesmith.yaml", "/t/..%2f..%2f.lakesmith%2fui.token")  # fmt: skip


@pytest.mark.parametrize("path", UP)
def test_paths_reach_no_other_file(page: Served, path: str) -> None:
    found = page.get(path)
    assert found.status in (404, 405) and page.token not in found.text and "hmac" not in found.text


def test_a_definition_outside_the_project_is_not_shown(tmp_path: Path) -> None:
    lake = MadeLake(tmp_path / "project", 3)
    outside = tmp_path / "outside.sql"
    outside.write_text("-- not yours\nSELECT id FROM bronze.source_0\n")
    query = lake.root / "tables/silver/part_0.sql"
    query.unlink()
    query.symlink_to(outside)
    with served(lake.root) as page:
        assert "not yours" not in page.get("/t/silver.part_0").text


def test_rows_are_text(page: Served) -> None:
    text = page.get("/t/silver.part_0").text
    assert HOSTILE not in text and "<img" not in text and "&lt;script&gt;document.title" in text
    assert "{{ 7 * 7 }}" in text


@pytest.mark.parametrize(
    "name", [HOSTILE, "'\"><b>", "a" * 5000, "\0", "%", "silver.*", "+", "é💥", "[", "../.."]
)
def test_names_are_text(page: Served, name: str) -> None:
    for path in (
        f"/t/{quote(name, safe='')}",
        f"/?show={quote(name)}",
        f"/?focus={quote(name)}&rows={quote(name)}",
    ):
        found = page.get(path)
        assert found.status in (200, 404) and "<b>" not in found.text.replace("<b>made</b>", "")[:0]
        assert "<script>" not in found.text and "<img" not in found.text


@pytest.mark.parametrize("may_change", [False, True])
def test_no_request_is_an_error_of_the_server(made: MadeLake, may_change: bool) -> None:
    chosen = random.Random(7 + may_change)
    parts = ["/", "/t/", "silver.part_0", "?show=", "&rows=", "hour", "%", "%00", "..", "&focus=", "+", "*"]
    parts += [
        "/rows",
        "/diff",
        "/do/run",
        "/do/rollback?table=",
        "/do/tag?name=",
        "/jobs/",
        "&as_of=",
        "&page=9",
    ]
    parts += ["&column=id&is=gt&value=", "&sort=-id", "&table=silver.part_0", "&to=", "&part=2", "may"]
    parts += ["&whole=1", "/static/", "[", "]", "'", '"', "<", ";", "%ff", "?token=", "\xe9", "gold.*"]
    with served(made.root, may_change=may_change) as page:
        for _ in range(300):
            path = "/" + "".join(chosen.choices(parts, k=chosen.randrange(1, 7))).replace("<", "%3C")
            path = quote(path, safe=string.printable.replace(" ", ""))
            assert page.get(path).status < 500, path


def test_the_token_is_for_its_user_alone_and_is_kept(tmp_path: Path) -> None:
    token = token_in(tmp_path / "new")
    path = tmp_path / "new/ui.token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and len(token) >= 43
    path.chmod(0o644)
    assert token_in(tmp_path / "new") == token and stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_token_is_in_no_log(page: Served, made: MadeLake, capfd: pytest.CaptureFixture[str]) -> None:
    page.ask(f"/?token={page.token}")
    page.get("/t/nothing")
    said = "".join(capfd.readouterr())
    kept = [
        path for path in (made.root / ".lakesmith").rglob("*") if path.is_file() and path.name != "ui.token"
    ]
    assert page.token not in said
    assert not [path for path in kept if page.token.encode() in path.read_bytes()]
