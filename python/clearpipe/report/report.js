(() => {
  "use strict";
  const sections = JSON.parse(document.getElementById("charts").textContent);
  const plots = [];
  const own = document.getElementById("own-axes");
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const ink = (curve) => css(curve.color < 0 ? "--soft" : "--c" + (curve.color % 6));
  const faint = (color, percent) => `color-mix(in srgb, ${color} ${percent}%, transparent)`;
  const text = (value) => (value == null ? "–" : String(Number(value.toPrecision(4))));

  // Curves become uPlot's series; a band needs two more, for its edges.
  function series(curves) {
    const list = [{}], bands = [], order = [];
    for (const curve of curves.filter((c) => c.low)) {
      for (const edge of ["high", "low"]) {
        list.push({ width: 0, points: { show: false }, stroke: "transparent" });
        order.push(curve[edge]);
      }
      bands.push({ series: [list.length - 2, list.length - 1], fill: () => faint(ink(curve), 15) });
    }
    // What is drawn last lies on top: single flows, then the groups, the first one last.
    const lines = curves.filter((c) => c.thin).concat(curves.filter((c) => !c.thin).reverse());
    for (const curve of lines) {
      list.push({
        label: curve.label, stroke: () => ink(curve), width: curve.thin || curve.dashed ? 1 : 1.6,
        dash: curve.dashed ? [5, 4] : undefined, points: { show: false },
      });
      order.push(curve.y);
    }
    return { list, bands, order };
  }

  function legend(curves) {
    const box = document.createElement("div");
    box.className = "legend";
    const values = curves.map((curve) => {
      const item = box.appendChild(document.createElement("span"));
      item.className = curve.thin ? "thin" : curve.dashed ? "dashed" : "";
      const mark = item.appendChild(document.createElement("i"));
      const paint = () => { mark.style.borderColor = ink(curve); };
      paint();
      item.append(curve.label + " ");
      return { curve, paint, value: item.appendChild(document.createElement("b")) };
    });
    return { box, values };
  }

  function show(entry, at) {
    for (const { curve, value } of entry.values) {
      let shown = "";
      if (at != null) {
        shown = text(curve.y[at]);
        if (curve.low) shown += ` (${text(curve.low[at])} to ${text(curve.high[at])})`;
      }
      value.textContent = shown;
    }
  }

  let zooming = false;
  function zoomAll(from, min, max) {
    if (zooming) return;
    zooming = true;
    for (const other of plots) if (other.plot !== from) other.plot.setScale("x", { min, max });
    zooming = false;
  }

  const axis = (extra) => ({
    stroke: () => css("--soft"), font: "11px system-ui, sans-serif", labelFont: "11px system-ui, sans-serif",
    grid: { stroke: () => css("--grid"), width: 1 }, ticks: { stroke: () => css("--line"), width: 1, size: 4 },
    gap: 4, ...extra,
  });

  function draw(place) {
    const section = sections[place.dataset.section];
    const panel = section.panels[place.dataset.panel];
    const { list, bands, order } = series(panel.curves);
    const entry = legend(panel.curves);
    const plot = new uPlot({
      width: place.clientWidth || 330, height: 200, series: list, bands,
      legend: { show: false }, padding: [8, 10, 0, 0],
      cursor: { y: false, points: { show: false }, sync: { key: "time", scales: ["x", null] }, drag: { x: true, y: false } },
      scales: { x: { time: false, range: (u, min, max) => [min, max] }, y: { range: () => [0, own.checked ? panel.top : section.top] } },
      axes: [
        axis({ label: "time (s)", labelSize: 16, labelGap: 0, size: 24 }),
        axis({ size: 52, values: (u, ticks) => ticks.map((v) => v >= 1e4 ? v / 1e3 + "k" : String(v)) }),
      ],
      hooks: {
        setCursor: [(u) => show(entry, u.cursor.idx)],
        setScale: [(u, key) => { if (key === "x") zoomAll(u, u.scales.x.min, u.scales.x.max); }],
      },
    }, [panel.x, ...order], place);
    place.append(entry.box);
    plots.push({ plot, place, entry });
    plot.setScale("x", { min: 0, max: section.end });
    plot.over.addEventListener("dblclick", (event) => {
      event.stopImmediatePropagation();
      plot.setScale("x", { min: 0, max: section.end });
    }, true);
  }

  function fit() {
    for (const { plot, place } of plots) {
      if (place.clientWidth && place.clientWidth !== plot.width) {
        plot.setSize({ width: place.clientWidth, height: 200 });
      }
    }
  }

  function repaint() {
    for (const { plot, entry } of plots) {
      for (const { paint } of entry.values) paint();
      plot.redraw(false, true);
    }
  }

  if (!own) return;
  own.addEventListener("change", () => {
    for (const { plot } of plots) plot.setScale("x", { min: plot.scales.x.min, max: plot.scales.x.max });
  });
  zooming = true;
  document.querySelectorAll(".plot").forEach(draw);
  zooming = false;
  new ResizeObserver(fit).observe(document.querySelector("main"));
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", () => { fit(); repaint(); });
  }
})();
