(() => {
  "use strict";
  const { $, number, tell, css, ink, savers } = clearpipe;
  const charts = JSON.parse($("charts").textContent);
  const plots = [];
  const own = $("own-axes"), reset = $("reset");
  const HEIGHT = 190, LABELLED = 6;

  const faint = (color, percent) => `color-mix(in srgb, ${color} ${percent}%, transparent)`;

  // The page's numbers have five digits.
  const exact = (value) => number(value, 5);

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
    when.textContent = x == null ? "" : chart.kind === "cdf" ? `≤ ${tell(x, "s")}` : `${exact(x)} s`;
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
      legend: { show: false }, padding: [8, Math.max(ends.room, log ? 22 : 0), 0, 0],
      cursor: {
        y: false, points: { show: false }, drag: { x: true, y: false },
        sync: log ? undefined : { key: "row" + chart.row, scales: ["x", null] },
      },
      scales: {
        x: log ? { time: false, distr: 3, range: (u, min, max) => [min, max] } : { time: false, range: (u, min, max) => [min, max] },
        y: { range: () => (own && own.checked ? chart.own : [chart.bottom, chart.top]) },
      },
      axes: [
        axis({ label: log ? "time to finish" : "time (s)", labelSize: 15, labelGap: 0, size: 24, space: 44,
          values: (u, ticks) => ticks.map((v) => (v == null ? "" : log ? tell(v, "s") : number(v, 6))) }),
        axis({ size: 46, space: 32, values: (u, ticks) => ticks.map((v) => (v == null ? "" : number(v, 6))) }),
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
    const caption = place.parentElement.querySelector("figcaption");
    savers(caption, caption.firstChild.textContent.trim(), { svg: () => panels.draw(figure(one), 720, 400 + 18 * Math.ceil(chart.curves.length / 3)).svg, rows: () => rows(one) });
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

  // The same chart as a drawing that leaves the page, and its numbers.
  function figure(one) {
    const { chart, plot, place } = one, name = place.parentElement.querySelector("figcaption").firstChild.textContent.trim();
    const { min, max } = plot.scales.x, [low, high] = own && own.checked ? chart.own : [chart.bottom, chart.top];
    const log = chart.kind === "cdf";
    const curves = chart.curves.map((curve) => ({
      ...curve, bands: [["low", "high", 14], ["q1", "q3", 22]].filter(([edge]) => curve[edge]).map(([a, b, share]) => [curve[a], curve[b], share]),
    }));
    const unit = chart.unit ? ` (${chart.unit})` : "";
    return {
      title: name, at: chart.x, curves, legend: chart.curves.length > 1,
      x: { title: log ? "Time to finish" : "Time", unit: "s", log, tight: true, low: min, high: max },
      y: { title: name + unit, low, high },
    };
  }
  function rows({ chart }) {
    const unit = chart.unit ? ` [${chart.unit}]` : "", heads = [chart.kind === "cdf" ? "time to finish [s]" : "time [s]"], columns = [chart.x];
    for (const curve of chart.curves) {
      for (const [part, word] of [["y", ""], ["low", " low"], ["high", " high"], ["q1", " 25 %"], ["q3", " 75 %"]]) {
        if (curve[part]) { heads.push(curve.label + word + unit); columns.push(curve[part]); }
      }
    }
    return [heads, ...chart.x.map((_, i) => columns.map((column) => column[i]))];
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

  zooming = true;
  document.querySelectorAll(".plot").forEach(draw);
  zooming = false;
  clearpipe.repaints.push(repaint);
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
