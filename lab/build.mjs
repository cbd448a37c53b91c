// Makes target/lab/site: a folder that any file server can serve, and that works opened as files.
// The module is in a script, compressed, and the worker in the page's: neither is ever fetched, so
// that the content security policy can forbid every connection.
import { build } from "esbuild";
import explorables from "./explorables.js";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { constants, gzipSync } from "node:zlib";

const root = new URL("../", import.meta.url);
const bound = new URL("target/lab/engine/", root);
const site = new URL("target/lab/site/", root);
const source = (name) => new URL(`src/${name}`, import.meta.url);
const text = (url) => readFileSync(url, "utf8");

const examples = new URL("python/clearpipe/examples/", root);
const names = readdirSync(examples).sort();
const listed = names.filter((name) => name.endsWith(".toml"));
// A class in Python has no interpreter here.
const standing = listed.filter((name) => !text(new URL(name, examples)).includes('"python"'));
const all = (wanted) =>
  Object.fromEntries(wanted.map((name) => [name, text(new URL(name, examples))]));
const data = {
  examples: all(standing),
  files: all(names.filter((name) => /\.(trace|cdf|graphml)$/.test(name))),
  explorables: explorables.map(({ facts: _, ...shown }) => shown),
};

const common = { bundle: true, minify: true, write: false, target: "es2022", legalComments: "none" };
const bundle = async (entry, options = {}) => {
  const made = await build({ ...common, entryPoints: [source(entry).pathname], ...options });
  return made.outputFiles[0].text;
};

const alias = { "clearpipe-engine": new URL("engine.js", bound).pathname };
const worker = await bundle("worker.js", { format: "iife", alias });
const define = { WORKER: JSON.stringify(worker), DATA: JSON.stringify(data) };
const page = await bundle("main.js", { format: "iife", define });
const style = await bundle("style.css");

const packed = readFileSync(new URL("engine_bg.deflate", bound)).toString("base64");
const module = `globalThis.CLEARPIPE_MODULE=${JSON.stringify(packed)};\n`;

const files = {
  "lab.js": page,
  "lab.css": style,
  "engine.js": module,
  "index.html": text(source("index.html")),
  "icon.svg": text(source("icon.svg")),
};
const hash = createHash("sha256");
for (const name of Object.keys(files).sort()) hash.update(name).update(files[name]);
const version = hash.digest("hex").slice(0, 16);
files["sw.js"] = text(source("sw.js"))
  .replace("VERSION", version)
  .replace('"FILES"', Object.keys(files).map((name) => JSON.stringify(name)).join(", "));

rmSync(site, { recursive: true, force: true });
mkdirSync(site, { recursive: true });
let total = 0;
for (const [name, content] of Object.entries(files)) {
  writeFileSync(new URL(name, site), content);
  const bytes = gzipSync(content, { level: constants.Z_BEST_COMPRESSION }).length;
  total += bytes;
  console.log(`${name.padEnd(12)} ${String(content.length).padStart(8)} B, ${bytes} B compressed`);
}
console.log(`in all ${total} B compressed (gzip -9)`);
if (total >= 1_000_000) {
  console.error("the lab must be below 1,000,000 B compressed");
  process.exit(1);
}
