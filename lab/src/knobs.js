// Sliders and choices: each changes its line of the scenario's text.
import { getKey, setKey, tables } from "./toml.js";

const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

/** Sliders are logarithmic: from `low` to `high` in the unit that is written. */
const SLIDERS = [
  { id: "rate", key: "rate", name: "Rate", unit: "Mbps", low: 0.5, high: 1000, units: { bps: 1e-6, kbps: 1e-3, Mbps: 1, Gbps: 1e3 } },
  { id: "rtt", key: "rtt", name: "Round-trip time", unit: "ms", low: 1, high: 1000, units: { us: 1e-3, ms: 1, s: 1e3 } },
  { id: "buffer", key: "buffer", name: "Buffer", unit: "bdp", low: 0.05, high: 10, units: { bdp: 1 } },
];
const STEPS = 200;

function quantity(text, units) {
  const found = /^\s*([\d.eE+-]+)\s*([A-Za-z-]+)\s*$/.exec(text ?? "");
  const factor = found ? units[found[2]] : undefined;
  return factor === undefined ? null : Number(found[1]) * factor;
}

const rounded = (value) => String(Number(value.toPrecision(value >= 100 ? 3 : 2)));

export function knobs(box, registry, { changed }) {
  let text = "";
  let timer;
  const change = (next) => {
    text = next;
    clearTimeout(timer);
    timer = setTimeout(() => changed(text), 200);
  };
  const parts = new Map();

  for (const { id, key, name, unit, low, high } of SLIDERS) {
    const output = make("output");
    const input = make("input", { type: "range", id: `knob-${id}`, min: 0, max: STEPS, step: 1 });
    const label = make("label", {}, make("span", { className: "name" }, name, output), input);
    input.addEventListener("input", () => {
      const value = low * (high / low) ** (Number(input.value) / STEPS);
      const written = `${rounded(value)}${unit}`;
      output.textContent = written;
      input.setAttribute("aria-valuetext", written);
      change(setKey(text, "topology", key, `"${written}"`));
    });
    parts.set(id, { label, input, output });
    box.append(label);
  }

  const flows = make("input", { type: "range", id: "knob-flows", min: 1, max: 100, step: 1 });
  const flowsText = make("output");
  const flowsLabel = make("label", {}, make("span", { className: "name" }, "Flows", flowsText), flows);
  flows.addEventListener("input", () => {
    flowsText.textContent = flows.value;
    const [group] = tables(text, "flows");
    if (group) change(setKey(text, `flows.${group}`, "count", flows.value));
  });

  const protocol = make("select", { id: "knob-protocol" });
  const plain = registry.protocols.filter((one) => !one.open_loop && one.name !== "python");
  protocol.append(...plain.map((one) => make("option", { value: one.name, textContent: one.name, title: one.summary })));
  const queue = make("select", { id: "knob-queue" });
  const queues = registry.queues.filter((one) => one.name !== "python");
  queue.append(...queues.map((one) => make("option", { value: one.name, textContent: one.name, title: one.summary })));
  const about = make("p", { className: "hint" });
  protocol.addEventListener("change", () => {
    const info = plain.find((one) => one.name === protocol.value);
    let next = text;
    for (const group of tables(text, "flows")) next = setKey(next, `flows.${group}`, "protocol", `"${info.name}"`);
    const now = queues.find((one) => one.name === getKey(text, "topology", "queue"));
    const needs = info.router ?? (now?.role === "policy" ? now.name : "droptail");
    queue.value = needs;
    tell(info);
    change(setKey(next, "topology", "queue", `"${needs}"`));
  });
  queue.addEventListener("change", () => change(setKey(text, "topology", "queue", `"${queue.value}"`)));
  box.append(
    flowsLabel,
    make("label", { htmlFor: "knob-protocol", textContent: "Protocol" }),
    protocol,
    make("label", { htmlFor: "knob-queue", textContent: "Queue" }),
    queue,
    about,
  );

  function tell(info) {
    if (!info) return;
    const needs = info.router ? ` It needs the queue ${info.router}.` : "";
    about.textContent = `${info.name}: ${info.summary} (${info.source}).${needs}`;
  }

  return {
    show(toml) {
      text = toml;
      const there = tables(`${toml}`, "flows");
      const simple = getKey(toml, "topology", "kind") !== null;
      for (const { id, key, units, low, high } of SLIDERS) {
        const { label, input, output } = parts.get(id);
        const written = getKey(toml, "topology", key);
        const value = quantity(written, units);
        label.hidden = !simple || (id === "rtt" && getKey(toml, "topology", "kind") !== "dumbbell");
        output.textContent = written ?? "the default";
        input.setAttribute("aria-valuetext", written ?? "the default");
        const share = Math.log((value ?? 1) / low) / Math.log(high / low);
        input.value = String(Math.round(Math.max(0, Math.min(1, share)) * STEPS));
      }
      const count = getKey(toml, `flows.${there[0]}`, "count") ?? "1";
      flowsLabel.hidden = there.length === 0;
      flows.value = count;
      flowsText.textContent = count;
      const kind = getKey(toml, `flows.${there[0]}`, "protocol");
      protocol.value = plain.some((one) => one.name === kind) ? kind : "";
      const named = getKey(toml, "topology", "queue") ?? "droptail";
      queue.value = queues.some((one) => one.name === named) ? named : "";
      queue.disabled = !simple;
      tell(plain.find((one) => one.name === kind));
    },
  };
}
