// One run, driven in slices: what the worker has one of for each scheme, and the tests in Node too.

/** Values that a run records at most, all series together. */
export const MOST_ROWS = 1_500_000;
/** Events between two looks at the clock. */
const EVENTS = 16384;
/** Copies of a run that are kept on its way. */
const COPIES = 40;

export class Lane {
  constructor(engine, files, { toml, sets = [], rep = 0 }) {
    this.engine = engine;
    this.lab = new engine.Lab(toml, sets, files, MOST_ROWS, rep);
    this.open();
  }

  open() {
    this.about = JSON.parse(this.lab.described());
    this.marks = marks(this.about.duration_s);
    this.next = this.marks.findIndex((mark) => mark > this.now);
    this.over = false;
  }

  get now() {
    return this.lab.now_s();
  }

  /** Goes on for about `ms`; gives the rows of series since, and the result at the end. */
  advance(ms, clock) {
    const until = clock() + ms;
    do {
      if (!this.lab.run_to(this.marks[this.next], EVENTS)) continue;
      this.lab.keep();
      this.next += 1;
      this.over = this.next === this.marks.length;
    } while (!this.over && clock() < until);
    return {
      now: this.now,
      series: this.lab.series(),
      work: this.lab.work(),
      result: this.over ? JSON.parse(this.lab.result()) : null,
    };
  }

  /** Another lane: this one up to `at_s`, and then with other values. */
  branch(at_s, sets) {
    const lane = Object.create(Lane.prototype);
    lane.engine = this.engine;
    lane.lab = this.lab.branch(at_s, sets, MOST_ROWS);
    lane.open();
    return lane;
  }

  free() {
    this.lab.free();
  }
}

/** Where a run pauses to be kept. */
function marks(duration_s) {
  return Array.from({ length: COPIES }, (_, i) => (duration_s * (i + 1)) / COPIES);
}
