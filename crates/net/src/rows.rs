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
    /// [ps]
    t: Vec<Time>,
    value: Vec<f64>,
}

/// The tables of the values that one flow or link reports, in the order in which it reports them, and
/// what was reported last.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    all: Vec<(u32, f64)>,
    /// The place of the next value of this report.
    next: usize,
}

impl Slots {
    /// A report begins.
    pub fn begin(&mut self) {
        self.next = 0;
    }
}

/// The name of a series in two parts, put together when its table is made.
pub type Name<'a> = (&'static str, &'a str);

impl Rows {
    pub fn new() -> Rows {
        Rows { tables: Vec::new(), rows: 0, limit: MAX_ROWS, full: None }
    }

    /// The next value that someone reports, or that there is none yet. Only a change makes a row if
    /// `changed`.
    #[inline(always)]
    pub fn put(
        &mut self,
        slots: &mut Slots,
        name: Name<'_>,
        at: At,
        (value, changed): (Option<f64>, bool),
    ) {
        slots.next += 1;
        if let (Some((_, last)), Some(value)) = (slots.all.get(slots.next - 1), value)
            && changed
            && last.to_bits() == value.to_bits()
        {
            return;
        }
        self.row(slots, name, at, value);
    }

    fn row(&mut self, slots: &mut Slots, name: Name<'_>, at: At, value: Option<f64>) {
        let k = slots.next - 1;
        if k == slots.all.len() {
            self.open(slots, name, at.of);
        }
        if let Some(value) = value {
            let (table, last) = &mut slots.all[k];
            *last = value;
            let table = *table as usize;
            self.push(table, at, value);
        }
    }

    #[cold]
    fn open(&mut self, slots: &mut Slots, name: Name<'_>, of: SeriesOf) {
        let table = self.table(name, of) as u32;
        // NaN is what no protocol reports: the first value is a change.
        slots.all.push((table, f64::NAN));
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
        part.t.push(at.now);
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
        let filled = || parts.iter().enumerate().filter(|(_, part)| !part.t.is_empty());
        if of == SeriesOf::Flow || filled().count() < 2 {
            let link = filled().next().map_or(0, |(link, _)| link as u32);
            let part = parts.into_iter().find(|part| !part.t.is_empty()).unwrap_or_default();
            let id = if of == SeriesOf::Flow { flows } else { vec![link; part.t.len()] };
            return Table {
                name,
                of,
                t_s: part.t.into_iter().map(Time::as_secs).collect(),
                id,
                value: part.value,
            };
        }
        let total = parts.iter().map(|part| part.t.len()).sum();
        let mut table = Table {
            name,
            of,
            t_s: Vec::with_capacity(total),
            id: Vec::with_capacity(total),
            value: Vec::with_capacity(total),
        };
        let mut heads: Vec<Head> = filled().map(|(link, part)| Head::new(link, part)).collect();
        // The links' rows are in order: from the first to the last of a link before the next's.
        while let Some(first) = (0..heads.len()).min_by(|&a, &b| heads[a].t().cmp(&heads[b].t())) {
            let others = heads.iter().enumerate().filter(|(i, _)| *i != first).map(|(_, h)| h.t());
            let until = others.min().unwrap_or(Time::NEVER);
            let head = &mut heads[first];
            head.take(until, &mut table);
            if head.done() {
                heads.remove(first);
            }
        }
        table
    }
}

/// Where the merging of a link's rows is.
struct Head<'a> {
    link: u32,
    part: &'a Part,
    next: usize,
}

impl Head<'_> {
    fn new(link: usize, part: &Part) -> Head<'_> {
        Head { link: link as u32, part, next: 0 }
    }

    fn done(&self) -> bool {
        self.next == self.part.t.len()
    }

    fn t(&self) -> Time {
        self.part.t[self.next]
    }

    /// Moves the next row, and those after it that are before `until`.
    fn take(&mut self, until: Time, table: &mut Table) {
        let from = self.next;
        self.next += 1;
        while !self.done() && self.t() < until {
            self.next += 1;
        }
        table.t_s.extend(self.part.t[from..self.next].iter().map(|t| t.as_secs()));
        table.value.extend_from_slice(&self.part.value[from..self.next]);
        table.id.resize(table.t_s.len(), self.link);
    }
}
