"""Numbers that decide how something is done and at what size, with their units and reasons. Each can be
changed: tables only take more time or memory. Limits of formats, of users' texts and of waiting are where
they belong."""

from __future__ import annotations

from typing import Final

# How a derived table is refreshed: by the keys that changed rows touch, or in full.

COMPUTED_WHOLE_BELOW_BYTES: Final = 100_000_000
"""Bytes of data files that all inputs of a table hold together. Below it the table is refreshed in full:
finding out what changed takes longer than reading them, in a session that is new, where all of that is Java
that runs for the first time."""

COMPUTED_WHOLE_WARM_BELOW_BYTES: Final = 10_000_000
"""The same in a session that is warm. Measured on batches of 1,000 rows into sums by minute, 17 bytes a row.
A full refresh takes 0.3 s of 50,000 rows, 0.6 of 200,000, 1.0 of a million and 2.4 of five; incremental by
key 1.4 to 1.5 s, an incremental aggregate 0.6 to 0.9 s, whatever the table holds."""

COMPUTED_WHOLE_ABOVE_CHANGED_PART: Final = 0.5
"""Part of what reading the inputs in full costs. Changes that cost more to look at are not looked at one
by one, and the table is refreshed in full: what they touch is then read on top."""

COMPUTED_WHOLE_ABOVE_KEYS: Final = 1_000_000
"""Touched keys. All of them are sent to every task; of more the table is refreshed in full."""

OPENING_A_DATA_FILE_BYTES: Final = 256 * 1024
"""Bytes read in the time of opening a data file: each opened file adds this to the cost of a change."""

COMPARING_DELETES_BYTES: Final = 1024 * 1024
"""Bytes that are read in the time it takes to find out which rows of a data file are hidden by other deletes
than before: those of both ends are read, ones that hide all other rows are written, and the file is opened
once more."""

# How the rows of touched keys are found in files.

KEYS_LOOKED_AT_UP_TO: Final = 20_000
"""Touched keys up to which all are collected to build conditions; above, the least and greatest."""

KEY_VALUES_IN_A_CONDITION: Final = 200
"""Values of a key column in a condition. Iceberg does not prune files by longer lists."""

KEY_INTERVALS_IN_A_CONDITION: Final = 50
"""Intervals in place of a list. More of them make a condition so large that Java does not compile it."""

GAPS_WORTH_ONE_PART_IN: Final = 4
"""Keys are described by several intervals where the gaps between these are this part of all, a fourth. (9,000
keys anywhere among a million: 50 intervals left out a twentieth of them, and made reading those rows take
twice as long.)"""

# How rows get into a table.

ROWS_REPLACED_BY_PLACE_UP_TO: Final = 200_000
"""Rows up to which rows are replaced by their places; above, they are merged or refreshed in full."""

DATA_FILES_REPLACED_IN_UP_TO: Final = 20_000
"""Data files in which rows are replaced by place: the driver holds their paths and deletes."""

ROWS_IN_A_NEW_FILE: Final = 50_000
"""Rows. So few make one file, not one for each task: every file costs later reads the time to open it."""

ROWS_A_WRITING_TASK: Final = 100_000
"""Rows of a keyed batch per task: smaller tasks take longer to start than to run."""

KEYS_SENT_TO_EVERY_TASK: Final = 1_000_000
"""Rows of keys and places up to which a broadcast join is used; above it both sides are sorted."""

TOMBSTONES_CARRIED: Final = 50_000
"""Deletes that a full refresh collects while it writes; of more, all are computed again."""

TOMBSTONE_CARRIED_BYTES: Final = 1024
"""Length up to which a delete is collected."""

BYTES_READ_BY_PLACE: Final = 512 * 1024 * 1024
"""Bytes of the row groups in which rows are, up to which the driver reads them by their places; beyond it
Spark scans the table."""

ROWS_SENT_TO_EVERY_TASK: Final = 20_000
"""Whole rows, which are wider than keys: up to so many are sent to every task."""

# What Spark is set up for.

LITTLE_DATA_BYTES: Final = 16 * 1024 * 1024
"""Bytes of a run up to which Spark is started for little data: its start costs more than the work."""

ROWS_WORTH_COMPILING_WELL: Final = 1_000_000
"""Rows of inputs that may be read in full, over all tables that are due, from which on Java's second compiler
pays in a session that stays (decision 0080): 11 to 15 instead of 18 to 22 s of processor time a change."""

ROWS_WORTH_COMPILING_WELL_ONCE: Final = 20_000_000
"""The same in a session that ends with its work."""

INCREMENTAL_ONE_BYTE_IN: Final = 16
"""Of so many bytes of a table that is refreshed incrementally, or of its inputs, one is counted: a few
columns are looked at, and a few rows are written. (10,000 changes of 5 million rows, 110 MB: 18 s set up for
little data, 25 s for much.)"""

# How landing files are read.

LARGE_FILE_BYTES: Final = 8 * 1024 * 1024
"""Bytes of a landing file. From here on it is read in blocks, each a task; smaller ones are read whole, many
to a task. Of a file in blocks a row's position counts from the beginning of its block: a change of this
number, or of a block's size, gives other positions to rows of such files that are read again."""

READ_BLOCK_BYTES: Final = 128 * 1024 * 1024
"""Bytes of a block of a large landing file, and of small ones the most to a task: Spark's own default."""

READING_TASK_BYTES: Final = 8 * 1024 * 1024
"""Bytes of small landing files that are worth a task, as long as there are cores for it."""

OPENING_A_LANDING_FILE_BYTES: Final = 32 * 1024
"""Bytes read in the time of opening a small landing file: each file adds this to a task."""

SAMPLED_ROWS: Final = 10_000
"""Rows sampled to infer column types: they are read soon, and more rows rarely change a type."""

SAMPLED_FILES: Final = 20
"""Kinds of files, and files of each kind, that those rows are taken from."""

COMPILED_UP_TO_COLUMNS: Final = 50
"""Columns of a landing file up to which code is always compiled; above it, only for enough bytes."""

COMPILED_FROM_BYTES_A_COLUMN: Final = 16 * 1024
"""Bytes of a column from which compiling code for it pays: measured with 300 columns."""

BAD_ROWS_CARRIED_BYTES: Final = 384 * 1024 * 1024
"""Bytes of bad rows that come along with the good ones at the most, over all tasks, as text, if every row is
as long as a row may be. Of files with more the bad rows are read once more."""

BAD_ROWS_CARRIED_SURELY_BYTES: Final = 64 * 1024 * 1024
"""Bytes of bad rows that may come along into the smallest heap."""

BAD_ROWS_CARRIED_OF_HEAP_ONE_IN: Final = 32
"""Of so many bytes of the heap one may be taken by bad rows; one is usually a fifth as long as it may be."""

RECORD_BYTES: Final = 512
"""What a record of a topic is taken to have, where only their number is known."""

# How files are read without Spark.

FILE_THREADS: Final = 8
"""Threads that look at files: more than the cores, for on a network file system they wait."""

FILES_A_THREAD_TAKES: Final = 128
"""Files per thread: a future for each of 10,000 local files would cost more than reading them."""

FILE_CHUNK_BYTES: Final = 4 * 1024 * 1024
"""Bytes of a file that are held while it is read from end to end."""

OBJECT_THREADS: Final = 32
"""Requests to S3 under way at once: each takes some 50 ms, most of them waiting."""

OBJECTS_HELD_BYTES: Final = 4 * FILE_CHUNK_BYTES
"""Bytes of objects held while several are read completely: few large ones, or many small ones."""

OBJECTS_A_PIECE: Final = 3_000
"""Objects of a part of a prefix, which is listed beside the others: three answers of S3."""

OBJECT_FIRST_BYTES: Final = 64 * 1024
"""Bytes of an object in the first request: a header or footer. Further requests grow eightfold."""

OBJECTS_A_FRAME: Final = 30
"""Objects that Spark looks at one after the other, with two requests each; of more, as many frames are made
side by side as there may be requests. (200 new objects, where each answer takes 0.1 s: 52 s in place of
93.)"""

# What is kept beside the tables.

LEDGER_FILES_UP_TO: Final = 32
"""Data files of a ledger's pinned version; when there are more, the next append writes one in their place."""

LONG_LEDGER_LINES: Final = 5_000
"""Lines of a ledger from which on its cache on the disk is added to, and a process keeps it in memory."""

PLANS_KEPT: Final = 100
"""Plans of reading files, and of queries, that a session keeps in memory: some hundred kilobytes each."""

PROOFS_KEPT: Final = 1_000
"""Proofs of queries on Spark's plans that a process keeps in memory: some kilobytes each."""

SEGMENT_LINES_KEPT_SECONDS: Final = 3600
"""Seconds for which each segment of events has a line of its own in the ledger after it was taken, for who
looks where an event went. So the ledger has some 4,000 of them at a segment a second, and not 86,000 more
each day."""

PROJECTS_KEPT: Final = 20
"""Targets whose project, as it was read, is in the cache."""

SQL_ANALYSES_KEPT: Final = 5_000
"""Analyses of queries in the cache: those of queries long gone make room."""

# What `up` does for tables that get many batches.

BATCHES_BETWEEN_SLICES: Final = 100
"""Batches of a table between two slices of maintenance: seconds of work in minutes of batches."""

FRESH_FILES: Final = 20
"""Data files. Fewer are not worth putting together."""

WHOLE_FILE_BYTES: Final = 96 * 1024 * 1024
"""Bytes of a data file that is left alone: three quarters of what files are put together to."""

NEWEST_POINTS_KEPT: Final = 100
"""Newest points of a table's history that all stay. Each costs 2 KB of metadata in every commit."""

PAST_KEPT: Final = ((300, 1), (3600, 60), (6 * 3600, 300), (7 * 86400, 3600), (3650 * 86400, 86400))
"""Age and distance of points that stay, in seconds: for five minutes all (whoever reads one may take so
long), for an hour one a minute, for six hours one each five minutes, for a week one an hour, then one a
day."""

COMPACTED_FILES_KEPT_SECONDS: Final = 2 * 3600
"""Seconds that compacted files stay on disk: reading a large table may take that long."""

HELD_BACK_SECONDS: Final = 86400
"""Seconds. A reader for which older snapshots than these stay, and would leave otherwise, is named."""

# What `maintain` does.

SMALL_FILE_PART: Final = 0.5
"""Part of the size that files are put together to: those below it are small. (Iceberg's own three quarters
have it write two files of 90 MB again at each call, where 128 MB are wanted: together they are too much for
one file.)"""

LARGE_FILE_PART: Final = 1.8
"""Files of so many times that size are split: Iceberg's own default."""

SMALL_FILES_WORTH: Final = 5
"""Small files of a partition that are worth rewriting: Iceberg's own default."""

DELETED_PART_WORTH: Final = 0.1
"""Part of a data file's rows that are deleted, from which on it is rewritten without them."""

DELETED_ROWS_TOLD: Final = 1000
"""Deleted rows in data files of which ``status`` speaks unasked: fewer cost no reader anything."""

MANIFESTS_WORTH: Final = 10
"""Manifests of a partition spec. Fewer are read soon, however small they are."""

MANIFEST_BYTES: Final = 8 * 1024 * 1024
"""Bytes of a manifest as Iceberg rewrites them (``commit.manifest.target-size-bytes``)."""

SNAPSHOTS_WORTH: Final = 10
"""Snapshots that may leave. Fewer are not worth a commit, unless files were put together."""

PIECE_BYTES: Final = 1024**3
"""Bytes of data files rewritten under one lock, so that a run waits for seconds at most."""

PIECE_FILES: Final = 4_000
"""Data files of such a piece: opening each takes longer than reading a small one."""

PIECE_SNAPSHOTS: Final = 5_000
"""Snapshots that leave with one commit: for each of them Iceberg reads what it alone had."""

MAINTENANCE_WAITED_SECONDS: Final = 600.0
"""Seconds that a run waits for a piece of maintenance, even if it does not wait for other runs."""

# What the web page reads of a table without Spark.

PAGE_ROWS_LOOKED_AT: Final = 100_000
"""Rows that a view with a filter or an order looks at, by order of files: some tenths of a second."""

PAGE_BYTES_LOOKED_AT: Final = 256 * 1024 * 1024
"""Bytes of such rows in memory."""
