"""Where boxes and lines go: what holds for any graph without circles."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from lakesmith.page.layout import Layout, Sizes, layout

SIZES = Sizes()


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[str], list[tuple[str, str]]]:
    names = [f"t{number}" for number in range(draw(st.integers(1, 25)))]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    lines = draw(st.lists(st.sampled_from(pairs), max_size=40)) if pairs else []
    return draw(st.permutations(names)), lines


@given(graphs())
@settings(deadline=None, max_examples=60)
def test_every_line_leads_to_the_right_from_box_to_box(
    graph: tuple[list[str], list[tuple[str, str]]],
) -> None:
    names, lines = graph
    found = layout(names, lines)
    assert set(found.boxes) == set(names)
    assert set(found.lines) == set(lines)
    for (begin, end), points in found.lines.items():
        assert points[0] == (found.boxes[begin][0] + SIZES.width, found.boxes[begin][1] + SIZES.height / 2)
        assert points[-1][0] == found.boxes[end][0]
        assert found.boxes[end][1] < points[-1][1] < found.boxes[end][1] + SIZES.height
        assert all(one[0] < two[0] for one, two in pairwise(points))


@given(graphs())
@settings(deadline=None, max_examples=60)
def test_no_boxes_overlap_and_all_are_in_the_picture(graph: tuple[list[str], list[tuple[str, str]]]) -> None:
    found = layout(*graph)
    boxes = sorted(found.boxes.values())
    for (x, y), (next_x, next_y) in pairwise(boxes):
        assert next_x >= x + SIZES.width or next_y >= y + SIZES.height + SIZES.gap - 0.001
    for x, y in (*boxes, *(point for line in found.lines.values() for point in line)):
        assert -0.001 <= x <= found.width and -0.001 <= y <= found.height + 0.001


@given(graphs())
@settings(deadline=None, max_examples=20)
def test_lines_pass_no_box_of_a_rank_between(graph: tuple[list[str], list[tuple[str, str]]]) -> None:
    found = layout(*graph)
    for points in found.lines.values():
        for x, y in points[1:-1]:
            hit = [b for b in found.boxes.values() if b[0] <= x <= b[0] + SIZES.width]
            assert not [b for b in hit if b[1] < y < b[1] + SIZES.height]


def test_a_graph_that_can_be_drawn_without_crossings_is() -> None:
    lines = [("a1", "b3"), ("a2", "b2"), ("a3", "b1"), ("b1", "c1"), ("b3", "c2")]
    names = ["a1", "a2", "a3", "b1", "b2", "b3", "c1", "c2"]
    assert layout(names, lines).crossings == 0


def test_nothing_gives_nothing_and_unknown_tables_are_left_out() -> None:
    assert layout([], [("a", "b")]) == Layout()
    assert layout(["a"], [("a", "b"), ("a", "a")]).lines == {}


def test_equal_graphs_are_drawn_alike() -> None:
    lines = [("a", "c"), ("b", "c"), ("a", "d")]
    assert layout(["a", "b", "c", "d"], lines) == layout(["a", "b", "c", "d"], reversed(lines))
