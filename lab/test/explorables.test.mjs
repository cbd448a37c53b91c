// What the explorables say is what the engine does.
import assert from "node:assert/strict";
import { test } from "node:test";
import explorables from "../explorables.js";
import { runs } from "../src/guide.js";
import { Lane } from "../src/lane.js";
import { engine, files } from "./engine.mjs";

const done = new Map();
function run(toml) {
  if (done.has(toml)) return done.get(toml);
  const lane = new Lane(engine, files, { toml });
  const series = new Map();
  for (;;) {
    const step = lane.advance(5, () => performance.now());
    for (const { name, t, id, value } of step.series) {
      id.forEach((one, row) => {
        const key = `${name}.${one}`;
        if (!series.has(key)) series.set(key, []);
        series.get(key).push({ t: t[row], value: value[row] });
      });
    }
    if (step.result) {
      done.set(toml, { result: step.result, series });
      lane.free();
      return done.get(toml);
    }
  }
}

function valueOf({ result, series }, path) {
  const [kind, name, ...rest] = path.split(".");
  if (kind === "series") {
    const rows = series.get(`${name}.${rest[0]}`);
    assert.ok(rows, `no ${path}`);
    // `max@2` is from 2 s on, `max@2-4.5` up to 4.5 s; numbers may have a point, so the path's rest is one.
    const [what, span = "0"] = rest.slice(1).join(".").split("@");
    const [from, to = Infinity] = span.split("-").map(Number);
    const all = rows.filter(({ t }) => t >= from && t <= to).map(({ value }) => value);
    assert.ok(all.length > 0, `nothing in ${path}`);
    const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
    return { max: Math.max(...all), min: Math.min(...all), last: all.at(-1), mean }[what];
  }
  const rows = kind === "links" ? result.links : result.summary.groups;
  const row = rows.find((one) => one.name === name || one.group === name);
  return rest.reduce((value, key) => value?.[key], row);
}

test("there are ten, each data alone, with all that a lesson has", () => {
  assert.equal(explorables.length, 10);
  for (const one of explorables) {
    assert.deepEqual(JSON.parse(JSON.stringify(one)), one, one.id);
    assert.ok(one.charts.length === 4 && one.facts.length > 0 && one.why.length > 0 && one.where, one.id);
    assert.ok(one.ask.options[one.ask.right] && one.ask.hint, one.id);
    // What the network is called in words is what the scenario has, unless it is what changes.
    const changes = one.change.choices.flatMap(({ sets }) => Object.keys(sets));
    for (const [key, unit] of [["rate", "Mbit/s"], ["rtt", "ms"]]) {
      const [, amount] = new RegExp(`^${key} = "([0-9.]+)`, "m").exec(one.toml);
      if (!changes.includes(`topology.${key}`)) assert.match(one.setup, new RegExp(`\\b${amount} ${unit}`), one.id);
    }
  }
});

for (const one of explorables) {
  test(`${one.id}: every choice runs, its curves are there, its facts hold`, () => {
    one.change.choices.forEach((_, choice) => {
      for (const lane of runs(one, choice, () => "")) run(lane.toml);
    });
    const names = [...run(runs(one, 0, () => "")[0].toml).series.keys()].map((key) => key.split(".")[0]);
    for (const chart of one.charts) assert.ok(names.includes(chart), `${one.id} has no ${chart}`);
    for (const { choice, lane = 0, value, above = -Infinity, below = Infinity, bound } of one.facts) {
      const { toml } = runs(one, choice, () => "")[lane];
      const found = valueOf(run(toml), value);
      if (process.env.SHOW) console.log(one.id, choice, lane, value, found, above, below);
      else assert.ok(found > above && found < below, `${one.id}, choice ${choice}: ${value} is ${found}, not ${above} to ${below} (${bound})`);
    }
  });
}
