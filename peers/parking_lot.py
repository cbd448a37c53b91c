"""A chain of contended links, described once for Clearpipe and `parking-lot.tcl`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ParkingLot:
    """XCP flows over all links and over each link alone, as many in either direction.

    The long flows' RTT is their propagation time over all links and four access links; every
    buffer holds its bandwidth-delay product.
    """

    name: str
    links: int
    rate_mbps: int
    link_owd_ms: int
    access_owd_ms: int
    long: int
    cross: int
    duration_s: float
    start_window_s: float = 1.0

    @property
    def buffer_bytes(self) -> int:
        """Of the longest RTT."""
        rtt_ms = 2 * self.links * self.link_owd_ms + 4 * self.access_owd_ms
        return self.rate_mbps * rtt_ms * 125

    def ns2_arguments(self) -> dict[str, str]:
        """The keys of `parking-lot.tcl`."""
        return {
            "links": str(self.links),
            "rate": str(self.rate_mbps * 1_000_000),
            "link_owd": str(self.link_owd_ms / 1000),
            "access_owd": str(self.access_owd_ms / 1000),
            "long": str(self.long),
            "cross": str(self.cross),
            "buffer": str(self.buffer_bytes),
            "duration": str(self.duration_s),
            "start_window": str(self.start_window_s),
        }

    def scenario(self) -> str:
        """The same as a Clearpipe scenario."""
        header = f"""\
schema = 1
name = "{self.name}"
era = "ns2"
duration = "{self.duration_s:g}s"

[topology]
kind = "parking-lot"
links = {self.links}
rate = "{self.rate_mbps}Mbps"
owd = "{self.link_owd_ms}ms"
buffer = "{self.buffer_bytes}B"
queue = "xcp"

[transport]
initial_window = "1pkt" # common.tcl's windowInit_
rto_granularity = "3ms" # not the era's 30 ms: common.tcl's clock ticks each ms, not each 10 ms
"""
        groups = [
            self._flows(f"{path}-{direction}", "each" if path == "cross" else path, direction)
            for path in ("long", "cross")
            for direction in ("forward", "reverse")
        ]
        return header + "".join(groups)

    def _flows(self, name: str, path: str, direction: str) -> str:
        return f"""
[flows.{name}]
protocol = "xcp"
count = {self.long if path == "long" else self.cross}
path = "{path}"
direction = "{direction}"
access_owd = "{self.access_owd_ms}ms"
start = "uniform(0s, {self.start_window_s:g}s)"
"""
