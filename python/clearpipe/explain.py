"""What one flow's sender and the routers on its way knew at an instant, in words."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias, cast

import clearpipe as cp
from clearpipe import _core, api, units
from clearpipe.errors import ConfigError, RunError

Facts: TypeAlias = dict[str, Any]
"""A flow at an instant; `clearpipe explain --json` prints it, and units are in the names."""


def explain(  # noqa: PLR0913 - keywords
    run: api.Scenario | api.Source,
    *,
    flow: int,
    at: float,
    seed: int | None = None,
    rep: int = 0,
    set: Sequence[str] = (),
    progress: Callable[[api.Progress], object] | None = None,
    run_code: bool = False,
) -> Facts:
    """Repeat a run up to `at` seconds and tell what flow number `flow` knew there.

    `run` is a result directory, which says itself which seed and replication it holds, or a
    scenario as `clearpipe.run` takes it. A directory is only read: classes in Python that its
    scenario names are run with `run_code` alone.

    Raises ConfigError if there is no such flow, the run ends before `at`, or code would have to be
    run, and RunError if the result cannot be repeated because another version made it.
    """
    if isinstance(run, str | PathLike) and "\n" not in fspath(run) and Path(run).is_dir():
        if seed is not None or rep or set:
            raise ConfigError(f"{run}: a result has its own seed, replication and keys")
        source, seed, rep = stored(Path(run), at)
        code = _named_code(source.text)
        if code and not run_code:
            raise ConfigError(
                f"{run}: repeating this run would run code, {', '.join(code)}; --run-code "
                "(run_code=True) does it",
                key="run_code",
            )
        if code and api.parts(source) != cp.load(run).meta["parts"]:
            raise RunError(f"{run}: its code has changed since: {', '.join(code)}")
    else:
        source = api.source(run)
    if not 0 <= flow < 2**32:
        raise ConfigError(f"flow: there is no flow {flow} (allowed: 0 and up)", key="flow")
    if not 0 <= at < 1e7:
        raise ConfigError(f"at: {at:g} s is not within a run", key="at")
    call = None if progress is None else lambda *now: progress(api.Progress(*now))
    text = _core.explain_json(
        source.name, source.text, set, flow=flow, at_s=at, seed=seed, rep=rep, on_progress=call
    )
    if text is None:
        raise RunError("stopped before the instant")
    return cast(Facts, json.loads(text))


def stored(directory: Path, at: float) -> tuple[api.Source, int, int]:
    """The scenario, seed and replication of a result that this version can repeat."""
    result = cp.load(directory)
    meta = result.meta
    if meta["engine"] != "packet":
        raise ConfigError(
            f"{directory}: made by the {meta['engine']} engine; only runs of the packet engine can "
            "be repeated up to an instant"
        )
    if other := api.outdated(meta):
        raise RunError(
            f"{directory}: made by {other}, and this version gives other numbers; run the "
            "scenario again"
        )
    if "branched_from" in meta:
        raise ConfigError(
            f"{directory}: a branch of a run, which its own scenario does not repeat; explain the "
            "run that it branched from, or run the variant from the start"
        )
    if at > meta["simulated_s"]:
        raise ConfigError(
            f"at: {at:g} s is beyond the run (allowed: 0 to {meta['simulated_s']:g} s)", key="at"
        )
    source = api.Source(str(directory / "run.toml"), result.scenario_toml)
    return source, meta["seed"], meta["rep"]


def _named_code(toml: str) -> list[str]:
    """The classes in Python that a scenario names."""
    document = tomllib.loads(toml)
    tables = [*document.get("protocols", {}).values(), *document.get("queues", {}).values()]
    return sorted({str(one["code"]) for one in tables if one.get("kind") == "python"})


def words(facts: Facts) -> str:
    """The facts as a page of text."""
    lines = [
        f"Flow {facts['flow']} (group {facts['group']}, {facts['protocol']}) "
        f"at {_at(facts['at_s'])}: {_phase(facts)}",
        "",
        "Sender",
    ]
    if facts["phase"] == "waiting":
        lines.append(f"  has sent nothing; its window will start at {_pkts(facts['cwnd_pkts'])}")
    else:
        lines += [f"  {line}" for line in _sender(facts)]
    for link in facts["links"]:
        kinds = " over ".join(link["kinds"])
        lines += ["", f"Link {link['name']} ({kinds}), {units.rate(link['rate_bps'])}"]
        lines += [f"  {line}" for line in _link(facts, link)]
    return "\n".join(lines)


def _phase(facts: Facts) -> str:
    start = f"started at {_at(facts['start_s'])}"
    return {
        "waiting": f"it starts at {_at(facts['start_s'])}",
        "running": f"{start}, sending",
        "stopped": f"{start}, offers nothing new since {_at(facts['stop_s'] or 0)}; "
        "what is out is not all acknowledged",
        "finished": f"{start}, finished at {_at(facts['finish_s'] or 0)}",
    }[facts["phase"]]


def _sender(facts: Facts) -> list[str]:
    window = f"window {_pkts(facts['cwnd_pkts'])}, {facts['in_flight_pkts']:,} in flight"
    if facts["outstanding_pkts"] != facts["in_flight_pkts"]:
        window += f" of {facts['outstanding_pkts']:,} not yet acknowledged"
    rtt = "no RTT sample yet"
    if facts["srtt_s"] is not None:
        srtt, least = units.seconds(facts["srtt_s"]), units.seconds(facts["min_rtt_s"])
        rtt = f"smoothed RTT {srtt}, smallest {least}"
    lines = [f"{window}; {rtt}; timeout after {units.seconds(facts['rto_s'])}"]
    lines += facts["words"]
    if facts["recovering"]:
        lines.append("fast recovery is under way: holes are being filled")
    if facts["pacing_bps"] is not None:
        lines.append(f"packets are spaced at {units.rate(facts['pacing_bps'])}")
    lines.append(_sent(facts))
    lines += _ack(facts)
    lines.append(_loss(facts))
    lines.append(_next(facts))
    return lines


def _sent(facts: Facts) -> str:
    again = facts["retransmitted_pkts"]
    text = f"sent {facts['sent_pkts']:,} packets, {again:,} of them again"
    if facts["last_sent_s"] is not None:
        text += f"; the last at {_at(facts['last_sent_s'])}"
    return text


def _ack(facts: Facts) -> list[str]:
    ack = facts["last_ack"]
    if ack is None:
        return ["no ACK has come back yet"]
    what = "not even segment 0" if ack["segment"] is None else f"up to segment {ack['segment']:,}"
    news = {0: "a duplicate", 1: "1 of them new"}.get(ack["acked_pkts"], "")
    news = news or f"{ack['acked_pkts']:,} of them new"
    parts = [f"last ACK at {_at(ack['at_s'])}: acknowledges {what}, {news}"]
    if ack["sack"]:
        parts.append("with SACK blocks")
    if ack["rtt_s"] is not None:
        parts.append(f"RTT {units.seconds(ack['rtt_s'])}")
    if ack["code"] is not None:
        parts.append(f"code {ack['code']['bits']:02b} ({ack['code']['name']})")
    if ack["ece"] is not None:
        parts.append("echoes congestion" if ack["ece"] else "no echo of congestion")
    lines = [", ".join(parts)]
    lines += _granted(ack["header"])
    before, after = ack["cwnd_before_pkts"], ack["cwnd_after_pkts"]
    lines.append(
        f"  it took the window from {before:,.4f} to {after:,.4f} packets "
        f"({after - before:+,.4f}), in flight {ack['in_flight_before_pkts']:,} to "
        f"{ack['in_flight_after_pkts']:,}"
    )
    return lines


def _granted(header: list[dict[str, Any]]) -> list[str]:
    """What an ACK's header says, if there is one."""
    fields = {field["name"]: field["value"] for field in header}
    if "h_feedback" not in fields:
        return [f"  header: {_values(header)}"] if header else []
    if (feedback := fields["h_feedback"]) is None:
        return ["  no router granted anything: the header came back as it was sent"]
    does = "raise" if feedback > 0 else "lower" if feedback < 0 else "keep"
    if does == "keep":
        return ["  its header tells the sender to keep its window"]
    return [f"  its header tells the sender to {does} its window by {abs(feedback):,.1f} bytes"]


def _loss(facts: Facts) -> str:
    loss = facts["last_loss"]
    if loss is None:
        return "no loss and no mark noticed so far"
    lost = loss["lost_pkts"]
    told = f", {lost:,} taken for lost" if lost else ""
    return (
        f"last sign of congestion at {_at(loss['at_s'])}: {loss['kind']}{told}; window "
        f"{loss['cwnd_before_pkts']:,.2f} to {loss['cwnd_after_pkts']:,.2f} packets"
    )


def _next(facts: Facts) -> str:
    timers = [
        ("the pacer lets a packet out", facts["pacer_s"]),
        ("the protocol's timer", facts["protocol_timer_s"]),
        ("the retransmission timer, unless an ACK comes", facts["retransmission_timer_s"]),
    ]
    due = sorted((at, what) for what, at in timers if at is not None)
    if facts["phase"] == "finished" or not due:
        return "no timer is set"
    return "next: " + "; ".join(f"{what}, at {_at(at)}" for at, what in due)


def _link(facts: Facts, link: dict[str, Any]) -> list[str]:
    packets, ratio = link["queue_pkts"], link["buffer_ratio"]
    waiting = "nothing waits"
    if packets:
        own = f"{link['own_pkts']:,} of this flow"
        size = units.size(link["queue_bytes"])
        waiting = f"{packets:,} packets wait ({own}), {size}, {100 * ratio:.2g} % of the buffer"
    lost = f", {link['losses_pkts']:,} lost on the line" if link["losses_pkts"] else ""
    lines = [f"{waiting}; {link['drops_pkts']:,} dropped{lost} so far"]
    if link["rate_bps"] == 0:
        lines.insert(0, "it carries nothing at that time")
    lines += _packet(link["last_packet"])
    lines += link["words"]
    lines += [
        f"{one['name']} = {_value(one)}: {one['doc']}"
        for one in link["variables"]
        if one["value"] is not None
    ]
    return lines


def _packet(packet: dict[str, Any] | None) -> list[str]:
    if packet is None:
        return ["no data packet of this flow has left or been dropped here yet"]
    again = ", sent again" if packet["retransmission"] else ""
    text = (
        f"its last packet here (segment {packet['segment']:,}{again}) came at "
        f"{_at(packet['arrived_s'])}, met {packet['met_pkts']:,} waiting"
    )
    if packet["served_s"] is None:
        return [f"{text} and was dropped"]
    waited = "did not wait"
    if packet["queued_s"]:
        waited = f"waited {units.seconds(packet['queued_s'])}"
    lines = [f"{text}, {waited}, went out at {_at(packet['served_s'])}"]
    if packet["lost"]:
        lines[0] += " and was lost on the line"
    if packet["marked"]:
        before = packet["code_before"]
        was = f"from {before['bits']:02b} ({before['name']}) " if before else ""
        code = packet["code_after"]
        lines.append(f"  the router set its code {was}to {code['bits']:02b} ({code['name']})")
    changed = [
        f"{old['name']} from {_value(old)} to {_value(new)}"
        for old, new in zip(packet["header_before"], packet["header_after"], strict=True)
        if old != new
    ]
    if changed:
        lines.append(f"  the router changed {', '.join(changed)}")
    elif packet["header_before"]:
        lines.append("  the router left its header as it came")
    return lines


def _values(fields: list[dict[str, Any]]) -> str:
    return ", ".join(f"{field['name']} {_value(field)}" for field in fields)


def _value(one: dict[str, Any]) -> str:
    if one["value"] is None:
        return "the largest value"
    number = f"{one['value']:,.6g}" if abs(one["value"]) < 1e6 else f"{one['value']:,.0f}"
    return f"{number} {one['unit']}".rstrip()


def _at(seconds: float) -> str:
    return f"{seconds:.6f} s"


def _pkts(count: float) -> str:
    return f"{count:,.2f} packets"
