"""Commands as processes of their own, with a JVM of their own: few, because each start costs seconds."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from harness import Harness

from read_only import python_held_to_modes, read_only

LAKESMITH = [sys.executable, "-c", "from lakesmith.cli.main import main; main()"]
FILES = {
    "lakesmith.yaml": "name: shop\ntargets: {local: {}}\n",
    "tables/bronze/orders.yaml": "source: {files: {path: landing, format: csv}}\n"
    "columns: {id: bigint, name: string, amount: 'decimal(10,2)', at: timestamp}\n",
}


def start(root: Path, *words: str) -> subprocess.Popen[str]:
    """A command on the project in ``root``. In a group of its own: a signal for it is for no one else."""
    return subprocess.Popen(
        [*LAKESMITH, *words, "--project", str(root)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.in_turn
def test_ctrl_c_ends_a_run_within_seconds_and_publishes_nothing(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "landing").mkdir()
    lines = (f"{n},name {n},{n % 1000}.50,2024-01-01 00:00:00\n" for n in range(2_000_000))
    with (tmp_path / "landing" / "1.csv").open("w") as file:
        file.write("id,name,amount,at\n")
        file.writelines(lines)

    run = start(tmp_path, "run")
    assert run.stdout is not None
    told: list[str] = []
    for line in run.stdout:
        told.append(line)
        if "bronze.orders: ingesting 1 new file" in line:
            # As a terminal does it: to the whole group of processes.
            os.killpg(run.pid, signal.SIGINT)
            break
    out, err = run.communicate(timeout=40)
    said = "".join(told) + out
    assert run.returncode == 130, said + err
    assert err == ""
    assert "stopping: what is not published yet is left as it was" in said
    assert "bronze.orders: stopped; nothing of its batch was published" in said

    status = start(tmp_path, "status", "--json")
    (table,) = json.loads(status.communicate(timeout=30)[0])["tables"]
    assert (table["batch"], table["files_waiting"], table["rows"]) in ((None, 1, None), (None, 1, 0))


@pytest.mark.in_turn
def test_a_query_on_a_project_that_cannot_be_written(shop: Harness) -> None:
    shop.take("landing/1.csv", "id,name,amount,at\n1,Ann,1.50,2024-01-01 00:00:00\n")
    words = ["query", "SELECT id, name FROM bronze.orders", "--json", "--project", str(shop.root)]
    script = f"import sys; sys.argv[1:] = {words!r}; from lakesmith.cli.main import main; main()"

    with read_only(shop.root):
        done = python_held_to_modes(script, {})

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [{"id": 1, "name": "Ann"}]
    assert not (shop.root / ".lakesmith" / "logs").exists()
