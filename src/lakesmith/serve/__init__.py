"""What runs for longer than a command: the intake of events, and ``up``, which keeps a project up to date. No tables are written here."""
