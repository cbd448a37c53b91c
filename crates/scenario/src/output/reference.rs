//! The reference of the scenario file, page by page.

use std::fmt::Write;

use cc::params::{Preset, Spec, Value};
use cc::registry::{AnyRouterParams, AnySenderParams, Recovery, Role, protocols, queues};

use crate::file::fluid::FluidFile;
use crate::file::line_keys::{
    EveryLoss, GilbertElliottLoss, JitterFile, ListLoss, RandomLoss, ReorderFile, StepFile,
};
use crate::file::linux::LinuxFile;
use crate::file::{
    Dumbbell, File, FlowFile, IslandFile, LinkFile, MapFile, PacketsFile, ParkingLot, ProbeFile,
    TransportFile,
};
use crate::model::era::Era;
use crate::model::{Of, Series};
use crate::output::toml::parameter;
use crate::syntax::declaration::{Definitions, Presence, Table};

const GENERATED: &str =
    "<!-- Generated: cargo run -p clearpipe-scenario --example reference docs/reference -->";

const FRONT: &str = r#"
A scenario file describes one experiment: the network, the flows and what to record. It is strict TOML. A key
that is not listed here is an error, and so is a number without its unit where a unit exists.
`clearpipe show FILE --resolved` prints the file with every default filled in; that output is itself a
scenario file. [Editors](../howto/editors.md) complete the keys and mark mistakes.

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

## Pages
"#;

const VALUES: &str = r#"
How to write quantities, values that differ from flow to flow, distributions, and the files that a scenario reads.

## Quantities

A decimal number and a unit in one string: `"45Mbps"`, `"1.5 MB"`, `"1e3us"`. Quantities are exact: a time is
a whole number of picoseconds, a rate a whole number of bits per second.

| quantity | units |
|---|---|
| time | `ps` `ns` `us` `ms` `s` `min` `h` |
| rate | `bps` `kbps` `Mbps` `Gbps` `Tbps` |
| bytes | `B` `kB` `MB` `GB` (powers of 1000), `KiB` `MiB` (powers of 1024) |
| packets | `pkt` (full data packets) |
| buffer | bytes, packets, `bdp` or `bdp-pkt` |
| share, probability | `%` |

`bdp` is the link's capacity times the longest two-way propagation time of the flows whose data or ACKs cross
it, in bytes; `bdp-pkt` is the same in full data packets, rounded down. A buffer in bytes or `bdp` counts the
bytes that wait. One in packets or `bdp-pkt` counts packets, an ACK as much as a data packet, as ns-2's queues do;
the fluid engine and the kernel's links convert it to bytes. The packet in service does not count.

## One value for each flow

Where a key takes a value for each flow of a group, write one value for all, a list with one value per flow, or

- `"linspace(40ms, 200ms)"`: equal steps from the first flow to the last;
- `"logspace(40ms, 200ms)"`: equal ratios, rounded to the nearest smallest unit in between;
- `"formula(40ms + 10ms * i)"`: arithmetic with `+ - * / ^ ( )`, numbers, quantities, the flow's number
  `i` (from 0) and the number of flows `n`. The result must be a quantity of the right kind and not
  negative. It is exact, rounded down to the smallest unit, as long as 128-bit fractions suffice;
  beyond that (a root, a huge power) it is a float, rounded to the nearest.

Flows that come with `arrivals` have no number: they share one value, or take the values of a list in turn.
Random values are not part of the file, because the resolved scenario would then differ between
replications. Sizes and times below are drawn while the scenario runs.

## Distributions

| written | draws | note |
|---|---|---|
| `uniform(LOW, HIGH)` | times | even between the two |
| `exponential(MEAN)` | times, sizes | |
| `normal(MEAN, SD)` | times | negative values count as zero |
| `pareto(MEAN, SHAPE)` | times, sizes | the shape is above 1 |
| `bounded-pareto(LEAST, MOST, SHAPE)` | sizes | the shape is above 0, at most 10 |
| `{ cdf = ... }` | sizes | a distribution function |

A drawn time is at most one hour, a drawn size at least 1 byte and at most 10^15 bytes.

## Files

`trace`, `cdf` and a map's `file` name files of at most 64 MB, relative to the scenario file's folder.
`clearpipe show FILE --resolved` and the `run.toml` of a result contain what was read, so they stand alone.

- A trace is in mahimahi's format: a whole number of milliseconds on each line, in ascending order (repeats are
  allowed), at most 1,000,000 of them. In each of these milliseconds 1500 bytes may leave. The last number is
  the period after which the trace starts again.
- A distribution function has two columns: bytes, and the share of flows that are not larger, from
  0 to 1. Both ascend (steps are allowed), the last share is 1, `#` begins a comment, and there are at most
  100,000 points. It is linear between points; the first point's share of the flows has the first point's
  size. `web-search.cdf` and `data-mining.cdf` come with the examples.
- A map is GraphML without a DTD, of at most 10,000 nodes and 20,000 edges.
"#;

const TOPOLOGY: &str = "
`[topology]` describes a network in a few keys. It has one of three kinds; for any other network, list its
[links](links.md) one by one. The [links page](links.md) also describes the tables that `steps`, `loss`, `jitter` and
`reorder` take.
";

const LINKS: &str = "
`[links.NAME]` describes a network link by link, in place of [`[topology]`](topology.md). The tables below it are
values of a link's keys, in either form of network.
";

const FLOWS: &str = "
`[flows.NAME]` is a group of flows that share a protocol and a path. Every scenario has at least one.
";

const TRANSPORT: &str = "
`[packets]` and `[transport]` describe what all end hosts have in common, and `era` selects the defaults.
";

const ISLANDS: &str = "
`[islands.NAME]` is a part of the network that runs a protocol of its own between its border routers. The
[how-to guide](../../howto/islands.md) explains what happens to packets on their way through.
";

const PROBE: &str = "
`[probe]` selects the time series that a run records. Without it a run reports totals only.
";

const FLUID: &str = "
`[fluid]` sets how the fluid engine solves its equations; the other engines ignore it. The engine's
[model](../../explanation/fluid.md) and its [numerics](../../explanation/fluid-numerics.md) have pages of their own.
";

const LINUX: &str = "
`[linux]` sets what the packets of the [linux engine](../../howto/linux.md) are; the other engines ignore it.
";

const PROTOCOLS: &str = "
`[protocols.NAME]` defines a protocol with parameters of your choice, for any group of flows to use by name. Each
kind's own page explains its parameters and presets.
";

const QUEUES: &str = "
`[queues.NAME]` defines a queue with parameters of your choice, for any link to use by name. Each kind's own page
explains its parameters and presets.
";

const ARRIVALS: &str = r#"
With `arrivals`, `size` must be finite and `start` a single time. `load(60%)` is the Poisson process whose mean
rate times the mean size is 60 % of the `rate` of the slowest link that the data crosses (for a trace its mean
rate, for `steps` the first rate). `buffer_per_flow` does not count flows that arrive.

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
A name has 1 to 100 of the characters `A-Z a-z 0-9 _ - .`. It may be that of a registered kind if the definition is
of that kind, and then replaces it. Wherever a name is allowed, so is a table `{ kind = ..., ... }`.";

const PRESETS: &str =
    "A named set of parameters, for kinds that have any; keys beside it take precedence.";

const ERAS: &str = "
`era` selects the defaults of `[transport]` and of some protocol parameters. Presets and keys in the file override
them. Queues and the papers' own protocols have the same parameters in every era, but for the transport's first
window. `clearpipe show FILE --resolved` says where each value comes from.

";

/// A page of the reference: its place below `docs/reference`, its title, what it covers, and the
/// headings that it took from the page that they all once shared.
struct Page {
    path: &'static str,
    title: &'static str,
    covers: &'static str,
    anchors: &'static [&'static str],
    text: fn(&mut String),
}

const PAGES: [Page; 11] = [
    Page {
        path: "values",
        title: "Values",
        covers: "quantities and their units, one value for each flow, distributions, files",
        anchors: &["quantities", "distributions", "files"],
        text: |out| out.push_str(VALUES),
    },
    Page {
        path: "topology",
        title: "Topologies",
        covers: "`[topology]`: a dumbbell, a parking lot, a map in GraphML",
        anchors: &["topology"],
        text: |out| {
            out.push_str(TOPOLOGY);
            table::<Dumbbell>(out, "Dumbbell");
            table::<ParkingLot>(out, "Parking lot");
            table::<MapFile>(out, "GraphML map");
        },
    },
    Page {
        path: "links",
        title: "Links",
        covers: "`[links.NAME]`; `steps`, `loss`, `jitter` and `reorder`",
        anchors: &["linksname", "links-name"],
        text: |out| {
            out.push_str(LINKS);
            table::<LinkFile>(out, "[links.NAME]");
            lines(out);
        },
    },
    Page {
        path: "flows",
        title: "Flows",
        covers: "`[flows.NAME]`: protocol, path, start, sizes, arrivals, applications",
        anchors: &["flowsname", "flows-name"],
        text: |out| {
            out.push_str(FLOWS);
            table::<FlowFile>(out, "[flows.NAME]");
            out.push_str(ARRIVALS);
        },
    },
    Page {
        path: "transport",
        title: "Packets, transport and eras",
        covers: "`[packets]`, `[transport]` and `era`: sizes, timers, first window",
        anchors: &["packets", "transport", "eras"],
        text: |out| {
            out.push_str(TRANSPORT);
            table::<PacketsFile>(out, "[packets]");
            table::<TransportFile>(out, "[transport]");
            eras(out);
        },
    },
    Page {
        path: "islands",
        title: "Islands",
        covers: "`[islands.NAME]`: parts of the network with a protocol of their own",
        anchors: &[],
        text: |out| {
            out.push_str(ISLANDS);
            table::<IslandFile>(out, "[islands.NAME]");
        },
    },
    Page {
        path: "probe",
        title: "Probes",
        covers: "`[probe]`: the time series that a run records",
        anchors: &["probe"],
        text: |out| {
            out.push_str(PROBE);
            table::<ProbeFile>(out, "[probe]");
            series(out);
        },
    },
    Page {
        path: "fluid",
        title: "The fluid engine's settings",
        covers: "`[fluid]`: step, tolerance, forms of VCP and XCP",
        anchors: &[],
        text: |out| {
            out.push_str(FLUID);
            table::<FluidFile>(out, "[fluid]");
        },
    },
    Page {
        path: "linux",
        title: "The linux engine's settings",
        covers: "`[linux]`: the version of IP",
        anchors: &[],
        text: |out| {
            out.push_str(LINUX);
            table::<LinuxFile>(out, "[linux]");
        },
    },
    Page {
        path: "protocols",
        title: "Protocol definitions",
        covers: "`[protocols.NAME]`: every protocol with its parameters and presets",
        anchors: &["protocolsname", "protocols-name"],
        text: all_protocols,
    },
    Page {
        path: "queues",
        title: "Queue definitions",
        covers: "`[queues.NAME]`: every queue with its parameters and presets",
        anchors: &["queuesname", "queues-name"],
        text: all_queues,
    },
];

/// The tables that the sweep runner reads; their page is written by hand.
const SWEEP: (&str, &str) =
    ("sweep", "[Sweeps and plots](scenario/sweep.md) | `[sweep]` and `[plot]`");

/// The reference of the scenario file in Markdown: each page's place below `docs/reference`, and
/// its text.
pub fn reference_pages() -> Vec<(String, String)> {
    let page = |page: &Page| {
        let mut text = format!("# {}\n\n{GENERATED}\n", page.title);
        (page.text)(&mut text);
        (format!("scenario/{}.md", page.path), text)
    };
    let mut pages = vec![("scenario.md".to_owned(), front())];
    pages.extend(PAGES.iter().map(page));
    pages
}

/// The first page: what a file looks like, where its tables are described, and the top level.
fn front() -> String {
    let mut out =
        format!("# The scenario file\n\n{GENERATED}\n{FRONT}\n| page | covers |\n|---|---|\n");
    for Page { path, title, covers, anchors, .. } in &PAGES {
        let anchors: String = anchors.iter().map(|id| format!("<a id=\"{id}\"></a>")).collect();
        let _ = writeln!(out, "| {anchors}[{title}](scenario/{path}.md) | {covers} |");
    }
    let _ = writeln!(out, "| {} |", SWEEP.1);
    table::<File>(&mut out, "Top level");
    let paths = PAGES.iter().map(|page| page.path).chain([SWEEP.0]);
    let toctree: String = paths.map(|path| format!("scenario/{path}\n")).collect();
    let _ = writeln!(out, "\n```{{toctree}}\n:hidden:\n\n{toctree}```");
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
    out.push_str("\nSources of the protocol parameters:\n\n");
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
            Presence::Section => "its defaults".to_owned(),
        };
        let _ = writeln!(out, "| `{}` | {} | {absent} | {} |", key.name, key.form, key.doc);
    }
}

/// The tables within `steps`, `loss`, `jitter` and `reorder`.
fn lines(out: &mut String) {
    out.push_str(
        "\n`loss = \"1%\"` is short for `{ kind = \"random\", p = \"1%\" }`, and `jitter = LAW` for \
         `{ delay = LAW }`. When the capacity changes, the rest of the packet in service is sent \
         at the new rate.\n",
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
    out.push_str("\n## Series\n\n| series | one for every | what |\n|---|---|---|\n");
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
        "{PROTOCOLS}\n## [protocols.NAME]\n\n| key | value | meaning |\n|---|---|---|\n\
         | `kind` | a name of the table below | The protocol. |\n\
         | `preset` | a name of the table below | {PRESETS} |\n\
         | `recovery` | {recoveries} | How lost data is found and sent again; by default as below. |\n\
         | a parameter | see the kind's page | In place of its default. |\n{NAMES}\n\n\
         ## Kinds\n\n| kind | recovery | needs queue | parameters and their defaults | presets |\n\
         |---|---|---|---|---|"
    );
    for info in protocols() {
        let queue = info.router.map_or(String::new(), |name| format!("`{name}`"));
        let defaults = AnySenderParams::named(info.name);
        let values = parameters(info.params, |name| defaults.as_ref()?.get(name));
        let (name, recovery, presets) = (info.name, info.recovery.name(), presets(info.presets));
        let _ = writeln!(
            out,
            "| [{name}](../protocols/{name}.md) | `{recovery}` | {queue} | {values} | {presets} |"
        );
    }
}

fn all_queues(out: &mut String) {
    let _ = writeln!(
        out,
        "{QUEUES}\n## [queues.NAME]\n\n| key | value | meaning |\n|---|---|---|\n\
         | `kind` | a name of the tables below | The queue. |\n\
         | `preset` | a name of the tables below | {PRESETS} |\n\
         | `over` | a policy's name or table | Of a feedback queue only: the policy below it, by default \
         `\"droptail\"`. |\n\
         | a parameter | see the kind's page | In place of its default. |\n{NAMES}"
    );
    for (role, title, about) in [
        (Role::Policy, "Policies", "A policy drops, marks or orders packets."),
        (
            Role::Feedback,
            "Feedback queues",
            "A feedback queue computes a protocol's feedback and stands over a policy.",
        ),
    ] {
        let _ = writeln!(
            out,
            "\n## {title}\n\n{about}\n\n| kind | parameters and their defaults | presets |\n|---|---|---|"
        );
        for info in queues().filter(|info| info.role == role) {
            let defaults = AnyRouterParams::named(info.name);
            let values = parameters(info.params, |name| defaults.as_ref()?.get(name));
            let (name, presets) = (info.name, presets(info.presets));
            let _ = writeln!(out, "| [{name}](../queues/{name}.md) | {values} | {presets} |");
        }
    }
}

/// Each parameter with its default, in one cell of a table.
fn parameters(specs: &[Spec], default: impl Fn(&str) -> Option<Value>) -> String {
    let one = |spec: &Spec| match default(spec.name) {
        Some(value) => format!("`{} = {}`", spec.name, parameter(value)),
        None => format!("`{}`", spec.name),
    };
    specs.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn presets(presets: &[Preset]) -> String {
    let names = presets.iter().map(|preset| format!("`{}`", preset.name));
    names.collect::<Vec<_>>().join(", ")
}
