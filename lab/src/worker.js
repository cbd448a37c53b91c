// The worker that owns the engine. The page talks to it with `{ id, do, ... }` and gets `{ id, ok }`
// or `{ id, error }`; runs that go on send `{ lane, ... }` by themselves.
//
// Controllers from the page run here. The worker has the page's content security policy, which
// forbids every connection; what else a worker could reach is taken away before the first of them
// is read (`bare`).
import * as engine from "clearpipe-engine";
import { Sender, makeHost } from "./host.js";
import { Lane } from "./lane.js";
import { withSets } from "./toml.js";

const post = self.postMessage.bind(self);
const later = self.setTimeout.bind(self);
const clock = performance.now.bind(performance);
const blobUrl = URL.createObjectURL.bind(URL);
const revoke = URL.revokeObjectURL.bind(URL);
const Text = Blob;
const scope = self;
const Trap = WebAssembly.RuntimeError;

const host = makeHost();
globalThis.clearpipeHost = host.engine;

/** How long a slice takes [ms]: messages are answered between two of them. */
const SLICE_MS = 12;
/** What the fluid engine may take for its curves [ms]. */
const FLUID_MS = 3000;

const lanes = new Map();
let files;
let wanted = [];
let scheduled = false;

/** What of the global object a controller may see. */
const LANGUAGE = new Set(
  ("Array ArrayBuffer BigInt BigInt64Array BigUint64Array Boolean DataView Error Float32Array Float64Array Infinity Int16Array Int32Array " +
    "Int8Array JSON Map Math NaN Number Object Promise RangeError Reflect RegExp Set String Symbol " +
    "SyntaxError TypeError Uint16Array Uint32Array Uint8Array WeakMap WeakSet globalThis isFinite " +
    "isNaN parseFloat parseInt undefined structuredClone Sender clearpipeHost").split(" "),
);

function bare() {
  for (let object = scope; object && object !== Object.prototype; object = Object.getPrototypeOf(object)) {
    for (const name of Object.getOwnPropertyNames(object)) {
      if (LANGUAGE.has(name) || name === "constructor") continue;
      const { configurable } = Object.getOwnPropertyDescriptor(object, name);
      if (configurable) delete object[name];
    }
  }
  // Numbers that another run would not draw again.
  Math.random = () => {
    throw new Error("Math.random() differs from run to run: use this.random()");
  };
}

/** Reads a class and gives its name. */
async function define(source) {
  const name = /\bclass\s+([A-Za-z_$][\w$]*)\s+extends\s+Sender\b/.exec(source)?.[1];
  if (!name) throw new Error("write a class that extends Sender: class Mine extends Sender { ... }");
  globalThis.Sender ??= Sender;
  const url = blobUrl(new Text([`${source}\nexport default ${name};`], { type: "text/javascript" }));
  bare();
  try {
    const made = (await import(url)).default;
    if (!(made.prototype instanceof Sender)) throw new Error(`${name} does not extend Sender`);
    host.classes.set(`page:${name}`, made);
    return name;
  } finally {
    revoke(url);
  }
}

const calls = {
  start({ bytes, attached }) {
    engine.initSync({ module: bytes });
    files = new engine.Files();
    for (const [name, content] of Object.entries(attached)) files.add(name, content);
    return {
      version: engine.version(),
      protocols: JSON.parse(engine.protocols()),
      queues: JSON.parse(engine.queues()),
      schema: JSON.parse(engine.schema()),
    };
  },
  define: ({ source }) => define(source),
  read: ({ toml }) => read(toml),
  /** The text with options as `--set` has them: in its lines if that says the same, else resolved. */
  changed({ toml, sets }) {
    const resolved = engine.Lab.resolve("scenario.toml", toml, sets, files);
    try {
      const text = withSets(toml, sets);
      if (read(text).identity === read(resolved).identity) return text;
    } catch {
      // The lines of this text are not to be changed one by one.
    }
    return resolved;
  },
  open({ lane, toml, rep }) {
    stop(lane);
    close(lane);
    host.reset();
    const opened = new Lane(engine, files, { toml, rep });
    lanes.set(lane, opened);
    return opened.about;
  },
  branch({ lane, from, at, sets }) {
    const opened = of(from).branch(at, sets);
    stop(lane);
    close(lane);
    lanes.set(lane, opened);
    return { about: opened.about, toml: opened.lab.resolved() };
  },
  close: ({ lane }) => close(lane),
  /** The lanes that are to go on, all by equal parts of the time. */
  run({ lanes: names }) {
    wanted = names;
    schedule();
  },
  /** A run by itself, from its start to its end. */
  whole({ toml, sets, rep }) {
    host.reset();
    const lane = new Lane(engine, files, { toml, sets, rep });
    let result = null;
    while (!result) ({ result } = lane.advance(SLICE_MS, clock));
    lane.free();
    return result;
  },
  packets: ({ lane, from, to, most }) => of(lane).lab.packets(from, to, most),
  fluid({ lane }) {
    const until = clock() + FLUID_MS;
    return of(lane).lab.fluid(() => clock() < until);
  },
  resolved: ({ lane }) => of(lane).lab.resolved(),
};

const read = (toml) => JSON.parse(engine.Lab.read("scenario.toml", toml, [], files, 1e6));

function of(name) {
  const lane = lanes.get(name);
  if (!lane) throw new Error("that run is not there any more");
  return lane;
}

/** Holds a lane still until the page, which has to hear of the new run first, says `run`. */
function stop(name) {
  wanted = wanted.filter((other) => other !== name);
}

function close(name) {
  lanes.get(name)?.free();
  lanes.delete(name);
}

function schedule() {
  if (scheduled) return;
  scheduled = true;
  later(slice, 0);
}

function slice() {
  scheduled = false;
  const going = wanted.filter((name) => lanes.has(name) && !lanes.get(name).over);
  // The one that is least far, so that they stay in step.
  const far = (name) => lanes.get(name).now / lanes.get(name).about.duration_s;
  const name = going.sort((a, b) => far(a) - far(b))[0];
  if (name === undefined) return;
  try {
    const { series, ...rest } = lanes.get(name).advance(SLICE_MS, clock);
    const buffers = series.flatMap(({ t, id, value }) => [t.buffer, id.buffer, value.buffer]);
    post({ lane: name, series, ...rest }, buffers);
  } catch (error) {
    failed(name, error);
  }
  schedule();
}

/** What to say: the panic that a trap comes from, if it comes from one. */
function reason(error) {
  return host.panic() ? `the engine stopped: ${host.panic()}` : String(error?.message ?? error);
}

function failed(name, error) {
  // After a trap the module is of no use; the page starts another worker.
  const broken = error instanceof Trap || error instanceof RangeError;
  wanted = wanted.filter((other) => other !== name);
  // What one lane's class threw is not the others' fault.
  host.reset();
  post({ lane: name, error: reason(error), broken });
}

self.onmessage = async ({ data }) => {
  try {
    const ok = await calls[data.do](data);
    post({ id: data.id, ok });
  } catch (error) {
    const broken = error instanceof Trap || error instanceof RangeError;
    post({ id: data.id, error: reason(error), broken });
  }
};
