"""CUBIC (RFC 9438) with HyStart++ (RFC 9406) as a prototype: the built-in one's law in Python."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import clearpipe as cp

if TYPE_CHECKING:
    from clearpipe._core import Ack, Departing, Loss, SenderContext

C = 0.4
BETA = 0.7
ALPHA = 3.0 * (1.0 - BETA) / (1.0 + BETA)

# RFC 9406, section 4.3.
LEAST_THRESHOLD, MOST_THRESHOLD = 0.004, 0.016
SAMPLES = 8
ROUNDS = 5
MOST_PER_ACK = 8


class Hystart:
    """Section 4.2: slow start that turns conservative when a round's least RTT has grown."""

    def __init__(self) -> None:
        self.end = 0
        self.last = self.current = self.baseline = math.inf
        self.samples = self.rounds = 0
        self.conservative = False

    def opens(self, ack: Ack, una: int, sent: int) -> float | None:
        """By how much an ACK opens the window; None when slow start is over."""
        if una > 0 and una >= self.end:
            self.end = max(sent, una + 1)
            self.last, self.current, self.samples = self.current, math.inf, 0
            self.rounds += self.conservative
            if self.conservative and self.rounds >= ROUNDS:
                return None
        packets = float(min(ack.acked, MOST_PER_ACK))
        gain = packets / 4.0 if self.conservative else packets
        if ack.rtt is not None:
            self.current = min(self.current, ack.rtt)
            self.samples += 1
        if self.samples >= SAMPLES:
            self.look()
        return gain

    def look(self) -> None:
        """Has the RTT grown, or was that an error?"""
        if self.conservative:
            if self.current < self.baseline:
                self.conservative, self.baseline = False, math.inf
        elif math.isfinite(self.current) and math.isfinite(self.last):
            threshold = min(max(self.last / 8.0, LEAST_THRESHOLD), MOST_THRESHOLD)
            if self.current >= self.last + threshold:
                self.conservative, self.baseline, self.rounds = True, self.current, 0


class Cubic(cp.Sender):
    """RFC 9438, section 4."""

    def __init__(self, context: SenderContext) -> None:
        super().__init__(context)
        self.ssthresh = math.inf
        self.w_max = self.k = self.w_est = self.prior = 0.0
        self.epoch: float | None = None
        self.last = 0.0
        self.una = self.sent = 0
        self.hystart = Hystart()

    def on_send(self, segment: Departing) -> None:
        self.sent = max(self.sent, segment.seq + 1)

    def on_ack(self, ack: Ack) -> None:
        self.una += ack.acked
        if ack.acked == 0 or ack.recovering or ack.ece:
            return
        if ack.in_flight + ack.delivered + 1.0 <= self.cwnd:
            if self.epoch is not None:  # time while the window is unused does not count
                self.epoch = min(self.epoch + ack.now - self.last, ack.now)
                self.last = ack.now
            return
        if self.cwnd >= self.ssthresh:
            self.cwnd = max(self.cwnd + self.increase(ack), 1.0)
        elif math.isfinite(self.ssthresh):
            self.cwnd += 1.0
        elif (gain := self.hystart.opens(ack, self.una, self.sent)) is None:
            self.ssthresh = self.cwnd
        else:
            self.cwnd += gain

    def increase(self, ack: Ack) -> float:
        """Sections 4.2 to 4.5."""
        if self.epoch is None:
            self.epoch, self.w_est = ack.now, self.cwnd
            if self.cwnd >= self.w_max:
                self.w_max, self.k = self.cwnd, 0.0
            else:
                self.k = math.cbrt((self.w_max - self.cwnd) / C)
        self.last = ack.now
        t = ack.now - self.epoch
        alpha = 1.0 if self.w_est >= self.prior else ALPHA
        self.w_est += alpha * ack.acked / self.cwnd
        if self.w_cubic(t) < self.w_est:
            return max(self.w_est - self.cwnd, 0.0)
        target = min(max(self.w_cubic(t + (ack.srtt or 0.0)), self.cwnd), 1.5 * self.cwnd)
        return (target - self.cwnd) / self.cwnd

    def w_cubic(self, t: float) -> float:
        """Eq. (1)."""
        return C * (t - self.k) ** 3 + self.w_max

    def on_loss(self, loss: Loss) -> None:
        if not (loss.kind == "timeout" and loss.repeated):
            w = self.cwnd if loss.in_flight + 3.0 > self.cwnd else float(loss.in_flight)
            self.w_max = w * (1.0 + BETA) / 2.0 if w < self.w_max else w
            if loss.kind == "timeout":
                self.w_max = 0.0
            self.prior, self.epoch = w, None
            self.ssthresh = max(BETA * w, 2.0)
        if loss.kind == "timeout":
            self.cwnd = 1.0
        elif loss.kind == "dupacks":
            self.cwnd = self.ssthresh
        else:
            self.cwnd = min(self.cwnd, self.ssthresh)
