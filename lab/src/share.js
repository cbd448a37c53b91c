// A lab in a link: what is on the page, compressed, in the URL's fragment, which no server is sent.

/** A link holds no more than this, unpacked [characters]. */
const MOST = 200_000;

async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** Unpacks, but never more than `MOST` bytes: a short link can stand for gigabytes. */
async function unpacked(bytes) {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > MOST) {
      await reader.cancel();
      throw new Error(`it holds more than ${MOST} characters`);
    }
    parts.push(value);
  }
  return new Blob(parts).text();
}

export async function pack(state) {
  const json = new TextEncoder().encode(JSON.stringify(state));
  const packed = await through(json, new CompressionStream("deflate-raw"));
  const text = btoa(String.fromCharCode(...packed));
  return `v1.${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

const text = (value, most = MOST) => typeof value === "string" && value.length <= most;
const number = (value) => typeof value === "number" && Number.isFinite(value) && value >= 0;

/** Reads a fragment, and takes from it only what has the right form. */
export async function unpack(fragment) {
  const [version, packed] = fragment.split(".");
  if (version !== "v1" || !packed || !/^[\w-]+$/.test(packed)) throw new Error("it is not a link of the lab");
  let state;
  try {
    const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    state = JSON.parse(await unpacked(Uint8Array.from(binary, (char) => char.charCodeAt(0))));
  } catch (error) {
    throw new Error(`it cannot be read: ${error.message}`);
  }
  const lanes = Array.isArray(state?.lanes) ? state.lanes.slice(0, 3) : [];
  const good = lanes.filter((lane) => text(lane?.toml) && text(lane.label, 60));
  if (good.length === 0) throw new Error("it has no scenario");
  const options = (sets) => Array.isArray(sets) && sets.length <= 100 && sets.every((one) => text(one, 500));
  // Without its options a run is another one.
  if (good.some(({ sets }) => sets !== undefined && !options(sets))) throw new Error("it has options of a wrong form");
  const branch = ({ at, sets }) => (number(at) && options(sets) ? { at, sets } : undefined);
  return {
    lanes: good.map(({ toml, label, branch: from, sets, rep }) => ({
      toml,
      label,
      branch: from ? branch(from) : undefined,
      sets: sets ?? [],
      rep: number(rep) && rep < 2 ** 32 ? Math.floor(rep) : 0,
    })),
    at: number(state.at) ? state.at : 0,
    charts: Array.isArray(state.charts) ? state.charts.filter((name) => text(name, 80)).slice(0, 4) : [],
    controller: text(state.controller, 20_000) ? state.controller : undefined,
    explorable: text(state.explorable, 60) ? state.explorable : undefined,
  };
}

export function download(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
