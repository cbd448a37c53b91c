// Links into the lab that are made elsewhere: by the gallery's pages and by Python.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { Lane } from "../src/lane.js";
import { refusal } from "../src/limits.js";
import { unpack } from "../src/share.js";
import { engine, example, files, root } from "./engine.mjs";

const finish = (lane) => {
  for (;;) {
    const { result } = lane.advance(5, () => performance.now());
    if (result) return result;
  }
};

test("every scenario of the gallery opens, and is not too large", async () => {
  const gallery = new URL("docs/gallery/", root);
  const pages = readdirSync(gallery).filter((name) => name.endsWith(".md"));
  const text = pages.map((name) => readFileSync(new URL(name, gallery), "utf8")).join("");
  const links = [...text.matchAll(/href="\.\.\/lab\/index\.html#([^"]+)"/g)].map((found) => found[1]);
  const cards = text.match(/^\{download\}`/gm).length;
  assert.ok(links.length >= cards - 2, `${links.length} of ${cards} cards have a link`);
  for (const link of links) {
    const lanes = link.startsWith("v1.") ? (await unpack(link)).lanes : [{ toml: example(link), sets: [] }];
    for (const { toml, sets } of lanes) {
      const about = JSON.parse(engine.Lab.read(`${link}.toml`, toml, sets, files, 1e6));
      assert.equal(refusal(about), null, link);
    }
  }
});

const pythons = [process.env.PYTHON, fileURLToPath(new URL(".venv-dev/bin/python", root))];
const python = pythons.find((place) => place && existsSync(place));
const missing = python ? false : "no Python with clearpipe: make test installs one, or name one by PYTHON";

test("another replication has the fingerprint that the command gives it", { skip: missing }, () => {
  const sets = ["duration=12s", "warmup=6s", "seed=5"];
  const code = `import clearpipe as cp; from clearpipe import examples
print(cp.run(examples.path("base-case-sack-red"), set=${JSON.stringify(sets)}, rep=2).fingerprint)`;
  const said = execFileSync(python, ["-c", code], { encoding: "utf8" }).trim();
  const toml = example("base-case-sack-red");
  const run = (rep) => finish(new Lane(engine, files, { toml, sets, rep }));
  assert.equal(run(2).fingerprint, said);
  assert.notEqual(run(0).fingerprint, said);
});
