"""The commands, each with its options in the file of its name; imported only when it is called."""

from __future__ import annotations

from typing import Final

COMMANDS: Final = {
    "run": "Bring tables up to date.",
    "up": "Take events over HTTP and keep the project up to date, until it is told to end.",
    "stop": "End the Spark that a command has left warm for the next one.",
    "send": "Post events to a source of the project at a rate, and check that they arrive: a load to try it with.",
    "plan": "Show what a run would do, and why.",
    "status": "Show what is up to date, what is behind and why.",
    "explain": "Show how a table is refreshed, why not better, and where its settings come from.",
    "history": "Show a table's past in words, with the snapshots that query --as-of takes.",
    "files": "Show which landing files were taken, when and by which batch; leave out or forget some.",
    "query": "Run a query on the present or the past.",
    "connect": "Print the text with which another engine reads the tables: DuckDB, PyIceberg, Spark, Trino and others.",
    "verify": "Recompute derived tables from the snapshots they have consumed, and compare.",
    "rollback": "Set a table back to a point of its past, with what it had taken; the tables below follow.",
    "release": "Have runs bring a table on again that a rollback holds.",
    "tag": "Name this moment of the whole lake, for query --as-of, rollback and other engines; or list such names.",
    "untag": "Take a name of a moment away.",
    "diff": "Show the rows that changed in a table between two points of its past.",
    "erase": "Erase people's rows from every table, file and snapshot, and write a receipt.",
    "maintain": "Put small files together, fold deletes in, and let old snapshots go, of the tables that need it.",
    "rewrite": "Bring a table's old files into its partitioning and order of now, in pieces.",
    "drop": "Drop a table from the lake, with its quarantine and file ledger; its files stay unless they are purged.",
    "rename": "Give a table another name, in the lake and in the project; its next run goes on where it was.",
    "register": "Enter tables in the catalog whose files are in the warehouse: for when the catalog was lost.",
    "relocate": "Have the files of a project that was copied or moved be its tables: rewrites the paths in them.",
    "init": "Make a new project, empty or from one of the shipped examples.",
    "doctor": "Look for what is missing on this machine and in this project, and say how to mend it.",
    "version": "Print the version.",
    "quarantine": "Bad rows: what is wrong with them, and their way back.",
}
"""What ``--help`` says of each command. It stands here because help is asked for more often than any one of them, and must not wait
for the import of all."""
