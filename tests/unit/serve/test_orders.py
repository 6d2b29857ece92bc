"""What people order of ``up``: tables that are left alone, and failed ones that are tried at once."""

from pathlib import Path

import pytest

from lakesmith.project.definitions import Schedule
from lakesmith.serve.orders import Orders
from unit.serve.test_loop import BAD, World, names, nightly, table, tables


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_paused_table_is_left_alone_and_made_up_for_when_it_is_resumed(world: World) -> None:
    orders = Orders(world.folder)
    loop = world.loop(every=1e9)
    world.pass_by(loop, 1)
    orders.pause("gold.c")
    assert names(world.pass_by(loop, 2 * 3600, step=60)) == []
    assert world.board["tables"]["gold.c"].is_paused and not world.board["tables"]["gold.d"].is_paused
    assert orders.resume("gold.c") and not orders.resume("gold.c")
    assert names(world.pass_by(loop, 60, step=1)) == ["gold.c gold.d"]
    assert not world.board["tables"]["gold.c"].is_paused


def test_arrivals_of_a_paused_source_wait_and_nothing_waits_for_them(world: World) -> None:
    nightly(world)
    orders = Orders(world.folder)
    orders.pause("bronze.x")
    loop = world.loop(every=1e9)
    assert names(world.pass_by(loop, 1)) == ["bronze.a silver.b gold.d"]
    loop.arrivals.notice("bronze.x")
    world.pieces = 3
    assert names(world.pass_by(loop, 1900, step=10)) == []
    assert world.pieces == 0, "maintenance gives way to what is refreshed alone"
    loop.arrivals.notice("bronze.a")
    assert names(world.pass_by(loop, 5)) == ["bronze.a silver.b"]
    orders.resume("bronze.x")
    assert names(world.pass_by(loop, 5)) == ["bronze.x"]
    assert loop.arrivals.waiting() == {}


def test_a_pause_outlives_the_process_and_has_any_table_name(world: World) -> None:
    Orders(world.folder).pause("bronze.a/../b")
    world.declared = tables(table("bronze.a", Schedule(every=60)))
    Orders(world.folder).pause("bronze.a")
    assert Orders(world.folder).paused() == {"bronze.a", "bronze.a/../b"}
    assert names(world.pass_by(world.loop(), 200)) == []
    assert {path.parent.name for path in world.folder.rglob("*.paused")} == {"orders"}


def test_a_parked_table_is_tried_at_once_when_somebody_says_so(world: World) -> None:
    world.fails = {"silver.b": BAD}
    loop = world.loop(every=1e9)
    world.pass_by(loop, 200)
    assert names(world.pass_by(loop, 60)) == []
    Orders(world.folder).try_again("silver.b")
    Orders(world.folder).try_again("bronze.x")
    assert names(world.pass_by(loop, 2)) == ["silver.b"]
    world.fails = {}
    Orders(world.folder).try_again("silver.b")
    assert names(world.pass_by(loop, 60)) == ["silver.b"]
    assert "silver.b works again" in world.said[-1]
