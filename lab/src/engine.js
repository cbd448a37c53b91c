// The page's side of the worker: starts it, asks it, and ends it when it gives no sign.

/** A worker that says nothing for so long while it has something to do is ended [ms]. */
const PATIENCE_MS = 10_000;

/** What Trusted Types let through: the one worker, from this page's own script. */
const policy = globalThis.trustedTypes?.createPolicy("clearpipe-lab", {
  createScriptURL: (url) => {
    if (!/^blob:|^sw\.js$/.test(url)) throw new TypeError(`no script of this page: ${url}`);
    return url;
  },
});
export const trusted = (url) => policy?.createScriptURL(url) ?? url;

async function unpacked(base64) {
  const packed = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export class Engine {
  #worker;
  #pending = new Map();
  #next = 1;
  #bytes;
  #watch;
  #busy = false;
  #seen = 0;
  #started;
  #ready = false;

  /**
   * `onSlice` hears of runs that go on, `onEnded` why the worker was ended, and whether it had
   * worked at all.
   */
  constructor({ source, attached, onSlice, onEnded }) {
    Object.assign(this, { source, attached, onSlice, onEnded });
    this.#bytes = unpacked(globalThis.CLEARPIPE_MODULE);
  }

  /** Starts a worker, and gives what the engine says of itself. */
  start() {
    this.#ready = false;
    this.#started = this.#begin();
    return this.#started;
  }

  async #begin() {
    const url = URL.createObjectURL(new Blob([this.source], { type: "text/javascript" }));
    const worker = new Worker(trusted(url));
    this.#worker = worker;
    worker.onmessage = ({ data }) => worker === this.#worker && this.#heard(data);
    worker.onerror = (event) => this.end(`the worker failed: ${event.message ?? "no reason given"}`);
    const bytes = await this.#bytes;
    const about = await this.#send("start", { bytes, attached: this.attached });
    URL.revokeObjectURL(url);
    this.#ready = true;
    return about;
  }

  /** Asks the worker, once it has started. */
  async ask(what, options = {}) {
    await this.#started;
    return this.#send(what, options);
  }

  #send(what, options) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#worker.postMessage({ id, do: what, ...options });
      this.#look();
    });
  }

  /** Lets these lanes go on. */
  run(lanes) {
    this.#busy = lanes.length > 0;
    return this.ask("run", { lanes });
  }

  /** The lanes are at their ends. */
  idle() {
    this.#busy = false;
  }

  #heard(data) {
    this.#seen = performance.now();
    const { id, ok, error, broken } = data;
    const waiting = this.#pending.get(id);
    this.#pending.delete(id);
    if (waiting) error === undefined ? waiting.resolve(ok) : waiting.reject(new Error(error));
    else if (id === undefined) this.onSlice(data);
    if (broken) this.end(error);
  }

  #look() {
    this.#seen = performance.now();
    this.#watch ??= setInterval(() => {
      const waits = this.#busy || this.#pending.size > 0;
      if (!waits || document.hidden) this.#seen = performance.now();
      const silent = performance.now() - this.#seen;
      if (silent > PATIENCE_MS) {
        this.end(`the run gave no sign for ${PATIENCE_MS / 1000} s and was ended`);
      }
    }, 500);
  }

  /** Ends the worker; the next one knows nothing of its runs. */
  end(reason) {
    const worked = this.#ready;
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#busy = false;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(new Error(reason));
    this.onEnded(reason, worked);
  }
}
