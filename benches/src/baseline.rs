//! The counts that new ones are held against: `benches/baseline.toml`.

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::fmt::Write;
use std::fs;

use crate::suite::Bench;
use crate::valgrind::Counts;

/// Instructions per operation, by bench.
#[derive(Debug, Default)]
pub struct Baseline {
    arch: String,
    instructions: BTreeMap<String, f64>,
}

impl Baseline {
    /// The committed one; empty when there is none yet.
    pub fn read() -> Result<Baseline, String> {
        if !fs::exists(FILE).map_err(|error| format!("{FILE}: {error}"))? {
            return Ok(Baseline::default());
        }
        let text = fs::read_to_string(FILE).map_err(|error| format!("{FILE}: {error}"))?;
        Baseline::parse(&text).map_err(|error| format!("{FILE}: {error}"))
    }

    /// These counts as a baseline.
    pub fn of(benches: &[Bench], counts: &[Counts]) -> Baseline {
        let names = benches.iter().map(|bench| bench.name.clone());
        let instructions = names.zip(counts.iter().map(|counts| counts.instructions)).collect();
        Baseline { arch: ARCH.into(), instructions }
    }

    /// Makes it the committed one.
    pub fn write(&self) -> Result<(), String> {
        fs::write(FILE, self.text()).map_err(|error| format!("{FILE}: {error}"))
    }

    /// Can the counts of this machine be held against it?
    pub fn is_of_this_machine(&self) -> bool {
        self.arch.is_empty() || self.arch == ARCH
    }

    /// The count of the bench called `name`.
    pub fn instructions(&self, name: &str) -> Option<f64> {
        self.instructions.get(name).copied()
    }

    /// What shuts the gate: counts too high, benches without a baseline, and the reverse.
    pub fn complaints(&self, benches: &[Bench], counts: &[Counts]) -> Vec<String> {
        let mut gone = self.instructions.clone();
        let mut complaints = Vec::new();
        for (Bench { name, .. }, counts) in benches.iter().zip(counts) {
            let now = counts.instructions;
            match gone.remove(name) {
                None => complaints.push(format!("{name}: new, without a baseline")),
                Some(then) if now > then * (1.0 + TOLERANCE) => complaints.push(format!(
                    "{name}: {now:.2} instructions, {then:.2} in the baseline, {:+.1} %",
                    100.0 * change(then, now)
                )),
                Some(_) => {}
            }
        }
        complaints.extend(gone.into_keys().map(|name| format!("{name}: in the baseline only")));
        complaints
    }

    fn parse(text: &str) -> Result<Baseline, String> {
        let table: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
        let arch = table.get("arch").and_then(toml::Value::as_str).ok_or("no arch")?;
        let listed = table.get("instructions").and_then(toml::Value::as_table);
        let number = |(name, value): (&String, &toml::Value)| match value.as_float() {
            Some(count) => Ok((name.clone(), count)),
            None => Err(format!("{name}: not a number with a point")),
        };
        let instructions =
            listed.ok_or("no [instructions]")?.iter().map(number).collect::<Result<_, _>>()?;
        Ok(Baseline { arch: arch.into(), instructions })
    }

    fn text(&self) -> String {
        let mut text = format!("{HEAD}arch = \"{}\"\n\n[instructions]\n", self.arch);
        for (name, count) in &self.instructions {
            let _ = writeln!(text, "\"{name}\" = {count:.2}");
        }
        text
    }
}

/// How far `now` is above `then`, as a part of it.
pub fn change(then: f64, now: f64) -> f64 {
    now / then - 1.0
}

const FILE: &str = "benches/baseline.toml";
const HEAD: &str = "# Instructions per operation (for run/*: per packet-hop). `make bench-gate` \
    fails at +3 %;\n# `make bench-accept` writes this file.\n";
/// How far a count may rise.
const TOLERANCE: f64 = 0.03;

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(list: &[(&str, f64)]) -> (Vec<Bench>, Vec<Counts>) {
        let benches = list.iter().map(|(name, _)| Bench::step((*name).into(), |_| {})).collect();
        let counts =
            list.iter().map(|&(_, instructions)| Counts { instructions, ..Counts::default() });
        (benches, counts.collect())
    }

    #[test]
    fn a_baseline_is_read_as_it_was_written() {
        let (benches, counts) = measured(&[("b", 2.0), ("a", 10.25)]);
        let read = Baseline::parse(&Baseline::of(&benches, &counts).text()).unwrap();
        assert_eq!(read.instructions("a"), Some(10.25));
        assert_eq!(read.instructions("b"), Some(2.0));
        assert!(read.is_of_this_machine() && read.complaints(&benches, &counts).is_empty());
    }

    #[test]
    fn more_than_three_percent_new_benches_and_lost_ones_are_complained_of() {
        let (benches, counts) = measured(&[("a", 100.0), ("b", 100.0), ("c", 100.0), ("d", 1.0)]);
        let baseline = Baseline::of(&benches, &counts);
        let (benches, counts) = measured(&[("a", 103.1), ("b", 102.9), ("c", 9.0), ("e", 1.0)]);
        let complaints = baseline.complaints(&benches, &counts).join("; ");
        assert_eq!(
            complaints,
            "a: 103.10 instructions, 100.00 in the baseline, +3.1 %; e: new, without a baseline; \
             d: in the baseline only"
        );
    }
}
