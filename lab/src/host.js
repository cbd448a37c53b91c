// Senders written in the page: what the engine calls of them (crates/lab/src/host.rs has the other
// side). The first exception ends the calls and the run; its message is what the page shows.

const KINDS = ["dupacks", "timeout", "ecn"];
const ECN = ["none", "classic", "codes"];
const MOST_CWND = 1e7;

/** What a class in the page extends. Its fields must be plain data: a branch copies them. */
export class Sender {
  constructor(context) {
    this.cwnd = context.initial_window;
    this.pacing = null;
    this.timer = null;
    this.random_state = context.seed >>> 0 || 1;
  }
  on_ack(_ack) {}
  on_loss(_loss) {}
  on_timer(_now) {}
  /** The flow's own random numbers, at least 0 and below 1: equal seeds, equal numbers. */
  random() {
    let x = (this.random_state = (this.random_state + 0x6d2b79f5) | 0);
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  }
}

export function makeHost() {
  const classes = new Map();
  const objects = [];
  const free = [];
  let failure;
  let panic;

  const attempt = (call, otherwise) => {
    if (failure !== undefined) return otherwise;
    try {
      return call();
    } catch (error) {
      failure = String(error?.message ?? error).slice(0, 500);
      return otherwise;
    }
  };
  const add = (object) => {
    const place = free.pop() ?? objects.length;
    objects[place] = { object, cwnd: 1, timer: NaN, pacing: NaN };
    return place;
  };
  const refused = (object, field, allowed) => {
    const value = String(object[field]).slice(0, 50);
    return new Error(`${object.constructor.name}.${field} is ${value}: ${allowed} is allowed`);
  };
  // Reads what an object wants, and refuses what is none.
  const wishes = (place, now, afterTimer = false) => {
    const entry = objects[place];
    const { object } = entry;
    const { cwnd, timer, pacing } = object;
    if (!(typeof cwnd === "number" && cwnd >= 1 && cwnd <= MOST_CWND)) {
      throw refused(object, "cwnd", `a number of packets, 1 to ${MOST_CWND},`);
    }
    if (pacing !== null && !(typeof pacing === "number" && pacing >= 1 && pacing < 1e18)) {
      throw refused(object, "pacing", "null or a number of bit/s, 1 to 1e18,");
    }
    if (timer !== null && (typeof timer !== "number" || Number.isNaN(timer))) {
      throw refused(object, "timer", "null or a time in seconds");
    }
    if (afterTimer && timer !== null && !(timer > now)) {
      throw refused(object, "timer", `null or a time after now (${now})`);
    }
    entry.cwnd = cwnd;
    entry.timer = timer ?? NaN;
    entry.pacing = pacing ?? NaN;
    return cwnd;
  };
  const told = (place, now, call, afterTimer = false) => {
    const entry = objects[place];
    if (entry === undefined) return 1;
    const cwnd = attempt(() => {
      call(entry.object);
      return wishes(place, now, afterTimer);
    }, entry.cwnd);
    // The timer of one that failed never fires again: the slice must come to its end.
    if (failure !== undefined) entry.timer = NaN;
    return cwnd;
  };

  return {
    classes,
    reset: () => {
      failure = undefined;
    },
    panic: () => panic,
    engine: {
      sender: (name, packet_bytes, initial_window, seed) =>
        attempt(() => {
          const made = classes.get(name);
          if (!made) throw new Error(`${name}: there is no such class in the page`);
          const place = add(new made({ packet_bytes, initial_window, seed }));
          wishes(place, 0);
          return place;
        }, 0xffffffff),
      ecn: (place) =>
        attempt(() => {
          const entry = objects[place];
          const word = entry.object.constructor.ecn ?? "none";
          if (!ECN.includes(word)) throw new Error(`ecn is none, classic or codes, not ${word}`);
          return ECN.indexOf(word);
        }, 0),
      onAck: (place, n) => {
        const some = (value) => (Number.isNaN(value) ? null : value);
        return told(place, n[0], (object) =>
          object.on_ack({
            now: n[0],
            delivered: n[1],
            acked: n[2],
            lost: n[3],
            rtt: some(n[4]),
            srtt: some(n[5]),
            min_rtt: some(n[6]),
            in_flight: n[7],
            recovering: n[8] === 1,
            code: n[9],
            ece: n[10] === 1,
          }),
        );
      },
      onLoss: (place, now, kind, in_flight, lost, repeated) =>
        told(place, now, (object) =>
          object.on_loss({ now, kind: KINDS[kind], in_flight, lost, repeated }),
        ),
      onTimer: (place, now) =>
        told(
          place,
          now,
          (object) => {
            object.timer = null;
            object.on_timer(now);
          },
          true,
        ),
      cwnd: (place) => objects[place]?.cwnd ?? 1,
      timer: (place) => objects[place]?.timer ?? NaN,
      pacing: (place) => objects[place]?.pacing ?? NaN,
      duplicate: (place) =>
        attempt(() => {
          const { object, ...wanted } = objects[place];
          const copy = Object.assign(
            Object.create(Object.getPrototypeOf(object)),
            structuredClone({ ...object }),
          );
          const other = add(copy);
          Object.assign(objects[other], wanted);
          return other;
        }, 0xffffffff),
      release: (place) => {
        if (objects[place] === undefined) return;
        objects[place] = undefined;
        free.push(place);
      },
      refuse: (message) => {
        failure ??= message;
      },
      failed: () => failure,
      panicked: (message) => {
        panic = message.slice(0, 500);
      },
    },
  };
}
