//! The rows of series while a run records them: 20 bytes each, 16 for links.

use results::{Series as Table, SeriesOf};
use units::Time;

/// Rows that a run records at most: 2 GB of them. Then it warns and records no more.
pub const MAX_ROWS: u64 = 100_000_000;

/// Whose value, and when.
#[derive(Clone, Copy, Debug)]
pub struct At {
    pub now: Time,
    pub of: SeriesOf,
    pub id: u32,
}

/// All rows so far.
#[derive(Clone, Debug)]
pub struct Rows {
    tables: Vec<Growing>,
    rows: u64,
    pub limit: u64,
    /// When the first row was refused.
    full: Option<Time>,
}

/// A table that grows. Flows report in order of time. A link's departures are worked out late, so that
/// each has its own part, in order, and the parts are merged at the end.
#[derive(Clone, Debug)]
struct Growing {
    name: String,
    of: SeriesOf,
    /// One for each link, by its number; one for all flows.
    parts: Vec<Part>,
    /// The flows of the one part; empty for links.
    flows: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Part {
    t_s: Vec<f64>,
    value: Vec<f64>,
}

/// The tables of the values that one flow or link reports, in the order in which it reports them, and
/// what was reported last.
#[derive(Clone, Debug, Default)]
pub struct Slots(Vec<(u32, f64)>);

/// What is reported.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// Nothing yet.
    None,
    /// A row, whatever was before.
    Is(f64),
    /// A row if it is another value than before.
    Now(f64),
}

/// The name of a series in two parts, put together when its table is made.
pub type Name<'a> = (&'static str, &'a str);

impl Rows {
    pub fn new() -> Rows {
        Rows { tables: Vec::new(), rows: 0, limit: MAX_ROWS, full: None }
    }

    /// The `k`-th value that someone reports, or that there is none yet.
    #[inline]
    pub fn put(&mut self, slots: &mut Slots, k: usize, name: Name<'_>, at: At, value: Value) {
        if k == slots.0.len() {
            self.open(slots, name, at.of);
        }
        let (table, last) = &mut slots.0[k];
        let value = match value {
            Value::Is(value) => value,
            Value::Now(value) if last.to_bits() != value.to_bits() => value,
            Value::Now(_) | Value::None => return,
        };
        *last = value;
        let table = *table as usize;
        self.push(table, at, value);
    }

    #[cold]
    fn open(&mut self, slots: &mut Slots, name: Name<'_>, of: SeriesOf) {
        let table = self.table(name, of) as u32;
        // NaN is what no protocol reports: the first value is a change.
        slots.0.push((table, f64::NAN));
    }

    fn table(&mut self, name: Name<'_>, of: SeriesOf) -> usize {
        let name = format!("{}{}", name.0, name.1);
        self.tables.iter().position(|t| t.name == name).unwrap_or_else(|| {
            self.tables.push(Growing { name, of, parts: Vec::new(), flows: Vec::new() });
            self.tables.len() - 1
        })
    }

    fn push(&mut self, table: usize, at: At, value: f64) {
        if self.rows >= self.limit {
            self.full.get_or_insert(at.now);
            return;
        }
        self.rows += 1;
        let table = &mut self.tables[table];
        let part = match at.of {
            SeriesOf::Flow => {
                table.flows.push(at.id);
                0
            }
            SeriesOf::Link => at.id as usize,
        };
        if part >= table.parts.len() {
            table.parts.resize_with(part + 1, Part::default);
        }
        let part = &mut table.parts[part];
        part.t_s.push(at.now.as_secs());
        part.value.push(value);
    }

    /// What the user should know.
    pub fn warning(&self) -> Option<String> {
        let full = self.full?;
        Some(format!(
            "probe: the first {} values are recorded, up to {} s; record fewer series, groups or \
             links, or give a longer probe.every",
            self.limit,
            full.as_secs()
        ))
    }

    /// The tables, each in order of time.
    pub fn finish(&mut self) -> Vec<Table> {
        std::mem::take(&mut self.tables).into_iter().map(Growing::finish).collect()
    }
}

impl Growing {
    fn finish(self) -> Table {
        let Growing { name, of, parts, flows } = self;
        let filled = || parts.iter().enumerate().filter(|(_, part)| !part.t_s.is_empty());
        if of == SeriesOf::Flow || filled().count() < 2 {
            let link = filled().next().map_or(0, |(link, _)| link as u32);
            let part = parts.into_iter().find(|part| !part.t_s.is_empty()).unwrap_or_default();
            let id = if of == SeriesOf::Flow { flows } else { vec![link; part.t_s.len()] };
            return Table { name, of, t_s: part.t_s, id, value: part.value };
        }
        let mut rows: Vec<(f64, u32, f64)> = Vec::new();
        for (link, part) in parts.into_iter().enumerate() {
            let with_id = |(t, value)| (t, link as u32, value);
            rows.extend(part.t_s.into_iter().zip(part.value).map(with_id));
        }
        // The sort is stable and finds that each link's rows are in order.
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        Table {
            name,
            of,
            t_s: rows.iter().map(|row| row.0).collect(),
            id: rows.iter().map(|row| row.1).collect(),
            value: rows.iter().map(|row| row.2).collect(),
        }
    }
}
