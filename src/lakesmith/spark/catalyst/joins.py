"""Kinds of joins: the side each row comes from, what identifies changes, and the join over changed rows.

A kind of join that is not in ``ROW_SIDES`` is unknown: a table with one is refreshed in full.
"""

from typing import Any, Final

from lakesmith.execute.engine import NeverIncremental
from lakesmith.project.definitions import TableName
from lakesmith.spark.catalyst.node_facts import NodeFacts, is_for_equals
from lakesmith.spark.catalyst.tree import Occurrence, Plans, conjuncts, output_of, references

ROW_SIDES: Final = {
    "Inner": (True, True),
    "Cross": (True, True),
    "LeftOuter": (True, False),
    "LeftSemi": (True, False),
    "LeftAnti": (True, False),
    "RightOuter": (False, True),
}
"""By kind of join: whether each row of the result is made from one of the left side, of the right side. A
row of the other side may only let it through, keep it out, or complete it."""

_AS_MATCHES: Final = {"LeftOuter": "Inner", "RightOuter": "Inner", "LeftAnti": "LeftSemi"}
"""By kind of join: the join that gives the rows which a change of the other side reaches."""

_KEEPS_ALL: Final = {"LeftOuter": 0, "RightOuter": 1, "LeftAnti": 0}
"""By kind of join: the side whose rows may all be in the result, whatever the condition says."""

Sides = tuple[NodeFacts, NodeFacts]
"""The facts of the left side of a join, and of the right one."""


def join_kind(node: Any) -> str:
    """The kind of a join, as Spark calls it (``LeftOuter``)."""
    return str(node.joinType().toString())


def require_known(node: Any) -> None:
    """Raises NeverIncremental for an unknown kind of join."""
    kind = join_kind(node)
    if kind not in ROW_SIDES:
        raise NeverIncremental(f"Spark's plan of the query has a join of kind {kind.split('(')[0]}")


def on_both_sides(sides: Sides) -> frozenset[TableName]:
    """Returns the tables that are joined with themselves.

    Raises NeverIncremental if one occurrence is on both sides, as with a CTE that is named twice.
    """
    if both := sides[0].occurrences & sides[1].occurrences:
        names = " and ".join(sorted({str(occurrence.table) for occurrence in both}))
        raise NeverIncremental(f"it joins {names}, read once, with itself")
    left, right = ({occurrence.table for occurrence in side.occurrences} for side in sides)
    return frozenset(left & right)


def seen_of_join(node: Any, sides: Sides, plans: Plans, changed: frozenset[Occurrence]) -> NodeFacts:
    """Returns the facts of a join of a known kind. ``changed``: occurrences with changed rows alone.

    Raises NeverIncremental if it joins on values computed of several rows.
    """
    tells = [side for side, telling in zip(sides, ROW_SIDES[join_kind(node)], strict=True) if telling]
    return NodeFacts(
        frozenset().union(*(side.key_ids for side in tells)),
        _relaxed(node, sides, plans, changed),
        sides[0].occurrences | sides[1].occurrences,
        {column: origin for side in tells for column, origin in side.origins.items()},
        frozenset().union(*(side.merged for side in tells)),
    )


def _relaxed(node: Any, sides: Sides, plans: Plans, changed: frozenset[Occurrence]) -> Any:
    if not changed:
        _require_relaxable(node, sides)
        return node
    turn = next((at for at, side in enumerate(sides) if changed & side.occurrences), None)
    return node if turn is None else _relaxed_in_turn(node, sides, plans, turn)


def _require_relaxable(node: Any, sides: Sides) -> None:
    for at, side in enumerate(sides):
        if side.occurrences and _KEEPS_ALL.get(join_kind(node)) != at:
            _kept(node, sides, at)


def _relaxed_in_turn(node: Any, sides: Sides, plans: Plans, turn: int) -> Any:
    """Returns the join with one side restricted to its changed rows."""
    kind, over = join_kind(node), (sides[0].plan, sides[1].plan)
    if _KEEPS_ALL.get(kind) == turn:
        # Which of the changed rows have a match does not matter: any may be in the result, before or now.
        alone = [plan if at == turn else plans.empty(plan) for at, plan in enumerate(over)]
        return over[0] if kind == "LeftAnti" else plans.over(node, alone)
    as_matches = None if ROW_SIDES[kind][turn] else _AS_MATCHES.get(kind)
    kept = _kept(node, sides, turn)
    if as_matches is None and kept is None:
        return plans.over(node, over)
    on = plans.some(plans.all_of(kept)) if kept else node.condition()
    return plans.joined(node, over, as_matches or kind, on)


def _kept(node: Any, sides: Sides, turn: int) -> list[Any] | None:
    """Returns the parts of a join's condition that hold for changed rows as for all; None: all parts do.

    The other side is unrestricted. Raises NeverIncremental if these parts do not name both sides: the changed
    rows would be joined with all others.
    """
    condition = node.condition()
    parts = [] if condition.isEmpty() else conjuncts(condition.get())
    other = (node.right(), node.left())[turn]
    known = sides[turn].key_ids | frozenset(output_of(other))
    kept = [part for part in parts if references(part) <= known and is_for_equals(part, sides[turn].merged)]
    if len(kept) < len(parts) and not any(_names_both(part, node) for part in kept):
        raise NeverIncremental("a join is on the result of an aggregate or a window function")
    return kept if len(kept) < len(parts) else None


def _names_both(condition: Any, join: Any) -> bool:
    used = references(condition)
    return bool(used & frozenset(output_of(join.left())) and used & frozenset(output_of(join.right())))
