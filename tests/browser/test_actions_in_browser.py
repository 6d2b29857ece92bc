"""Rows, comparisons and actions as a person meets them: by mouse and keys, in both themes, narrow."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from made_lake import MadeLake
from page_server import PICTURES, Open, Served, served

PATHS = {
    "rows": "/t/silver.part_0/rows?sort=-id&column=id&is=gt&value=3",
    "wrong": "/t/silver.part_0/rows?column=id&is=gt&value=x",
    "diff": "/t/silver.part_0/diff",
    "run": "/do/run?table=gold.result_0",
    "tag": "/do/tag?name=good",
    "past": "/?as_of=good",
    "table": "/t/silver.part_0",
}
CHANGED = """
import json, sys
json.loads(sys.stdin.readline())
rows = [["before", "1", None, "Oslo"], ["after", "1", "a < b", "Oslo"], ["inserted", "2", "x", "Rome"]]
counts = {"inserted": 1, "deleted": 0, "updated": 1, "columns": {"name": 1}}
names = ["_change", "id", "name", "city"]
print(json.dumps({"now": "starting Spark"}), flush=True)
print(json.dumps({"line": "silver.part_0: batch 3: read 3: 3 inserted; 11 rows now"}), flush=True)
print(json.dumps({"result": {"counts": counts, "names": names, "rows": rows, "is_cut": False}}), flush=True)
"""


@pytest.fixture(scope="module")
def changing(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Served]:
    """A page that may change its lake; what a form starts is a program that says what Spark would."""
    lake = MadeLake(tmp_path_factory.mktemp("changing"), 7)
    lake.publish()
    lake.publish("bronze.source_0", rows=30)
    lake.publish("silver.part_0", rows=400, bad=2)
    table = lake.catalog.writer().load_table("silver.part_0")
    table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "good").commit()
    script = lake.root / "script.py"
    script.write_text(CHANGED)
    with pytest.MonkeyPatch.context() as patch, served(lake.root, may_change=True) as found:
        patch.setattr("lakesmith.page.jobs.COMMAND", (sys.executable, str(script)))
        yield found


def _picture(page: Any, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PATHS)
def test_axe_finds_nothing(changing: Served, opened: Open, name: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened(changing, PATHS[name], scheme, bypass_csp=True)
    found = axe.run(page).response["violations"]
    assert [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in found] == []
    _picture(page, f"{name}-{scheme}")


@pytest.mark.parametrize("name", PATHS)
def test_a_narrow_screen_is_enough(changing: Served, opened: Open, name: str) -> None:
    page = opened(changing, PATHS[name], width=390, reduced_motion="reduce")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    _picture(page, f"{name}-narrow")


def test_rows_are_filtered_sorted_and_seen_as_of_a_batch_by_keys_alone(
    changing: Served, opened: Open
) -> None:
    page = opened(changing, "/t/silver.part_0")
    page.focus("#point-1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/rows?as_of=*")
    assert page.locator("#rows-scroll tbody tr").count() == 5
    page.focus("main a >> text=/^now$/")
    page.keyboard.press("Enter")
    page.wait_for_url("**/silver.part_0/rows")
    page.focus("#filter-column")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    page.wait_for_url("**column=id**")
    assert page.inner_text("#rows-scroll tbody") == "7"
    page.click("text=remove")
    page.click("#rows-scroll thead a")
    page.wait_for_url("**sort=id**")
    assert page.get_attribute("#rows-scroll thead th", "aria-sort") == "ascending"


def test_an_action_is_confirmed_and_its_progress_is_live(changing: Served, opened: Open) -> None:
    page = opened(changing)
    page.click("a.todo")
    page.wait_for_selector("h2:has-text('What would happen')")
    page.click("button.primary")
    page.wait_for_url("**/jobs/**")
    page.wait_for_selector("#job-state:has-text('done')")
    assert "11 rows now" in page.inner_text("main")
    _picture(page, "job")
    page.goto(changing.url + "/t/silver.part_0/diff")
    page.click("text=Compare")
    page.wait_for_selector("#diff-scroll")
    assert page.inner_text("tr.after td.other") == "a < b"
    _picture(page, "differs")


FOCUS = """() => {
  const at = document.activeElement;
  if (at === document.body) return null;
  const controls = [...document.querySelectorAll(":is(a[href], button, select, textarea, summary, " +
    "input:not([type=hidden]), [tabindex='0'])")].filter((each) => each.checkVisibility() && !each.disabled);
  const look = () => [at, ...at.querySelectorAll("rect")].map(getComputedStyle).map(
    (style) => [style.outlineStyle, style.outlineWidth, style.stroke, style.strokeWidth].join()).join();
  const focused = look();
  at.blur();
  const isSeen = focused !== look();
  at.focus({ focusVisible: true, preventScroll: true });
  return [controls.indexOf(at), controls.length, isSeen];
}"""
"""Which of the page's controls has the focus, of how many, and whether it looks otherwise than without."""


@pytest.mark.parametrize("path", [*PATHS.values(), "/query", "/event", "/activity"])
def test_tab_reaches_each_control_and_shows_where_it_is(changing: Served, opened: Open, path: str) -> None:
    page = opened(changing, path, reduced_motion="reduce")
    reached, total = set[int](), -1
    for _ in range(400):
        page.keyboard.press("Tab")
        found = page.evaluate(FOCUS)
        if found is not None:
            at, total, is_seen = found
            assert is_seen, page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
            reached.add(at)
        if reached - {-1} == set(range(total)):
            break
    assert reached - {-1} == set(range(total))


def test_the_lake_as_of_a_tag_and_a_selection_are_in_the_address(changing: Served, opened: Open) -> None:
    page = opened(changing)
    page.focus("#as-of")
    page.keyboard.type("good")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?as_of=good")
    assert "as of good" in page.inner_text(".past")
    page.keyboard.press("/")
    page.keyboard.type("+gold.result_0")
    page.keyboard.press("Enter")
    page.wait_for_url("**show=**")
    page.click("nav[aria-label='Rows on the lines'] >> text=day")
    page.wait_for_url("**rows=day**")
    chosen = sorted(page.locator("a.node").evaluate_all("all => all.map((each) => each.id)"))
    assert "node-gold.result_0" in chosen and len(chosen) < 7
    other = opened(changing, page.url.removeprefix(changing.url))
    assert sorted(other.locator("a.node").evaluate_all("all => all.map((each) => each.id)")) == chosen
    assert other.inner_text("nav [aria-current=true]") == "day"
    assert other.input_value("#show") == "+gold.result_0"


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_what_has_changed_is_lit_unless_motion_is_unwelcome(
    tmp_path: Path, opened: Open, motion: str
) -> None:
    lake = MadeLake(tmp_path, 3)
    lake.publish()
    with served(tmp_path) as made:
        page = opened(made, reduced_motion=motion)
        page.wait_for_selector("#live[data-state=live]")
        lake.publish("bronze.source_0", rows=7)
        page.wait_for_selector("#node-bronze\\.source_0:has-text('12 rows')")
        running = page.evaluate(
            "document.getAnimations().filter((each) => each.playState === 'running').length"
        )
        assert (running > 0) is (motion == "no-preference")
        lit = page.locator("a.node.changed").evaluate_all("all => all.map((each) => each.id)")
        assert "node-bronze.source_0" in lit
        page.goto("about:blank")


def test_pages_work_without_any_script(changing: Served, opened: Open) -> None:
    page = opened(changing, "/do/pause?table=gold.result_0", java_script_enabled=False)
    page.click("button.primary")
    assert "gold.result_0 is paused" in page.inner_text("main")
    page.goto(changing.url + "/t/gold.result_0")
    page.click("text=Resume")
    page.click("button.primary")
    assert "refreshed again" in page.inner_text("main")
