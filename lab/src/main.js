// The page: what is set up, what plays, and what it shows.
import { amount, Chart, css, groupOf, shown, title, unit } from "./charts.js";
import { editor } from "./editor.js";
import { Engine, trusted } from "./engine.js";
import { guide } from "./guide.js";
import { knobs } from "./knobs.js";
import { HOPS_PER_S, refusal } from "./limits.js";
import { Network } from "./network.js";
import { download, pack, unpack } from "./share.js";
import { Store } from "./store.js";
import { getKey, setKey, tables } from "./toml.js";

const { examples, files, explorables } = DATA;
const $ = (id) => document.getElementById(id);
const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

/** Scenario text [characters]. */
const MOST_TEXT = 150_000;
const MOST_PACKETS_SHOWN = 12_000;
/** Packet-hops of a run that the fluid engine is asked for, too. */
const MOST_FLUID_HOPS = 1e8;
const DEFAULT_CHARTS = ["queue_pkts", "cwnd_pkts", "goodput_bps", "utilization_ratio"];

const state = {
  lanes: [],
  charts: [...DEFAULT_CHARTS],
  playhead: 0,
  seen: 0,
  playing: false,
  speed: 1,
  hops_per_s: HOPS_PER_S,
  controller: undefined,
  explorable: undefined,
};
let registry;
let tomlEditor;
let ownEditor;
let knobPanel;
let guidePanel;

// Colours: a hue for each group, its flows lighter and darker.
const HUES = [212, 28, 145, 330, 262, 52, 185, 0];
const dark = () => document.documentElement.dataset.theme === "dark";
const palette = (about, flow, place) => {
  // One group of a few flows: a hue for each of them instead. Links have their place's.
  const alone = place !== undefined || (about.groups.length === 1 && about.flows <= HUES.length);
  const group = place ?? (alone ? flow : groupOf(about, flow));
  const hue = HUES[(group + HUES.length) % HUES.length];
  const shade = alone ? 0 : ((flow * 37) % 5) * 5;
  return dark() ? `hsl(${hue} 75% ${58 + shade}%)` : `hsl(${hue} 75% ${28 + shade}%)`;
};

function say(text) {
  if ($("status").textContent !== text) $("status").textContent = text;
}

function complain(message) {
  $("error").hidden = !message;
  $("error").textContent = message ? String(message).slice(0, 2000) : "";
}

// The worker.

const engine = new Engine({
  source: WORKER,
  attached: files,
  onSlice: heard,
  onEnded: async (reason, worked) => {
    complain(worked ? `${reason}. A new worker was started; run again, or change the scenario first.` : reason);
    state.playing = false;
    showPlaying();
    for (const lane of state.lanes) lane.over = lane.gone = true;
    tell();
    // One that cannot even start would not start again either.
    if (worked) await start().catch((error) => complain(error.message));
  },
});

async function start() {
  registry = await engine.start();
  return registry;
}

function heard({ lane: name, error, now, series, work, result }) {
  const lane = state.lanes.find((one) => one.name === name);
  if (!lane) return;
  if (error) {
    lane.over = true;
    complain(`${lane.label}: ${error}`);
    settle();
    return;
  }
  lane.store.add(series);
  lane.store.now = now;
  lane.hops = work[1];
  lane.dirty = true;
  remember();
  if (result) {
    lane.store.result = result;
    lane.store.now = lane.store.about.duration_s;
    lane.over = true;
    const seconds = (performance.now() - lane.began) / 1000;
    lane.wall_s = seconds;
    if (result.packet_hops > 1e6 && state.lanes.length === 1) state.hops_per_s = result.packet_hops / seconds;
    numbers(lane);
    settle();
  }
}

/** What a branch was before it is its trunk's, as soon as that has come so far. */
function remember() {
  const [trunk] = state.lanes;
  for (const lane of state.lanes) {
    if (!lane.branch || lane.remembers || trunk.store.now < lane.branch.at) continue;
    lane.store.take(trunk.store, lane.branch.at);
    lane.remembers = lane.dirty = true;
  }
}

/** Are all lanes at their ends? */
function settle() {
  if (!state.lanes.every((lane) => lane.over)) return;
  engine.idle();
  tell();
}

/** Says how far the runs are, unless somebody has asked for others and is to hear of those. */
function tell() {
  if (waiting > 0) return;
  if (state.lanes.some((lane) => lane.gone)) return say("These runs have ended: Run starts them again.");
  const done = state.lanes.filter((lane) => lane.store.result);
  if (!state.lanes.every((lane) => lane.over)) say("Computing ahead of what is shown.");
  else if (done.length > 0) say(`Ready: ${done.map((lane) => lane.label).join(" and ")} computed to the end.`);
  else if (state.lanes.length > 0) say("Stopped before the end.");
}

// Runs.

let opening = Promise.resolve();
let waiting = 0;
let newest = 0;
/** Does this after all that was begun before it. */
function inTurn(work) {
  waiting += 1;
  say("Reading the scenario.");
  const turn = opening.then(work).finally(() => {
    waiting -= 1;
    tell();
  });
  opening = turn.catch(() => {});
  return turn;
}

/**
 * Opens runs for these `{ toml, label, rep, branch }`, in place of those that are shown. When it is
 * called again before its turn has come, only the last call counts.
 */
function open(wanted, options = {}) {
  const mine = ++newest;
  return inTurn(() => (mine === newest ? opened(wanted, options) : false));
}

let serial = 0;
/** No two runs have one name: what the worker still says of an old one is no other's. */
const laneName = () => `run ${++serial}`;

async function opened(wanted, { at = 0, play = false } = {}) {
  const long = wanted.find(({ toml }) => toml.length > MOST_TEXT);
  const lanes = [];
  try {
    if (long) throw new Error(`a scenario has at most ${MOST_TEXT} characters here`);
    for (const { toml, branch } of wanted) {
      if (branch) continue;
      const refused = refusal(await engine.ask("read", { toml }), state.hops_per_s);
      if (refused) throw new Error(refused);
    }
    for (const { toml, label, rep = 0, branch } of wanted) {
      const lane = { name: laneName(), toml, label, rep, branch, over: false, began: performance.now() };
      lanes.push(lane);
      if (branch) {
        const trunk = lanes[0];
        if (trunk === lane) throw new Error("a branch needs the run that it goes on from");
        lane.store = new Store(await branched(lane.name, trunk.name, branch));
      } else {
        lane.store = new Store(await engine.ask("open", { lane: lane.name, toml, rep }));
      }
    }
    await put(lanes, at, play);
    complain("");
    tomlEditor?.mark("");
    $("text-error").textContent = "";
    return true;
  } catch (error) {
    for (const lane of lanes) if (!state.lanes.includes(lane)) engine.ask("close", { lane: lane.name }).catch(() => {});
    complain(error.message);
    tomlEditor?.mark(error.message);
    $("text-error").textContent = error.message;
    state.playing = false;
    showPlaying();
    return false;
  }
}

/** Makes a branch, unless what it goes on with is too large. */
async function branched(lane, from, { at, sets }) {
  const { about } = await engine.ask("branch", { lane, from, at, sets });
  const refused = refusal(about, state.hops_per_s);
  if (!refused) return about;
  await engine.ask("close", { lane });
  throw new Error(refused);
}

/** Shows these runs in place of the others, and lets them go on. */
async function put(lanes, at, play) {
  const names = lanes.map((lane) => lane.name);
  const gone = state.lanes.filter((lane) => !names.includes(lane.name));
  show(lanes, at, play);
  for (const { name } of gone) await engine.ask("close", { lane: name });
  await engine.run(names);
  // They have begun: these may take a while.
  for (const lane of lanes) fluid(lane);
}

function show(lanes, at, play) {
  for (const lane of state.lanes) lane.charts?.forEach((chart) => chart.destroy());
  state.lanes = lanes;
  const duration = longest();
  state.playhead = Math.min(at, duration);
  state.seen = state.playhead;
  state.playing = play;
  build();
  remember();
  draw();
  showPlaying();
  tomlEditor.text = lanes[0].toml;
  const listed = Object.keys(examples).find((name) => examples[name] === lanes[0].toml);
  $("example").value = listed?.replace(/\.toml$/, "") ?? "";
  knobPanel.show(lanes[0].toml, lanes[0].store.about);
  branchKeys();
}

const longest = () => Math.max(...state.lanes.map((lane) => lane.store.about.duration_s), 1e-9);
const computed = () => Math.min(...state.lanes.map((lane) => (lane.over ? Infinity : lane.store.now)), longest());

/** The fluid engine's curves, where it has a form of all that is in the scenario; else the reason. */
async function fluid(lane) {
  const { about } = lane.store;
  if (!lane.fluid) {
    lane.fluid = { series: new Map(), said: "" };
    try {
      if (about.fluid !== null) throw new Error(about.fluid);
      if (about.packet_hops_about > MOST_FLUID_HOPS) throw new Error("the run is too large for it here");
      const { series, until } = await engine.ask("fluid", { lane: lane.name });
      const store = new Store(about);
      store.add(series, until ?? Infinity);
      lane.fluid.series = new Map([...store.series].map(([name, { columns }]) => [name, columns]));
      lane.fluid.said =
        until === null
          ? "Dashed: the fluid engine."
          : `Dashed: the fluid engine, up to the branch; what changes there has one value in a fluid run.`;
    } catch (error) {
      // The rest of the sentence lists what it has.
      lane.fluid.said = `No fluid curve: ${error.message.split("; the fluid engine has")[0]}.`;
    }
  }
  // A branch may have been made of it meanwhile.
  const now = state.lanes.find((one) => one.name === lane.name);
  if (!now) return;
  notes(now);
  now.charts.forEach((chart, slot) => {
    chart.fluid = now.fluid.series;
    chart.show(now.store, state.charts[slot], shownLinks(now));
    chart.draw(state.playhead, state.seen);
  });
}

/** What else there is to say of a lane. */
function notes(lane) {
  const model = lane.fluid?.series.size > 0 ? "It solves equations for mean rates and queues and has no packets: compare trends, not bursts." : "";
  const all = [...lane.store.about.warnings.map((text) => `Note: ${text}.`), lane.fluid?.said, model, lane.unseen];
  lane.notes.replaceChildren(...all.filter(Boolean).map((textContent) => make("p", { className: "hint", textContent })));
}

/** The links whose curves are drawn: the bottleneck, else those that data crosses. */
function shownLinks(lane) {
  const { about } = lane.store;
  if (about.bottleneck !== null) return [about.bottleneck];
  return [...new Set(about.groups.flatMap((group) => group.path))].sort((a, b) => a - b);
}

// What a lane looks like.

function build() {
  $("lanes").replaceChildren();
  for (const lane of state.lanes) {
    const canvas = make("canvas", { className: "network" });
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `Network of ${lane.label}: packets on their lines and queues before them. The line below says the same in words.`);
    lane.now = make("p", { className: "now" });
    lane.header = make("p", { className: "now header" });
    lane.notes = make("div", {});
    lane.numbers = make("div", { className: "numbers" });
    const box = make("section", { className: "lane" }, make("h2", { textContent: lane.label }), canvas, lane.now, lane.header);
    box.setAttribute("aria-label", lane.label);
    lane.network = new Network(canvas, palette);
    lane.network.open(lane.store.about);
    $("lanes").append(box);
    lane.charts = state.charts.map((name, slot) => chart(lane, box, name, slot));
    box.append(lane.notes, lane.numbers);
    notes(lane);
    if (lane.store.result) numbers(lane);
  }
}

function chart(lane, box, name, slot) {
  const select = make("select", { ariaLabel: `Curve ${slot + 1} of ${lane.label}` });
  const output = make("output");
  const figure = make(
    "figure",
    {},
    make("figcaption", {}, select, output),
    make("div", { className: "plot" }),
    make("div", { className: "legend" }),
  );
  box.append(figure);
  figure.querySelector(".plot").setAttribute("aria-hidden", "true");
  const made = new Chart(figure, palette);
  made.links = shownLinks(lane);
  // Lanes share a scale, so that their curves can be held against each other.
  made.ends = () => ends(slot);
  made.show(lane.store, name, made.links);
  options(lane, select, name);
  const fill = () => options(lane, select, state.charts[slot]);
  select.addEventListener("pointerdown", fill);
  select.addEventListener("focus", fill);
  select.addEventListener("change", () => {
    state.charts[slot] = select.value;
    for (const other of state.lanes) {
      other.charts[slot].show(other.store, select.value, shownLinks(other));
      other.charts[slot].draw(state.playhead, state.seen);
      options(other, other.charts[slot].figure.querySelector("select"), select.value);
    }
  });
  return made;
}

/** The least and the largest value of a slot's series over all lanes, of what has been seen, and 0. */
function ends(slot) {
  const name = state.charts[slot];
  let least = 0;
  let most = 0;
  for (const lane of state.lanes) {
    const series = lane.store.series.get(name);
    if (!series) continue;
    const links = series.of === "link" ? shownLinks(lane) : null;
    const until = Math.min(Math.floor(state.seen / lane.store.every) + 1, lane.store.samples);
    for (const columns of [series.columns, lane.fluid?.series.get(name) ?? []]) {
      for (const [id, column] of columns) {
        if (links && !links.includes(id)) continue;
        for (let k = 0; k < until; k++) {
          if (column[k] > most) most = column[k];
          if (column[k] < least) least = column[k];
        }
      }
    }
  }
  const { scale } = unit(name);
  return [least * scale, most * scale];
}

function options(lane, select, name) {
  const known = new Set([...lane.store.series.keys(), ...DEFAULT_CHARTS, name]);
  const sorted = [...known].sort((a, b) => title(a).localeCompare(title(b)));
  const shownNow = [...select.options].map((one) => one.value).join();
  if (shownNow !== sorted.join()) {
    select.replaceChildren(
      ...sorted.map((value) => {
        const text = unit(value).text;
        return make("option", { value, textContent: text ? `${title(value)} [${text}]` : title(value) });
      }),
    );
  }
  select.value = name;
}

function numbers(lane) {
  const { result, about } = lane.store;
  const rows = [];
  const link = result.links[shownLinks(lane)[0]];
  if (link) {
    rows.push(
      `${link.name}: utilization ${shown(link.utilization_ratio)}, mean queue ${amount(link.queue_mean_pkts, "packets")} ` +
        `(longest ${link.queue_max_pkts}), ${link.drops_pkts} of ${link.arrivals_pkts} packets dropped ` +
        `(${link.total_drops_pkts} in the whole run), ${link.marks_pkts} marked`,
    );
  }
  for (const group of result.summary.groups ?? []) {
    const [least, mean, most] = ["min", "mean", "max"].map((key) => shown(group.goodput_bps?.[key] / 1e6));
    const each = !group.goodput_bps ? "" : group.flows === 1 ? `, ${mean} Mbit/s` : `, ${mean} Mbit/s on average (${least} to ${most})`;
    const jain = group.jain_index_ratio !== null && group.flows > 1 ? `, Jain's index ${shown(group.jain_index_ratio)}` : "";
    rows.push(`${group.group}: ${group.flows} ${group.flows === 1 ? "flow" : "flows"} of ${group.protocol}${each}${jain}`);
  }
  const span = `from ${shown(about.warmup_s)} s to ${shown(result.simulated_s)} s, seed ${about.seed}${about.rep > 0 ? `, replication ${about.rep}` : ""}`;
  const list = make("ul", {}, ...rows.map((text) => make("li", { textContent: text })));
  const fingerprint = make("p", {}, "Fingerprint ", make("code", { className: "fingerprint", textContent: result.fingerprint }));
  const took = make("p", {
    className: "hint",
    textContent: `${result.packet_hops} packet-hops in ${lane.wall_s.toFixed(2)} s of this page's time`,
  });
  lane.numbers.replaceChildren(make("h3", { textContent: `Numbers ${span}` }), list, fingerprint, took);
}

// Playing.

function showPlaying() {
  $("play").textContent = state.playing ? "Pause" : "Run";
  document.body.dataset.playing = state.playing;
}

const SPEEDS = 100;
/** The slider's end shows the run in two seconds, its start a millisecond a second. */
function speedOf(place) {
  const [low, high] = [1e-3, longest() / 2];
  return low * (high / low) ** (place / SPEEDS);
}

function showSpeed() {
  state.speed = speedOf(Number($("speed").value));
  const { speed } = state;
  $("speed-text").textContent = speed >= 0.995 ? `${shown(speed)} s/s` : `${shown(speed * 1000)} ms/s`;
  $("speed").setAttribute("aria-valuetext", `${shown(speed)} simulated seconds a second`);
}

function seek(t) {
  state.playhead = Math.max(0, Math.min(t, computed()));
  state.seen = Math.max(state.seen, state.playhead);
  $("inspect").hidden = true;
  draw();
}

let last = 0;
let turn = 0;
let spoken = 0;
const frames = { count: 0, since: performance.now(), fps: 0 };

function frame(time) {
  requestAnimationFrame(frame);
  const dt = Math.min((time - last) / 1000, 0.1);
  last = time;
  frames.count += 1;
  if (time - frames.since > 1000) {
    frames.fps = (1000 * frames.count) / (time - frames.since);
    Object.assign(frames, { count: 0, since: time });
    document.body.dataset.fps = frames.fps.toFixed(0);
  }
  if (state.lanes.length === 0) return;
  if (state.playing) {
    state.playhead = Math.max(state.playhead, Math.min(state.playhead + dt * state.speed, computed()));
    state.seen = Math.max(state.seen, state.playhead);
    if (state.playhead >= longest() - 1e-9 && state.lanes.every((lane) => lane.over)) {
      state.playing = false;
      showPlaying();
      draw();
    }
  }
  for (const lane of state.lanes) {
    lane.network.draw(state.playhead, (link) => lane.store.at("queue_pkts", link, state.playhead) ?? 0);
    look(lane);
  }
  // One chart a frame: none of them keeps a frame waiting.
  const all = state.lanes.flatMap((lane) => lane.charts.map((chart) => [lane, chart]));
  if (state.playing || state.lanes.some((lane) => lane.dirty)) {
    const [, one] = all[turn++ % all.length];
    one.draw(state.playhead, state.seen);
    if (turn % all.length === 0) for (const lane of state.lanes) lane.dirty = false;
  }
  if (time - spoken > 200) {
    spoken = time;
    words();
  }
}

/** Draws everything now. */
function draw() {
  for (const lane of state.lanes) lane.charts?.forEach((chart) => chart.draw(state.playhead, state.seen));
  if (state.lanes.every((lane) => lane.charts)) words();
}

function words() {
  const duration = longest();
  const digits = state.speed < 0.05 ? 5 : 2;
  $("time").textContent = `${state.playhead.toFixed(digits)} of ${shown(duration)} s`;
  if (document.activeElement !== $("scrub") || state.playing) {
    $("scrub").value = String(Math.round((1000 * state.playhead) / duration));
  }
  $("scrub").setAttribute("aria-valuetext", `${state.playhead.toFixed(2)} seconds`);
  for (const lane of state.lanes) {
    const { store } = lane;
    const link = shownLinks(lane)[0];
    const queue = store.at("queue_pkts", link, state.playhead);
    const busy = store.at("utilization_ratio", link, state.playhead);
    const load = store.at("router_rho", link, state.playhead);
    const loaded = load === null ? "" : `; load factor ${shown(load)} when the router last measured it`;
    const wait = shown(queue) === "1" ? "1 packet waits" : `${shown(queue)} packets wait`;
    const used = `${busy === null ? "–" : Math.round(100 * busy)} % busy in the last ${shown(store.every * 1000)} ms`;
    const text = `${store.about.links[link].name}: ${wait}, ${used}${loaded}`;
    if (lane.now.textContent !== text) lane.now.textContent = text;
    const header = headerOf(lane, link);
    if (header !== null && lane.header.textContent !== header) lane.header.textContent = header;
    lane.charts.forEach((chart) => chart.say());
  }
}

/** What the last packet says that left a link; null where the drawing has none. */
function headerOf({ network }, link) {
  const i = network.last(state.playhead, link);
  if (i === null) return null;
  const { flow, group, ecn, fields } = network.packet(i, registry.protocols);
  const said = fields.map(({ name, value, unit: of }) => `${name} ${shown(value)} ${of}`.trimEnd());
  return `Its last packet: flow ${flow} (${group}), ${[`ECN ${ecn.toString(2).padStart(2, "0")}`, ...said].join(", ")}`;
}

/** Asks for the packets round the playhead when what is there does not hold it. */
function look(lane) {
  const { network, store } = lane;
  const t = state.playhead;
  if (lane.looking || lane.gone || lane.unseen || network.holds(t) || t > store.now) return;
  const now = performance.now();
  if (now - (lane.looked ?? -1e9) < 120) return;
  const { about } = store;
  const owd = Math.max(...about.links.map((link) => link.owd_s));
  const packets = about.links.reduce((sum, link) => sum + link.rate_bps / (8 * about.data_bytes), 0);
  // Two seconds of what will play, if they are not too many packets.
  const ahead = Math.min(Math.max(state.speed * 2, 1e-3), MOST_PACKETS_SHOWN / 2 / packets, about.duration_s);
  const [from, to] = [Math.max(t - owd - 0.002, 0), Math.min(t + ahead, store.now)];
  lane.looking = true;
  const mine = (lane.views = (lane.views ?? 0) + 1);
  engine
    .ask("packets", { lane: lane.name, from, to, most: MOST_PACKETS_SHOWN })
    .then((view) => {
      // Another view has been asked for since, or other runs.
      if (mine !== lane.views || !state.lanes.includes(lane)) return;
      view.first = from > 0 ? from + owd : 0;
      network.view = view;
    })
    .catch((error) => {
      if (!state.lanes.includes(lane) || lane.gone) return;
      lane.unseen = `No packets are drawn: ${error.message}`;
      notes(lane);
    })
    .finally(() => {
      lane.looking = false;
      lane.looked = performance.now();
    });
}

/** Goes to the next packet that leaves the bottleneck, and shows it. */
async function nextPacket() {
  state.playing = false;
  showPlaying();
  const [lane] = state.lanes;
  if (!lane || lane.gone) return;
  const link = shownLinks(lane)[0];
  const t = state.playhead;
  const { about } = lane.store;
  const mine = (lane.views = (lane.views ?? 0) + 1);
  const owd = Math.max(...about.links.map((one) => one.owd_s));
  let found = lane.network.holds(t) ? lane.network.next(t, link) : null;
  for (let span = 0.02; found === null && span < about.duration_s * 4; span *= 8) {
    const [from, to] = [Math.max(t - owd - 0.002, 0), Math.min(t + span, about.duration_s, lane.store.now)];
    const view = await engine.ask("packets", { lane: lane.name, from, to, most: 50_000 });
    // Somebody has gone elsewhere meanwhile.
    if (mine !== lane.views || !state.lanes.includes(lane) || state.playhead !== t) return;
    view.first = from > 0 ? from + owd : 0;
    lane.network.view = view;
    found = lane.network.next(t, link);
    if (to >= lane.store.now) break;
  }
  if (found === null) return say("No packet leaves the bottleneck later than this.");
  lane.network.mark(found);
  const packet = lane.network.packet(found, registry.protocols);
  state.playhead = packet.t + 1e-9;
  state.seen = Math.max(state.seen, state.playhead);
  draw();
  lane.network.mark(found);
  const entries = [
    ["leaves", `${packet.t.toFixed(6)} s on ${packet.link}, ${packet.waiting === 1 ? "1 packet waits" : `${packet.waiting} packets wait`} behind it`],
    ["flow", `${packet.flow} (${packet.group}), ${packet.kind} ${packet.seq}${packet.again ? ", sent again" : ""}, ${packet.size} bytes`],
    ["ECN bits", packet.ecn.toString(2).padStart(2, "0")],
    ...packet.fields.map(({ name, value, unit: of, doc }) => [name, `${shown(value)} ${of}${doc ? `: ${doc}` : ""}`]),
  ];
  $("packet").replaceChildren(...entries.flatMap(([key, value]) => [make("dt", { textContent: key }), make("dd", { textContent: value })]));
  $("inspect").hidden = false;
}

// Side by side, branches, races.

/** The scenario with another protocol in every group, over the queue that it needs. */
export function withProtocol(toml, name) {
  const info = registry.protocols.find((one) => one.name === name);
  let text = toml;
  for (const group of tables(text, "flows")) text = setKey(text, `flows.${group}`, "protocol", `"${name}"`);
  const queue = getKey(text, "topology", "queue");
  const needs = info?.router ?? (registry.queues.find((one) => one.name === queue)?.role === "policy" ? queue : "droptail");
  return setKey(text, "topology", "queue", `"${needs}"`);
}

function compareOptions() {
  const plain = registry.protocols.filter((one) => !one.open_loop && one.name !== "python");
  $("compare").replaceChildren(
    make("option", { value: "", textContent: "nothing: one run" }),
    ...plain.map((one) => make("option", { value: one.name, textContent: `${one.name}: ${one.summary}`.slice(0, 70) })),
  );
}

const first = () => state.lanes[0] ?? { toml: "", label: "", store: undefined };
const labelOf = (toml) => {
  const groups = tables(toml, "flows");
  const kinds = [...new Set(groups.map((group) => getKey(toml, `flows.${group}`, "protocol") ?? ""))];
  return kinds.filter(Boolean).join(" and ") || getKey(toml, "", "name") || "scenario";
};

function compare(name) {
  const { toml, rep } = first();
  const lanes = [{ toml, label: labelOf(toml), rep }];
  if (name) lanes.push({ toml: withProtocol(toml, name), label: name, rep });
  return open(lanes, { at: 0, play: true });
}

function branchKeys() {
  const { about } = first().store;
  const links = shownLinks(first()).map((id) => about.links[id].name);
  const keys = links.flatMap((name) => [`links.${name}.rate`, `links.${name}.buffer`]);
  const stops = about.groups.filter((group) => !group.arriving).map((group) => `flows.${group.name}.stop`);
  const all = [...keys, ...stops, "key=value"];
  $("branch-key").replaceChildren(...all.map((value) => make("option", { value, textContent: value })));
  if ($("branch-value").value === "" && about.links.length > 0) {
    $("branch-value").value = `${+(about.links[shownLinks(first())[0]].rate_bps / 2e6).toPrecision(4)}Mbps`;
  }
}

function branch() {
  const key = $("branch-key").value;
  const value = $("branch-value").value.trim();
  const set = key === "key=value" ? value : `${key}=${value}`;
  const at = state.playhead;
  complain("");
  return inTurn(async () => {
    const lane = first();
    try {
      if (!lane.store || lane.gone) throw new Error("run it again first");
      const from = { at, sets: [set] };
      const name = laneName();
      const store = new Store(await branched(name, lane.name, from));
      store.now = at;
      const label = `from ${shown(at)} s: ${set}`;
      const other = { name, toml: lane.toml, label, rep: lane.rep, branch: from, store, over: false, began: performance.now() };
      const trunk = { ...lane, label: labelOf(lane.toml), looking: false };
      await put([trunk, other], at, true);
    } catch (error) {
      complain(error.message);
    }
  });
}

const OWN = `class Mine extends Sender {
  // AIMD: one packet more per round trip, half at a loss.
  constructor(context) {
    super(context);
    this.ssthresh = Infinity;
  }
  on_ack(ack) {
    if (ack.acked === 0 || ack.recovering) return;
    if (this.cwnd < this.ssthresh) this.cwnd += 1;
    else this.cwnd += 1 / this.cwnd;
  }
  on_loss(loss) {
    this.ssthresh = Math.max(this.cwnd / 2, 2);
    this.cwnd = loss.kind === "timeout" ? 1 : this.ssthresh;
  }
}
`;

async function race() {
  $("own-error").textContent = "";
  try {
    const source = ownEditor.text;
    if (source.length > 20_000) throw new Error("a controller has at most 20000 characters");
    const name = await engine.ask("define", { source });
    state.controller = source;
    const { toml, rep } = state.lanes.find((lane) => !/"page:/.test(lane.toml)) ?? first();
    let mine = setKey(toml, "protocols.lab-own", "kind", '"python"');
    mine = setKey(mine, "protocols.lab-own", "code", `"page:${name}"`);
    for (const group of tables(mine, "flows")) mine = setKey(mine, `flows.${group}`, "protocol", '"lab-own"');
    mine = setKey(mine, "topology", "queue", '"droptail"');
    const lanes = [
      { toml: mine, label: `${name} (yours)`, rep },
      { toml: withProtocol(toml, "cubic"), label: "cubic", rep },
      { toml: withProtocol(toml, "xcp"), label: "xcp", rep },
    ];
    await open(lanes, { play: true });
    if (!$("error").hidden) $("own-error").textContent = $("error").textContent;
  } catch (error) {
    $("own-error").textContent = error.message;
  }
}

// Links and files.

/** What opens the runs that are shown once more. */
const again = () => state.lanes.map(({ toml, label, rep, branch: from }) => ({ toml, label, rep: rep || undefined, branch: from }));

async function link() {
  const packed = await pack({
    lanes: again(),
    at: +state.playhead.toFixed(6),
    charts: state.charts,
    controller: state.controller,
    explorable: state.explorable,
  });
  const url = new URL(location.href);
  url.hash = packed;
  return url.href;
}

async function share() {
  const href = await link();
  history.replaceState(null, "", href);
  try {
    await navigator.clipboard.writeText(href);
    say("The link is in the clipboard and in the address bar; it has the scenario in it.");
  } catch {
    say("The link is in the address bar; it has the scenario in it.");
  }
}

async function fromLink() {
  const fragment = location.hash.slice(1);
  if (!fragment) return false;
  if (Object.hasOwn(examples, `${fragment}.toml`)) {
    await example(fragment);
    return true;
  }
  const known = explorables.find((one) => `explore-${one.id}` === fragment);
  if (known) {
    guidePanel.open(known.id);
    return true;
  }
  try {
    const { lanes, at, charts, controller, explorable } = await unpack(fragment);
    const runs = await Promise.all(lanes.filter(({ toml }) => !/code\s*=\s*"page:/.test(toml)).map(written));
    // Another link was followed meanwhile.
    if (location.hash.slice(1) !== fragment) return true;
    if (charts.length === 4) state.charts = charts;
    if (explorable) guidePanel.select(explorable);
    if (controller !== undefined) {
      // Somebody else's program runs only when it is asked to.
      ownEditor.text = controller;
      tab("tab-own");
    }
    if (controller !== undefined && runs.length < lanes.length) {
      $("own-error").textContent = "This link brings a controller: read it, and race it if you like.";
      runs.length = Math.min(runs.length, 1);
    }
    if (runs.length === 0) return false;
    tab(controller !== undefined ? "tab-own" : "tab-knobs");
    return await open(runs, { at });
  } catch (error) {
    if (location.hash.slice(1) !== fragment) return true;
    complain(`This link cannot be opened: ${error.message}`);
    return false;
  }
}

/** A link's run as the editor has it. */
async function written({ toml, label, rep, branch: from, sets }) {
  const text = sets.length > 0 ? await engine.ask("changed", { toml, sets }) : toml;
  return { toml: text, label: label || labelOf(text), rep, branch: from };
}

async function example(name) {
  state.charts = [...DEFAULT_CHARTS];
  state.explorable = undefined;
  if ($("panel-guide").hidden === false) tab("tab-knobs");
  const toml = examples[`${name}.toml`];
  return open([{ toml, label: labelOf(toml) }], { play: false });
}

const stem = () => (getKey(first().toml, "", "name") ?? "scenario").replace(/[^\w.-]+/g, "-").slice(0, 60);

function picture() {
  const [lane] = state.lanes;
  const shots = [lane.network.canvas, ...lane.charts.map((one) => one.canvas())].filter(Boolean);
  const width = Math.max(...shots.map((one) => one.width));
  const gap = 30;
  const canvas = make("canvas", { width, height: shots.reduce((sum, one) => sum + one.height + gap, gap) });
  const ctx = canvas.getContext("2d");
  ctx.fillStyle = css("--surface");
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.font = "16px system-ui, sans-serif";
  let y = 20;
  const names = [`${lane.label}, ${state.playhead.toFixed(2)} s`, ...state.charts.map((name) => `${title(name)} [${unit(name).text}]`)];
  shots.forEach((one, i) => {
    ctx.fillStyle = css("--ink");
    ctx.fillText(names[i], 8, y);
    ctx.drawImage(one, 0, y + 6);
    y += one.height + gap;
  });
  canvas.toBlob((blob) => download(`${stem()}.png`, blob));
}

// The page's own parts.

function tab(id) {
  for (const one of document.querySelectorAll('[role="tab"]')) {
    const chosen = one.id === id;
    one.setAttribute("aria-selected", String(chosen));
    one.tabIndex = chosen ? 0 : -1;
    $(one.getAttribute("aria-controls")).hidden = !chosen;
  }
}

function theme(wanted) {
  document.documentElement.dataset.theme = wanted;
  $("theme").setAttribute("aria-pressed", String(wanted === "dark"));
  state.lanes.forEach((lane) =>
    lane.charts?.forEach((one, slot) => {
      one.show(lane.store, state.charts[slot], shownLinks(lane));
      one.draw(state.playhead, state.seen);
    }),
  );
}

function remembered(key, value) {
  try {
    if (value === undefined) return localStorage.getItem(key);
    localStorage.setItem(key, value);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  return null;
}

function wire() {
  const none = make("option", { value: "", textContent: "(your own)" });
  $("example").replaceChildren(none, ...Object.keys(examples).map((name) => make("option", { textContent: name.replace(/\.toml$/, "") })));
  $("example").addEventListener("change", () => $("example").value && example($("example").value));
  $("play").addEventListener("click", () => {
    if (state.lanes.length === 0) return;
    if (state.lanes.some((lane) => lane.gone)) {
      open(again(), { play: true });
      return;
    }
    if (!state.playing && state.playhead >= longest() - 1e-9) state.playhead = 0;
    state.playing = !state.playing;
    showPlaying();
    draw();
  });
  $("back").addEventListener("click", () => seek(0));
  $("step").addEventListener("click", () => nextPacket().catch((error) => complain(error.message)));
  $("scrub").addEventListener("input", () => {
    state.playing = false;
    showPlaying();
    seek((Number($("scrub").value) / 1000) * longest());
  });
  $("speed").addEventListener("input", showSpeed);
  $("apply").addEventListener("click", apply);
  $("compare").addEventListener("change", () => compare($("compare").value));
  $("branch").addEventListener("click", branch);
  $("race").addEventListener("click", race);
  $("share").addEventListener("click", share);
  $("get-toml").addEventListener("click", () => download(`${stem()}.toml`, first().toml, "application/toml"));
  $("get-csv").addEventListener("click", () => download(`${stem()}.csv`, first().store.csv(), "text/csv"));
  $("get-png").addEventListener("click", picture);
  $("theme").addEventListener("click", () => {
    theme(dark() ? "light" : "dark");
    remembered("clearpipe-lab-theme", document.documentElement.dataset.theme);
  });
  const tabs = [...document.querySelectorAll('[role="tab"]')];
  tabs.forEach((one, place) => {
    one.addEventListener("click", () => tab(one.id));
    one.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!move) return;
      const next = tabs[(place + move + tabs.length) % tabs.length];
      tab(next.id);
      next.focus();
    });
  });
  new ResizeObserver(() => state.lanes.forEach((lane) => lane.charts?.forEach((one) => one.resize()))).observe($("lanes"));
  window.addEventListener("hashchange", fromLink);
}

function apply() {
  const toml = tomlEditor.text;
  return open([{ toml, label: labelOf(toml), rep: first().rep }], { play: true });
}

let checking;
/** While somebody writes: what the engine would say. */
function check(toml) {
  clearTimeout(checking);
  checking = setTimeout(async () => {
    if (toml === first().toml) return;
    const fault = await engine.ask("read", { toml }).then(() => "", (error) => error.message);
    if (tomlEditor.text !== toml) return;
    tomlEditor.mark(fault);
    $("text-error").textContent = fault;
  }, 400);
}

async function main() {
  const preferred = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  theme(remembered("clearpipe-lab-theme") ?? preferred);
  wire();
  say("Starting the engine.");
  await start();
  $("version").textContent = `Clearpipe ${registry.version}.`;
  tomlEditor = editor($("toml"), { label: "Scenario in TOML", language: "toml", schema: registry.schema, changed: check, apply });
  ownEditor = editor($("own"), { label: "Controller in JavaScript", language: "javascript", apply: race });
  ownEditor.text = OWN;
  knobPanel = knobs($("knobs"), registry, {
    changed: (toml) => open([{ toml, label: labelOf(toml), rep: first().rep }], { at: state.playhead, play: state.playing }),
  });
  guidePanel = guide({ select: $("explorable"), box: $("guide") }, explorables, {
    open: (lanes, options, charts, id) => {
      state.charts = charts.length === 4 ? [...charts] : [...DEFAULT_CHARTS];
      state.explorable = id;
      $("speed").value = "80";
      return open(lanes, options).then((good) => {
        showSpeed();
        return good;
      });
    },
    label: labelOf,
  });
  compareOptions();
  guidePanel.select(explorables[0].id);
  if (!(await fromLink())) {
    const fault = $("error").textContent;
    await guidePanel.open(explorables[0].id);
    complain(fault);
  }
  showSpeed();
  requestAnimationFrame(frame);
  // For the console, and for tests: whole runs of the engine that is on the page.
  globalThis.clearpipeLab = { run: (toml, sets = []) => engine.ask("whole", { toml, sets }) };
  document.body.dataset.ready = "true";
  if ("serviceWorker" in navigator && location.protocol.startsWith("http")) {
    navigator.serviceWorker.register(trusted("sw.js")).catch(() => ($("version").textContent += " Here it needs the network every time."));
  }
}

main().catch((error) => complain(error.message));
