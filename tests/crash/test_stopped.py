"""Writers that stand still and go on later, and two runs of one project."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from audit import TABLES, Audit
from killed_shop import Shop
from processes import RunProcess, holder_of, is_gone, kill, must, run, status, wait_until
from soaking import chosen

STOPS = (
    "after-branch@bronze.orders:stopjvm",
    "before-swap@bronze.orders:stopjvm",
    "before-swap@silver.orders:stopjvm",
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """One project for all of it; whatever a failed test leaves of its last run is ended."""
    shop = Shop(tmp_path_factory.mktemp("stopped") / "shop", seed=11)
    yield shop
    holder = holder_of(shop.root)
    for name in ("jvm_pid", "pid"):
        if holder and holder[name]:
            kill(int(str(holder[name])))


def heads(shop: Shop) -> dict[str, int]:
    audit = Audit(shop)
    found = {name: audit.published(name) for name in TABLES}
    return {name: published.head for name, published in found.items() if published}


@pytest.mark.parametrize("fault", chosen(STOPS, "before-swap@silver.orders:stopjvm"))
def test_a_writer_that_goes_on_after_another_has_published_changes_nothing(shop: Shop, fault: str) -> None:
    """The JVM is stopped with a write or a whole commit to go; Python, which holds the lock, is killed."""
    shop.land()
    with RunProcess.start(shop.root, fault) as stopped:
        jvm = stopped.wait_for_jvm()
        assert jvm is not None, stopped.end().output
        wait_until(lambda: status(jvm) == "T", "the JVM is stopped")
        # It now has work in its hands that Python has sent and waits for.
        kill(stopped.pid)
        stopped.end()
    shop.land()
    must(shop.root)
    published = heads(shop)
    kill(jvm, signal.SIGCONT)
    wait_until(lambda: is_gone(jvm), "the JVM that goes on ends by itself", patience=60)
    assert heads(shop) == published
    Audit(shop).check()
    must(shop.root)
    assert heads(shop) == published, "there was nothing left to do"
    Audit(shop).check_complete()


@pytest.mark.release
def test_a_second_run_says_who_holds_the_project_and_that_it_is_stopped(shop: Shop) -> None:
    shop.land()
    with RunProcess.start(shop.root, "after-lock:stop") as stopped:
        wait_until(lambda: status(stopped.pid) == "T", "the first run is stopped")
        second = run(shop.root)
        assert second.code == 1
        assert "LS701" in second.output
        assert f"process {stopped.pid}" in second.output
        assert f"kill -CONT {stopped.pid}" in second.output
        with RunProcess.start(shop.root, None, ("run", "--wait", "120")) as waiting:
            kill(stopped.pid, signal.SIGCONT)
            assert stopped.end().code == 0
            ended = waiting.end()
    assert ended.code == 0, ended.output
    assert "Spark" not in ended.output, "the first run has left nothing to do"
    Audit(shop).check_complete()


@pytest.mark.release
def test_two_runs_at_once(tmp_path: Path) -> None:
    """Both do what there is to do, one after the other; neither does it twice."""
    shop = Shop(tmp_path / "shop", seed=13)
    shop.land()
    with (
        RunProcess.start(shop.root, None, ("run", "--wait", "120")) as one,
        RunProcess.start(shop.root, None, ("run", "--wait", "120")) as two,
    ):
        first, second = one.end(), two.end()
    assert (first.code, second.code) == (0, 0), first.output + second.output
    assert sum("Spark is ready" in ended.output for ended in (first, second)) == 1
    Audit(shop).check_complete()
