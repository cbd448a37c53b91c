(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;
  const charts = JSON.parse($("charts").textContent);
  const plots = [];
  const own = $("own-axes"), reset = $("reset"), tip = $("tip");
  const HEIGHT = 190, LABELLED = 6;

  // Colours come from the style sheet, so that they follow the theme; `shade` below 0 goes towards
  // the ink, above 0 towards the paper.
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const ink = ([hue, shade]) => {
    const base = css(hue < 0 ? "--soft" : "--c" + hue);
    if (!shade) return base;
    const share = 100 - 60 * Math.abs(shade);
    return `color-mix(in srgb, ${base} ${share}%, ${css(shade < 0 ? "--ink" : "--paper")})`;
  };
  const faint = (color, percent) => `color-mix(in srgb, ${color} ${percent}%, transparent)`;

  const exact = (value) => (value == null ? "–" : String(value));
  function si(value) {
    if (value == null) return "";
    for (const [factor, prefix] of [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"]]) {
      if (Math.abs(value) >= factor * 0.9999) return String(Number((value / factor).toPrecision(4))) + prefix;
    }
    return Math.abs(value) < 1e-12 ? "0" : value.toExponential(0);
  }
  // Without a unit the axis needs prefixes; with one the unit has it, and 0.5 stays 0.5.
  function tick(value, unit) {
    if (value == null) return "";
    if (!unit || Math.abs(value) >= 1e4) return si(value);
    return String(Number(value.toPrecision(6)));
  }

  // A curve becomes uPlot's series; each band needs two more, for its edges. `parts` says which
  // series belong to a curve.
  function series(chart) {
    const list = [{}], bands = [], data = [], parts = new Map();
    const add = (curve, options, values) => {
      list.push(options);
      data.push(values);
      parts.set(curve, [...(parts.get(curve) || []), list.length - 1]);
    };
    for (const curve of chart.curves) {
      for (const [low, high, percent] of [["low", "high", 14], ["q1", "q3", 22]]) {
        if (!curve[low]) continue;
        for (const edge of [high, low]) {
          add(curve, { width: 0, points: { show: false }, stroke: "transparent" }, curve[edge]);
        }
        bands.push({ series: [list.length - 2, list.length - 1], fill: () => faint(ink(curve.c), percent) });
      }
    }
    // What is drawn last lies on top: single flows, then the others, the first one last.
    const lines = chart.curves.filter((c) => c.thin).concat(chart.curves.filter((c) => !c.thin).reverse());
    for (const curve of lines) {
      add(curve, {
        label: curve.label, stroke: () => ink(curve.c), width: curve.thin || curve.dashed ? 1 : 1.5,
        dash: curve.dashed ? [5, 4] : undefined, points: { show: false },
        paths: curve.step ? uPlot.paths.stepped({ align: 1 }) : undefined,
      }, curve.y);
    }
    return { list, bands, data, parts };
  }

  // Names beside the curves' ends, moved apart where they would overlap.
  function names(chart, shown) {
    const named = chart.curves.filter((c) => c.short);
    if (named.length < 2 || named.length > LABELLED) return { room: 10, draw: () => {} };
    const room = 10 + 6.2 * Math.max(...named.map((c) => c.short.length));
    function draw(u) {
      const ctx = u.ctx, ratio = u.bbox.width / u.over.clientWidth, line = 11.5 * ratio;
      const at = [];
      for (const curve of named.filter((c) => shown.get(c))) {
        let i = u.data[0].length - 1;
        while (i >= 0 && (curve.y[i] == null || u.data[0][i] > u.scales.x.max)) i -= 1;
        if (i < 0) continue;
        const y = u.valToPos(curve.y[i], "y", true);
        at.push({ curve, own: y, y: Math.min(Math.max(y, u.bbox.top + line / 2), u.bbox.top + u.bbox.height) });
      }
      at.sort((a, b) => a.y - b.y);
      for (let i = 1; i < at.length; i += 1) at[i].y = Math.max(at[i].y, at[i - 1].y + line);
      let limit = u.bbox.top + u.bbox.height;
      for (let i = at.length - 1; i >= 0; i -= 1) { at[i].y = Math.min(at[i].y, limit); limit = at[i].y - line; }
      ctx.save();
      ctx.font = `${11 * ratio}px system-ui, sans-serif`;
      ctx.textBaseline = "middle";
      ctx.textAlign = "left";
      // Where many ends lie together, a name far from its own says less than none.
      for (const { curve, y } of at.filter((one) => Math.abs(one.y - one.own) < 2.2 * line)) {
        ctx.fillStyle = ink(curve.c);
        ctx.fillText(curve.short, u.bbox.left + u.bbox.width + 4 * ratio, y);
      }
      ctx.restore();
    }
    return { room, draw };
  }

  function legend(box, chart, shown, toggle) {
    const few = chart.curves.length <= LABELLED;
    return chart.curves.map((curve) => {
      const item = box.appendChild(document.createElement("button"));
      item.type = "button";
      item.className = [curve.thin ? "thin" : curve.dashed ? "dashed" : "",
        few && (curve.low || curve.label.length > 18) ? "long" : ""].join(" ");
      item.title = curve.label;
      item.setAttribute("aria-pressed", "true");
      const mark = item.appendChild(document.createElement("i"));
      item.appendChild(document.createElement("span")).textContent = curve.label;
      const value = item.appendChild(document.createElement("b"));
      item.addEventListener("click", () => {
        shown.set(curve, !shown.get(curve));
        item.setAttribute("aria-pressed", String(shown.get(curve)));
        toggle(curve, shown.get(curve));
      });
      return { curve, value, few, paint: () => { mark.style.borderColor = ink(curve.c); } };
    });
  }

  function valueAt(chart, entry, at) {
    const { curve, few } = entry;
    const unit = chart.unit ? " " + chart.unit : "";
    let told = exact(curve.y[at]) + unit;
    if (curve.low && few && curve.y[at] != null) told += ` (${exact(curve.low[at])} to ${exact(curve.high[at])})`;
    return told;
  }

  function show(one, at) {
    const { chart, entries, when, plot } = one;
    for (const entry of entries) entry.value.textContent = at == null ? "" : valueAt(chart, entry, at);
    const x = at == null ? null : plot.data[0][at];
    when.textContent = x == null ? "" : chart.kind === "cdf" ? `≤ ${si(x)}s` : `${exact(x)} s`;
  }

  let zooming = false;
  function zoomAll(from, min, max) {
    if (zooming) return;
    zooming = true;
    for (const { plot, chart } of plots) {
      if (chart.kind === "time" && plot !== from) plot.setScale("x", { min, max });
    }
    zooming = false;
    const whole = plots.every(({ plot, chart }) => chart.kind !== "time"
      || (plot.scales.x.min <= 0 && plot.scales.x.max >= chart.end * 0.999));
    if (reset) reset.disabled = whole;
  }
  const whole = ({ plot, chart }) => plot.setScale("x", { min: chart.start || 0, max: chart.end });

  const axis = (extra) => ({
    stroke: () => css("--soft"), font: "11px system-ui, sans-serif", labelFont: "11px system-ui, sans-serif",
    grid: { stroke: () => css("--grid"), width: 1 }, ticks: { stroke: () => css("--line"), width: 1, size: 4 },
    gap: 4, ...extra,
  });

  function draw(place) {
    const chart = charts[place.dataset.chart];
    const { list, bands, data, parts } = series(chart);
    const shown = new Map(chart.curves.map((curve) => [curve, true]));
    const ends = names(chart, shown);
    const log = chart.kind === "cdf";
    const one = { chart, place, when: place.parentElement.querySelector(".when"), entries: [] };
    const plot = new uPlot({
      width: place.clientWidth || 280, height: HEIGHT, series: list, bands, pxAlign: 1,
      legend: { show: false }, padding: [8, ends.room, 0, 0],
      cursor: {
        y: false, points: { show: false }, drag: { x: true, y: false },
        sync: log ? undefined : { key: "row" + chart.row, scales: ["x", null] },
      },
      scales: {
        x: log ? { time: false, distr: 3, range: (u, min, max) => [min, max] } : { time: false, range: (u, min, max) => [min, max] },
        y: { range: () => (own && own.checked ? chart.own : [chart.bottom, chart.top]) },
      },
      axes: [
        axis({ label: log ? "time to finish (s)" : "time (s)", labelSize: 15, labelGap: 0, size: 24, space: 44,
          values: (u, ticks) => ticks.map((v) => (v == null ? "" : log ? si(v) : String(Number(v.toPrecision(6))))) }),
        axis({ size: 46, space: 32, values: (u, ticks) => ticks.map((v) => tick(v, chart.unit)) }),
      ],
      hooks: {
        draw: [ends.draw],
        setCursor: [(u) => show(one, u.cursor.idx)],
        setScale: [(u, key) => { if (key === "x" && !log) zoomAll(u, u.scales.x.min, u.scales.x.max); }],
      },
    }, [chart.x, ...data], place);
    one.plot = plot;
    one.entries = legend(place.parentElement.querySelector(".legend"), chart, shown, (curve, on) => {
      plot.batch(() => { for (const i of parts.get(curve)) plot.setSeries(i, { show: on }); });
    });
    one.entries.forEach((entry) => entry.paint());
    plots.push(one);
    whole(one);
    plot.over.addEventListener("dblclick", (event) => {
      event.stopImmediatePropagation();
      whole(one);
    }, true);
    place.addEventListener("keydown", (event) => keys(event, one));
    place.addEventListener("blur", () => plot.setCursor({ left: -10, top: -10 }, true, true));
  }

  // The same as pointing and dragging.
  function keys(event, one) {
    const { plot, chart, place } = one;
    const x = plot.data[0], { min, max } = plot.scales.x;
    const at = plot.cursor.idx ?? x.findIndex((v) => v >= min);
    const middle = plot.cursor.idx == null ? (min + max) / 2 : x[at];
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      const to = Math.min(Math.max(at + step * (event.shiftKey ? 10 : 1), 0), x.length - 1);
      plot.setCursor({ left: plot.valToPos(x[to], "x"), top: 10 }, true, true);
      const values = one.entries.map((entry) => `${entry.curve.label} ${valueAt(chart, entry, to)}`);
      place.setAttribute("aria-description", [`${exact(x[to])} s`, ...values].join("; "));
    } else if ((event.key === "+" || event.key === "-") && chart.kind === "time") {
      const half = (max - min) * (event.key === "+" ? 0.25 : 1);
      plot.setScale("x", { min: Math.max(middle - half, 0), max: Math.min(middle + half, chart.end) });
    } else if (event.key === "0" || event.key === "Escape") {
      whole(one);
    } else return;
    event.preventDefault();
  }

  function fit() {
    for (const { plot, place } of plots) {
      const width = place.clientWidth;
      if (width && width !== plot.width) plot.setSize({ width, height: HEIGHT });
    }
  }

  function repaint() {
    for (const { plot, entries } of plots) {
      for (const entry of entries) entry.paint();
      plot.redraw(false, true);
    }
  }

  function theme() {
    const button = $("theme");
    const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    // A file may have no storage of its own; then the choice lasts as long as the page.
    try { root.dataset.theme = localStorage.getItem("clearpipe-theme") || ""; } catch { /* as above */ }
    const label = () => { button.textContent = dark() ? "Light" : "Dark"; };
    button.hidden = false;
    label();
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      try { localStorage.setItem("clearpipe-theme", root.dataset.theme); } catch { /* as above */ }
      label();
      repaint();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { label(); repaint(); });
  }

  function tips() {
    function tell(target, x, y) {
      tip.textContent = target.dataset.tip;
      tip.hidden = false;
      const box = tip.getBoundingClientRect();
      const left = Math.min(x + 14, innerWidth - box.width - 6);
      const top = y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18;
      tip.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
    }
    const find = (event) => event.target.closest && event.target.closest("[data-tip]");
    document.addEventListener("pointermove", (event) => {
      const target = find(event);
      if (target) tell(target, event.clientX, event.clientY); else tip.hidden = true;
    });
    document.addEventListener("focusin", (event) => {
      const target = find(event);
      if (!target) { tip.hidden = true; return; }
      const box = target.getBoundingClientRect();
      tell(target, box.left + box.width / 2, box.bottom - 10);
    });
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
    document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
  }

  function copies() {
    for (const button of document.querySelectorAll(".copy")) {
      if (!navigator.clipboard) { button.hidden = true; continue; }
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(button.dataset.copy);
          button.textContent = "Copied";
        } catch {
          // Not allowed here: select it for the keyboard instead.
          getSelection().selectAllChildren(button.previousElementSibling);
        }
      });
    }
  }

  zooming = true;
  document.querySelectorAll(".plot").forEach(draw);
  zooming = false;
  theme();
  tips();
  copies();
  if (own) own.addEventListener("change", () => {
    zooming = true;
    for (const { plot } of plots) plot.setScale("x", { min: plot.scales.x.min, max: plot.scales.x.max });
    zooming = false;
  });
  if (reset) reset.addEventListener("click", () => {
    const first = plots.find(({ chart }) => chart.kind === "time");
    if (first) whole(first);
  });
  new ResizeObserver(fit).observe(document.querySelector("main"));
  matchMedia("print").addEventListener("change", () => { fit(); repaint(); });
})();
