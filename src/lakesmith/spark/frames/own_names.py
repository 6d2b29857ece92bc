"""Names of the columns that this project puts beside users' columns."""


def own(name: str) -> str:
    """Returns a reserved name, which no user's column can have."""
    return f"_lakesmith_{name}"
