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
    sends a packet per round trip as long as the RTT is far above the least."""

    KEEPS, YIELDS = 1.2, 1.5

    def on_ack(self, ack: Ack) -> None:
        least, smooth = ack.min_rtt or math.inf, ack.srtt or 0.0
        if smooth > self.YIELDS * least:
            self.cwnd, self.ssthresh, self.epoch = 1.0, 2.0, None
        elif smooth < self.KEEPS * least:
            super().on_ack(ack)
