"""The ways of edges through one level: straight down, along a rail, or through a gutter.

The same as widgets/graph/rails.js and routes.js, number by number; a test compares both.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from etlab.inspect.graph_rows import Level, Rows, port_shift

_RAIL_GAP = 12
_LANE = 6
_LANES = 40
_LOOK_AHEAD = 6
_STUB = 9
_PORT_GAP = 14
_ELBOW = 90


@dataclass(slots=True)
class Routed:
    """A level with places: left upper corners of boxes, ports, and the points of every edge."""

    width: float
    height: float
    x: list[float]
    y: list[float]
    in_x: list[float]
    out_x: list[float]
    points: list[list[tuple[float, float]]]


@dataclass(slots=True)
class _Rail:
    column: int
    first: int
    last: int
    wish: float
    x: float = 0.0


class _Ends(NamedTuple):
    in_column: list[int]
    in_middle: list[float]
    out_column: list[int]
    out_middle: list[float]


class _Span(NamedTuple):
    column: int
    end_column: int
    first: int
    last: int


class _Gutters(NamedTuple):
    lane: list[int]
    used: dict[int, int]
    overhead: int


def route(level: Level, rows: Rows, margin: float) -> Routed:
    """Places and ways; `margin` is the room above and below the rows."""
    count, ins = level.count, level.ins
    columns = len(rows.column_start) - 1
    ends = _terminals(level, rows, columns)
    spans = [_span(level, rows, ends, e) for e in range(len(level.start))]
    rails, all_rails = _plan_rails(level, rows, ends, spans)
    gutters = _gutters(level, spans)
    shift, edge, width = _column_places(level, rows, all_rails, gutters, columns)

    def edge_of(column: int, lane: int) -> float:
        return edge[column + 1] + (_LANE if column < 0 else _RAIL_GAP + lane * _LANE)

    lid = margin + (_STUB + _LANE * min(gutters.overhead, 8) if gutters.overhead else 0)
    height = max(rows.bottom, default=0) + lid + margin
    x = [
        shift[rows.column[rows.row[i]]] + rows.middle[i] - level.width[i] / 2 for i in range(count)
    ]
    y = [_y(level, rows, i, lid) for i in range(count)]
    rail_x = [math.nan if rail is None else shift[rail.column] + rail.x for rail in rails]

    def comes_from(e: int) -> float:
        box = level.end[e]
        if not math.isnan(rail_x[e]):
            return rail_x[e]
        if gutters.lane[e] >= 0:
            return edge_of(rows.column[rows.row[box]] - 1, gutters.lane[e])
        if level.start[e] >= count:
            return x[box] + level.width[box] / 2
        port, s = level.start_port[e], level.start[e]
        return x[s] + (level.width[s] / 2 if math.isnan(port) else port)

    arrival = _ports(level, x, comes_from)
    in_x = [ends.in_middle[v] + shift[ends.in_column[v]] for v in range(ins)]
    out_x = [ends.out_middle[v] + shift[ends.out_column[v]] for v in range(level.outs)]
    _spread(in_x)
    _spread(out_x)
    points = []
    for e, span in enumerate(spans):
        s, t = level.start[e], level.end[e]
        is_in, is_out = s >= count, t >= count + ins
        port = level.start_port[e]
        sx = in_x[s - count] if is_in else x[s] + (level.width[s] / 2 if port != port else port)
        sy = 0.0 if is_in else y[s] + level.height[s]
        tx = out_x[t - count - ins] if is_out else x[t] + arrival[e]
        ty = height if is_out else y[t]
        leave = lid - margin / 2 if is_in else lid + rows.bottom[rows.row[s]] + _STUB
        arrive = height - margin / 2 if is_out else lid + rows.top[rows.row[t]] - _STUB
        way = [(sx, sy)]
        lane = gutters.lane[e]
        if lane >= 0:
            out = edge_of(span.column, lane)
            way += [(sx, leave), (out, leave)]
            if span.end_column == span.column + 1:
                way.append((out, arrive))
            else:
                above = lid - margin / 2 - _LANE * (lane % 8) - 2
                into = edge_of(span.end_column - 1, lane)
                way += [(out, above), (into, above), (into, arrive)]
            way.append((tx, arrive))
        elif rails[e] is not None:
            way += [(sx, leave), (rail_x[e], leave), (rail_x[e], arrive), (tx, arrive)]
        elif abs(sx - tx) > _ELBOW:
            way += [(sx, arrive), (tx, arrive)]
        points.append([*way, (tx, ty)])
    return Routed(width, height, x, y, in_x, out_x, points)


def _y(level: Level, rows: Rows, box: int, lid: float) -> float:
    r = rows.row[box]
    return lid + rows.top[r] + (rows.bottom[r] - rows.top[r] - level.height[box]) / 2


def _terminals(level: Level, rows: Rows, columns: int) -> _Ends:
    count, ins = level.count, level.ins
    in_column, in_middle = [-1] * ins, [0.0] * ins
    in_row = [math.inf] * ins
    out_column, out_middle = [0] * level.outs, [0.0] * level.outs
    for e, (s, t) in enumerate(zip(level.start, level.end, strict=True)):
        if s >= count and t < count and rows.row[t] < in_row[s - count]:
            in_row[s - count] = rows.row[t]
            in_column[s - count] = rows.column[rows.row[t]]
            in_middle[s - count] = rows.middle[t] + port_shift(level.end_port[e], level.width[t])
        if t >= count + ins and s < count:
            v = t - count - ins
            out_column[v] = rows.column[rows.row[s]]
            out_middle[v] = rows.middle[s] + port_shift(level.start_port[e], level.width[s])
    in_column = [max(column, 0) for column in in_column]
    return _Ends(in_column, in_middle, [min(c, columns - 1) for c in out_column], out_middle)


def _span(level: Level, rows: Rows, ends: _Ends, e: int) -> _Span:
    count, ins = level.count, level.ins
    s, t = level.start[e], level.end[e]
    is_out = t >= count + ins
    end_column = ends.out_column[t - count - ins] if is_out else rows.column[rows.row[t]]
    column = ends.in_column[s - count] if s >= count else rows.column[rows.row[s]]
    first = rows.column_start[column] - 1 if s >= count else rows.row[s]
    last = rows.column_start[end_column + 1] if is_out else rows.row[t]
    return _Span(column, end_column, first, last)


def _gutters(level: Level, spans: list[_Span]) -> _Gutters:
    lane = [-1] * len(spans)
    known: dict[int, int] = {}
    used: dict[int, int] = {}
    overhead = 0
    for e, span in enumerate(spans):
        if span.column == span.end_column:
            continue
        s = level.start[e]
        if s not in known:
            known[s] = used.get(span.column, 0) % _LANES
            used[span.column] = used.get(span.column, 0) + 1
        lane[e] = known[s]
        overhead += span.end_column != span.column + 1
    return _Gutters(lane, used, overhead)


def _plan_rails(
    level: Level, rows: Rows, ends: _Ends, spans: list[_Span]
) -> tuple[list[_Rail | None], list[_Rail]]:
    count, ins = level.count, level.ins
    rails: list[_Rail | None] = [None] * len(spans)
    known: dict[tuple[int, bool], _Rail] = {}
    for e, (column, end_column, first, last) in enumerate(spans):
        s, t = level.start[e], level.end[e]
        sx = ends.in_middle[s - count] if s >= count else rows.middle[s]
        tx = ends.out_middle[t - count - ins] if t >= count + ins else rows.middle[t]
        if column != end_column or last == first + 1:
            continue
        if _is_clear(level, rows, first, last, sx, tx):
            continue
        key = (s, last > first)
        rail = known.setdefault(key, _Rail(column, first, last, (sx + tx) / 2))
        rail.first = min(rail.first, first, last)
        rail.last = max(rail.last, first, last)
        rails[e] = rail
    ordered = sorted(known.values(), key=lambda rail: (rail.first, rail.last))
    right = [
        max(rows.middle[box] + level.width[box] / 2 for box in members) for members in rows.boxes
    ]
    left = [
        max(level.width[box] / 2 - rows.middle[box] for box in members) for members in rows.boxes
    ]
    lanes: dict[tuple[int, bool], list[int]] = {}
    for rail in ordered:
        begin, end = rows.column_start[rail.column], rows.column_start[rail.column + 1] - 1
        passed = 1 if rail.last - rail.first > 1 else 0
        lowest = min(max(rail.first + passed, begin), end)
        highest = max(min(rail.last - passed, end), lowest)
        most = max(right[lowest : highest + 1])
        least = -max(left[lowest : highest + 1])
        is_left = rail.wish - least < most - rail.wish
        taken = lanes.setdefault((rail.column, is_left), [])
        lane = next((k for k, until in enumerate(taken) if until <= rail.first), -1)
        if lane < 0:
            lane = len(taken) if len(taken) < _LANES else rail.first % _LANES
        if lane == len(taken):
            taken.append(rail.last)
        else:
            taken[lane] = rail.last
        beside = _RAIL_GAP + lane * _LANE
        rail.x = least - beside if is_left else most + beside
    return rails, ordered


def _is_clear(level: Level, rows: Rows, first: int, last: int, sx: float, tx: float) -> bool:
    if last <= first or last - first > _LOOK_AHEAD:
        return False
    left, right = min(sx, tx) - _RAIL_GAP, max(sx, tx) + _RAIL_GAP
    return not any(
        rows.middle[box] - level.width[box] / 2 < right
        and rows.middle[box] + level.width[box] / 2 > left
        for members in rows.boxes[first + 1 : last]
        for box in members
    )


def _column_places(
    level: Level, rows: Rows, rails: list[_Rail], gutters: _Gutters, columns: int
) -> tuple[list[float], list[float], float]:
    least, most = [math.inf] * columns, [-math.inf] * columns
    for box in range(level.count):
        c = rows.column[rows.row[box]]
        least[c] = min(least[c], rows.middle[box] - level.width[box] / 2)
        most[c] = max(most[c], rows.middle[box] + level.width[box] / 2)
    for rail in rails:
        least[rail.column] = min(least[rail.column], rail.x)
        most[rail.column] = max(most[rail.column], rail.x)
    shift: list[float] = []
    edge: list[float] = [0]
    x: float = _RAIL_GAP + _LANE * 2 if gutters.overhead else 0
    for c in range(columns):
        shift.append(x - least[c])
        x += most[c] - least[c]
        edge.append(x)
        if c + 1 < columns:
            x += 2 * _RAIL_GAP + _LANE * min(gutters.used.get(c, 0), _LANES)
    return shift, edge, x + (_RAIL_GAP * 2 if gutters.used.get(columns - 1) else 0)


def _ports(level: Level, x: list[float], comes_from: Callable[[int], float]) -> list[float]:
    arrival = [0.0] * len(level.end)
    by_box: dict[int, list[int]] = {}
    for e, box in enumerate(level.end):
        if box >= level.count:
            continue
        if not math.isnan(level.end_port[e]):
            arrival[e] = level.end_port[e]
        else:
            by_box.setdefault(box, []).append(e)
    for box, edges in by_box.items():
        half = level.width[box] / 2
        sides = [comes_from(e) - x[box] - half for e in edges]
        ordered = sorted(range(len(edges)), key=lambda k: sides[k])
        main = min(range(len(ordered)), key=lambda k: abs(sides[ordered[k]]))
        gap = min(_PORT_GAP, (half - 8) / max(1, main, len(ordered) - 1 - main))
        for k, at in enumerate(ordered):
            arrival[edges[at]] = half + (k - main) * gap
    return arrival


def _spread(places: list[float]) -> None:
    order = sorted(range(len(places)), key=lambda k: places[k])
    for before, after in itertools.pairwise(order):
        places[after] = max(places[after], places[before] + _LANE)
