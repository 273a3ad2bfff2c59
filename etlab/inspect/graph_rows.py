"""One level of a drawn graph: boxes in rows, rows in columns; no virtual nodes.

The same as widgets/graph/level.js, number by number; a test compares both.
"""

import math
from dataclasses import dataclass, field

ROW_GAP = 28
_BOX_GAP = 18
_SWEEPS = 6
_LEAST_COLUMN = 620
_ASPECT = 1.7
_WIDE = 320


@dataclass(slots=True)
class Level:
    """Boxes 0 … count - 1 in order of execution, then values that come in, then those that go out.

    Attributes:
        count: boxes.
        ins: values that come in from outside.
        outs: values that go out.
        width: of every box.
        height: of every box.
        start: where every edge begins: a box, or count + number of a value that comes in.
        end: where it ends: a box, or count + ins + number of a value that goes out.
        start_port: place on the box's lower border, from its left; NaN: its middle.
        end_port: place on the box's upper border, from its left; NaN: to be found.
    """

    count: int
    ins: int = 0
    outs: int = 0
    width: list[float] = field(default_factory=list)
    height: list[float] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    start_port: list[float] = field(default_factory=list)
    end_port: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Rows:
    """Where boxes stand: `boxes` row by row, left to right; `middle` is x by column."""

    row: list[int]
    boxes: list[list[int]]
    middle: list[float]
    column: list[int]
    column_start: list[int]
    top: list[float]
    bottom: list[float]


def arrange_rows(level: Level, gutter: float) -> Rows:
    """Rows and columns of a level; `gutter` is the room between columns."""
    row = _row_of(level)
    boxes: list[list[int]] = [[] for _ in range(max(row, default=-1) + 1)]
    for box in range(level.count):
        boxes[row[box]].append(box)
    middle = _place(level, row, boxes)
    column, column_start, top, bottom = _fold(level, row, boxes, middle, gutter)
    return Rows(row, boxes, middle, column, column_start, top, bottom)


def port_shift(port: float, width: float) -> float:
    """How far a port is from the middle of its box; wide boxes stand by their middle."""
    return port - width / 2 if not math.isnan(port) and width < _WIDE else 0.0


def _row_of(level: Level) -> list[int]:
    count, start, end = level.count, level.start, level.end
    row = [0] * count
    is_fed = [False] * count
    first_user = [-1] * count
    edges = sorted((e for e in range(len(end)) if end[e] < count), key=lambda e: end[e])
    for e in edges:
        s, t = start[e], end[e]
        if s >= count:
            is_fed[t] = True
        if s >= t:
            continue
        is_fed[t] = True
        row[t] = max(row[t], row[s] + 1)
    for e in edges:
        s, t = start[e], end[e]
        if s < t and (first_user[s] < 0 or row[t] < first_user[s]):
            first_user[s] = row[t]
    for box in range(count):
        if not is_fed[box] and first_user[box] > 0:
            row[box] = first_user[box] - 1
    return row


def _place(level: Level, row: list[int], boxes: list[list[int]]) -> list[float]:
    count, start, end = level.count, level.start, level.end
    middle = [0.0] * count
    goal = [0.0] * count
    weight = [0.0] * count
    for members in boxes:
        _pack(members, goal, weight, level.width, middle)
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for e in range(len(start)):
        if start[e] < count and end[e] < count and row[start[e]] < row[end[e]]:
            above[end[e]].append(e)
            below[start[e]].append(e)
    for sweep in range(_SWEEPS):
        is_down = sweep % 2 == 0
        for members in boxes if is_down else reversed(boxes):
            for box in members:
                total = wanted = 0.0
                for e in above[box] if is_down else below[box]:
                    other = start[e] if is_down else end[e]
                    span = row[end[e]] - row[start[e]]
                    w = 1 / (span * span)
                    from_shift = port_shift(level.start_port[e], level.width[start[e]])
                    to_shift = port_shift(level.end_port[e], level.width[end[e]])
                    shift = from_shift - to_shift if is_down else to_shift - from_shift
                    wanted += w * (middle[other] + shift)
                    total += w
                goal[box] = wanted / total if total > 0 else middle[box]
                weight[box] = total if total > 0 else 0.01
            if len(members) == 1:
                middle[members[0]] = goal[members[0]]
                continue
            if sweep < _SWEEPS - 2:
                members.sort(key=lambda box: goal[box])
            _pack(members, goal, weight, level.width, middle)
    return middle


def _pack(
    members: list[int],
    goal: list[float],
    weight: list[float],
    width: list[float],
    middle: list[float],
) -> None:
    """The places nearest to the goals in which no two boxes touch."""
    blocks: list[tuple[float, float, int]] = []
    offsets: list[float] = []
    offset = 0.0
    for place, box in enumerate(members):
        if place:
            offset += (width[members[place - 1]] + width[box]) / 2 + _BOX_GAP
        offsets.append(offset)
        value, w, size = goal[box] - offset, weight[box] or 1, 1
        while blocks and blocks[-1][0] > value:
            other_value, other, other_size = blocks.pop()
            value = (value * w + other_value * other) / (w + other)
            w += other
            size += other_size
        blocks.append((value, w, size))
    values = [value for value, _, size in blocks for _ in range(size)]
    for box, value, offset in zip(members, values, offsets, strict=True):
        middle[box] = value + offset


def _fold(
    level: Level, row: list[int], boxes: list[list[int]], middle: list[float], gutter: float
) -> tuple[list[int], list[int], list[float], list[float]]:
    tall = [max(level.height[box] for box in members) for members in boxes]
    total = 0.0
    for height in tall:
        total += height + ROW_GAP
    halves = [width / 2 for width in level.width]
    least = min((m - h for m, h in zip(middle, halves, strict=True)), default=0.0)
    most = max((m + h for m, h in zip(middle, halves, strict=True)), default=0.0)
    wanted = math.floor(math.sqrt(_ASPECT * total / (most - least + gutter)))
    columns = max(1, min(wanted, math.floor(total / _LEAST_COLUMN)))
    column_start = _breaks(level, row, tall, total, columns)
    column, top, bottom = [], [], []
    for c in range(len(column_start) - 1):
        y = 0.0
        for r in range(column_start[c], column_start[c + 1]):
            column.append(c)
            top.append(y)
            bottom.append(y + tall[r])
            y += tall[r] + ROW_GAP
    return column, column_start, top, bottom


def _breaks(
    level: Level, row: list[int], tall: list[float], total: float, columns: int
) -> list[int]:
    crossing = [0] * (len(tall) + 1)
    for s, t in zip(level.start, level.end, strict=True):
        if s < level.count and t < level.count:
            crossing[min(row[s], row[t]) + 1] += 1
            crossing[max(row[s], row[t]) + 1] -= 1
    column_start = [0]
    height, best, best_cost, crossed = 0.0, -1, math.inf, 0
    for r, own in enumerate(tall):
        if len(column_start) >= columns:
            break
        crossed += crossing[r]
        share = total / columns
        goal = share * len(column_start)
        distance = abs(height - goal) / share
        if r > column_start[-1] and distance < 0.2:
            cost = crossed + 8 * distance
            if cost < best_cost:
                best, best_cost = r, cost
        elif best < 0 and height >= goal:
            best = r
        if best >= 0 and height >= goal + 0.2 * share:
            column_start.append(best)
            best, best_cost = -1, math.inf
        height += own + ROW_GAP
    if best > column_start[-1] and len(column_start) < columns:
        column_start.append(best)
    return [*column_start, len(tall)]
