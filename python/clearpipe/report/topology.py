"""The drawing of a network: its links with their rates, and the ways of the flows beside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from clearpipe.report import layout, svg
from clearpipe.report.network import Link, Network, Way

MOST_NODES = 150
MOST_WAYS = 24
LABELLED_LINKS = 20
"""With more links, drawings of general networks tell of buffers only when pointed at."""

Point = tuple[float, float]
Paint = Callable[[int], str]


def draw(network: Network, paint: Paint) -> tuple[str, str, list[tuple[str, str]]]:
    """The drawing, a note on what it leaves out, and colours and names of the ways that it does
    not name itself. `paint` gives a group's colour."""
    nodes = network.nodes()
    if not network.links:
        return "", "The scenario names no link.", []
    if len(nodes) > MOST_NODES:
        return "", f"{len(nodes)} nodes: too many to draw. The table has them all.", []
    edges = [(link.source, link.target) for link in network.links]
    order = layout.line(nodes, edges)
    pairs: dict[tuple[str, str], int] = {}
    for edge in edges:
        pairs[edge] = pairs.get(edge, 0) + 1
    left_out = len(network.ways) - MOST_WAYS
    note = f"The first {MOST_WAYS} of {len(network.ways)} groups." if left_out > 0 else ""
    if order is not None and max(pairs.values()) == 1:
        return _chain(network, order, paint), note, []
    named = [(paint(i), way.short()) for i, way in enumerate(network.ways[:MOST_WAYS])]
    return _General(network, paint).drawing(), note, named


def summary(network: Network) -> str:
    """The drawing in a sentence."""
    return (
        f"Network of {len(network.nodes())} nodes and {len(network.links)} links; "
        f"groups of flows: {', '.join(way.short() for way in network.ways[:MOST_WAYS])}."
    )


def arrow(at: Point, towards: Point, color: str) -> str:
    """An arrow head with its tip at `at`, seen from `towards`."""
    angle = math.atan2(at[1] - towards[1], at[0] - towards[0])
    corners = [at]
    for turn in (2.65, -2.65):
        corners.append((at[0] + 8 * math.cos(angle + turn), at[1] + 8 * math.sin(angle + turn)))
    return f'<polygon points="{_points(corners)}" style="fill:{color}"/>'


def _points(points: Sequence[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


# A line of nodes: dumbbell, parking lot.


def _chain(network: Network, order: list[str], paint: Paint) -> str:
    steps = [_between(network.links, a, b) for a, b in pairwise(order)]
    texts = [_step_texts(*step) for step in steps]
    ways = network.ways[:MOST_WAYS]
    alone = 340.0 if len(steps) == 1 else 150.0 if len(steps) < 4 else 120.0
    widths = [max(alone, *(svg.width(t, 11.5) + 18 for t in lines)) for lines in texts]
    side = 28 + max(svg.width(svg.clip(order[0], 20)), svg.width(svg.clip(order[-1], 20))) / 2
    xs = [side]
    for w in widths:
        xs.append(xs[-1] + w)
    place = dict(zip(order, xs, strict=True))
    y = 22 + 15 * max(len(lines) for lines in texts)
    parts = []
    for i, (forward, back) in enumerate(steps):
        parts.append(_step(xs[i], xs[i + 1], y, texts[i], [x for x in (forward, back) if x]))
    for node in order:
        parts.append(f'<circle class="node" cx="{place[node]:.1f}" cy="{y}" r="7"/>')
        parts.append(svg.text(place[node], y + 23, svg.clip(node, 20), cls="name mid"))
    lanes, height = _lanes(ways, network, place, y + 44, paint)
    size = (xs[-1] + side, height + 8)
    return svg.drawing(size, summary(network), "".join(parts) + lanes)


def _between(links: Sequence[Link], a: str, b: str) -> tuple[Link | None, Link | None]:
    forward = next((x for x in links if (x.source, x.target) == (a, b)), None)
    return forward, next((x for x in links if (x.source, x.target) == (b, a)), None)


def _step_texts(forward: Link | None, back: Link | None) -> list[str]:
    """What stands above a link: once if both directions are alike."""

    def lines(link: Link, sign: str) -> list[str]:
        more = [svg.clip(extra, 30) for extra in link.extras[:2]]
        return [f"{sign} {svg.clip(link.name, 24)}", link.short(), link.behind(), *more]

    if forward and back:
        if (forward.short(), forward.behind(), forward.extras) == (
            back.short(), back.behind(), back.extras,
        ):  # fmt: skip
            return lines(forward, "⇄")
        return lines(forward, "→") + lines(back, "←")
    if forward:
        return lines(forward, "→")
    return lines(back, "←") if back else []


def _step(x0: float, x1: float, y: float, lines: Sequence[str], links: Sequence[Link]) -> str:
    middle = (x0 + x1) / 2
    content = f'<line class="link" x1="{x0:.1f}" y1="{y}" x2="{x1:.1f}" y2="{y}"/>'
    for i, text in enumerate(lines):
        named = text[:2] in ("⇄ ", "→ ", "← ")
        cls = "name mid" if named else "soft mid"
        content += svg.text(middle, y - 12 - 15 * (len(lines) - 1 - i), text, cls=cls)
    return svg.tip("\n".join(link.told() for link in links), content)


def _lanes(
    ways: Sequence[Way], network: Network, place: dict[str, float], y: float, paint: Paint
) -> tuple[str, float]:
    """A coloured line for each group under the links it crosses; those that fit share a row."""
    links = {link.name: link for link in network.links}
    rows: list[list[tuple[float, float]]] = []
    parts = []
    for number, way in enumerate(ways):
        if not way.path or any(name not in links for name in way.path):
            continue
        start, end = place[links[way.path[0]].source], place[links[way.path[-1]].target]
        label = svg.clip(way.short(), 40)
        low, high = min(start, end), max(start, end)
        high_text = max(high, low + svg.width(label, 11.5) + 8)
        row = _free_row(rows, low, high_text)
        at = y + 32 * row + 20
        inset = 6 if end > start else -6
        color = paint(number)
        ends = f'x1="{start + inset:.1f}" y1="{at}" x2="{end - inset * 1.6:.1f}" y2="{at}"'
        content = f'<line {ends} class="lane" style="stroke:{color}"/>'
        content += f'<circle cx="{start + inset:.1f}" cy="{at}" r="4" style="fill:{color}"/>'
        content += arrow((end - inset, at), (start, at), color)
        content += svg.text(low + 12, at - 7, label, cls="lane-name")
        parts.append(svg.tip(way.told(), content))
    return "".join(parts), y + 32 * max(len(rows), 1)


def _free_row(rows: list[list[tuple[float, float]]], low: float, high: float) -> int:
    for number, taken in enumerate(rows):
        if all(high <= a + 1 or low >= b - 1 for a, b in taken):
            taken.append((low, high))
            return number
    rows.append([(low, high)])
    return len(rows) - 1


# Any other network.

Box = tuple[float, float, float, float]


def _overlap(a: Box, b: Box) -> float:
    w = min(a[2], b[2]) - max(a[0], b[0])
    h = min(a[3], b[3]) - max(a[1], b[1])
    return w * h if w > 0 and h > 0 else 0.0


class _General:
    """A network whose nodes lie where their distances put them."""

    def __init__(self, network: Network, paint: Paint) -> None:
        self.network, self.paint = network, paint
        self.nodes = network.nodes()
        few = len(network.links) <= LABELLED_LINKS
        unit = 230.0 if few and len(self.nodes) <= 8 else 150.0 if few else 105.0
        edges = [(link.source, link.target) for link in network.links]
        raw = layout.spread(self.nodes, edges) * unit
        margin = 80
        low, high = raw.min(axis=0), raw.max(axis=0)
        width, height = (float(edge) for edge in high - low)
        self.size = (width + 2 * margin, max(height + 2 * margin, 180.0))
        middle = (self.size[1] - height) / 2
        self.at = {
            node: (float(x - low[0] + margin), float(y - low[1] + middle))
            for node, (x, y) in zip(self.nodes, raw, strict=True)
        }
        self.few = few
        self.strands = self._strands()
        self.ways = network.ways[:MOST_WAYS]
        self.crossing = self._crossing()
        self.boxes: list[Box] = [(x - 9, y - 9, x + 9, y + 9) for x, y in self.at.values()]
        self.dots = [point for curve in self.strands.values() for point in curve[1:-1]]

    def _strands(self) -> dict[str, list[Point]]:
        """Each link as points from end to end; a link and its reverse share them."""
        lines: dict[tuple[str, str], list[list[Link]]] = {}
        for link in self.network.links:
            key = (min(link.source, link.target), max(link.source, link.target))
            pairs = lines.setdefault(key, [])
            partner = next((p for p in pairs if len(p) == 1 and p[0].source == link.target), None)
            if partner is None:
                pairs.append([link])
            else:
                partner.append(link)
        self.pairs = lines
        strands = {}
        for (a, b), pairs in lines.items():
            for number, pair in enumerate(pairs):
                bend = 56 * (number - (len(pairs) - 1) / 2)
                curve = self._curve(self.at[a], self.at[b], bend)
                for link in pair:
                    strands[link.name] = curve if link.source == a else curve[::-1]
        return strands

    def _curve(self, a: Point, b: Point, bend: float) -> list[Point]:
        if a == b:  # a link from a node to itself
            return [(a[0] + 22 * math.sin(t) , a[1] - 22 + 22 * math.cos(t)) for t in
                    (i * math.tau / 16 for i in range(17))]  # fmt: skip
        length = math.dist(a, b)
        nx, ny = (b[1] - a[1]) / length, (a[0] - b[0]) / length
        points = []
        for i in range(13):
            t = i / 12
            off = bend * 4 * t * (1 - t)
            points.append(
                (a[0] + (b[0] - a[0]) * t + nx * off, a[1] + (b[1] - a[1]) * t + ny * off)
            )
        return points

    def _crossing(self) -> dict[str, list[int]]:
        """The groups that cross each strand in either direction, by its canonical link."""
        crossing: dict[str, list[int]] = {}
        for number, way in enumerate(self.ways):
            for name in way.path:
                if name in self.strands:
                    crossing.setdefault(self._canonical(name), []).append(number)
        return {name: list(dict.fromkeys(found)) for name, found in crossing.items()}

    def _canonical(self, name: str) -> str:
        for pairs in self.pairs.values():
            for pair in pairs:
                if any(link.name == name for link in pair):
                    return pair[0].name
        return name

    def _shifted(self, name: str, by: float) -> list[Point]:
        """A strand moved sideways; a link and its reverse are moved to the same side."""
        curve = self.strands[name]
        sign = 1.0 if self.strands[self._canonical(name)][0] == curve[0] else -1.0
        points = []
        for i, (x, y) in enumerate(curve):
            (ax, ay), (bx, by_) = curve[max(i - 1, 0)], curve[min(i + 1, len(curve) - 1)]
            length = math.hypot(bx - ax, by_ - ay) or 1.0
            shift = by * sign
            points.append((x + (by_ - ay) / length * shift, y - (bx - ax) / length * shift))
        return points

    def _lane(self, number: int, way: Way) -> str:
        points: list[Point] = []
        for name in way.path:
            if name not in self.strands:
                return ""
            groups = self.crossing[self._canonical(name)]
            gap = min(5.0, 26 / len(groups))
            off = gap * (groups.index(number) - (len(groups) - 1) / 2)
            points += self._shifted(name, off)
        if not points:
            return ""
        color = self.paint(number)
        end, before = points[-1], points[-3]
        length = math.dist(end, before) or 1.0
        tip = (
            end[0] + (before[0] - end[0]) / length * 11,
            end[1] + (before[1] - end[1]) / length * 11,
        )
        line = f'<polyline class="lane" points="{_points(points)}" style="stroke:{color}"/>'
        return svg.tip(way.told(), line + arrow(tip, before, color))

    def drawing(self) -> str:
        """The whole drawing."""
        links, labels = [], []
        for pairs in self.pairs.values():
            for pair in pairs:
                curve = self.strands[pair[0].name]
                line = f'<polyline class="link" points="{_points(curve)}"/>'
                links.append(svg.tip("\n".join(link.told() for link in pair), line))
        lanes = [self._lane(number, way) for number, way in enumerate(self.ways)]
        names = [self._name(node) for node in self.nodes]
        if len(self.network.links) <= 4 * LABELLED_LINKS:
            labels = [self._label(pair) for pairs in self.pairs.values() for pair in pairs]
        dots = [
            f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="7"/>' for x, y in self.at.values()
        ]
        content = "".join([*links, *lanes, *dots, *labels, *names])
        corners = [*self.boxes, *((x, y, x, y) for x, y in self.dots)]
        left, top = (min(c[i] for c in corners) - 14 for i in (0, 1))
        right, bottom = (max(c[i] for c in corners) + 14 for i in (2, 3))
        size = (right - left, bottom - top)
        return svg.drawing(size, summary(self.network), content, origin=(left, top))

    def _cost(self, box: Box) -> float:
        outside: float = max(0.0, -box[0]) + max(0.0, -box[1])
        outside += max(0.0, box[2] - self.size[0]) + max(0.0, box[3] - self.size[1])
        hidden = sum(box[0] < x < box[2] and box[1] < y < box[3] for x, y in self.dots)
        return sum(_overlap(box, other) for other in self.boxes) + 60 * hidden + 500 * outside

    def _best(self, boxes: Sequence[Box]) -> Box:
        box = min(boxes, key=self._cost)
        self.boxes.append(box)
        return box

    def _name(self, node: str) -> str:
        x, y = self.at[node]
        label = svg.clip(node, 18)
        w = svg.width(label)
        box = self._best(
            [
                (x - w / 2, y + 10, x + w / 2, y + 25),
                (x - w / 2, y - 25, x + w / 2, y - 10),
                (x + 11, y - 8, x + 11 + w, y + 7),
                (x - 11 - w, y - 8, x - 11, y + 7),
                (x + 7, y + 6, x + 7 + w, y + 21),
                (x - 7 - w, y + 6, x - 7, y + 21),
            ]
        )
        return svg.text((box[0] + box[2]) / 2, box[3] - 3.5, label, cls="name mid halo")

    def _label(self, pair: Sequence[Link]) -> str:
        """A link's texts where they hide least."""
        shown = [pair[0]]
        if len(pair) > 1 and (pair[0].short(), pair[0].behind()) != (
            pair[1].short(), pair[1].behind(),
        ):  # fmt: skip
            shown = list(pair)
        lines = []
        for link in shown:
            lines += [svg.clip(link.name, 22), link.short(), link.behind()] if self.few else []
        if not lines:
            lines = [link.rate for link in shown]
        w, h = max(svg.width(line, 11) for line in lines), 13 * len(lines)
        curve = self.strands[pair[0].name]
        far = 6 + 2.5 * len(self.crossing.get(pair[0].name, []))
        boxes = []
        for at in (6, 4, 8, 3, 9):
            (ax, ay), (bx, by), (x, y) = curve[at - 1], curve[at + 1], curve[at]
            length = math.hypot(bx - ax, by - ay) or 1.0
            nx, ny = (by - ay) / length, (ax - bx) / length
            for sign in (1, -1):
                off = sign * (far + abs(nx) * w / 2 + abs(ny) * h / 2)
                cx, cy = x + nx * off, y + ny * off
                boxes.append((cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2))
        box = self._best(boxes)
        middle = (box[0] + box[2]) / 2
        texts = []
        for i, line in enumerate(lines):
            kind = "name" if self.few and i % 3 == 0 else "soft"
            texts.append(svg.text(middle, box[1] + 13 * i + 10, line, cls=f"{kind} mid halo small"))
        return svg.tip("\n".join(link.told() for link in pair), "".join(texts))
