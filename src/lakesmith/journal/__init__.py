"""The journal: what commands and ``up`` did, as JSON lines in ``.lakesmith/``, for the web page."""
