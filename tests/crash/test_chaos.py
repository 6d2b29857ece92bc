"""The retail example under load while its parts are killed: what was acknowledged is there once.

The suite has a short one; a soak (``make soak``) has one of a minute for each of its histories.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from processes import kill
from read_elsewhere import catalog_of
from soaking import SOAK

from postgres_server import Server
from server_process import started

pytestmark = pytest.mark.release

EXAMPLE = Path(__file__).parents[2] / "examples/retail-sales"
LAKESMITH = [sys.executable, "-c", "from lakesmith.cli.main import main; main()"]
PORT = 18_173
SECONDS = 60 * SOAK or 20
RATE = 100


@pytest.fixture
def postgres() -> Iterator[Server]:
    with started(Server) as server:
        yield server


class Shop:
    """The example, kept by ``lakesmith up``."""

    def __init__(self, root: Path, postgres: Server) -> None:
        self.root, self.postgres = root, postgres
        shutil.copytree(
            EXAMPLE, root, ignore=shutil.ignore_patterns(".lakesmith", ".database", "__pycache__")
        )
        products = root / "tables/bronze/products.yaml"
        products.write_text(products.read_text().replace("10 seconds", "1 second"))
        self.environment = {**os.environ, "SHOP_DATABASE": postgres.url}
        self.up: subprocess.Popen[bytes] | None = None

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*LAKESMITH, *words],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def start(self) -> None:
        with (self.root / "up.log").open("ab") as log:
            command = [*LAKESMITH, "up", "--port", str(PORT), "--every", "2"]
            self.up = subprocess.Popen(
                command, cwd=self.root, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

    def log(self) -> str:
        return (self.root / "up.log").read_text(errors="replace")

    def parts(self, which: str) -> list[int]:
        """The processes below ``up`` with a word in their command."""
        assert self.up is not None
        command = ["pgrep", "-P", str(self.up.pid), "-f", which]
        return list(
            map(int, subprocess.run(command, capture_output=True, text=True, check=False).stdout.split())
        )

    def strike(self, what: str) -> None:
        """Kills a part; what ``up`` does not bring back itself is started again."""
        assert self.up is not None
        if what == "postgres":
            self.postgres.kill()
        elif what == "up":
            os.kill(self.up.pid, signal.SIGKILL)
            self.up.wait()
        else:
            for process in self.parts({"jvm": "SparkSubmit", "intake": "lakesmith.serve.server"}[what]):
                kill(process)
        time.sleep(1)
        if what == "postgres":
            self.postgres.start()
        elif what == "up":
            self.start()

    def rows(self, table: str) -> int:
        return int(catalog_of(self.root).load_table(table).scan().count())


@pytest.fixture
def shop(tmp_path: Path, postgres: Server) -> Iterator[Shop]:
    postgres.do(
        "CREATE TABLE products (product_id bigint PRIMARY KEY, name text, category text)",
        "INSERT INTO products SELECT n, 'product ' || n, 'category ' || n % 5 FROM generate_series(1, 40) n",
    )
    shop = Shop(tmp_path / "shop", postgres)
    yield shop
    if shop.up is not None and shop.up.poll() is None:
        shop.up.kill()
        shop.up.wait()


def test_whatever_dies_nothing_acknowledged_is_lost(shop: Shop) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    shop.start()
    till = subprocess.Popen(
        [*LAKESMITH, "send", "--url", f"http://127.0.0.1:{PORT}", "--rate", str(RATE), "--seconds",
            str(SECONDS),
         "--duplicate", "0.1", "--late", "0.1", "--bad", "0.05", "--patience", "120", "--json"],
        cwd=shop.root, env=shop.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    until, struck = time.monotonic() + SECONDS, list[str]()
    while time.monotonic() < until:
        time.sleep(chance.uniform(1, 4))
        struck.append(chance.choice(["jvm", "intake", "postgres", "up", "a product", "a product"]))
        if struck[-1] != "a product":
            shop.strike(struck[-1])
            continue
        with suppress(psycopg.OperationalError):  # it is coming up again
            shop.postgres.do(
                f"UPDATE products SET category = 'moved {len(struck)}'"
                f" WHERE product_id = {chance.randrange(1, 41)}"
            )
    said, _ = till.communicate(timeout=300)
    told = f"seed {seed}, {struck}\n{said}\n{shop.log()[-3000:]}"
    sent = json.loads(said)
    assert sent["acknowledged_good"] and not sent["unanswered"] and not sent["taken_twice"], told

    # What up does not get to before it ends, a run does.
    assert shop.up is not None
    shop.up.send_signal(signal.SIGTERM)
    shop.up.wait(180)
    last = shop.call("run")
    assert last.returncode == 0, told + last.stdout + last.stderr
    assert shop.rows("bronze.sales_raw") == sent["acknowledged_good"], told
    assert shop.rows("silver.sales_enriched") == sent["acknowledged_good"], told
    verified = shop.call("verify")
    assert verified.returncode == 0, told + verified.stdout
    assert "4 tables as their inputs make them" in verified.stdout, told + verified.stdout
