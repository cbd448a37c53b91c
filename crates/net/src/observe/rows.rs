//! The rows of series while a run records them: 20 bytes each in their tables; those of links, 24
//! bytes each until they are gathered.

use std::slice::IterMut;

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

/// What one link has reported of one series, in order. A link's departures are worked out late, so
/// that links do not report in order of time among each other, as flows do.
#[derive(Clone, Debug)]
struct Part {
    table: u32,
    link: u32,
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    /// [s]
    t: f64,
    value: f64,
    link: u32,
}

/// The places of the values that one flow or link reports, in the order in which it reports them,
/// and what was reported last.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    all: Vec<Slot>,
    /// Those behind them that the last report has opened.
    fresh: Vec<Slot>,
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
    /// The slots of the next values.
    slots: IterMut<'a, Slot>,
    fresh: &'a mut Vec<Slot>,
    at: At,
}

/// The name of a series in two parts, put together when its table is made.
pub type Name<'a> = (&'static str, &'a str);

impl Report<'_> {
    /// The next value. Only a change makes a row if `changed`.
    #[inline(always)]
    pub fn put(&mut self, name: Name<'_>, value: f64, changed: bool) {
        let Some(slot) = self.slots.next() else { return self.open(name, Some(value)) };
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
            None if self.slots.next().is_none() => self.open(name, None),
            None => {}
        }
    }

    #[cold]
    #[inline(never)]
    fn open(&mut self, name: Name<'_>, value: Option<f64>) {
        self.rows.open(self.fresh, name, self.at, value);
    }
}

impl Rows {
    /// A report begins.
    #[inline]
    pub fn report<'a>(&'a mut self, slots: &'a mut Slots, at: At) -> Report<'a> {
        let Slots { all, fresh } = slots;
        if !fresh.is_empty() {
            all.append(fresh);
        }
        Report { rows: self, slots: all.iter_mut(), fresh, at }
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
            self.parts.push(Part { table, link, rows: Vec::new() });
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
                let row = Row { t: at.now, value, link: at.id };
                self.parts[place as usize].rows.push(row);
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

    /// Puts what links have reported into order, now and then, while it is still in the cache. No
    /// link will report anything before `settled`.
    pub fn gather(&mut self, settled: Time) {
        if !self.parts.is_empty() {
            self.gather_before(settled.as_secs());
        }
    }

    fn gather_before(&mut self, settled: f64) {
        for (number, table) in self.tables.iter_mut().enumerate() {
            let of_table = self.parts.iter().filter(|part| part.table as usize == number);
            let runs: Vec<&[Row]> = of_table.map(|part| part.before(settled)).collect();
            match runs[..] {
                [] => {}
                [run] => append(table, run),
                _ => append(table, &merged(&runs)),
            }
        }
        for part in &mut self.parts {
            part.rows.drain(..part.before(settled).len());
        }
    }

    /// The rows in the tables, which stay where they are, without them.
    pub fn take(&mut self) -> Vec<Table> {
        let empty = |table: &Table| {
            let (t_s, id, value) = (Vec::new(), Vec::new(), Vec::new());
            Table { name: table.name.clone(), of: table.of, t_s, id, value }
        };
        self.tables.iter_mut().map(|table| std::mem::replace(table, empty(table))).collect()
    }

    /// The tables, each in order of time.
    pub fn finish(&mut self) -> Vec<Table> {
        self.gather_before(f64::INFINITY);
        self.parts.clear();
        std::mem::take(&mut self.tables)
    }
}

impl Part {
    /// Its rows before `settled`.
    fn before(&self, settled: f64) -> &[Row] {
        &self.rows[..self.rows.partition_point(|row| row.t < settled)]
    }
}

fn append(table: &mut Table, rows: &[Row]) {
    table.t_s.extend(rows.iter().map(|row| row.t));
    table.id.extend(rows.iter().map(|row| row.link));
    table.value.extend(rows.iter().map(|row| row.value));
}

/// Runs in order of time in one, by time and then by link. Two by two, so that it takes as many
/// rounds as the logarithm of their number.
fn merged(runs: &[&[Row]]) -> Vec<Row> {
    match runs {
        [] => Vec::new(),
        [run] => run.to_vec(),
        [a, b] => merged_two(a, b),
        _ => {
            let (left, right) = runs.split_at(runs.len() / 2);
            merged_two(&merged(left), &merged(right))
        }
    }
}

fn merged_two(a: &[Row], b: &[Row]) -> Vec<Row> {
    let end = Row { t: f64::INFINITY, value: 0.0, link: 0 };
    let (mut i, mut j) = (0, 0);
    let next = |_| {
        // Without branches, which could not be foreseen; an end is later than everything.
        let (x, y) = (a.get(i).unwrap_or(&end), b.get(j).unwrap_or(&end));
        let first = x.t < y.t || x.t == y.t && x.link <= y.link;
        i += usize::from(first);
        j += usize::from(!first);
        *if first { x } else { y }
    };
    (0..a.len() + b.len()).map(next).collect()
}
