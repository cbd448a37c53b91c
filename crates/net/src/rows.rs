//! The rows of series while a run records them: 20 bytes each.

use results::{Series as Table, SeriesOf};
use units::Time;

/// Rows that a run records at most: 2 GB of them. Then it warns and records no more.
pub const MAX_ROWS: u64 = 100_000_000;

/// Whose value, and when.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// [s]
    now: f64,
    of: SeriesOf,
    id: u32,
}

impl At {
    /// A flow's or a link's, now.
    #[inline]
    pub fn new(now: Time, of: SeriesOf, id: u32) -> At {
        At { now: now.as_secs(), of, id }
    }
}

/// All rows so far.
#[derive(Clone, Debug)]
pub struct Rows {
    tables: Vec<Table>,
    /// What links have reported and [`Rows::gather`] has not seen yet.
    parts: Vec<Part>,
    rows: u64,
    pub limit: u64,
    /// When the first row was refused [s].
    full: Option<f64>,
}

/// What one link has reported of one series, in order. A link's departures are worked out late, so that
/// links do not report in order of time among each other, as flows do.
#[derive(Clone, Debug)]
struct Part {
    table: u32,
    link: u32,
    /// [s]
    t: Vec<f64>,
    value: Vec<f64>,
}

/// The places of the values that one flow or link reports, in the order in which it reports them, and
/// what was reported last.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    all: Vec<Slot>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    last: f64,
    /// A flow's table, a link's part.
    place: u32,
}

/// What one flow or link reports at an instant.
pub struct Report<'a> {
    rows: &'a mut Rows,
    slots: &'a mut Vec<Slot>,
    /// The place of the next value.
    next: usize,
    at: At,
}

/// The name of a series in two parts, put together when its table is made.
pub type Name<'a> = (&'static str, &'a str);

impl Report<'_> {
    /// The next value. Only a change makes a row if `changed`.
    #[inline(always)]
    pub fn put(&mut self, name: Name<'_>, value: f64, changed: bool) {
        let Some(slot) = self.slots.get_mut(self.next) else { return self.open(name, Some(value)) };
        self.next += 1;
        if changed && slot.last.to_bits() == value.to_bits() {
            return;
        }
        slot.last = value;
        self.rows.push(slot.place, self.at, value);
    }

    /// The next value, if there is one yet.
    #[inline(always)]
    pub fn put_some(&mut self, name: Name<'_>, value: Option<f64>, changed: bool) {
        match value {
            Some(value) => self.put(name, value, changed),
            None if self.next == self.slots.len() => self.open(name, None),
            None => self.next += 1,
        }
    }

    #[cold]
    #[inline(never)]
    fn open(&mut self, name: Name<'_>, value: Option<f64>) {
        self.next += 1;
        self.rows.open(self.slots, name, self.at, value);
    }
}

impl Rows {
    /// A report begins.
    #[inline]
    pub fn report<'a>(&'a mut self, slots: &'a mut Slots, at: At) -> Report<'a> {
        Report { rows: self, slots: &mut slots.all, next: 0, at }
    }

    pub fn new() -> Rows {
        Rows { tables: Vec::new(), parts: Vec::new(), rows: 0, limit: MAX_ROWS, full: None }
    }

    /// The first value under this name.
    fn open(&mut self, slots: &mut Vec<Slot>, name: Name<'_>, at: At, value: Option<f64>) {
        let table = self.table(name, at.of);
        let place = match at.of {
            SeriesOf::Flow => table,
            SeriesOf::Link => self.part(table as u32, at.id),
        };
        // NaN is what no protocol reports: the first value is a change.
        slots.push(Slot { last: value.unwrap_or(f64::NAN), place: place as u32 });
        if let Some(value) = value {
            self.push(place as u32, at, value);
        }
    }

    fn table(&mut self, name: Name<'_>, of: SeriesOf) -> usize {
        let name = format!("{}{}", name.0, name.1);
        self.tables.iter().position(|t| t.name == name).unwrap_or_else(|| {
            let (t_s, id, value) = (Vec::new(), Vec::new(), Vec::new());
            self.tables.push(Table { name, of, t_s, id, value });
            self.tables.len() - 1
        })
    }

    fn part(&mut self, table: u32, link: u32) -> usize {
        let known = self.parts.iter().position(|part| (part.table, part.link) == (table, link));
        known.unwrap_or_else(|| {
            self.parts.push(Part { table, link, t: Vec::new(), value: Vec::new() });
            self.parts.len() - 1
        })
    }

    #[inline(never)]
    fn push(&mut self, place: u32, at: At, value: f64) {
        if self.rows >= self.limit {
            self.full.get_or_insert(at.now);
            return;
        }
        self.rows += 1;
        match at.of {
            SeriesOf::Flow => {
                let table = &mut self.tables[place as usize];
                table.t_s.push(at.now);
                table.id.push(at.id);
                table.value.push(value);
            }
            SeriesOf::Link => {
                let part = &mut self.parts[place as usize];
                part.t.push(at.now);
                part.value.push(value);
            }
        }
    }

    /// What the user should know.
    pub fn warning(&self) -> Option<String> {
        let full = self.full?;
        Some(format!(
            "probe: the first {} values are recorded, up to {full} s; record fewer series, groups or \
             links, or give a longer probe.every",
            self.limit
        ))
    }

    /// Puts what links have reported into order, now and then, while it is still in the cache. No link
    /// will report anything before `settled`.
    pub fn gather(&mut self, settled: Time) {
        if !self.parts.is_empty() {
            self.gather_before(settled.as_secs());
        }
    }

    fn gather_before(&mut self, settled: f64) {
        for (number, table) in self.tables.iter_mut().enumerate() {
            let of_table = self.parts.iter_mut().filter(|part| part.table as usize == number);
            let mut runs: Vec<Run> = of_table.filter_map(|part| part.cut(settled)).collect();
            // Two by two, so that it takes as many rounds as the logarithm of their number.
            while runs.len() > 1 {
                let odd = (runs.len() % 2 == 1).then(|| runs.pop()).flatten();
                runs = runs.chunks(2).map(|two| Run::merge(&two[0], &two[1])).chain(odd).collect();
            }
            for run in runs {
                table.t_s.extend_from_slice(&run.t);
                table.id.extend_from_slice(&run.id);
                table.value.extend_from_slice(&run.value);
            }
        }
    }

    /// The tables, each in order of time.
    pub fn finish(&mut self) -> Vec<Table> {
        self.gather_before(f64::INFINITY);
        self.parts.clear();
        std::mem::take(&mut self.tables)
    }
}

impl Part {
    /// Its rows before `settled`, if there are any: they go.
    fn cut(&mut self, settled: f64) -> Option<Run> {
        let rows = self.t.partition_point(|&t| t < settled);
        let t = self.t.drain(..rows).collect();
        let value = self.value.drain(..rows).collect();
        (rows > 0).then(|| Run { t, id: vec![self.link; rows], value })
    }
}

/// Rows in order: by time, then by link.
struct Run {
    t: Vec<f64>,
    id: Vec<u32>,
    value: Vec<f64>,
}

impl Run {
    fn merge(a: &Run, b: &Run) -> Run {
        let rows = a.t.len() + b.t.len();
        let mut all = Run { t: vec![0.0; rows], id: vec![0; rows], value: vec![0.0; rows] };
        let (mut i, mut j) = (0, 0);
        let places = all.t.iter_mut().zip(&mut all.id).zip(&mut all.value);
        for ((t, id), value) in places {
            // An end is later than everything. Without branches, which could not be foreseen.
            let (ta, tb) = (a.t.get(i), b.t.get(j));
            let (ta, tb) = (ta.map_or(f64::INFINITY, |t| *t), tb.map_or(f64::INFINITY, |t| *t));
            let first = ta < tb || ta == tb && a.id[i] <= b.id[j];
            let (from, k) = if first { (a, i) } else { (b, j) };
            (*t, *id, *value) = (from.t[k], from.id[k], from.value[k]);
            i += usize::from(first);
            j += usize::from(!first);
        }
        all
    }
}
