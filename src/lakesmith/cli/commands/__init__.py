"""The commands; a file is imported only when its command is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

COMMANDS: Final = {
    "run": "Refresh tables, in dependency order.",
    "up": "Accept events over HTTP and keep the project up to date, until it is stopped.",
    "ui": "Serve a web page of the lake on this machine: its graph, tables, batches and bad rows.",
    "stop": "Stop the Spark that a command has kept warm for the next one.",
    "send": "Post generated events to a source of the project at a rate, and check that they arrive.",
    "plan": "Show what a run would do, and why.",
    "status": "Show what is up to date, what is behind and why.",
    "explain": "Show how a table is refreshed and where its settings come from; or explain an error code.",
    "history": "Show a table's batches, with the snapshots that query --as-of accepts.",
    "files": "Show which landing files were ingested, when and by which batch; skip or forget some.",
    "query": "Run a query on current tables, or on tables at a point in time.",
    "connect": "Print the configuration for another engine that reads the tables: DuckDB, Trino and others.",
    "check": "Check the rules of tables as they are, apart from loading.",
    "test": "Test the project by the stories in tests/, in lakes of their own.",
    "verify": "Compute derived tables again from the snapshots that they have read, and compare.",
    "rollback": "Set a table and its progress back to an earlier point in time.",
    "release": "Resume refreshing a table that `rollback --hold` froze.",
    "tag": "Create a tag: a name for the current point in time of all tables; or list the tags.",
    "untag": "Delete a tag.",
    "trace": "Follow an event through its table and all below it, without writing to the lake.",
    "diff": "Show the rows of a table that changed between two points in time.",
    "erase": "Erase people's rows from every table, file and snapshot, and write a receipt.",
    "maintain": "Compact small files, apply delete files, expire old snapshots, of the tables that need it.",
    "rewrite": "Rewrite a table's older files in its current partitioning and order, in pieces.",
    "drop": "Drop a table with its quarantine and ledger; its data files remain unless you add --purge.",
    "rename": "Rename a table, in the lake and in the project; its progress is kept.",
    "register": "Enter tables in the catalog whose files are in the warehouse, if the catalog was lost.",
    "recover": "Recover a lake from copies of its buckets, or its entries in a lost catalog.",
    "relocate": "Rewrite the paths in the metadata of a project that was copied or moved.",
    "deploy": "Write Terraform for a target on AWS: all that the project needs to run there.",
    "logs": "Show how a run on AWS went, and the log of its job.",
    "init": "Create a project, empty or from one of the shipped examples.",
    "alerts": "Show which alerts fire and who was notified; or send a test to the channels.",
    "doctor": "Check this machine and this project, and say how to fix what is wrong.",
    "quarantine": "Show, replay or drop bad rows.",
}
"""The help text of each command. It is here so that ``--help`` imports no command."""

HOMES: Final = {
    "untag": "tag",
    "release": "rollback",
    "relocate": "register",
    "stop": "run",
    "ui": "up",
    "trace": "send",
    "logs": "submit",
}
"""The files of commands that share one: ``app`` is the command of its name, ``untag_app`` the other."""

FOLDERS: Final = {"deploy": "aws", "recover": "aws", "submit": "aws"}
"""The folders of commands that are not in this one."""


def app_of(name: str) -> Any:
    """Imports a command, and returns its app."""
    home = HOMES.get(name, name)
    module = f"{FOLDERS[home]}.{home}" if home in FOLDERS else home
    return getattr(import_module(f"{__name__}.{module}"), "app" if home == name else f"{name}_app")
