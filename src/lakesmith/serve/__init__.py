"""What runs longer than a command: the intake of events, and ``up``. No tables are written here."""
