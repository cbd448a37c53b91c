// Panels of points with intervals, lines and bands, as SVG: of a sweep, of a figure, and of a chart
// that is to be saved.
const panels = (() => {
  "use strict";
  const { number, tell, scale, paint, tell_at, hush } = clearpipe;
  const NS = "http://www.w3.org/2000/svg";
  const SHAPES = ["circle", "square", "diamond", "up", "down", "cross", "plus", "bar"];
  const SMALL = 11;

  function el(name, attributes = {}, text) {
    const node = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) if (value != null) node.setAttribute(key, value);
    if (text != null) node.textContent = text;
    return node;
  }
  const wide = (text) => String(text).length * SMALL * 0.56;

  function mark(shape, x, y, r) {
    const p = (...at) => at.map(([a, b], i) => `${i ? "L" : "M"}${(x + a * r).toFixed(1)} ${(y + b * r).toFixed(1)}`).join("");
    if (shape === "circle") return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
    if (shape === "square") return p([-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]) + "z";
    if (shape === "diamond") return p([0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]) + "z";
    if (shape === "up") return p([0, -1.2], [1.15, 0.9], [-1.15, 0.9]) + "z";
    if (shape === "down") return p([0, 1.2], [1.15, -0.9], [-1.15, -0.9]) + "z";
    if (shape === "cross") return p([-1, -1], [1, 1]) + p([-1, 1], [1, -1]);
    if (shape === "plus") return p([-1.2, 0], [1.2, 0]) + p([0, -1.2], [0, 1.2]);
    return p([-1.3, -0.4], [1.3, -0.4], [1.3, 0.4], [-1.3, 0.4]) + "z";
  }

  function steps(low, high, about) {
    const raw = (high - low) / about, ten = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * ten).find((s) => s >= raw * 0.999);
    const out = [];
    for (let i = Math.ceil(low / step - 1e-9); i <= Math.floor(high / step + 1e-9); i += 1) out.push(Number((i * step).toPrecision(12)));
    return out;
  }
  function decades(low, high, about) {
    const out = [], every = Math.max(1, Math.ceil((Math.log10(high) - Math.log10(low)) / about));
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e += 1) {
      const few = Math.log10(high / low) < 1.7 ? [1, 2, 5] : [1];
      for (const m of few) if (e % every === 0 || few.length > 1) out.push(m * 10 ** e);
    }
    return out.filter((v) => v >= low * 0.999 && v <= high * 1.001).map((v) => Number(v.toPrecision(6)));
  }

  // An axis from what lies on it: its ends, its scale, its numbers' texts and its title with a unit.
  function axis(given, values, about) {
    const found = values.filter((v) => v != null && Number.isFinite(v));
    const log = Boolean(given.log) && found.some((v) => v > 0);
    const some = log ? found.filter((v) => v > 0) : found;
    let low = some.length ? Math.min(...ends(some)) : 0, high = some.length ? Math.max(...ends(some)) : 1;
    const by = scale(log ? [] : [low, high], given.unit || "");
    if (log) {
      const room = given.tight ? 1 : Math.max((high / low) ** 0.05, 1.02);
      low = given.low > 0 ? given.low : low / room;
      high = given.high > 0 ? given.high : high * room;
      if (low === high) { low /= 2; high *= 2; }
    } else {
      // From 0, unless what is of interest lies far from it.
      if (!given.tight && low > 0 && low < 0.6 * high) low = 0;
      // An interval may go below 0 where no value can.
      if (low < 0 && given.least >= 0) low = 0;
      // And a share's above 1.
      if (high > 1 && given.unit === "ratio" && given.most <= 1) high = 1;
      const room = given.tight ? 0 : (high - low || Math.abs(high) || 1) * 0.06;
      low = given.low ?? (low === 0 ? 0 : low - room);
      high = given.high ?? (high + room);
      if (low === high) { low -= 0.5; high += 0.5; }
    }
    const place = log ? (v) => (Math.log10(Math.max(v, 1e-300)) - Math.log10(low)) / (Math.log10(high) - Math.log10(low)) : (v) => (v - low) / (high - low);
    const told = log ? (v) => tell(v, given.unit || "") : (v) => number(v / by.factor, 6);
    const raw = log ? decades(low, high, about) : steps(low / by.factor, high / by.factor, about).map((v) => v * by.factor);
    const ticks = given.ticks || raw.map((v) => [v, told(v)]);
    const unit = log || given.ticks ? "" : by.unit;
    return { low, high, log, place, ticks, unit, factor: by.factor, title: unit ? `${given.title} (${unit})` : given.title, base: given.unit || "" };
  }
  function ends(values) {
    let low = Infinity, high = -Infinity;
    for (const v of values) { if (v < low) low = v; if (v > high) high = v; }
    return [low, high];
  }

  const valuesOf = (figure, pick) => figure.curves.filter((c) => !c.off).flatMap((c) => pick(c)).filter((v) => v != null);
  const everyY = (c, dots) => [...c.y, ...(c.low || []), ...(c.high || []), ...(dots ? (c.dots || []).flat() : [])];

  function yAxis(figures, given, about, dots) {
    const [least, most] = ends(figures.flatMap((f) => valuesOf(f, (c) => [...c.y, ...(c.dots || []).flat()])));
    return axis({ least, most, ...given }, figures.flatMap((f) => valuesOf(f, (c) => everyY(c, dots))), about);
  }

  // A figure: { title, x, y, curves }. A curve: { label, c, y, x or the figure's x, low, high, dots,
  // inner, line, marks, step, open }. `shared` is a vertical axis that several have in common.
  function draw(figure, width, height, shared, options = {}) {
    const dots = options.dots ?? true;
    const x = axis(figure.x, valuesOf(figure, (c) => c.x || figure.at), Math.max(2, width / 90));
    const y = shared || yAxis([figure], figure.y, height / 45, dots);
    const labels = y.ticks.map(([, text]) => text);
    const slanted = figure.x.ticks && figure.x.ticks.some(([, t]) => wide(t) > (width - 60) / figure.x.ticks.length);
    const box = {
      left: Math.max(...labels.map(wide), 14) + 28, top: figure.title ? 24 : 8, right: width - 12,
      bottom: height - (figure.x.title ? 36 : 22) - (slanted ? 34 : 0) - (figure.legend ? 18 * Math.ceil(figure.curves.length / 3) : 0),
    };
    const px = (v) => box.left + x.place(v) * (box.right - box.left);
    const py = (v) => box.bottom - y.place(v) * (box.bottom - box.top);
    const svg = el("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "points" });
    if (figure.title) svg.append(el("text", { x: box.left, y: 13, class: "name" }, figure.title));
    grid(svg, x, y, box, px, py, figure, slanted, height);
    const clip = `clip${clips += 1}`;
    const frame = el("clipPath", { id: clip });
    frame.append(el("rect", { x: box.left - 6, y: box.top - 6, width: box.right - box.left + 12, height: box.bottom - box.top + 12 }));
    svg.append(frame);
    const body = el("g", { "clip-path": `url(#${clip})` });
    svg.append(body);
    const hits = [];
    figure.curves.forEach((curve, number_) => { if (!curve.off) drawn(body, curve, figure, number_, { px, py, x, y, dots, hits }); });
    if (figure.legend) key(svg, figure, box, width, height);
    return { svg, hits, x, y };
  }
  let clips = 0;

  function grid(svg, x, y, box, px, py, figure, slanted, height) {
    let last = -1e9;
    for (const [value, text] of x.ticks) {
      const at = px(value);
      if (!(at >= box.left - 1 && at <= box.right + 1)) continue;
      svg.append(el("line", { class: "grid", x1: at, x2: at, y1: box.top, y2: box.bottom }));
      if (slanted) {
        svg.append(el("text", { class: "soft end", transform: `translate(${at + 4} ${box.bottom + 13}) rotate(-28)` }, text));
      } else if (at - wide(text) / 2 > last) {
        svg.append(el("text", { class: "soft mid", x: Math.min(at, box.right + 10 - wide(text) / 2), y: box.bottom + 15 }, text));
        last = at + wide(text) / 2 + 6;
      }
    }
    for (const [value, text] of y.ticks) {
      const at = py(value);
      if (!(at >= box.top - 1 && at <= box.bottom + 1)) continue;
      svg.append(el("line", { class: "grid", x1: box.left, x2: box.right, y1: at, y2: at }));
      svg.append(el("text", { class: "soft end", x: box.left - 6, y: at + 4 }, text));
    }
    svg.append(el("line", { class: "edge", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
    if (figure.x.title) svg.append(el("text", { class: "soft mid", x: (box.left + box.right) / 2, y: box.bottom + (slanted ? 64 : 31) }, x.title));
    svg.append(el("text", { class: "soft mid", transform: `translate(11 ${(box.top + box.bottom) / 2}) rotate(-90)` }, y.title));
  }

  function path(points, step) {
    let out = "", pen = false, before = 0;
    for (const [a, b] of points) {
      if (b == null || !Number.isFinite(b)) { pen = false; continue; }
      if (pen && step) out += `L${a.toFixed(1)} ${before.toFixed(1)}`;
      out += `${pen ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`;
      before = b;
      pen = true;
    }
    return out;
  }
  function band(curve, xs, low, high, px, py) {
    const upper = [], lower = [];
    xs.forEach((v, i) => { if (low[i] != null && high[i] != null) { upper.push([px(v), py(high[i])]); lower.push([px(v), py(low[i])]); } });
    return upper.length ? path([...upper, ...lower.reverse()], false) + "z" : "";
  }

  function drawn(body, curve, figure, order, { px, py, x, y, dots, hits }) {
    const color = paint(curve.c), xs = curve.x || figure.at, shape = curve.shape ?? SHAPES[order % SHAPES.length];
    const fits = (v) => v != null && Number.isFinite(v) && (!y.log || v > 0);
    const ys = curve.y.map((v) => (fits(v) ? v : null));
    if (curve.bands) {
      for (const [low, high, share] of curve.bands) body.append(el("path", { class: "band-of", style: `fill:${color};fill-opacity:${share / 100}`, d: band(curve, xs, low, high, px, py) }));
    }
    if (curve.line !== false) {
      const style = `stroke:${color}`;
      body.append(el("path", { class: `curve${curve.thin ? " thin" : ""}${curve.dashed ? " dashed" : ""}`, style, d: path(xs.map((v, i) => [px(v), ys[i] == null ? null : py(ys[i])]), curve.step) }));
    }
    if (curve.tiny) {
      body.append(el("path", { class: "tiny", style: `stroke:${color}`, d: xs.map((v, i) => (ys[i] == null ? "" : `M${px(v).toFixed(1)} ${py(ys[i]).toFixed(1)}h.01`)).join("") }));
    }
    if (!curve.marks) {
      xs.forEach((at, i) => { if (at != null && ys[i] != null) hits.push({ x: px(at), y: py(ys[i]), curve, i }); });
      return;
    }
    let small = "", bars = "";
    xs.forEach((at, i) => {
      if (dots && curve.dots) for (const v of curve.dots[i]) if (fits(v)) small += `M${px(at).toFixed(1)} ${py(v).toFixed(1)}h.01`;
      if (ys[i] == null) return;
      if (curve.low && fits(curve.low[i]) && fits(curve.high[i]) && curve.high[i] > curve.low[i]) {
        const [a, low, high] = [px(at), py(curve.low[i]), py(curve.high[i])].map((v) => v.toFixed(1));
        bars += `M${a} ${low}V${high}M${a - 3} ${low}h6M${a - 3} ${high}h6`;
      }
      hits.push({ x: px(at), y: py(ys[i]), curve, i });
    });
    if (small) body.append(el("path", { class: "every", style: `stroke:${color}`, d: small }));
    if (bars) body.append(el("path", { class: "bar", style: `stroke:${color}`, d: bars }));
    const marks = (open) => xs.map((at, i) => (ys[i] == null || (curve.hidden && curve.hidden[i]) || Boolean(curve.open && curve.open[i]) !== open ? "" : mark(open ? curve.open[i] : shape, px(at), py(ys[i]), 3.6))).join("");
    const thin = shape === "cross" || shape === "plus";
    body.append(el("path", { class: "mark", style: `fill:${thin ? "none" : color};stroke:${thin ? color : "var(--paper)"};stroke-width:${thin ? 1.8 : 0.8}`, d: marks(false) }));
    const open = curve.open ? marks(true) : "";
    if (open) body.append(el("path", { class: "mark", style: `fill:var(--paper);stroke:${color};stroke-width:1.6`, d: open }));
  }

  // A legend inside the drawing, for one that leaves the page.
  function key(svg, figure, box, width, height) {
    const rows = Math.ceil(figure.curves.length / 3);
    figure.curves.forEach((curve, i) => {
      const x = 10 + (i % 3) * (width - 20) / 3, y = height - 18 * (rows - Math.floor(i / 3)) + 10;
      svg.append(el("path", { class: "curve", style: `stroke:${paint(curve.c)}`, d: `M${x} ${y}h16` }));
      svg.append(el("text", { class: "soft", x: x + 21, y: y + 4 }, curve.label));
    });
  }

  // Reading and choosing points by pointer and keys. `told` gives a point's text.
  function reading(place, made, told, open) {
    const { svg, hits } = made;
    const ring = el("circle", { class: "here", r: 7, visibility: "hidden" });
    svg.append(ring);
    let at = null;
    place.tabIndex = 0;
    place.setAttribute("role", "group");
    const show = (hit, speak) => {
      at = hit;
      ring.setAttribute("visibility", hit ? "visible" : "hidden");
      if (!hit) { hush(); return; }
      ring.setAttribute("cx", hit.x);
      ring.setAttribute("cy", hit.y);
      const rect = svg.getBoundingClientRect(), by = rect.width / svg.viewBox.baseVal.width;
      const text = told(hit);
      tell_at(text + (open ? "\nClick or Enter: its runs" : ""), rect.left + hit.x * by, rect.top + hit.y * by);
      if (speak) place.setAttribute("aria-description", text.replaceAll("\n", "; "));
    };
    place.addEventListener("pointermove", (event) => {
      const rect = svg.getBoundingClientRect(), by = svg.viewBox.baseVal.width / rect.width;
      const [x, y] = [(event.clientX - rect.left) * by, (event.clientY - rect.top) * by];
      let best = null, least = 40 ** 2;
      for (const hit of hits) {
        const off = (hit.x - x) ** 2 + (hit.y - y) ** 2;
        if (off < least) { least = off; best = hit; }
      }
      place.style.cursor = best && open ? "pointer" : "";
      show(best, false);
    });
    place.addEventListener("pointerleave", () => show(null));
    place.addEventListener("blur", () => show(null));
    place.addEventListener("click", () => { if (at && open) open(at); });
    place.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], turn = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!hits.length) return;
      if (event.key === "Enter" && at && open) { open(at); event.preventDefault(); return; }
      if (!step && !turn) return;
      event.preventDefault();
      if (!at) { show(hits[0], true); return; }
      if (step) {
        const mine = hits.filter((h) => h.curve === at.curve).sort((a, b) => a.x - b.x);
        show(mine[Math.min(Math.max(mine.indexOf(at) + step, 0), mine.length - 1)], true);
      } else {
        const here = hits.filter((h) => Math.abs(h.x - at.x) < 0.5).sort((a, b) => a.y - b.y);
        show(here[Math.min(Math.max(here.indexOf(at) + turn, 0), here.length - 1)], true);
      }
    });
  }

  function legend(box, curves, toggle) {
    box.textContent = "";
    curves.forEach((curve, number_) => {
      const item = box.appendChild(document.createElement("button"));
      item.type = "button";
      item.title = curve.label;
      item.setAttribute("aria-pressed", String(!curve.off));
      const svg = el("svg", { viewBox: "-9 -6 18 12", width: 22, height: 12, "aria-hidden": "true" });
      svg.append(el("path", { class: "curve", style: `stroke:${paint(curve.c)}`, d: "M-9 0h18" }));
      const shape = curve.shape ?? SHAPES[number_ % SHAPES.length];
      if (curve.marks) svg.append(el("path", { style: `fill:${/cross|plus/.test(shape) ? "none" : paint(curve.c)};stroke:${paint(curve.c)}`, d: mark(shape, 0, 0, 3.6) }));
      item.append(svg);
      item.appendChild(document.createElement("span")).textContent = curve.label;
      item.addEventListener("click", () => toggle(number_));
    });
  }

  // A figure's numbers in base units, with the units in the headings.
  function rows(figures) {
    const [first] = figures, unit = (a) => (a.unit ? ` [${a.unit}]` : "");
    const out = [["panel", "curve", first.x.title + unit(first.x), first.y.title + unit(first.y), "low", "high", "n", "values"]];
    for (const figure of figures) {
      for (const curve of figure.curves) {
        const xs = curve.x || figure.at;
        xs.forEach((at, i) => {
          const values = curve.dots ? curve.dots[i] : null;
          out.push([figure.title || "", curve.label, curve.names && !first.x.unit ? curve.names[i] : at, curve.y[i], curve.low && curve.low[i], curve.high && curve.high[i], values && values.length, values && values.join(" ")]);
        });
      }
    }
    return out;
  }

  return { draw, axis, yAxis, legend, reading, rows, el, wide, mark, SHAPES, ends };
})();
