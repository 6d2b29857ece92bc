"""What a Python query asks besides its inputs, as its text tells."""

from __future__ import annotations

import pytest

from lakesmith.plan.python_chance import asked_besides

RUN, OUTSIDE = "differs from run to run", "reads what is no table"


@pytest.mark.parametrize(
    ("imports", "body", "reason"),
    [
        ("from datetime import datetime", "F.lit(datetime.now())", f"it uses now at line 3, which {RUN}"),
        ("import datetime as d", "F.lit(d.date.today())", f"it uses today at line 3, which {RUN}"),
        ("import random", "F.lit(random.gauss(0, 1))", f"it uses random at line 3, which {RUN}"),
        ("import numpy as np", "F.lit(np.random.rand())", f"it uses random at line 3, which {RUN}"),
        ("from uuid import uuid4 as name", "F.lit(str(name()))", f"it uses name at line 3, which {RUN}"),
        ("import time", "F.lit(time.time())", f"it uses time at line 3, which {RUN}"),
        ("", "F.expr(\"at > date 'yesterday'\")", f"it uses 'yesterday' at line 3, which {RUN}"),
        ("import os", "F.lit(os.environ['X'])", f"it uses environ at line 3, which {OUTSIDE}"),
        ("from os import getenv as g", "F.lit(g('X'))", f"it uses g at line 3, which {OUTSIDE}"),
        ("", "F.lit(open('rates.txt').read())", f"it uses open at line 3, which {OUTSIDE}"),
        ("import pandas", "pandas.read_csv('a.csv')", f"it uses read_csv at line 3, which {OUTSIDE}"),
    ],
)
def test_clocks_chance_and_what_is_no_table(imports: str, body: str, reason: str) -> None:
    assert (
        asked_besides(f"{imports}\ndef big(orders):\n    return orders.withColumn('x', {body})\n") == reason
    )


@pytest.mark.parametrize(
    "body",
    [
        "orders.where(F.col('time') > 5).select('now', orders.time, orders['random'])",
        "orders.withColumn('day', F.to_date('at')).where(\"kind = 'today'\")",
        "orders.withColumn('x', F.lit(datetime(2024, 1, 1)))",
    ],
)
def test_what_only_looks_like_it(body: str) -> None:
    assert asked_besides(f"from datetime import datetime\ndef big(orders):\n    return {body}\n") is None
