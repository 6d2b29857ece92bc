"""Lines as documents and other projects show them become rows: none is lost, and each has its fields."""

from typing import Any

from harness import MakeShop

from public_log_lines import LINES

DECODED = {"an escaped backslash at the end": "GET /\\"}
"""What a column has where it is not the field's text."""
FORMATS = ("alb", "s3_access", "combined")


def test_each_line_is_a_row_with_its_fields(make_shop: MakeShop) -> None:
    shop = make_shop(
        {
            f"tables/bronze/{each}.yaml": f"source:\n  files: {{path: landing/{each}/, format: {each}}}\n"
            for each in FORMATS
        }
    )
    for each in FORMATS:
        lines = [line for _, format, line, *_ in LINES if format == each]
        shop.land(f"landing/{each}/public.log", "\n".join(lines) + "\n")
    shop.must_run()
    rows: dict[str, Any] = {}
    for each in FORMATS:
        assert shop.quarantine(f"bronze.{each}") == []
        found = shop.frame(f"bronze.{each}").collect()
        rows |= {row["log_line"]: row for row in found}
        assert all(row["event_time"] is not None for row in found)
    assert sorted(rows) == sorted(line for _, _, line, *_ in LINES), "each is there, and no other"
    different = {}
    for title, _, line, field, text in LINES:
        value, expected = rows[line][field], None if text in ("", "-") else DECODED.get(title, text)
        if (None if value is None else str(value)) != expected:
            different[title] = (value, expected)
    assert different == {}
