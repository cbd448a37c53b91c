"""Where the nodes of a network are drawn: along a line, or where their distances put them.

Deterministic: equal networks get equal drawings.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from clearpipe.report.thin import Array

ROUNDS = 300


def neighbours(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Who is linked with whom, in either direction."""
    near: dict[str, list[str]] = {node: [] for node in nodes}
    for a, b in edges:
        if a != b and b not in near[a]:
            near[a].append(b)
            near[b].append(a)
    return near


def line(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[str] | None:
    """The nodes from one end to the other, if each is linked with the next one and no other."""
    near = neighbours(nodes, edges)
    ends = [node for node in nodes if len(near[node]) == 1]
    if len(ends) != 2 or any(len(others) > 2 for others in near.values()):
        return None
    order, before = [ends[0]], ""
    while True:
        following = [node for node in near[order[-1]] if node != before]
        if not following:
            break
        before = order[-1]
        order.append(following[0])
    return order if len(order) == len(nodes) else None


def hops(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> Array:
    """Links between each two nodes; nodes that are not connected are one further than any."""
    near = neighbours(nodes, edges)
    number = {node: i for i, node in enumerate(nodes)}
    far = np.full((len(nodes), len(nodes)), np.nan)
    for start in nodes:
        far[number[start], number[start]] = 0
        waiting = deque([start])
        while waiting:
            node = waiting.popleft()
            for other in near[node]:
                if np.isnan(far[number[start], number[other]]):
                    step = far[number[start], number[node]] + 1
                    far[number[start], number[other]] = step
                    waiting.append(other)
    return np.where(np.isnan(far), np.nanmax(far) + 1, far)


def spread(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> Array:
    """Positions in hops, the long side lying, the first node left: least stress (SMACOF,
    de Leeuw 1977) from classical scaling (Torgerson 1952), weights 1 / hops^2."""
    size = len(nodes)
    if size < 2:
        return np.zeros((size, 2))
    far = hops(nodes, edges)
    place = _scaled(far)
    weight = 1 / np.where(far > 0, far, np.inf) ** 2
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.pinv(laplacian)
    for _ in range(ROUNDS):
        apart = np.linalg.norm(place[:, None] - place[None], axis=2)
        pull = -weight * far / np.where(apart > 1e-9, apart, np.inf)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        place = inverse @ pull @ place
    return _lying(_parted(place))


def _scaled(far: Array) -> Array:
    size = far.shape[0]
    centre = np.eye(size) - 1 / size
    values, vectors = np.linalg.eigh(-0.5 * centre @ far**2 @ centre)
    place = vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 0))
    # Nodes with the same distances to all would stay on top of each other.
    angle = np.arange(size) * 2.399963
    return np.asarray(place + 0.02 * np.column_stack([np.cos(angle), np.sin(angle)]))


def _parted(place: Array, least: float = 0.55) -> Array:
    """Pushes nodes apart that are nearer than `least`."""
    place = place.copy()
    for _ in range(60):
        between = place[:, None] - place[None]
        apart = np.linalg.norm(between, axis=2)
        np.fill_diagonal(apart, np.inf)
        push = np.where(apart < least, (least - apart) / 2, 0.0)
        if not push.any():
            break
        place += ((push / np.maximum(apart, 1e-3))[..., None] * between).sum(axis=1)
    return place


def _lying(place: Array) -> Array:
    place = place - place.mean(axis=0)
    _, _, turn = np.linalg.svd(place, full_matrices=False)
    place = place @ turn.T
    # Signs are free: the first node that is off the middle goes to the left and up.
    for axis in (0, 1):
        off = next((value for value in place[:, axis] if abs(value) > 1e-6), 0.0)
        if off > 0:
            place[:, axis] *= -1
    return np.asarray(np.round(place, 4))
