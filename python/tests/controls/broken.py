"""Controls that are broken on purpose, each in one way, to see which statements find it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cubic import Cubic

import clearpipe as cp

if TYPE_CHECKING:
    from clearpipe._core import Ack, Loss, SenderContext


class NeverBacksOff(cp.Sender):
    """Opens its window as Reno does and takes no notice of losses, of timeouts either."""

    def __init__(self, context: SenderContext) -> None:
        super().__init__(context)
        self.slow = True

    def on_ack(self, ack: Ack) -> None:
        if ack.in_flight + ack.delivered + 1.0 > self.cwnd:
            self.cwnd += 1.0 if self.slow else 1.0 / self.cwnd

    def on_loss(self, loss: Loss) -> None:
        self.slow = False


class CollapsesAtOneLoss(Cubic):
    """CUBIC that falls to one packet at any loss, for good but for a packet in 100 round trips."""

    def on_loss(self, loss: Loss) -> None:
        super().on_loss(loss)
        self.cwnd, self.ssthresh, self.epoch = 1.0, 1.0, None

    def increase(self, ack: Ack) -> float:
        return 0.01 * ack.acked / self.cwnd


class StarvesBesideAnother(Cubic):
    """CUBIC that keeps its own queue short, and leaves the path to whoever keeps a longer one: it
    sends two packets per round trip after a second in which no packet found a short queue."""

    KEEPS, YIELDS = 1.2, 1.5
    """Round trips over the least one."""

    def __init__(self, context: SenderContext) -> None:
        super().__init__(context)
        self.low, self.since, self.yields = math.inf, 0.0, False

    def on_ack(self, ack: Ack) -> None:
        if ack.rtt is None or ack.min_rtt is None:
            super().on_ack(ack)
            return
        self.low = min(self.low, ack.rtt)
        if ack.now - self.since > max(1.0, 2.0 * (ack.srtt or 0.0)):
            is_long = self.low > self.YIELDS * ack.min_rtt
            if is_long and not self.yields:
                self.ssthresh, self.w_max = max(self.cwnd / 2.0, 2.0), 0.0
            self.yields = is_long
            self.low, self.since = ack.rtt, ack.now
        if self.yields:
            self.cwnd, self.epoch = 2.0, None
        elif self.low < self.KEEPS * ack.min_rtt:
            super().on_ack(ack)
