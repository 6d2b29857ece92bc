"""``run --submit`` and ``logs``: a real job behind a state machine, S3 and Glue on moto."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "unit" / "deploy"))

import deployed
import emulated_aws
from deployed_shop import JOB, Shop

import lakesmith
from lakesmith.api.submitting import work
from lakesmith.api.submitting.account import Account
from lakesmith.cli.commands.aws import submit
from lakesmith.cli.guard import guarded
from lakesmith.cli.main import app
from lakesmith.errors import UsageError
from server_process import started

pytestmark = [pytest.mark.processes, pytest.mark.timeout(600)]
CALLED = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def aws() -> Iterator[emulated_aws.Aws]:
    """An account in which jobs run."""
    before = dict(os.environ)
    with started(emulated_aws.Aws) as found:
        yield found
    os.environ.clear()
    os.environ.update(before)


def said(shop: Shop, call: CALLED) -> str:
    """What the last job and the emulation printed, for a failed test."""
    return call("logs")[1] + shop.aws.process.said()[-3000:]


@pytest.fixture(scope="module")
def shop(aws: emulated_aws.Aws, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """The example customer-orders, whose landing files have arrived."""
    root = tmp_path_factory.mktemp("submitted") / "shop"
    shutil.copytree(deployed.EXAMPLES / "customer-orders", root, ignore=shutil.ignore_patterns(".lakesmith"))
    found = Shop(aws, root)
    os.environ.update(found.environ)
    return found


@pytest.fixture
def call(shop: Shop, capsys: pytest.CaptureFixture[str]) -> CALLED:
    """Calls a command for the target ``prod``."""

    def call(*words: str) -> tuple[int, str, str]:
        every = [words[0], "--project", str(shop.root), "--target", "prod", *words[1:]]
        capsys.readouterr()
        code = guarded(lambda: app(every, prog_name="lakesmith", standalone_mode=False), every)
        return (code, *capsys.readouterr())

    return call


@pytest.mark.deploys
def test_a_run_on_aws_looks_like_one_here(shop: Shop, call: CALLED) -> None:
    for file in sorted((shop.root / "arrivals").glob("*.csv")):
        shop.lands(file)
    shop.ends(JOB)
    code, out, err = call("run", "--submit")
    assert code == 0, out + err + said(shop, call)
    lines = out.splitlines()
    assert lines[0].startswith("submitted run-")
    assert any(line.startswith("bronze.orders: published batch 1") for line in lines)
    assert any(line.startswith("4 tables published in ") for line in lines)
    code, out, _ = call("logs", "--lines", "2000")
    assert code == 0
    assert '"event": "run_finished"' in out
    assert "succeeded, started" in out


def test_a_job_that_breaks_says_so_and_where_its_log_is(shop: Shop, call: CALLED) -> None:
    shop.ends(None)
    code, out, err = call("run", "--submit")
    assert code == 1
    assert "LS673" in err
    assert "Job failed, see its logs" in err
    assert f"lakesmith logs {out.split()[1]} --target prod" in err


@pytest.mark.parametrize("answer", [True, False])
def test_an_interrupt_asks_whether_to_cancel(
    shop: Shop, call: CALLED, monkeypatch: pytest.MonkeyPatch, answer: bool
) -> None:
    shop.ends({"run": ["/bin/sh", "-c", "exec sleep 20", "sh"]})
    asked: list[str] = []

    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    # Not ``time.sleep`` itself: that ends threads which sleep, as the one that frees Java's objects.
    monkeypatch.setattr(work, "time", SimpleNamespace(sleep=interrupted))
    monkeypatch.setattr(submit, "asks", lambda: True)
    monkeypatch.setattr(submit.typer, "confirm", lambda text: asked.append(text) or answer)
    code, out, err = call("run", "--submit")
    run = out.split()[1]
    assert code == 130, out + err + said(shop, call)
    assert (code, asked) == (130, [f"Cancel {run}?"])
    states, execution = shop.aws.client("stepfunctions"), Account(shop.stack).execution(run)
    assert (f"lakesmith logs {run}" in out) == (not answer)
    if not answer:
        assert states.describe_execution(executionArn=execution)["status"] == "RUNNING"
        states.stop_execution(executionArn=execution)
    monkeypatch.undo()
    until = time.monotonic() + 20
    while states.describe_execution(executionArn=execution)["status"] == "RUNNING":
        assert time.monotonic() < until
        time.sleep(0.2)


def test_what_is_not_there_is_refused(shop: Shop, call: CALLED, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, err = call("logs", "run-of-another-day")
    assert (code, "LS293 there is no run run-of-another-day" in err) == (2, True)
    code, _, err = call("run", "silver.nothing", "--submit")
    assert (code, "silver.nothing" in err) == (2, True)
    file = shop.root / "lakesmith.yaml"
    before = file.read_text()
    file.write_text(before.replace("name: customer_orders", "name: other_orders"))
    code, _, err = call("run", "--submit")
    file.write_text(before)
    assert (code, "LS346 lakesmith.yaml:" in err, "stateMachine:other-orders" in err) == (2, True, True)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    code, _, err = call("run", "--submit")
    assert (code, "LS345" in err, "Unable to locate credentials" in err) == (2, True, True)


def test_layers_take_no_selection(tmp_path: Path) -> None:
    root = deployed.project(tmp_path, deployed.SMALL, f"{deployed.USUAL}, unit: layer")
    with pytest.raises(UsageError, match=r"(?s)LS292.*gold.cities"):
        lakesmith.open(root, "prod").submit("gold.cities")
