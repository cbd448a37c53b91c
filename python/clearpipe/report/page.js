// What every page has: numbers as units.py writes them, colours of the theme, tips, copying, tables
// that can be sorted, and files to save.
const clearpipe = (() => {
  "use strict";
  const root = document.documentElement;
  const $ = (id) => document.getElementById(id);
  const DASH = "–", THIN = "\u202f";
  const SHOWN = {
    bps: [[1e9, "Gb/s"], [1e6, "Mb/s"], [1e3, "kb/s"], [1, "b/s"]],
    s: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]],
    bytes: [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
    pkts: [[1, "pkts"]], ratio: [[1e-2, "%"]], "": [[1, ""]],
  };
  const SAME = { B: "bytes", pkt: "pkts" };

  function scale(values, unit) {
    const steps = SHOWN[SAME[unit] || unit] || [[1, unit]];
    let top = 0;
    for (const value of values) if (Number.isFinite(value)) top = Math.max(top, Math.abs(value));
    const found = top ? steps.find(([factor]) => top >= factor * 0.99995) : steps.find(([factor]) => factor === 1);
    const [factor, name] = found || steps[steps.length - 1];
    return { factor, unit: name };
  }
  const exponent = (value) => Number(value.toExponential().split("e")[1]);
  const grouped = (text) => {
    const [whole, rest] = text.split(".");
    const told = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, THIN) : whole;
    return rest === undefined ? told : `${told}.${rest}`;
  };
  const places = (value, decimals) => grouped(value.toFixed(Math.min(decimals, 100)));
  const trimmed = (text) => (text.includes(".") && !text.includes("×") ? text.replace(/0+$/, "").replace(/\.$/, "") : text);
  // What is rounded to nothing has no sign.
  const signed = (text, value, sign) => (value < 0 && /[1-9]/.test(text) ? `-${text}` : sign + text);
  const is_far = (value) => value !== 0 && (exponent(Math.abs(value)) < -6 || exponent(Math.abs(value)) >= 15);
  function number(value, digits = 4, sign = "") {
    if (value == null || !Number.isFinite(value)) return DASH;
    if (!value) return "0";
    const size = exponent(Math.abs(value));
    if (is_far(value)) {
      const [front, behind] = Math.abs(value).toExponential(digits - 1).split("e");
      const power = [...String(Number(behind))].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");
      return signed(`${trimmed(front)} × 10${power}`, value, sign);
    }
    return signed(trimmed(places(Math.abs(value), Math.max(digits - 1 - size, 0))), value, sign);
  }
  function tell(value, unit = "", digits = 4, sign = "") {
    if (value == null || !Number.isFinite(value)) return DASH;
    const by = scale([value], unit);
    return `${number(value / by.factor, digits, sign)} ${by.unit}`.trimEnd();
  }
  function spread(mean, half, unit = "", by = null) {
    const used = by || scale([mean], unit), behind = by || !used.unit ? "" : " " + used.unit;
    const m = mean / used.factor, h = half / used.factor;
    if (half == null || !Number.isFinite(h)) return number(m) + behind;
    if (h === 0) return `${number(m)} ± 0${behind}`;
    if (is_far(Math.max(Math.abs(m), h))) return `${number(m)} ± ${number(h, 2)}${behind}`;
    let decimals = 1 - exponent(h);
    if (m) decimals = Math.min(decimals, 5 - exponent(Math.abs(m)));
    decimals = Math.max(decimals, 0);
    const zero = Number(h.toFixed(decimals)) === 0;
    const told = places(zero ? 10 ** -decimals : h, decimals);
    return `${signed(places(Math.abs(m), decimals), m, "")} ± ${told}${behind}`;
  }

  // Colours come from the style sheet, so that they follow the theme; `shade` below 0 goes towards
  // the ink, above 0 towards the paper.
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const mixed = (base, shade, ink, paper) => (shade
    ? `color-mix(in srgb, ${base} ${100 - 60 * Math.abs(shade)}%, ${shade < 0 ? ink : paper})` : base);
  const ink = ([hue, shade]) => mixed(css(hue < 0 ? "--soft" : "--c" + hue), shade, css("--ink"), css("--paper"));
  const paint = ([hue, shade]) => mixed(hue < 0 ? "var(--soft)" : `var(--c${hue})`, shade, "var(--ink)", "var(--paper)");

  const repaints = [];
  function theme() {
    const button = $("theme");
    const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    // A file may have no storage of its own; then the choice lasts as long as the page.
    try { root.dataset.theme = localStorage.getItem("clearpipe-theme") || ""; } catch { /* as above */ }
    const label = () => { button.textContent = dark() ? "Light" : "Dark"; };
    const repaint = () => { label(); for (const one of repaints) one(); };
    button.hidden = false;
    label();
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      try { localStorage.setItem("clearpipe-theme", root.dataset.theme); } catch { /* as above */ }
      repaint();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  }

  const tip = $("tip");
  function tell_at(text, x, y) {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(x + 14, innerWidth - box.width - 6);
    const top = y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18;
    tip.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
  }
  const hush = () => { tip.hidden = true; };
  function tips() {
    const find = (event) => event.target.closest && event.target.closest("[data-tip]");
    document.addEventListener("pointermove", (event) => {
      const target = find(event);
      if (target) tell_at(target.dataset.tip, event.clientX, event.clientY);
      else if (!(event.target.closest && event.target.closest(".panel"))) hush();
    });
    document.addEventListener("focusin", (event) => {
      const target = find(event);
      if (!target) { hush(); return; }
      const box = target.getBoundingClientRect();
      tell_at(target.dataset.tip, box.left + box.width / 2, box.bottom - 10);
    });
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") hush(); });
    document.addEventListener("scroll", hush, { passive: true });
  }

  // One listener for all, so that what is made later has it, too.
  function copies() {
    document.addEventListener("click", async (event) => {
      const button = event.target.closest(".copy");
      if (!button) return;
      try {
        await navigator.clipboard.writeText(button.dataset.copy);
        button.textContent = "Copied";
      } catch {
        // Not allowed here: select it for the keyboard instead.
        getSelection().selectAllChildren(button.previousElementSibling);
      }
    });
  }

  // Files.
  function save(blob, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  const PROPERTIES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap",
    "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "paint-order", "display"];
  // A drawing that stands alone: with its styles in it, its theme's paper below.
  function standing(svg) {
    const loose = !svg.isConnected;
    if (loose) {
      // Only what is in the page has styles.
      svg.style.position = "absolute";
      svg.style.left = "-10000px";
      document.body.append(svg);
    }
    const copy = svg.cloneNode(true);
    const from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
    from.forEach((node, i) => {
      const style = getComputedStyle(node);
      to[i].setAttribute("style", PROPERTIES.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";"));
    });
    const [x, y, width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({ x, y, width, height, fill: css("--paper") })) paper.setAttribute(name, value);
    copy.prepend(paper);
    for (const node of copy.querySelectorAll("[tabindex]")) node.removeAttribute("tabindex");
    if (loose) svg.remove();
    return { text: new XMLSerializer().serializeToString(copy), width, height };
  }
  function saveSvg(svg, name) {
    save(new Blob([standing(svg).text], { type: "image/svg+xml" }), `${name}.svg`);
  }
  function savePng(svg, name) {
    const { text, width, height } = standing(svg), image = new Image(), times = 3;
    image.onload = () => {
      const canvas = Object.assign(document.createElement("canvas"), { width: width * times, height: height * times });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(blob, `${name}.png`));
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  }
  // What a spreadsheet would take for a formula has an apostrophe before it.
  function cell(value) {
    if (value == null || Number.isNaN(value)) return "";
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value)) ? "'" + value : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }
  const csv = (rows) => rows.map((row) => row.map(cell).join(",") + "\n").join("");
  const saveCsv = (rows, name) => save(new Blob([csv(rows)], { type: "text/csv" }), `${name}.csv`);
  const slug = (text) => (text.replace(/[^A-Za-z0-9_.-]+/g, "-").replace(/^-+|-+$/g, "") || "figure");
  // The rows of a table as they stand there, for a figure that has no numbers besides.
  const tableRows = (table) => [...table.rows].map((row) => [...row.cells].map((one) => one.dataset.v ?? one.innerText.replace(/\s+/g, " ").trim()));

  // What saves a figure; `make` gives its drawing, its rows, or both.
  function savers(place, name, make) {
    const box = document.createElement("details");
    box.className = "save";
    box.appendChild(document.createElement("summary")).textContent = "Save";
    const list = box.appendChild(document.createElement("span"));
    const add = (word, what, act) => {
      const button = list.appendChild(document.createElement("button"));
      button.type = "button";
      button.textContent = word;
      button.setAttribute("aria-label", `Save ${name} ${what}`);
      button.addEventListener("click", () => { act(); box.open = false; });
    };
    const file = () => slug(`${document.querySelector("h1").textContent}-${name}`);
    if (make.svg) {
      add("SVG", "as SVG", () => saveSvg(make.svg(), file()));
      add("PNG", "as PNG", () => savePng(make.svg(), file()));
    }
    if (make.rows) add("CSV", "its numbers as CSV", () => saveCsv(make.rows(), file()));
    place.append(box);
  }
  // Drawings that came with the page.
  function drawings() {
    for (const figure of document.querySelectorAll("figure.dotplot, figure.network")) {
      const svg = figure.querySelector("svg"), table = figure.querySelector("details table");
      const caption = figure.querySelector("figcaption") || figure.insertBefore(document.createElement("figcaption"), figure.firstChild);
      if (svg) savers(caption, caption.firstChild ? caption.firstChild.textContent.trim() : "network", { svg: () => svg, rows: table ? () => tableRows(table) : undefined });
    }
  }

  // A heading orders its table's rows, and once more the other way round.
  function sorting() {
    for (const table of document.querySelectorAll("table.sortable")) {
      [...table.tHead.rows[0].cells].forEach((head, column) => {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "sort";
        button.append(...head.childNodes);
        head.append(button);
        button.addEventListener("click", () => {
          const down = head.getAttribute("aria-sort") === "ascending";
          for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
          head.setAttribute("aria-sort", down ? "descending" : "ascending");
          const value = (row) => { const one = row.cells[column]; return one.dataset.v !== undefined ? Number(one.dataset.v) : one.textContent; };
          const body = table.tBodies[0];
          const rows = [...body.rows].sort((a, b) => {
            const [x, y] = [value(a), value(b)];
            const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
            return down ? -order : order;
          });
          body.append(...rows);
        });
      });
    }
  }

  theme();
  tips();
  copies();
  sorting();
  drawings();
  return { $, scale, number, tell, spread, css, ink, paint, repaints, tell_at, hush, save, savers, csv, slug };
})();
