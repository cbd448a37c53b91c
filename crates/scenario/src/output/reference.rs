//! The reference page of the scenario file.

use std::fmt::Write;

use cc::params::{Preset, Spec, Value};
use cc::registry::{AnyRouterParams, AnySenderParams, Recovery, Role, protocols, queues};

use crate::file::definitions::{form, range};
use crate::file::line_keys::{
    EveryLoss, GilbertElliottLoss, JitterFile, ListLoss, RandomLoss, ReorderFile, StepFile,
};
use crate::file::{
    Dumbbell, File, FlowFile, LinkFile, MapFile, PacketsFile, ParkingLot, ProbeFile, TransportFile,
};
use crate::model::era::Era;
use crate::model::{Of, Series};
use crate::output::toml::parameter;
use crate::syntax::declaration::{Definitions, Presence, Table};

const INTRODUCTION: &str = r#"# The scenario file

<!-- Generated: cargo run -p clearpipe-scenario --example reference > docs/reference/scenario.md -->

A scenario file is strict TOML. A key that is not listed here is an error, and so is a number without
its unit where a unit exists. `clearpipe show FILE --resolved` prints the file with every default
filled in; the result is itself a scenario file.

```toml
schema = 1
name = "two-kinds"
duration = "60s"
warmup = "20%"

[topology]
kind = "dumbbell"
rate = "45Mbps"
rtt = "80ms"
buffer = "1bdp"
queue = "my-red"

[flows.web]
protocol = { kind = "sack", ecn = true }
count = 10
start = "uniform(0s, 5s)"

[flows.back]
protocol = "newreno"
direction = "reverse"

[queues.my-red]
kind = "red"
```

`--set topology.rate=155Mbps` replaces or adds one value; quote a name that contains a dot:
`--set 'links."a.b".rate=1Gbps'`.

## Quantities

A decimal number and a unit in one string: `"45Mbps"`, `"1.5 MB"`, `"1e3us"`. They are exact: a time is
a whole number of picoseconds, a rate of bits per second.

| quantity | units |
|---|---|
| time | `ps` `ns` `us` `ms` `s` `min` `h` |
| rate | `bps` `kbps` `Mbps` `Gbps` `Tbps` |
| bytes | `B` `kB` `MB` `GB` (powers of 1000), `KiB` `MiB` (powers of 1024) |
| packets | `pkt` (full data packets) |
| buffer | bytes, packets, or `bdp`: capacity times the longest two-way propagation time of the flows whose data or ACKs cross the link, counted in bytes; `bdp-pkt`: as many full data packets, rounded down |
| share, probability | `%` |

A buffer in bytes or `bdp` counts the bytes that wait; one in packets or `bdp-pkt` counts packets, an ACK as
much as data, as ns-2's queues do (the fluid engine and the kernel's links take as many bytes for it). The packet in
service is not counted.

A value for each flow of a group is one value, a list with one value per flow, or

- `"linspace(40ms, 200ms)"`: equal steps from the first flow to the last;
- `"logspace(40ms, 200ms)"`: equal ratios, rounded to the nearest smallest unit in between;
- `"formula(40ms + 10ms * i)"`: arithmetic with `+ - * / ^ ( )`, numbers, quantities, the flow's number
  `i` from 0 on and the number of flows `n`. The result must be a quantity of the right kind that is not
  negative. It is exact, and rounded down to the smallest unit, as long as 128-bit fractions suffice;
  beyond them (a root, a huge power) it is a float, rounded to the nearest.

Flows that come with `arrivals` have no number: they have one value, or take those of a list in turn.
What differs from flow to flow by chance is not part of the file's values: the resolved scenario would
not be the same for all replications. Sizes and times below are drawn while the scenario runs.

## Distributions

| written | of | |
|---|---|---|
| `uniform(LOW, HIGH)` | times | even between the two |
| `exponential(MEAN)` | times, sizes | |
| `normal(MEAN, SD)` | times | negative values count as zero |
| `pareto(MEAN, SHAPE)` | times, sizes | the shape is above 1 |
| `bounded-pareto(LEAST, MOST, SHAPE)` | sizes | the shape is above 0, at most 10 |
| `{ cdf = ... }` | sizes | a distribution function |

Times that are drawn are at most an hour, sizes at least 1 byte and at most 10^15.

## Files

`trace`, `cdf` and a map's `file` name files, relative to the scenario file's folder, of at most 64 MB.
`clearpipe show FILE --resolved` and the `run.toml` of a result hold what was read, so they stand alone.

- A trace is in mahimahi's format: a whole number of milliseconds on each line, none below the one
  before, at most 1,000,000 of them. In each of these milliseconds 1500 bytes may leave; the last one is
  the period after which the trace starts again.
- A distribution function has two columns: bytes, and the share of the flows that are not larger, from
  0 to 1. Both ascend (steps are allowed), the last share is 1, `#` begins a comment, 100,000 points are
  the most. Between two points it is linear; the first point's share of the flows has the first point's
  size. `web-search.cdf` and `data-mining.cdf` come with the examples.
- A map is GraphML without a DTD, of at most 10,000 nodes and 20,000 edges.
"#;

const ARRIVALS: &str = r#"
With `arrivals`, `size` is finite and `start` one time. `load(60%)` is the Poisson process whose mean
rate times the mean size is 60 % of the `rate` of the slowest link on the data's way (the mean rate of a
trace, the first rate of `steps`). A buffer's `buffer_per_flow` does not count flows that arrive.

```toml
[flows.web]
protocol = "sack"
arrivals = "load(60%)"
size = { cdf = "web-search.cdf" }
rtt = ["20ms", "40ms", "80ms"]

[flows.sensor]
protocol = "sack"
rate = "64kbps"
on = "exponential(1s)"
off = "exponential(2s)"
```
"#;

const NAMES: &str = r"
A name is 1 to 100 of the characters `A-Z a-z 0-9 _ - .`. A definition may have the name of a registered
kind if it is of that kind; it then takes its place. Where a name can stand, a table
`{ kind = ..., ... }` can stand as well.";

const PRESETS: &str = "Where a kind has presets, `preset` names one: it sets the parameters that it \
lists, and keys written beside it override them.";

const ERAS: &str = "
`era` names what end hosts are like where the file does not say. It sets defaults of `[transport]` and of
parameters of protocols; presets and keys that the file has override them. Queues and the papers' own
protocols have the same parameters in all of them; their first window is the transport's. `clearpipe show FILE --resolved` says beside each value
where it is from.

";

/// The reference page, in Markdown.
pub fn reference_markdown() -> String {
    let mut out = INTRODUCTION.to_owned();
    table::<File>(&mut out, "Top level");
    table::<PacketsFile>(&mut out, "[packets]");
    table::<TransportFile>(&mut out, "[transport]");
    eras(&mut out);
    table::<Dumbbell>(&mut out, "[topology] with kind = \"dumbbell\"");
    table::<ParkingLot>(&mut out, "[topology] with kind = \"parking-lot\"");
    table::<MapFile>(&mut out, "[topology] with kind = \"graphml\"");
    table::<LinkFile>(&mut out, "[links.NAME]");
    lines(&mut out);
    table::<FlowFile>(&mut out, "[flows.NAME]");
    out.push_str(ARRIVALS);
    table::<ProbeFile>(&mut out, "[probe]");
    series(&mut out);
    all_protocols(&mut out);
    all_queues(&mut out);
    out
}

// Writing to a String cannot fail, so the results below are not looked at.

fn eras(out: &mut String) {
    out.push_str("\n## Eras\n");
    out.push_str(ERAS);
    for era in Era::ALL {
        let _ = writeln!(out, "- `{}`: {}.", era.name(), era.doc());
    }
    let names: Vec<&str> = Era::ALL.iter().map(|era| era.name()).collect();
    let _ = writeln!(out, "\n| key | {} |", names.join(" | "));
    let _ = writeln!(out, "|---|{}", "---|".repeat(names.len()));
    let of: Vec<Vec<(String, String)>> = Era::ALL.iter().map(|era| era.values()).collect();
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in of.iter().flatten() {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    for key in keys {
        let value = |values: &Vec<(String, String)>| {
            let found = values.iter().find(|(own, _)| own == key);
            found.map_or_else(|| "default".to_owned(), |(_, value)| format!("`{value}`"))
        };
        let row: Vec<String> = of.iter().map(value).collect();
        let _ = writeln!(out, "| `{key}` | {} |", row.join(" | "));
    }
    out.push_str("\nSources of what is set for protocols:\n\n");
    for era in Era::ALL {
        for one in era.settings() {
            let _ = writeln!(
                out,
                "- `{}`, `{}.{}`: {}.",
                era.name(),
                one.protocol,
                one.name,
                one.source
            );
        }
    }
}

fn table<T: Table>(out: &mut String, title: &str) {
    let doc = T::DOC.trim().replace('\n', " ");
    let _ = writeln!(out, "\n## {title}\n\n{doc}\n\n| key | value | if left out | meaning |");
    out.push_str("|---|---|---|---|\n");
    for key in T::keys(&mut Definitions::new()) {
        let absent = match key.presence {
            Presence::Required => "**required**".to_owned(),
            Presence::Default(text) => format!("`{text}`"),
            Presence::Optional(text) => text.to_owned(),
            Presence::Section => "the defaults below".to_owned(),
        };
        let _ = writeln!(out, "| `{}` | {} | {absent} | {} |", key.name, key.form, key.doc);
    }
}

/// The tables within `steps`, `loss`, `jitter` and `reorder`.
fn lines(out: &mut String) {
    out.push_str(
        "\n`loss = \"1%\"` is short for `{ kind = \"random\", p = \"1%\" }`, and `jitter = LAW` for \
         `{ delay = LAW }`. A change of the capacity applies to the bits left of the packet in \
         service.\n",
    );
    table::<StepFile>(out, "An entry of `steps`");
    table::<RandomLoss>(out, "`loss` of kind = \"random\"");
    table::<GilbertElliottLoss>(out, "`loss` of kind = \"gilbert-elliott\"");
    table::<EveryLoss>(out, "`loss` of kind = \"every\"");
    table::<ListLoss>(out, "`loss` of kind = \"list\"");
    table::<JitterFile>(out, "`jitter`");
    table::<ReorderFile>(out, "`reorder`");
}

fn series(out: &mut String) {
    out.push_str("\n| series | one for every | what |\n|---|---|---|\n");
    for series in Series::ALL {
        let of = match series.of() {
            Of::Flow => "flow",
            Of::Link => "link",
        };
        let _ = writeln!(out, "| `{}` | {of} | {} |", series.name(), series.doc());
    }
}

fn all_protocols(out: &mut String) {
    let recoveries = Recovery::ALL.map(|recovery| format!("`{:?}`", recovery.name())).join(", ");
    let _ = writeln!(
        out,
        "\n## [protocols.NAME]\n\nA registered `kind`, its parameters by name, and `recovery` (how \
         lost data is found and sent again: {recoveries}). {PRESETS}\n{NAMES}"
    );
    for info in protocols() {
        let router = info.router.map_or(String::new(), |name| format!(" Needs queue `{name}`."));
        let recovery = info.recovery.name();
        let summary = format!("{}. Recovery `{recovery}`.{router}", info.summary);
        heading(out, info.name, &summary, info.source);
        let defaults = AnySenderParams::named(info.name);
        parameters(out, info.params, |name| defaults.as_ref()?.get(name));
        presets(out, info.presets);
    }
}

fn all_queues(out: &mut String) {
    let _ = writeln!(
        out,
        "\n## [queues.NAME]\n\nA registered `kind` and its parameters by name. A feedback queue \
         computes a protocol's feedback and stands `over` a policy: `over = \"droptail\"` (the \
         default), another policy's name or a table. {PRESETS}",
    );
    for info in queues() {
        let role = match info.role {
            Role::Policy => "A policy",
            Role::Feedback => "A feedback queue",
        };
        heading(out, info.name, &format!("{}. {role}.", info.summary), info.source);
        let defaults = AnyRouterParams::named(info.name);
        parameters(out, info.params, |name| defaults.as_ref()?.get(name));
        presets(out, info.presets);
    }
}

fn heading(out: &mut String, name: &str, summary: &str, source: &str) {
    let _ = writeln!(out, "\n### {name}\n\n{summary} Source: {source}.");
}

fn parameters(out: &mut String, specs: &[Spec], default: impl Fn(&str) -> Option<Value>) {
    if specs.is_empty() {
        out.push_str("\nNo parameters.\n");
        return;
    }
    out.push_str("\n| parameter | value | default | meaning |\n|---|---|---|---|\n");
    for spec in specs {
        let range = range(spec).map_or(String::new(), |range| format!(", {range}"));
        let default = default(spec.name).map_or(String::new(), parameter);
        let doc = spec.doc.trim().replace('|', "\\|");
        let (name, form) = (spec.name, form(spec));
        let _ = writeln!(out, "| `{name}` | {form}{range} | `{default}` | {doc} |");
    }
}

fn presets(out: &mut String, presets: &[Preset]) {
    if presets.is_empty() {
        return;
    }
    out.push_str("\n| preset | sets | what |\n|---|---|---|\n");
    for preset in presets {
        let set = |(key, value): &(&str, Value)| format!("`{key} = {}`", parameter(*value));
        let values: Vec<String> = preset.values.iter().map(set).collect();
        let doc = preset.doc.trim().replace('|', "\\|");
        let _ = writeln!(out, "| `{}` | {} | {doc} |", preset.name, values.join(", "));
    }
}
