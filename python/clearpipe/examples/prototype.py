"""Prototypes: TCP Reno as a Python class, and a queue that drops at random above half a buffer."""

import clearpipe as cp


class Reno(cp.Sender):
    """TCP Reno's window (RFC 5681): the same numbers as the built-in one."""

    def __init__(self, context):
        super().__init__(context)
        self.ssthresh = float("inf")

    def on_ack(self, ack):
        if ack.acked == 0 or ack.recovering or ack.ece:
            return
        # The application, or the window's whole part, left room: do not grow (RFC 7661).
        if ack.in_flight + ack.delivered + 1.0 <= self.cwnd:
            return
        self.cwnd += 1.0 if self.cwnd < self.ssthresh else 1.0 / self.cwnd

    def on_loss(self, loss):
        flight = loss.in_flight
        if loss.kind == "timeout":  # in a recovery the window is less than what was in flight
            flight = min(flight, self.cwnd)
        if not (loss.kind == "timeout" and loss.repeated):
            self.ssthresh = max(flight / 2.0, 2.0)
        if loss.kind == "timeout":
            self.cwnd = 1.0
        elif loss.kind == "dupacks":
            self.cwnd = self.ssthresh
        else:
            self.cwnd = min(self.cwnd, self.ssthresh)


class HalfFull(cp.Router):
    """Drops an arriving data packet with a probability that rises from half a buffer on."""

    def __init__(self, context):
        super().__init__(context)
        self.limit = context.limit_bytes or context.limit_packets * context.packet_bytes

    def on_arrival(self, packet, backlog):
        fill = backlog.bytes / self.limit
        return packet.is_ack or self.random.random() >= 0.2 * max(0.0, 2.0 * fill - 1.0)
