// What a run has recorded so far, by series and by flow or link, at the run's sampling instants.

export class Store {
  constructor(about) {
    this.about = about;
    about.rtt_s = Math.max(...about.groups.map((group) => group.rtt_s), 1e-6);
    this.every = about.every_s;
    this.samples = Math.floor(about.duration_s / this.every + 1e-9) + 1;
    this.times = Array.from({ length: this.samples }, (_, k) => k * this.every);
    this.series = new Map();
    this.now = 0;
    this.result = null;
  }

  /** More rows, as far as they are not later than `until` [s]. */
  add(all, until = Infinity) {
    for (const { name, of, t, id, value } of all) {
      for (let row = 0; row < t.length; row++) {
        if (t[row] <= until) this.#column(name, of, id[row])[Math.round(t[row] / this.every)] = value[row];
      }
    }
  }

  #column(name, of, id) {
    let known = this.series.get(name);
    if (!known) this.series.set(name, (known = { of, columns: new Map() }));
    let column = known.columns.get(id);
    if (!column) known.columns.set(id, (column = new Array(this.samples).fill(null)));
    return column;
  }

  /** Takes over what another run had recorded up to `at`, where both are sampled alike. */
  take(other, at) {
    if (Math.abs(other.every - this.every) > 1e-12) return;
    const last = Math.min(Math.floor(at / other.every + 1e-9), this.samples - 1);
    for (const [name, { of, columns }] of other.series) {
      for (const [id, column] of columns) {
        const mine = this.#column(name, of, id);
        for (let k = 0; k <= last; k++) mine[k] ??= column[k] ?? null;
      }
    }
  }

  /** The last value up to an instant. */
  at(name, id, t) {
    const column = this.series.get(name)?.columns.get(id);
    if (!column) return null;
    const k = Math.min(Math.floor(t / this.every + 1e-9), this.samples - 1);
    for (let back = k; back >= 0 && back > k - 3; back--) if (column[back] !== null) return column[back];
    return null;
  }

  /** The mean of the last `width` values up to an instant. */
  mean(name, id, t, width) {
    const column = this.series.get(name)?.columns.get(id);
    if (!column || width <= 1) return this.at(name, id, t);
    const k = Math.min(Math.floor(t / this.every + 1e-9), this.samples - 1);
    const all = column.slice(Math.max(k - width + 1, 0), k + 1).filter((value) => value !== null);
    return all.length > 0 ? all.reduce((sum, value) => sum + value, 0) / all.length : null;
  }

  /** Comma-separated: one row per series, instant and flow or link, as the result directory has. */
  csv() {
    const rows = ["series,of,id,t_s,value"];
    for (const [name, { of, columns }] of [...this.series].sort()) {
      for (const [id, column] of columns) {
        column.forEach((value, k) => {
          if (value !== null) rows.push(`${name},${of},${id},${this.times[k].toFixed(9)},${value}`);
        });
      }
    }
    return `${rows.join("\n")}\n`;
  }
}
