// Curves: one chart for each slot and lane. What is drawn is what the playhead has seen.
import uPlot from "uplot";

const MOST_CURVES = 24;

/** Units of the series' names, and what they are shown in. */
const UNITS = [
  [/_pkts$/, "packets", 1],
  [/_bps$/, "Mbit/s", 1e-6],
  [/_bytes$/, "kB", 1e-3],
  [/_s$/, "ms", 1e3],
  [/_ratio$/, "", 1],
  [/^router_(phi|h)$/, "kB", 1e-3],
];

export function unit(name) {
  const found = UNITS.find(([pattern]) => pattern.test(name));
  return found ? { text: found[1], scale: found[2] } : { text: "", scale: 1 };
}

/** Rates are shown as means over some round trips, in each of which a window leaves in bursts. */
const MEANS = /^(goodput_bps|rate_bps|utilization_ratio|macro_goodput_bps)$/;

const WORDS = {
  queue_pkts: "Queue",
  cwnd_pkts: "Congestion windows",
  goodput_bps: "Goodput of flows, mean of 4 RTTs",
  rate_bps: "Sending rate of flows, mean of 4 RTTs",
  srtt_s: "Smoothed RTT",
  utilization_ratio: "Utilization, mean of 4 RTTs",
  drops_pkts: "Drops in each sample",
  router_phi: "φ, the change that the router wants",
  router_h: "h, what the router shuffles",
  router_rho: "Load factor ρ",
  router_avg: "The router's average of its queue",
  router_p_b: "p_b, the router's probability of a drop",
  sender_mode: "Mode of senders",
  sender_lf: "Load factor of senders, lf",
};

/** Whole numbers that stand for something: the curves of several flows lie on each other. */
const CODES = /^sender_(mode|code|lf)$/;

/** What a series is called on the page. */
export function title(name) {
  if (WORDS[name]) return WORDS[name];
  const inner = /^(router|sender|macro_sender)_(.*)$/.exec(name);
  if (inner) return `${inner[2]} (${inner[1].includes("sender") ? "sender" : "router"})`;
  return name;
}

export function shown(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1000 && size < 1e7) return String(+value.toPrecision(4));
  // What rounding leaves of 0.
  if (size < 1e-9) return "0";
  return size >= 1e7 || (size > 0 && size < 0.01) ? value.toPrecision(3) : String(+value.toFixed(2));
}

/** A number with its unit. */
export function amount(value, text) {
  const number = shown(value);
  return `${number} ${number === "1" && text === "packets" ? "packet" : text}`.trim();
}

/** A number at an axis: 12 k rather than 1.2e4. */
function tick(value) {
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e4) return String(+value.toPrecision(4));
  for (const [factor, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (size >= factor) return `${+(value / factor).toPrecision(4)} ${letter}`;
  }
  return size < 1e-9 ? "0" : value.toExponential(0);
}

export class Chart {
  #plot;
  #name;
  #ids = [];
  #scale = 1;
  #width = 1;
  #playhead = 0;
  #seen = 0;
  #fluid;

  constructor(figure, palette) {
    this.figure = figure;
    this.palette = palette;
    this.box = figure.querySelector(".plot");
    this.legend = figure.querySelector(".legend");
    this.caption = figure.querySelector("figcaption output");
  }

  /** Shows series `name` of a store: of flows, or of the links in `links`. */
  show(store, name, links) {
    this.store = store;
    this.#name = name;
    const series = store.series.get(name);
    const flows = (series?.of ?? (/^(cwnd|goodput|srtt|rate|sender)/.test(name) ? "flow" : "link")) === "flow";
    this.flows = flows;
    const known = series ? [...series.columns.keys()].sort((a, b) => a - b) : [];
    const ids = flows ? spread(known, MOST_CURVES) : known.filter((id) => links.includes(id));
    const color = (id) => this.palette(store.about, id, flows ? undefined : links.indexOf(id));
    this.#ids = ids;
    this.#scale = unit(name).scale;
    this.#width = MEANS.test(name) ? Math.ceil((4 * store.about.rtt_s) / store.every) : 1;
    this.#legend(ids, color);
    const axis = {
      stroke: css("--ink-soft"),
      grid: { stroke: css("--line"), width: 1 },
      ticks: { stroke: css("--line"), width: 1 },
      font: "12px system-ui, sans-serif",
    };
    const curve = (stroke, dash) => ({ stroke, dash, width: 1.5, spanGaps: true, points: { show: false } });
    const fluid = this.#fluid?.get(name);
    const fluidIds = fluid && !flows ? [...fluid.keys()].filter((id) => links.includes(id)) : [];
    const first = fluid && flows ? [...fluid.keys()].slice(0, 4) : fluidIds;
    this.#plot?.destroy();
    this.fluidIds = first;
    this.#plot = new uPlot(
      {
        ...this.#size(),
        legend: { show: false },
        cursor: { show: false },
        padding: [8, 18, 0, 0],
        scales: { x: { time: false, range: () => [0, store.about.duration_s] }, y: { range: (_, low, high) => this.#range(low, high) } },
        axes: [
          { ...axis, size: 28, values: (_, all) => all.map((t) => `${+t.toPrecision(6)} s`) },
          { ...axis, size: 54, values: (_, all) => all.map(tick) },
        ],
        series: [{}, ...ids.map((id, i) => curve(color(id), i > 0 && flows && CODES.test(name) ? [8 / i, 8] : undefined)), ...first.map(() => curve(css("--ink"), [6, 4]))],
        hooks: { draw: [(plot) => this.#line(plot)] },
      },
      this.#data(),
      this.box,
    );
  }

  /** The fluid engine's curves, by series and id: columns at the same instants. */
  set fluid(curves) {
    this.#fluid = curves;
  }

  #range(low, high) {
    const [bottom, top] = this.ends?.() ?? [0, 0];
    const most = Math.max(high ?? 0, top);
    const below = Math.min(low ?? 0, bottom);
    const least = below < -1e-9 ? below : 0;
    // Nothing but zeros: an axis up to 1.
    return [least, most > 1e-9 ? most * 1.05 : least < 0 ? 0 : 1];
  }

  #size() {
    return { width: Math.max(this.box.clientWidth, 200), height: 150 };
  }

  #data() {
    const { store } = this;
    const columns = store.series.get(this.#name)?.columns;
    const until = Math.min(Math.floor(this.#seen / store.every + 1e-9) + 1, store.samples);
    const cut = (column) => {
      const part = this.#width > 1 ? means(column, until, this.#width) : column.slice(0, until);
      if (this.#scale !== 1) for (let k = 0; k < part.length; k++) if (part[k] !== null) part[k] *= this.#scale;
      return part;
    };
    const fluid = this.#fluid?.get(this.#name);
    return [
      store.times.slice(0, until),
      ...this.#ids.map((id) => cut(columns.get(id))),
      ...(this.fluidIds ?? []).map((id) => cut(fluid.get(id))),
    ];
  }

  /** Draws up to `seen`, with a line at the playhead. */
  draw(playhead, seen) {
    if (!this.#plot) return;
    this.#playhead = playhead;
    this.#seen = seen;
    const known = this.store.series.get(this.#name)?.columns;
    const fresh = known && (this.flows ? known.size !== this.known && this.#ids.length < MOST_CURVES : this.#ids.length === 0);
    if (fresh) {
      this.known = known.size;
      this.show(this.store, this.#name, this.links ?? []);
    }
    this.#plot.setData(this.#data());
  }

  /** The values at the playhead, for whoever does not see curves. */
  say() {
    const { store } = this;
    const { text } = unit(this.#name);
    const all = this.#ids.map((id) => store.mean(this.#name, id, this.#playhead, this.#width)).filter((v) => v !== null);
    const scaled = all.map((value) => value * this.#scale);
    const ends = [Math.min(...scaled), Math.max(...scaled)];
    const words =
      scaled.length === 0
        ? "no value yet"
        : shown(ends[0]) === shown(ends[1])
          ? amount(ends[0], text)
          : `${shown(ends[0])} to ${amount(ends[1], text)}`;
    if (this.caption.textContent !== words) this.caption.textContent = words;
  }

  #line(plot) {
    const x = Math.round(plot.valToPos(this.#playhead, "x", true));
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = css("--accent");
    ctx.lineWidth = 2;
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }

  #legend(ids, color) {
    const { about } = this.store;
    const alone = about.groups.length === 1 && about.flows > 1 && about.flows <= 8;
    const entries = this.flows && alone
      ? ids.map((id) => [color(id), `${about.groups[0].name} ${id}`])
      : this.flows
      ? [...new Set(ids.map((id) => groupOf(about, id)))].map((group) => {
          const first = ids.find((id) => groupOf(about, id) === group);
          const { name, protocol } = about.groups[group] ?? { name: "arriving flows", protocol: "" };
          return [color(first), name === protocol || !protocol ? name : `${name} (${protocol})`];
        })
      : ids.map((id) => [color(id), about.links[id].name]);
    const items = entries.map(([stroke, label]) => {
      const item = document.createElement("span");
      const key = document.createElement("i");
      key.style.background = stroke;
      item.append(key, label);
      return item;
    });
    if (this.#fluid?.has(this.#name)) {
      const item = document.createElement("span");
      item.textContent = "- - fluid engine";
      items.push(item);
    }
    this.legend.replaceChildren(...items);
  }

  resize() {
    this.#plot?.setSize(this.#size());
  }

  canvas() {
    return this.#plot?.ctx.canvas;
  }

  destroy() {
    this.#plot?.destroy();
  }
}

/** The mean of `width` values up to each. */
function means(column, until, width) {
  const part = new Array(until);
  let [sum, count] = [0, 0];
  for (let k = 0; k < until; k++) {
    if (column[k] !== null) [sum, count] = [sum + column[k], count + 1];
    const gone = k >= width ? column[k - width] : null;
    if (gone !== null) [sum, count] = [sum - gone, count - 1];
    part[k] = column[k] === null || count === 0 ? null : sum / count;
  }
  return part;
}

/** The colour variable, as the theme has it. */
export function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function groupOf(about, flow) {
  const { groups } = about;
  const place = groups.findIndex((one) => flow >= one.first_flow && flow < one.first_flow + one.count);
  return place >= 0 ? place : groups.findIndex((one) => one.arriving);
}

/** At most `most` of them, evenly. */
function spread(all, most) {
  if (all.length <= most) return all;
  return Array.from({ length: most }, (_, i) => all[Math.floor((i * all.length) / most)]);
}
