// What the lab's editor completes, from the schema that scenario files have everywhere.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { keys, place, values } from "../src/schema.js";

const schema = JSON.parse(await readFile(new URL("../../python/clearpipe/scenario.schema.json", import.meta.url), "utf-8"));
const labels = (...path) => keys(schema, path).map(({ label }) => label);

/** What is offered behind `text`: values where a key stands before it, else keys. */
function offered(text) {
  const { path, key } = place(text);
  return key === undefined ? labels(...path) : values(schema, path, key);
}

test("keys and values of a scenario", () => {
  assert.ok(offered("schema = 1\n").includes("sweep"));
  assert.deepEqual(offered("[topology]\nkind = "), ['"dumbbell"', '"parking-lot"', '"graphml"']);
  assert.ok(offered("[flows.a]\n").includes("protocol"));
  assert.ok(offered("[flows.a.protocol]\n").includes("ecn"));
});

test("a sweep's keys, each with what it means", () => {
  assert.deepEqual(offered("[sweep]\n").sort(), ["keep", "only", "reps", "skip", "until", "vary", "zip"]);
  for (const { label, info } of keys(schema, ["sweep"])) assert.ok(info.length > 10, label);
  assert.deepEqual(offered("[sweep]\nkeep = "), ['"all"', '"summary"']);
  assert.deepEqual(offered("[sweep.until]\n").sort(), ["ci", "max_reps", "metric", "min_reps"]);
  assert.ok(offered("[sweep.until]\nmetric = ").includes('"queue_mean_pkts"'));
  assert.ok(offered("[sweep.vary]\n").includes('"topology.rtt"'));
  assert.ok(offered("[[sweep.zip]]\n").includes("labels"));
  assert.ok(offered("[[sweep.zip]]\n").includes('"topology.queue"'));
  assert.ok(offered('[sweep]\nvary."transport.rttvar" = ').includes('"ack"'));
  assert.ok(offered('[sweep.vary]\n"flows.a.direction" = ').includes('"reverse"'));
});

test("a figure's keys and metrics, of one and of several", () => {
  const own = ["lines", "panels", "title", "x", "x_label", "x_scale", "y", "y_label", "y_max", "y_min", "y_scale"];
  assert.deepEqual(offered("[plot]\n").sort(), own);
  assert.deepEqual(offered("[plot.queue]\n").sort(), own);
  assert.ok(offered("[plot]\ny = ").includes('"utilization_ratio"'));
  assert.ok(offered("[plot.queue]\ny = ").includes('"fct_p95_s"'));
  assert.deepEqual(offered("[plot]\nx_scale = "), ['"linear"', '"log"']);
});
