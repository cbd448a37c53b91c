import assert from "node:assert/strict";
import { test } from "node:test";
import { Lane } from "../src/lane.js";
import { Sender } from "../src/host.js";
import { withSets } from "../src/toml.js";
import { engine, example, files, host, root } from "./engine.mjs";
import { golden } from "./golden.mjs";

const protocols = JSON.parse(engine.protocols());
const clock = () => performance.now();

function finish(lane) {
  for (;;) {
    const { result } = lane.advance(5, clock);
    if (result) return result;
  }
}

test("every committed fingerprint comes out, run in slices with copies kept", () => {
  const rows = golden(root, protocols, example);
  assert.ok(rows.length >= 70);
  for (const { name, toml, sets, fingerprint, parts } of rows) {
    const lane = new Lane(engine, files, { toml, sets });
    const said = Object.entries(lane.about.parts).map((part) => part.join(" "));
    assert.deepEqual(said, parts, name);
    assert.equal(finish(lane).fingerprint, fingerprint, name);
    lane.free();
  }
});

test("every example can be read", () => {
  for (const name of ["abilene", "cellular-trace", "web-traffic", "vcp-island", "dpcp-fig01"]) {
    const about = JSON.parse(engine.Lab.read(name, example(name), [], files, 1000));
    assert.ok(about.duration_s > 0 && about.links.length > 0, name);
  }
});

test("a branch that changes nothing is the run itself; one that does is another", () => {
  const toml = example("xcp-fig10");
  const trunk = new Lane(engine, files, { toml });
  const { fingerprint } = finish(trunk);
  for (const at of [0, 3.3, 9.99]) {
    assert.equal(finish(trunk.branch(at, [])).fingerprint, fingerprint, `at ${at} s`);
  }
  const slower = trunk.branch(5, ["links.bottleneck.rate=20Mbps"]);
  assert.notEqual(finish(slower).fingerprint, fingerprint);
  assert.throws(() => trunk.branch(5, ["links.bottleneck.owd=50ms"]), /links.bottleneck.owd: decides/);
  assert.throws(() => trunk.branch(5, ["flows.fwd.count=x"]), /flows.fwd.count/);
});

test("a link's packets add up to what its table says", () => {
  const lane = new Lane(engine, files, { toml: example("xcp-fig10") });
  const { links } = finish(lane);
  const seen = lane.lab.packets(0, 10, 1e6);
  const crossed = seen.link.filter((link) => link === 0).length;
  // The last one is on the line when the run ends, or has just left it.
  const { total_departures_pkts: left } = links[0];
  assert.ok(crossed - left >= 0 && crossed - left <= 1, `${crossed} and ${left}`);
  // A part of a run shows the same packets as the whole.
  const part = lane.lab.packets(4, 4.2, 1e6);
  const within = [...seen.start].filter((t) => t > 4 && t <= 4.1).length;
  assert.equal([...part.start].filter((t) => t > 4 && t <= 4.1).length, within);
  // XCP's header has four fields; those of an ACK are what it brings back.
  assert.ok(part.header.length > 0);
});

test("the fluid engine has a curve for XCP and says why it has none for others", () => {
  const lane = new Lane(engine, files, { toml: example("xcp-fig10") });
  assert.equal(lane.about.fluid, null);
  const { series, until } = lane.lab.fluid(() => true);
  assert.equal(until, null);
  assert.ok(series.find(({ name }) => name === "queue_pkts").t.length > 100);
  assert.throws(() => lane.lab.fluid(() => false), /takes too long here/);
  const other = new Lane(engine, files, {
    toml: example("xcp-fig10"),
    sets: ["flows.fwd.protocol=bbr", "topology.queue=droptail"],
  });
  assert.match(other.about.fluid, /has no fluid form/);
});

/** A series' value at an instant that was sampled. */
const value = (all, name, id, at) => {
  const { t, id: ids, value: values } = all.find((one) => one.name === name);
  const row = t.findIndex((time, k) => ids[k] === id && Math.abs(time - at) < 1e-9);
  assert.ok(row >= 0, `${name} of ${id} at ${at} s`);
  return values[row];
};

test("the fluid engine goes along with a branch to another rate, and with others up to it", () => {
  const lane = new Lane(engine, files, { toml: example("xcp-fig10") });
  const trunk = lane.lab.fluid(() => true).series;
  const half = lane.branch(7, ["links.bottleneck.rate=22.5Mbps"]).lab.fluid(() => true);
  assert.equal(half.until, null);
  // Four flows at 45 Mb/s, five at half of that from 8 s on: the windows of an XCP flow follow the
  // rate, and its shares are equal after 50 RTTs. A window is a share times 40 ms, in 1000 bytes.
  assert.equal(value(half.series, "cwnd_pkts", 0, 6.9), value(trunk, "cwnd_pkts", 0, 6.9));
  const share = (rate, flows) => (rate * 0.04) / 8000 / flows;
  const at = (series) => value(series, "cwnd_pkts", 0, 9.9);
  assert.ok(Math.abs(at(trunk) / share(45e6, 5) - 1) < 0.1, `${at(trunk)}`);
  assert.ok(Math.abs(at(half.series) / share(22.5e6, 5) - 1) < 0.1, `${at(half.series)}`);
  const buffer = lane.branch(7, ["links.bottleneck.buffer=20pkt"]).lab.fluid(() => true);
  assert.equal(buffer.until, 7);
  assert.deepEqual(at(buffer.series), at(trunk));
});

test("options are written into the text's lines where that says the same", () => {
  const toml = example("xcp-fig10");
  const sets = ["topology.rate=20Mbps", "flows.fwd.count=3", "seed=7", 'probe.series=["queue"]'];
  const text = withSets(toml, sets);
  assert.match(text, /^rate = "20Mbps"$/m);
  assert.match(text, /^count = 3$/m);
  const resolved = (one, options) => engine.Lab.resolve("scenario.toml", one, options, files);
  assert.equal(resolved(text, []), resolved(toml, sets));
});

class Reno extends Sender {
  constructor(context) {
    super(context);
    this.ssthresh = Infinity;
  }
  on_ack(ack) {
    if (ack.acked === 0 || ack.recovering || ack.ece) return;
    if (ack.in_flight + ack.delivered + 1 <= this.cwnd) return;
    this.cwnd += this.cwnd < this.ssthresh ? 1 : 1 / this.cwnd;
  }
  on_loss(loss) {
    let flight = loss.in_flight;
    if (loss.kind === "timeout") flight = Math.min(flight, this.cwnd);
    if (!(loss.kind === "timeout" && loss.repeated)) this.ssthresh = Math.max(flight / 2, 2);
    this.cwnd = loss.kind === "timeout" ? 1 : this.ssthresh;
  }
}

const race = (protocol) => `
schema = 1
name = "race"
duration = "20s"
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "50ms"
buffer = "40pkt"
queue = "droptail"
[protocols.mine]
${protocol}
[flows.one]
protocol = "mine"
count = 2
`;

test("Reno as a class in the page is the built-in Reno, packet by packet", () => {
  host.classes.set("page:Reno", Reno);
  host.reset();
  const mine = race('kind = "python"\ncode = "page:Reno"\nrecovery = "sack"');
  const ours = new Lane(engine, files, { toml: mine });
  const { fingerprint } = finish(ours);
  const builtin = new Lane(engine, files, { toml: race('kind = "sack"') });
  assert.equal(fingerprint, finish(builtin).fingerprint);
  // A branch copies the objects.
  assert.equal(finish(ours.branch(7, [])).fingerprint, fingerprint);
});

test("a class that fails ends its run with the reason", () => {
  const run = (made) => {
    host.classes.set("page:Bad", made);
    host.reset();
    const toml = race('kind = "python"\ncode = "page:Bad"');
    return finish(new Lane(engine, files, { toml }));
  };
  const Thrower = class extends Sender {
    on_ack() {
      throw new Error("no luck");
    }
  };
  const Less = class Less extends Sender {
    on_ack() {
      this.cwnd = 0.5;
    }
  };
  assert.throws(() => run(Thrower), /no luck/);
  assert.throws(() => run(Less), /Less.cwnd is 0.5: a number of packets, 1 to 10000000, is allowed/);
  assert.throws(() => run(undefined), /there is no such class/);
});

test("errors are the engine's own", () => {
  const read = (toml, sets = []) => engine.Lab.read("scenario.toml", toml, sets, files, 1000);
  assert.throws(() => read("schema = 1\nnme = 3"), /^Error: scenario.toml:2: nme: unknown key "nme"; did you mean "name"/);
  assert.throws(() => read("schema = ["), /not valid TOML/);
  assert.throws(() => read(example("xcp-fig10"), ["topology.rate=fast"]), /topology.rate/);
  const named = example("cellular-trace").replace("cellular.trace", "/etc/passwd");
  assert.throws(() => read(named), /the files of the examples, no others/);
});
