// The network with its packets: real ones, at the instant of the playhead.
//
// Far in, packets move between their first bit's leaving and their last bit's arrival; the cells of
// a queue are the packets that leave it next. Nothing is invented: what the engine did not show is
// not drawn.
import { css, groupOf } from "./charts.js";

const ACK = 1;
const RETRANSMISSION = 2;
const MOST_CELLS = 60;

export class Network {
  #about;
  #layout;
  #view;
  #marked = -1;

  constructor(canvas, palette) {
    this.canvas = canvas;
    this.palette = palette;
  }

  open(about) {
    this.#about = about;
    this.#layout = layout(about);
    this.canvas.classList.toggle("tall", !this.#layout.row);
    this.#view = undefined;
    this.#marked = -1;
  }

  /** What the engine showed of a part of the run. */
  set view(view) {
    this.#view = view;
    const queue = view.series.find((series) => series.name === "queue_pkts");
    this.queues = steps(queue, this.#about.links.length);
    const drops = view.series.find((series) => series.name === "drops_pkts");
    this.drops = drops ? [...drops.t].map((t, i) => [t, drops.id[i]]).filter((_, i) => drops.value[i] > 0) : [];
    this.byLink = this.#about.links.map(() => []);
    view.link.forEach((link, i) => this.byLink[link].push(i));
    this.#marked = -1;
  }

  get view() {
    return this.#view;
  }

  holds(t) {
    return this.#view !== undefined && t >= this.#view.first && t <= this.#view.to;
  }

  /** The packet that leaves next after `t` on a link. */
  next(t, link) {
    if (!this.#view) return null;
    const i = this.byLink[link].find((one) => this.#view.start[one] > t + 1e-12);
    return i === undefined ? null : i;
  }

  /** The packet that left a link last, up to `t`; null where no view holds that instant. */
  last(t, link) {
    if (!this.holds(t)) return null;
    const mine = this.byLink[link];
    let [low, high] = [0, mine.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#view.start[mine[middle]] <= t) low = middle + 1;
      else high = middle;
    }
    return low > 0 ? mine[low - 1] : null;
  }

  mark(i) {
    this.#marked = i;
  }

  /** What is in a packet, for people. */
  packet(i, protocols) {
    const { start, seq, size, ecn, flags, flow, link, header, header_at, waiting } = this.#view;
    const group = this.#about.groups[groupOf(this.#about, flow[i])];
    const fields = protocols.find((one) => one.name === group?.kind)?.header ?? [];
    const values = [...header.slice(header_at[i], header_at[i + 1])];
    const named = values.map((value, k) => {
      const { name = `field ${k}`, unit = "", doc = "" } = fields[k] ?? {};
      return { name, value, unit, doc };
    });
    return {
      t: start[i],
      flow: flow[i],
      group: group?.name ?? "",
      link: this.#about.links[link[i]].name,
      kind: flags[i] & ACK ? "ACK" : "data",
      again: (flags[i] & RETRANSMISSION) !== 0,
      seq: seq[i],
      size: size[i],
      ecn: ecn[i],
      waiting: waiting[i],
      fields: named,
    };
  }

  draw(t, queueAt) {
    const { canvas } = this;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const ctx = canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    if (!this.#layout) return;
    const place = ([x, y]) => [24 + x * (width - 48), 26 + y * (height - 52)];
    const ink = css("--ink");
    const soft = css("--ink-soft");
    ctx.font = "12px system-ui, sans-serif";
    this.#about.links.forEach((link, number) => {
      const lane = this.#layout.links[number];
      const [a, b] = [place(lane.from), place(lane.to)];
      const angle = Math.atan2(b[1] - a[1], b[0] - a[0]);
      const off = lane.side * 13;
      const shift = ([x, y]) => [x - Math.sin(angle) * off, y + Math.cos(angle) * off];
      const [from, to] = [shift(a), shift(b)];
      const waits = this.holds(t) ? this.queues[number](t) : queueAt(number);
      this.#link(ctx, { link, number, from, to, angle, t, waits, ink, soft });
    });
    for (const [name, at] of this.#layout.nodes) {
      const [x, y] = place(at);
      ctx.fillStyle = css("--surface");
      ctx.strokeStyle = soft;
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      ctx.roundRect(x - 20, y - 20, 40, 40, 6);
      ctx.fill();
      ctx.stroke();
      ctx.fillStyle = ink;
      ctx.textAlign = "center";
      ctx.fillText(name.length > 7 ? `${name.slice(0, 6)}…` : name, x, y + 4, 36);
    }
  }

  #link(ctx, { link, number, from, to, angle, t, waits, ink, soft }) {
    const along = (share) => [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share];
    // A part of the way is the queue's, the rest the line's.
    const [head, tail] = [0.32, 0.94];
    const [x0, y0] = along(head);
    const [x1, y1] = along(tail);
    ctx.strokeStyle = css("--line-strong");
    ctx.lineWidth = 7;
    ctx.lineCap = "round";
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.lineTo(x1, y1);
    ctx.stroke();
    this.#queue(ctx, { link, number, along, angle, head, t, waits, ink, soft });
    if (!this.holds(t)) return;
    const { start, end, flow, flags } = this.#view;
    for (const i of this.byLink[number]) {
      const arrives = end[i] + link.owd_s;
      if (start[i] > t) break;
      if (arrives < t) continue;
      const share = (t - start[i]) / Math.max(arrives - start[i], 1e-12);
      const [x, y] = along(head + (tail - head) * share);
      const ack = (flags[i] & ACK) !== 0;
      ctx.fillStyle = this.#color(flow[i]);
      ctx.beginPath();
      if (ack) ctx.arc(x, y, 2, 0, 7);
      else ctx.roundRect(x - 3.5, y - 3.5, 7, 7, 1.5);
      ctx.fill();
      if (flags[i] & RETRANSMISSION || i === this.#marked) {
        ctx.strokeStyle = i === this.#marked ? css("--accent") : ink;
        ctx.lineWidth = i === this.#marked ? 3 : 1.5;
        ctx.strokeRect(x - 5, y - 5, 10, 10);
      }
    }
    for (const [at, where] of this.drops) {
      const age = t - at;
      const shows = 0.15 * (this.#view.to - this.#view.first);
      if (where !== number || age < 0 || age > shows) continue;
      const [x, y] = along(head - 0.04);
      ctx.fillStyle = css("--bad");
      ctx.textAlign = "center";
      ctx.fillText("✕", x, y + (20 + (14 * age) / shows) * Math.sign(Math.cos(angle) || 1));
    }
  }

  #queue(ctx, { link, number, along, angle, head, t, waits, ink, soft }) {
    if (waits === null) return;
    const limit = link.limit_pkts ?? link.limit_bytes / this.#about.data_bytes;
    const [x1, y1] = along(head);
    const [x0, y0] = along(0.1);
    const length = Math.hypot(x1 - x0, y1 - y0);
    ctx.save();
    ctx.translate(x1, y1);
    ctx.rotate(angle);
    ctx.strokeStyle = soft;
    ctx.lineWidth = 1;
    ctx.strokeRect(-length, -6, length, 12);
    const full = Math.min(waits / Math.max(limit, 1), 1);
    ctx.fillStyle = css(full > 0.8 ? "--bad" : full > 0.4 ? "--warn" : "--good");
    const cells = Math.min(Math.floor(length / 5), MOST_CELLS);
    const whole = limit <= cells;
    const filled = whole ? Math.round(waits) : Math.ceil(full * cells);
    const width = length / (whole ? Math.max(limit, 1) : cells);
    const ahead = this.holds(t) && whole ? this.#waiting(number, t, filled) : null;
    for (let k = 0; k < filled; k++) {
      if (ahead?.[k] !== undefined) ctx.fillStyle = this.#color(this.#view.flow[ahead[k]]);
      ctx.fillRect(-(k + 1) * width + 0.5, -5, Math.max(width - 1, 1), 10);
    }
    ctx.restore();
    ctx.fillStyle = ink;
    ctx.textAlign = "left";
    const low = Math.cos(angle) < -0.5;
    const [tx, ty] = along(low ? head : 0.1);
    if (waits >= 1 || this.#about.links.length <= 6) ctx.fillText(`${Math.round(waits)}/${Math.round(limit)}`, tx, ty - 10);
  }

  /** The packets that wait at `t`: those that leave next. */
  #waiting(number, t, count) {
    const all = this.byLink[number];
    const from = all.findIndex((i) => this.#view.start[i] > t);
    return from < 0 ? [] : all.slice(from, from + count);
  }

  #color(flow) {
    return this.palette(this.#about, flow);
  }
}

/** Looks up a step function of each link. */
function steps(series, links) {
  const times = Array.from({ length: links }, () => []);
  const values = Array.from({ length: links }, () => []);
  if (series) {
    for (let row = 0; row < series.t.length; row++) {
      times[series.id[row]].push(series.t[row]);
      values[series.id[row]].push(series.value[row]);
    }
  }
  return times.map((t, link) => (at) => {
    let [low, high] = [0, t.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (t[middle] <= at) low = middle + 1;
      else high = middle;
    }
    return low > 0 ? values[link][low - 1] : (values[link][0] ?? null);
  });
}

/** Nodes in a row where the links make a row, else round a circle; both ways of a line side by side. */
function layout({ links }) {
  const names = [...new Set(links.flatMap(({ from, to }) => [from, to]))];
  const near = new Map(names.map((name) => [name, new Set()]));
  for (const { from, to } of links) {
    near.get(from).add(to);
    near.get(to).add(from);
  }
  const ends = names.filter((name) => near.get(name).size === 1);
  const row = [];
  if (ends.length === 2 && names.every((name) => near.get(name).size <= 2)) {
    for (let at = ends[0]; at !== undefined; ) {
      row.push(at);
      at = [...near.get(at)].find((other) => !row.includes(other));
    }
  }
  const nodes = new Map();
  if (row.length === names.length) {
    row.forEach((name, i) => nodes.set(name, [row.length > 1 ? i / (row.length - 1) : 0.5, 0.5]));
  } else {
    names.forEach((name, i) => {
      const angle = (2 * Math.PI * i) / names.length;
      nodes.set(name, [0.5 + 0.48 * Math.cos(angle), 0.5 + 0.48 * Math.sin(angle)]);
    });
  }
  const pairs = (one) => links.some(({ from, to }) => from === one.to && to === one.from);
  const drawn = links.map((one) => ({
    from: nodes.get(one.from),
    to: nodes.get(one.to),
    side: pairs(one) ? -1 : 0,
  }));
  return { nodes, links: drawn, row: row.length === names.length };
}
