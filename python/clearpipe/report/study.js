// A sweep to look into: lines against an axis in small multiples, a heat map over two axes, and the
// runs of a point.
(() => {
  "use strict";
  const { $, number, tell, spread, scale, savers, css, hush, repaints } = clearpipe;
  const source = $("study");
  if (!source) return;
  const study = JSON.parse(source.textContent);
  const { axes, measures, points, runs, values, plots } = study;
  const FEW = study.few.n;

  const node = (name, attributes = {}, text) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) if (value != null) made.setAttribute(key, value);
    if (text != null) made.textContent = text;
    return made;
  };
  const cssPaint = (i) => [i % 8, [0, -0.55, 0.4][Math.floor(i / 8) % 3]];

  const of_point = points.map(() => []);
  runs.point.forEach((point, run) => of_point[point].push(run));
  const known = new Map(points.map((at, number_) => [at.join(), number_]));

  // A measure's mean over a point's runs, with half of its 95 % interval where there are enough.
  const memo = new Map();
  function mean(measure, point) {
    const name = measure * points.length + point;
    if (memo.has(name)) return memo.get(name);
    const found = of_point[point].map((run) => values[measure][run]).filter((v) => v != null);
    let made = null;
    if (found.length) {
      // Equal values have that as their mean, to the last bit.
      const n = found.length, equal = found.every((v) => v === found[0]);
      const middle = equal ? found[0] : found.reduce((a, b) => a + b, 0) / n;
      const square = found.reduce((a, b) => a + (b - middle) ** 2, 0);
      const half = n >= FEW ? study.t[n] * Math.sqrt(square / (n - 1) / n) : null;
      made = { mean: middle, half, n, found };
    }
    memo.set(name, made);
    return made;
  }

  const state = { plot: 0, measures: [], x: 0, lines: -1, panels: -1, fixed: axes.map(() => 0), log: false, ylog: false, dots: true, view: "lines", off: new Set() };
  function preset(number_) {
    const plot = plots[number_];
    Object.assign(state, { plot: number_, measures: plot.y, x: plot.x, lines: plot.lines, panels: plot.panels, log: plot.log, ylog: plot.ylog, view: "lines", off: new Set() });
  }
  const own = () => { const p = plots[state.plot]; return p.x === state.x && String(p.y) === String(state.measures) ? p : null; };

  const used = () => [state.x, state.lines, state.panels];
  const many = (a) => axes[a].labels.length > 1;
  const rest = () => axes.map((_, i) => i).filter((i) => many(i) && !used().includes(i));
  function point(setting) {
    const at = axes.map((_, i) => (setting.has(i) ? setting.get(i) : many(i) ? state.fixed[i] : 0));
    return known.get(at.join());
  }
  const settings = (a) => (a < 0 ? [null] : axes[a].labels.map((_, i) => i));
  const called = (a, i) => (a < 0 ? "" : `${axes[a].title}: ${axes[a].labels[i]}`);

  function figure(measure, panel) {
    const { x, lines } = state, axis = axes[x], about = measures[measure], plot = own();
    const numeric = axis.numbers !== null;
    const curves = settings(lines).map((line, order) => {
      const c = cssPaint(order), curve = { label: line === null ? about.title : axes[lines].labels[line], c, x: [], y: [], low: [], high: [], dots: [], at: [], names: [], marks: true, off: state.off.has(order) };
      settings(x).forEach((i) => {
        const setting = new Map([[x, i]]);
        if (line !== null) setting.set(lines, line);
        if (panel !== null) setting.set(state.panels, panel);
        const p = point(setting), found = p === undefined ? null : mean(measure, p);
        if (!found) return;
        curve.x.push(numeric ? axis.numbers[i] : i);
        curve.names.push(axis.labels[i]);
        curve.y.push(found.mean);
        curve.low.push(found.half === null ? null : found.mean - found.half);
        curve.high.push(found.half === null ? null : found.mean + found.half);
        curve.dots.push(found.found);
        curve.at.push(p);
      });
      const order_ = curve.x.map((_, i) => i).sort((a, b) => curve.x[a] - curve.x[b]);
      for (const part of ["x", "names", "y", "low", "high", "dots", "at"]) curve[part] = order_.map((i) => curve[part][i]);
      curve.line = numeric;
      return curve;
    });
    const few = axis.labels.length <= 9;
    const xs = { title: (plot && plot.xTitle) || axis.title, unit: axis.unit, log: numeric && state.log, ticks: !numeric || few ? settings(x).map((i) => [numeric ? axis.numbers[i] : i, axis.labels[i]]) : undefined };
    if (!numeric) Object.assign(xs, { low: -0.5, high: axis.labels.length - 0.5 });
    const ys = { title: (plot && plot.y.length === 1 && plot.yTitle) || about.title, unit: about.unit, log: state.ylog, low: plot ? plot.low : null, high: plot ? plot.high : null };
    return { title: panel === null ? "" : called(state.panels, panel), x: xs, y: ys, curves, at: [], measure };
  }

  function told(measure) {
    return ({ curve, i }) => {
      const found = mean(measure, curve.at[i]), about = measures[measure];
      const interval = found.half === null ? `${tell(found.mean, about.unit)} (no interval: ${found.n} ${found.n === 1 ? "run" : "runs"})` : `${spread(found.mean, found.half, about.unit)} (n = ${found.n})`;
      const [low, high] = panels.ends(found.found);
      return [label(curve.at[i]), `${about.title}: ${interval}`, `runs from ${tell(low, about.unit)} to ${tell(high, about.unit)}`].join("\n");
    };
  }
  const label = (p) => axes.map((axis, i) => (many(i) ? `${axis.title} ${axis.labels[points[p][i]]}` : "")).filter(Boolean).join(", ") || "the one point";

  // Views.
  const views = $("views"), keys = $("lines"), drill = $("drill"), hint = $("hint");
  function lines() {
    const width = Math.max(views.clientWidth, 260);
    const shown = settings(state.panels);
    // Small multiples stand beside each other, and without them the measures do.
    const beside = state.panels < 0 ? state.measures.length : shown.length;
    const columns = Math.max(1, Math.min(beside, Math.floor(width / (state.panels < 0 ? 400 : 290)), 4));
    const one = Math.floor((width - 18 * (columns - 1)) / columns);
    views.style.setProperty("--columns", state.panels < 0 ? columns : 1);
    for (const measure of state.measures) {
      const figures = shown.map((panel) => figure(measure, panel));
      const height = state.panels < 0 ? Math.max(240, Math.min(420, one * 0.6)) : 230;
      const shared = panels.yAxis(figures, figures[0].y, height / 45, state.dots);
      const about = measures[measure];
      const box = frame(about, figures, () => panels.draw(whole(figures), 640, 360 + 18 * Math.ceil(figures[0].curves.length / 3), undefined, { dots: state.dots }).svg);
      const grid = box.appendChild(node("div", { class: "multiples", style: `--columns:${state.panels < 0 ? 1 : columns}` }));
      for (const made of figures) {
        const place = grid.appendChild(node("div", { class: "panel", "aria-label": `${about.title} against ${axes[state.x].title}${made.title ? `, ${made.title}` : ""}` }));
        const drawing = panels.draw(made, one, height, shared, { dots: state.dots });
        place.append(drawing.svg);
        panels.reading(place, drawing, told(measure), ({ curve, i }) => open(curve.at[i]));
      }
    }
    panels.legend(keys, state.lines < 0 ? [] : figure(state.measures[0], shown[0]).curves, (i) => {
      if (state.off.has(i)) state.off.delete(i); else state.off.add(i);
      render();
    });
  }
  // What leaves the page as one drawing: the panels' curves by their panels' names.
  function whole(figures) {
    const about = measures[figures[0].measure], title = about.title + (about.of ? `, ${about.of}` : "");
    if (figures.length === 1) return { ...figures[0], title, legend: figures[0].curves.length > 1 };
    const curves = figures.flatMap((f, p) => f.curves.map((c, i) => ({ ...c, label: `${c.label}, ${f.title}`, shape: panels.SHAPES[p % 8], c: cssPaint(i) })));
    return { ...figures[0], title, curves, legend: true };
  }
  function frame(about, figures, svg) {
    const box = views.appendChild(node("figure", { class: "chart study" }));
    const caption = box.appendChild(node("figcaption", {}, about.title));
    if (about.of) caption.append(" ", node("span", {}, about.of));
    savers(caption, about.title, { svg, rows: () => panels.rows(figures) });
    return box;
  }

  function heat() {
    const across = state.x, down = state.lines;
    views.style.setProperty("--columns", 1);
    if (down < 0) { views.append(node("p", { class: "missing" }, "A heat map takes two axes: choose one for the lines.")); return; }
    const width = Math.max(views.clientWidth, 260);
    for (const measure of state.measures) {
      for (const panel of settings(state.panels)) {
        const made = cells(measure, panel, width, across, down);
        const figure_ = figure(measure, panel), about = measures[measure];
        const box = frame({ title: about.title, of: [about.of, panel === null ? "" : called(state.panels, panel)].filter(Boolean).join(", ") }, [figure_], () => made.svg);
        const place = box.appendChild(node("div", { class: "panel", "aria-label": `${about.title} by ${axes[across].title} and ${axes[down].title}` }));
        place.append(made.svg);
        panels.reading(place, made, (hit) => told(measure)({ curve: { at: [hit.point] }, i: 0 }), (hit) => open(hit.point));
      }
    }
    panels.legend(keys, [], () => {});
  }
  function cells(measure, panel, width, across, down) {
    const { el, wide } = panels, about = measures[measure];
    const order = (a) => settings(a).sort((i, j) => (axes[a].numbers ? axes[a].numbers[i] - axes[a].numbers[j] : i - j));
    const xs = order(across), ys = order(down);
    const left = Math.min(Math.max(...ys.map((i) => wide(axes[down].labels[i]))) + 12, 170), top = 20;
    const size = Math.max(10, Math.min(110, (width - left - 12) / xs.length)), high = Math.max(16, Math.min(34, 560 / ys.length));
    const found = new Map();
    for (const i of xs) for (const j of ys) {
      const setting = new Map([[across, i], [down, j]]);
      if (panel !== null) setting.set(state.panels, panel);
      const p = point(setting), m = p === undefined ? null : mean(measure, p);
      if (m) found.set(`${i},${j}`, { p, m });
    }
    const [low, most] = panels.ends([...found.values()].map(({ m }) => m.mean));
    const log = state.ylog && low > 0;
    const share = (v) => (most > low ? (log ? Math.log(v / low) / Math.log(most / low) : (v - low) / (most - low)) : 0.5);
    const by = scale([low, most], about.unit), turn = Number(css("--turn"));
    const height = top + high * ys.length + 62, svg = el("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "points heat" });
    svg.append(el("text", { x: 0, y: 12, class: "soft" }, `${axes[down].title} ↓   ${axes[across].title} →   ${about.title}${by.unit ? ` (${by.unit})` : ""}`));
    const hits = [];
    ys.forEach((j, row) => {
      const y = top + row * high;
      svg.append(el("text", { x: left - 6, y: y + high / 2 + 4, class: "soft end" }, axes[down].labels[j]));
      xs.forEach((i, column) => {
        const x = left + column * size, one = found.get(`${i},${j}`);
        if (!one) { svg.append(el("rect", { x, y, width: size - 1, height: high - 1, class: "none" })); return; }
        const part = Math.round(6 + 94 * share(one.m.mean));
        svg.append(el("rect", { x, y, width: size - 1, height: high - 1, style: `fill:color-mix(in oklab, var(--c0) ${part}%, var(--paper))` }));
        const text = number(one.m.mean / by.factor, 3);
        if (wide(text) < size - 4) svg.append(el("text", { x: x + size / 2, y: y + high / 2 + 4, class: "mid small", style: `fill:var(${part > turn ? "--paper" : "--ink"})` }, text));
        hits.push({ x: x + size / 2, y: y + high / 2, curve: ys[row], i: column, point: one.p });
      });
    });
    let last = -1e9;
    xs.forEach((i, column) => {
      const x = left + (column + 0.5) * size, text = axes[across].labels[i];
      if (x - wide(text) / 2 < last) return;
      svg.append(el("text", { x, y: top + high * ys.length + 15, class: "soft mid" }, text));
      last = x + wide(text) / 2 + 6;
    });
    const base = top + high * ys.length + 30;
    for (let i = 0; i < 40; i += 1) svg.append(el("rect", { x: left + i * 4, y: base, width: 4.2, height: 9, style: `fill:color-mix(in oklab, var(--c0) ${Math.round(6 + 94 * i / 39)}%, var(--paper))` }));
    svg.append(el("text", { x: left, y: base + 22, class: "soft" }, `${tell(low, about.unit)} to ${tell(most, about.unit)}${log ? ", logarithmic" : ""}`));
    return { svg, hits };
  }

  // A point's runs: numbers, directories, and the commands that do them again.
  function command(run) {
    const p = runs.point[run];
    return [study.command, ...axes.map((axis, i) => axis.sets[points[p][i]]), `--seed ${study.seed}`, `--rep ${runs.rep[run]}`].join(" ");
  }
  // The run's link to the lab, which lab/src/share.js reads; a browser that cannot compress has none.
  // A point's keys come last, as in the sweep: they are stronger than the command's options.
  async function link(run) {
    const { href, toml, sets, of } = study.lab, p = points[runs.point[run]];
    const lane = { toml, label: "", sets: [...sets, ...of.flatMap((axis, i) => axis[p[i]])], rep: runs.rep[run] };
    const stream = new Blob([JSON.stringify({ lanes: [lane] })]).stream().pipeThrough(new CompressionStream("deflate-raw"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    const text = btoa(bytes.reduce((all, byte) => all + String.fromCharCode(byte), ""));
    return `${href}#v1.${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
  }
  function open(p) {
    hush();
    drill.textContent = "";
    drill.hidden = false;
    const head = drill.appendChild(node("h3", { tabindex: "-1" }, label(p)));
    const close = head.appendChild(node("button", { type: "button" }, "Close"));
    close.addEventListener("click", () => { drill.hidden = true; });
    const shown = measures.map((_, m) => m).filter((m) => mean(m, p));
    const box = drill.appendChild(node("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Runs of the point" }));
    const table = box.appendChild(node("table"));
    const row = (part, cells_, tag) => { const tr = part.appendChild(node("tr")); cells_.forEach((c, i) => tr.appendChild(node(i === 0 ? "th" : tag, { scope: i === 0 && tag === "td" ? "row" : null }, c))); return tr; };
    row(table.appendChild(node("thead")), ["Measure", "Mean", ...of_point[p].map((run) => `rep ${runs.rep[run]}`)], "th");
    const body = table.appendChild(node("tbody"));
    for (const m of shown) {
      const found = mean(m, p), about = measures[m], by = scale(found.found, about.unit);
      row(body, [`${about.title}${about.of ? `, ${about.of}` : ""}${by.unit ? ` (${by.unit})` : ""}`, spread(found.mean, found.half, "", by), ...of_point[p].map((run) => (values[m][run] == null ? "–" : number(values[m][run] / by.factor)))], "td");
    }
    if (of_point[p].length < FEW) drill.append(node("p", { class: "note" }, study.few.this));
    const list = drill.appendChild(node("div", { class: "runs-of" }));
    for (const run of of_point[p]) {
      const one = list.appendChild(node("p"));
      one.append(node("b", {}, `rep ${runs.rep[run]} `), node("code", { class: "command" }, command(run)));
      one.append(" ", node("button", { type: "button", class: "copy", "data-copy": command(run) }, "Copy"), node("br"));
      const path = `${runs.id[run].slice(0, 2)}/${runs.id[run]}`;
      one.append(node("a", { href: `${study.href}/${path}/` }, `${study.store}/${path}`));
      if (study.lab && "CompressionStream" in window) {
        const lab = node("a", { class: "lab", rel: "noopener" }, "Open in the lab");
        link(run).then((href) => { lab.href = href; });
        one.append(" ", lab);
      }
    }
    drill.append(node("p", { class: "note" }, "With --report behind, the command writes the run's own report; the directory has its tables and series."));
    head.focus();
    drill.scrollIntoView({ block: "nearest" });
  }

  // Controls.
  const controls = $("controls");
  function select(name, choices, value, change) {
    const box = controls.appendChild(node("label", {}, name + " "));
    const made = box.appendChild(node("select", { "data-control": name }));
    for (const [key, text] of choices) {
      const option = made.appendChild(node("option", { value: key }, text));
      option.selected = String(key) === String(value);
    }
    made.addEventListener("change", () => { change(made.value); build(name); });
  }
  function check(name, value, change) {
    const box = controls.appendChild(node("label"));
    const made = box.appendChild(node("input", { type: "checkbox", "data-control": name }));
    made.checked = value;
    box.append(` ${name}`);
    made.addEventListener("change", () => { change(made.checked); build(name); });
  }
  function build(focus) {
    controls.textContent = "";
    const free = axes.map((axis, i) => [i, axis.title]).filter(([i]) => many(i));
    const none = [[-1, "none"]];
    if (plots.length > 1) select("Figure", plots.map((p, i) => [i, p.title]), state.plot, (v) => preset(Number(v)));
    const chosen = plots[state.plot].y;
    const all = measures.map((m, i) => [i, m.title + (m.of ? `, ${m.of}` : "")]);
    const together = chosen.length > 1 ? [["all", `the figure's ${chosen.length}`]] : [];
    select("Measure", [...together, ...all], state.measures.length > 1 ? "all" : state.measures[0], (v) => { state.measures = v === "all" ? chosen : [Number(v)]; });
    if (free.length > 1) {
      const swap = (role) => (v) => {
        const before = state[role];
        for (const other of ["x", "lines", "panels"]) if (other !== role && state[other] === Number(v)) state[other] = before;
        state[role] = Number(v);
        state.off = new Set();
        if (role === "x") state.log = axes[state.x].log;
      };
      select("Along", free, state.x, swap("x"));
      select("Lines", [...none, ...free], state.lines, swap("lines"));
      select("Panels", [...none, ...free], state.panels, swap("panels"));
      select("As", [["lines", "lines"], ["heat", "heat map"]], state.view, (v) => { state.view = v; });
    }
    for (const i of rest()) select(axes[i].title, axes[i].labels.map((text, j) => [j, text]), state.fixed[i], (v) => { state.fixed[i] = Number(v); });
    if (axes[state.x] && axes[state.x].numbers && Math.min(...axes[state.x].numbers) > 0 && state.view === "lines") check("log x", state.log, (v) => { state.log = v; });
    check(state.view === "lines" ? "log y" : "log colours", state.ylog, (v) => { state.ylog = v; });
    if (state.view === "lines") check("every run", state.dots, (v) => { state.dots = v; });
    if (focus) { const back = controls.querySelector(`[data-control="${focus}"]`); if (back) back.focus(); }
    render();
  }
  function render() {
    views.textContent = "";
    if (state.view === "heat") heat(); else lines();
    const sizes = [...new Set(points.map((_, p) => of_point[p].length))].filter(Boolean).sort((a, b) => a - b);
    const few = sizes.some((n) => n < FEW) ? ` ${study.few.some}` : "";
    const marks = state.view === "lines" ? "Mark: mean; bar: 95 % interval; faint dots: single runs." : "Each cell: the mean of a point's runs.";
    hint.textContent = `${marks} n = ${sizes.join(", ")} per point.${few} Arrow keys or pointing read values; Enter or a click opens a point's runs.`;
  }

  // The rows of the table of points open theirs, as the marks do; by keys from the row's heading.
  for (const row of document.querySelectorAll("#points tr[data-point]")) {
    const mine = Number(row.dataset.point), head = row.cells[0];
    const button = node("button", { type: "button", class: "open", title: "Show this point's runs" });
    button.append(...head.childNodes);
    head.append(button);
    row.addEventListener("click", () => { if (!String(getSelection())) open(mine); });
  }

  preset(0);
  build();
  let width = views.clientWidth;
  new ResizeObserver(() => { if (Math.abs(views.clientWidth - width) > 2) { width = views.clientWidth; render(); } }).observe(views);
  repaints.push(() => { if (state.view === "heat") render(); });
  matchMedia("print").addEventListener("change", render);
})();
