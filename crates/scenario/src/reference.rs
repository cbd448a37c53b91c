//! The reference page of the scenario file.

use std::fmt::Write;

use cc::params::{Spec, Value};
use cc::registry::{AnyRouterParams, AnySenderParams, Recovery, Role, protocols, queues};

use crate::definitions::{form, range};
use crate::file::{
    Dumbbell, File, FlowFile, LinkFile, PacketsFile, ParkingLot, ProbeFile, TransportFile,
};
use crate::resolved::{Of, Series};
use crate::table::{Definitions, Presence, Table};
use crate::write::parameter;

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
| buffer | bytes, packets, or `bdp`: capacity times the longest two-way propagation time of the flows whose data or ACKs cross the link, counted in bytes |
| share | `%` |

A buffer in bytes or `bdp` counts the bytes that wait, one in packets the packets. The packet in service
is not counted.

A value for each flow of a group is one value, `"linspace(40ms, 200ms)"` (equal steps from the first
flow to the last) or a list with one value per flow.
"#;

const NAMES: &str = r"
A name is 1 to 100 of the characters `A-Z a-z 0-9 _ - .`. A definition may have the name of a registered
kind if it is of that kind; it then takes its place. Where a name can stand, a table
`{ kind = ..., ... }` can stand as well.";

/// The reference page, in Markdown.
pub fn reference_markdown() -> String {
    let mut out = INTRODUCTION.to_owned();
    table::<File>(&mut out, "Top level");
    table::<PacketsFile>(&mut out, "[packets]");
    table::<TransportFile>(&mut out, "[transport]");
    table::<Dumbbell>(&mut out, "[topology] with kind = \"dumbbell\"");
    table::<ParkingLot>(&mut out, "[topology] with kind = \"parking-lot\"");
    table::<LinkFile>(&mut out, "[links.NAME]");
    table::<FlowFile>(&mut out, "[flows.NAME]");
    table::<ProbeFile>(&mut out, "[probe]");
    series(&mut out);
    all_protocols(&mut out);
    all_queues(&mut out);
    out
}

// Writing to a String cannot fail, so the results below are not looked at.

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
         lost data is found and sent again: {recoveries}).\n{NAMES}"
    );
    for info in protocols() {
        let router = info.router.map_or(String::new(), |name| format!(" Needs queue `{name}`."));
        let recovery = info.recovery.name();
        let summary = format!("{}. Recovery `{recovery}`.{router}", info.summary);
        heading(out, info.name, &summary, info.source);
        let defaults = AnySenderParams::named(info.name);
        parameters(out, info.params, |name| defaults.as_ref()?.get(name));
    }
}

fn all_queues(out: &mut String) {
    out.push_str(
        "\n## [queues.NAME]\n\nA registered `kind` and its parameters by name. A feedback queue \
         computes a protocol's feedback and stands `over` a policy: `over = \"droptail\"` (the \
         default), another policy's name or a table.\n",
    );
    for info in queues() {
        let role = match info.role {
            Role::Policy => "A policy",
            Role::Feedback => "A feedback queue",
        };
        heading(out, info.name, &format!("{}. {role}.", info.summary), info.source);
        let defaults = AnyRouterParams::named(info.name);
        parameters(out, info.params, |name| defaults.as_ref()?.get(name));
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
