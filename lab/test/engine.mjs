// The engine in Node, as the worker has it.
import { readFileSync, readdirSync } from "node:fs";
import { makeHost } from "../src/host.js";

export const root = new URL("../../", import.meta.url);
const bound = new URL("target/lab/engine/", root);

export const host = makeHost();
globalThis.clearpipeHost = host.engine;
export const engine = await import(new URL("engine.js", bound));
engine.initSync({ module: readFileSync(new URL("engine_bg.wasm", bound)) });

const examples = new URL("python/clearpipe/examples/", root);
export const example = (name) => readFileSync(new URL(`${name}.toml`, examples), "utf8");
export const files = new engine.Files();
for (const name of readdirSync(examples)) {
  if (/\.(trace|cdf|graphml)$/.test(name)) {
    files.add(name, readFileSync(new URL(name, examples), "utf8"));
  }
}
