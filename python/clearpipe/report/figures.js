// Figures that came with the page: panels of curves.
(() => {
  "use strict";
  const { $, number, tell, spread, savers } = clearpipe;
  const figures = JSON.parse($("figures").textContent);

  function told(figure) {
    return ({ curve, i }) => {
      const runs = curve.dots ? curve.dots[i] : [], interval = curve.low && curve.low[i] != null;
      const value = interval ? spread(curve.y[i], (curve.high[i] - curve.low[i]) / 2) : number(curve.y[i]);
      const open = curve.open ? " (cut off by the end of a run)" : "";
      const n = runs.length > 1 ? ` (n = ${runs.length}${interval ? "" : ", too few for an interval"})` : "";
      const x = (figure.x.ticks || []).find(([at]) => at === curve.x[i]);
      return [curve.label, `${figure.x.title}: ${x ? x[1] : tell(curve.x[i], figure.x.unit)}`, `${figure.y.title}: ${value}${n}${open}`].filter(Boolean).join("\n");
    };
  }

  function draw(place) {
    const figure = figures[place.dataset.figure], box = place.querySelector(".panel"), keys = place.querySelector(".legend");
    const width = Math.max(box.clientWidth, 240);
    const shown = { ...figure, title: "" };
    const made = panels.draw(shown, width, Math.max(200, Math.min(300, width * 0.5)));
    const fresh = box.cloneNode(false);
    fresh.append(made.svg);
    box.replaceWith(fresh);
    panels.reading(fresh, made, told(figure));
    const named = figure.curves.filter((curve) => curve.label);
    if (named.length > 1) panels.legend(keys, named, (i) => { named[i].off = !named[i].off; draw(place); });
  }
  const places = [...document.querySelectorAll("[data-figure]")];
  for (const place of places) {
    const figure = figures[place.dataset.figure];
    figure.curves.forEach((curve, i) => { curve.shape ??= panels.SHAPES[i % panels.SHAPES.length]; });
    draw(place);
    const named = figure.curves.filter((curve) => curve.label).length;
    const whole = () => panels.draw({ ...figure, legend: named > 1 }, 640, 360 + 18 * Math.ceil(figure.curves.length / 3)).svg;
    savers(place.querySelector("figcaption"), place.dataset.name, { svg: whole, rows: () => panels.rows([figure]) });
  }
  let width = document.body.clientWidth;
  new ResizeObserver(() => {
    if (Math.abs(document.body.clientWidth - width) < 3) return;
    width = document.body.clientWidth;
    places.forEach(draw);
  }).observe(document.body);
  matchMedia("print").addEventListener("change", () => places.forEach(draw));
})();
