"""Places for the boxes and lines of a graph, from left to right. Pure.

The method is Sugiyama's: ranks by longest path, an order within each rank by medians and swaps of
neighbours, and heights by isotonic regression. Lines across several ranks bend at points without a box.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final

Item = Hashable
"""A node's name, or a bend ``(begin, end, rank)`` of a line."""
Point = tuple[float, float]
Line = tuple[str, str]
_SWEEPS: Final = 8


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes in pixels: of a box, between two boxes of a rank, between ranks, and of a bend's height."""

    width: float = 216
    height: float = 74
    gap: float = 22
    between: float = 92
    bend: float = 14


@dataclass(frozen=True, slots=True)
class Layout:
    """The upper left corner of each box, and for each line the points it passes, both ends included."""

    width: float = 0
    height: float = 0
    boxes: Mapping[str, Point] = field(default_factory=dict)
    lines: Mapping[Line, tuple[Point, ...]] = field(default_factory=dict)
    crossings: int = 0


def layout(names: Sequence[str], lines: Iterable[Line], sizes: Sizes | None = None) -> Layout:
    """Returns the layout of a graph without circles; equal arguments give equal layouts.

    ``lines`` lead from a table to one that reads it; those that name no node are left out.
    """
    sizes, known = sizes or Sizes(), set(names)
    kept = sorted({line for line in lines if set(line) <= known and line[0] != line[1]})
    if not names:
        return Layout()
    ranks = _ranks(names, kept)
    graph = _Ranked(names, kept, ranks)
    graph.sort()
    heights = graph.heights(sizes)
    lowest = min(heights.values())
    step = sizes.width + sizes.between
    boxes = {name: (ranks[name] * step, heights[name] - lowest) for name in names}
    bends = {line: tuple(_bends(line, ranks, heights, lowest, sizes)) for line in kept}
    passed = _with_ends(bends, boxes, sizes)
    bottoms = [y + sizes.height for _, y in boxes.values()]
    below = max(*bottoms, *(y for points in passed.values() for _, y in points), 0)
    return Layout(max(ranks.values()) * step + sizes.width, below, boxes, passed, graph.crossings())


def _ranks(names: Sequence[str], lines: Sequence[Line]) -> dict[str, int]:
    """Returns the rank of each node: behind all it reads; nodes that read nothing close to their readers."""
    inputs, readers = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for begin, end in lines:
        inputs[end].append(begin)
        readers[begin].append(end)
    waiting = {name: len(inputs[name]) for name in names}
    ready = [name for name in names if not waiting[name]]
    ranks: dict[str, int] = {}
    for name in ready:
        ranks[name] = max((ranks[each] + 1 for each in inputs[name]), default=0)
        for reader in readers[name]:
            waiting[reader] -= 1
            ready += [] if waiting[reader] else [reader]
    for name in names:
        if not inputs[name] and readers[name]:
            ranks[name] = min(ranks[each] for each in readers[name]) - 1
    return ranks


class _Ranked:
    """A graph whose lines join neighbouring ranks, and the order of each rank."""

    def __init__(self, names: Sequence[str], lines: Sequence[Line], ranks: Mapping[str, int]) -> None:
        self.order: list[list[Item]] = [[] for _ in range(max(ranks.values()) + 1)]
        self.left, self.right = defaultdict[Item, list[Item]](list), defaultdict[Item, list[Item]](list)
        for name in names:
            self.order[ranks[name]].append(name)
        for begin, end in lines:
            last: Item = begin
            for rank in range(ranks[begin] + 1, ranks[end]):
                bend = (begin, end, rank)
                self.order[rank].append(bend)
                self._join(last, bend)
                last = bend
            self._join(last, end)

    def _join(self, begin: Item, end: Item) -> None:
        self.right[begin].append(end)
        self.left[end].append(begin)

    def sort(self) -> None:
        """Puts each rank in an order with few crossings: the best of some sweeps."""
        best, fewest = [list(rank) for rank in self.order], self.crossings()
        for sweep in range(_SWEEPS):
            sides = self.left if sweep % 2 == 0 else self.right
            ranks = range(1, len(self.order)) if sweep % 2 == 0 else range(len(self.order) - 2, -1, -1)
            for at in ranks:
                self._by_medians(at, sides, self.order[at - 1 if sweep % 2 == 0 else at + 1])
            self._swap()
            if (found := self.crossings()) < fewest:
                best, fewest = [list(rank) for rank in self.order], found
        self.order = best

    def _by_medians(self, at: int, sides: Mapping[Item, list[Item]], beside: list[Item]) -> None:
        places = {item: place for place, item in enumerate(beside)}
        own = {item: place for place, item in enumerate(self.order[at])}
        wanted = {i: median(map(places.__getitem__, sides[i])) if sides.get(i) else own[i] for i in own}
        self.order[at].sort(key=wanted.__getitem__)

    def _swap(self) -> None:
        """Exchanges neighbours of a rank as long as that saves a crossing."""
        for at, rank in enumerate(self.order):
            sides = [(self.left, self._places(at - 1)), (self.right, self._places(at + 1))]
            for i in range(len(rank) - 1):
                one, two = rank[i], rank[i + 1]
                now, then = (
                    sum(_inversions(places, side.get(a, []), side.get(b, [])) for side, places in sides)
                    for a, b in ((one, two), (two, one))
                )
                if then < now:
                    rank[i], rank[i + 1] = two, one

    def _places(self, at: int) -> dict[Item, int]:
        return {item: i for i, item in enumerate(self.order[at])} if 0 <= at < len(self.order) else {}

    def crossings(self) -> int:
        """Returns how many pairs of lines cross."""
        found = 0
        for at in range(len(self.order) - 1):
            places, seen = self._places(at + 1), list[int]()
            for item in self.order[at]:
                ends = sorted(places[each] for each in self.right.get(item, []))
                found += sum(len(seen) - bisect_right(seen, end) for end in ends)
                for end in ends:
                    insort(seen, end)
        return found

    def heights(self, sizes: Sizes) -> dict[Item, float]:
        """Returns the upper edge of each item: near its neighbours, and without overlaps."""
        tall = {item: sizes.height if isinstance(item, str) else sizes.bend for r in self.order for item in r}
        middle = {item: i * (sizes.height + sizes.gap) for rank in self.order for i, item in enumerate(rank)}
        for sweep in range(_SWEEPS):
            for rank in self.order if sweep % 2 == 0 else reversed(self.order):
                wanted = []
                for item in rank:
                    beside = [*self.left.get(item, []), *self.right.get(item, [])]
                    wanted.append(
                        sum(middle[each] for each in beside) / len(beside) if beside else middle[item]
                    )
                middle.update(
                    zip(rank, _apart(wanted, [tall[item] for item in rank], sizes.gap), strict=True)
                )
        return {item: y - tall[item] / 2 for item, y in middle.items()}


def _apart(wanted: Sequence[float], tall: Sequence[float], gap: float) -> list[float]:
    """Returns the middles nearest to those wanted (least squares) that keep order and distance."""
    offsets, at = [], 0.0
    for i, height in enumerate(tall):
        at += (tall[i - 1] + height) / 2 + gap if i else 0.0
        offsets.append(at)
    blocks: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=True):
        mean, size = want - offset, 1
        while blocks and blocks[-1][0] > mean:
            before, count = blocks.pop()
            mean, size = (before * count + mean * size) / (count + size), size + count
        blocks.append((mean, size))
    means = [mean for mean, size in blocks for _ in range(size)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _inversions(places: Mapping[Item, int], upper: Iterable[Item], lower: Iterable[Item]) -> int:
    below = [places[each] for each in lower]
    return sum(places[each] > place for each in upper for place in below)


def _bends(
    line: Line, ranks: Mapping[str, int], heights: Mapping[Item, float], lowest: float, sizes: Sizes
) -> Iterable[Point]:
    """Yields the points of a line that are not at its ends: two for each rank that it crosses."""
    begin, end = line
    for rank in range(ranks[begin] + 1, ranks[end]):
        x, y = rank * (sizes.width + sizes.between), heights[begin, end, rank] - lowest + sizes.bend / 2
        yield x, y
        yield x + sizes.width, y


def _with_ends(
    bends: Mapping[Line, tuple[Point, ...]], boxes: Mapping[str, Point], sizes: Sizes
) -> dict[Line, tuple[Point, ...]]:
    """Adds the ends of lines. Lines into a box arrive below one another, in the order of their origins."""
    arriving = defaultdict[str, list[Line]](list)
    for line in bends:
        arriving[line[1]].append(line)
    passed: dict[Line, tuple[Point, ...]] = {}
    for end, lines in arriving.items():
        lines.sort(
            key=lambda line: (
                bends[line][-1][1] if bends[line] else boxes[line[0]][1] + sizes.height / 2,
                line,
            )
        )
        for number, line in enumerate(lines, 1):
            x, y = boxes[line[0]]
            at = (boxes[end][0], boxes[end][1] + sizes.height * number / (len(lines) + 1))
            passed[line] = ((x + sizes.width, y + sizes.height / 2), *bends[line], at)
    return passed
