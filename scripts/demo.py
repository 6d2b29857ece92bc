"""Runs the customer-orders example from files to gold, showing each command and what it prints."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "customer-orders"
CUSTOMERS = "SELECT customer_id, name, email, city FROM silver.customers ORDER BY customer_id"
CITIES = "SELECT * FROM gold.customers_by_city_month ORDER BY city, month"


def show(folder: Path, *command: str) -> None:
    """Prints a command and runs it in ``folder``; ends the demo if it fails."""
    print(f"\n$ {' '.join(part if ' ' not in part else repr(part) for part in command)}", flush=True)
    done = subprocess.run(command, cwd=folder, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def main(folder: Path) -> None:
    """Lands the example's three files one by one and refreshes the tables after each."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(EXAMPLE, folder)
    for file in sorted((folder / "arrivals").iterdir()):
        show(folder, "cp", f"arrivals/{file.name}", "landing/orders/")
        show(folder, "lakesmith", "run")
    show(folder, "lakesmith", "query", CUSTOMERS)
    show(folder, "lakesmith", "query", CITIES)
    show(folder, "lakesmith", "history", "silver.customers")
    show(folder, "lakesmith", "run")
    print(f"\nThe project is in {folder}: its tables are one short file each, under {folder}/tables.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
