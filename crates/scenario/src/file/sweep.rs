//! `[sweep]` and `[plot]`, which `clearpipe sweep` reads and judges (`clearpipe.sweep.spec`). A
//! single run looks only for the keys that vary, to say that it does not vary them. An editor
//! learns all of both tables from their schemas.

use serde_json::{Map, Value as Json, json};

use crate::error::{Fault, Origin};
use crate::file::fluid::FluidFile;
use crate::file::linux::LinuxFile;
use crate::file::{
    Dumbbell, File, FlowFile, IslandFile, LinkFile, MapFile, PacketsFile, ParkingLot, ProbeFile,
    TransportFile,
};
use crate::syntax::declaration::{Definitions, FileValue, Key, Table, defined};
use crate::syntax::document::{Node, Raw, key_path};

/// The most replications of a point.
const MAX_REPS: u64 = 1_000_000;

/// What says how to read the file, or holds for all points.
const FIXED: [&str; 4] = ["schema", "seed", "sweep", "plot"];

/// A name that the file gives, as a part of a key.
const NAME: &str = r#"("[^"]+"|'[^']+'|[A-Za-z0-9_-]+)"#;

/// The numbers of a link that a metric can be: columns of `summary.json`.
const OF_LINKS: [&str; 26] = [
    "rate_bps",
    "owd_s",
    "buffer_bytes",
    "arrivals_pkts",
    "drops_pkts",
    "data_drops_pkts",
    "marks_pkts",
    "departures_pkts",
    "departures_bytes",
    "lost_pkts",
    "utilization_ratio",
    "drop_ratio",
    "queue_mean_pkts",
    "queue_mean_bytes",
    "queue_mean_ratio",
    "queue_p90_pkts",
    "queue_p90_ratio",
    "queue_max_pkts",
    "queue_max_bytes",
    "total_arrivals_pkts",
    "total_drops_pkts",
    "total_data_drops_pkts",
    "total_marks_pkts",
    "total_departures_pkts",
    "total_lost_pkts",
    "queued_end_pkts",
];

/// Those of a group of flows.
const OF_GROUPS: [&str; 16] = [
    "flows",
    "active_flows",
    "goodput_min_bps",
    "goodput_mean_bps",
    "goodput_max_bps",
    "jain_index_ratio",
    "total_goodput_bps",
    "finished_flows",
    "fct_min_s",
    "fct_mean_s",
    "fct_max_s",
    "fct_p50_s",
    "fct_p95_s",
    "fct_p99_s",
    "timeouts",
    "retransmitted_pkts",
];

/// `[sweep]`: the keys that vary.
#[derive(Clone, Debug)]
pub(crate) struct Sweep(Vec<String>);

impl Sweep {
    /// The keys that vary and that no `--set` option has fixed: a run with all of them set is a
    /// point of the sweep.
    pub fn left<'a>(&'a self, root: &'a Node) -> impl Iterator<Item = &'a str> {
        let is_set = move |key: &str| {
            let path = key_path(key)?;
            let end = path.iter().try_fold(root, |node, name| node.entry(name))?;
            Some(matches!(end.spot.origin, Origin::Set(_)))
        };
        self.0.iter().map(String::as_str).filter(move |key| is_set(key) != Some(true))
    }
}

impl FileValue for Sweep {
    fn form() -> String {
        "table for `clearpipe sweep`".to_owned()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        defined(definitions, "SweepFile", sweep_schema)
    }
    fn read(node: &Node) -> Result<Sweep, Fault> {
        node.entries()?;
        let varied = node.entry("vary").map(|vary| names(vary, &[]));
        let zipped = node.entry("zip").map(|zip| match &zip.raw {
            Raw::List(tables) => {
                tables.iter().flat_map(|one| names(one, &["name", "labels"])).collect()
            }
            _ => Vec::new(),
        });
        Ok(Sweep(varied.into_iter().chain(zipped).flatten().collect()))
    }
}

/// The keys of a table, without some of them; of anything else none.
fn names(node: &Node, without: &[&str]) -> Vec<String> {
    let entries = node.entries().unwrap_or_default();
    let names = entries.iter().map(|(name, _)| name);
    names.filter(|name| !without.contains(&name.as_str())).cloned().collect()
}

/// `[plot]`: left to the sweep.
#[derive(Clone, Debug)]
pub(crate) struct Plot;

impl FileValue for Plot {
    fn form() -> String {
        "table for `clearpipe sweep`, or tables by name".to_owned()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        let one = defined(definitions, "PlotFile", plot_schema);
        json!({ "anyOf": [one, {
            "type": "object",
            "description": "Several figures, each called by its name.",
            "propertyNames": { "pattern": r"^[^./\\\u0000-\u001f][^/\\\u0000-\u001f]*$" },
            "additionalProperties": one,
        }] })
    }
    fn read(node: &Node) -> Result<Plot, Fault> {
        node.entries().map(|_| Plot)
    }
}

fn sweep_schema(definitions: &mut Definitions) -> Json {
    let condition = json!({
        "type": "array",
        "items": { "type": "object", "minProperties": 1, "additionalProperties": {
            "description": "A value, a list of values, or a comparison such as \">= 500ms\".",
        } },
        "examples": [[{ "topology.rtt": ">= 500ms" }]],
    });
    json!({
        "type": "object",
        "description": "What varies from point to point, and how often each point is run.",
        "additionalProperties": false,
        "properties": {
            "vary": vary_schema(definitions),
            "zip": zip_schema(definitions),
            "only": described(condition.clone(), "The points for which all conditions of one of \
                                                  these tables hold, and no others."),
            "skip": described(condition, "Without the points for which all conditions of one of \
                                          these tables hold."),
            "reps": {
                "type": "integer", "minimum": 1, "maximum": MAX_REPS, "default": 1,
                "description": "Replications of each point.",
            },
            "until": until_schema(definitions),
            "keep": {
                "enum": ["all", "summary"], "default": "all",
                "description": "What is kept of each run: all, or no tables of flows, links and \
                                series.",
            },
        },
    })
}

fn described(mut schema: Json, text: &str) -> Json {
    schema["description"] = Json::from(text);
    schema
}

/// The values of a key, whatever it is.
fn values_schema(definitions: &mut Definitions) -> Json {
    let series = defined(definitions, "ValueSeries", |_| series_schema());
    json!({ "anyOf": [{ "type": "array", "minItems": 1 }, series] })
}

fn vary_schema(definitions: &mut Definitions) -> Json {
    json!({
        "type": "object",
        "description": "Keys as for `--set`, each quoted as a whole, with the values that they \
                        have in turn. The points are all combinations.",
        "allOf": [defined(definitions, "Varying", varying_schema)],
        "propertyNames": { "pattern": varying_keys(definitions) },
        "additionalProperties": values_schema(definitions),
        "examples": [{ "topology.rtt": ["10ms", "50ms"] }],
    })
}

fn zip_schema(definitions: &mut Definitions) -> Json {
    json!({
        "type": "array",
        "description": "Axes of several keys, whose lists are of equal length and vary together.",
        "items": {
            "type": "object",
            "allOf": [defined(definitions, "Varying", varying_schema)],
            "properties": {
                "name": { "type": "string", "description": "What the axis is called." },
                "labels": {
                    "type": "array",
                    "items": { "type": ["string", "number", "boolean"] },
                    "minItems": 1,
                    "description": "What its settings are called, in the lists' order.",
                },
            },
            "propertyNames": { "anyOf": [
                { "enum": ["name", "labels"] }, { "pattern": varying_keys(definitions) },
            ] },
            "additionalProperties": values_schema(definitions),
        },
    })
}

fn until_schema(definitions: &mut Definitions) -> Json {
    let metric = defined(definitions, "Metric", |_| metric_schema());
    let metric = json!({ "allOf": [metric], "default": "utilization_ratio" });
    json!({
        "type": "object",
        "description": "Instead of `reps`: replications until half of the metric's 95 % interval \
                        is within a share of its mean.",
        "required": ["ci"],
        "additionalProperties": false,
        "properties": {
            "ci": {
                "type": "string", "pattern": r"^\s*[0-9.]+\s*%\s*$", "examples": ["2%"],
                "description": "The share, above 0% and up to 100%.",
            },
            "metric": described(metric, "What is to be known so well."),
            "min_reps": {
                "type": "integer", "minimum": 3, "maximum": MAX_REPS, "default": 5,
                "description": "At least so many replications.",
            },
            "max_reps": {
                "type": "integer", "minimum": 3, "maximum": MAX_REPS, "default": 100,
                "description": "At most so many.",
            },
        },
    })
}

fn plot_schema(definitions: &mut Definitions) -> Json {
    let metric = defined(definitions, "Metric", |_| metric_schema());
    let axis = |text: &str| {
        json!({
            "type": "string",
            "description": format!("{text}: a key of `vary`, or the name of a `zip`."),
            "examples": ["topology.rtt", "topology.rate"],
        })
    };
    let scale = |text: &str| json!({ "enum": ["linear", "log"], "description": text });
    let number = |text: &str| json!({ "type": "number", "description": text });
    let text = |text: &str| json!({ "type": "string", "description": text });
    json!({
        "type": "object",
        "description": "A figure: metrics over an axis of the sweep.",
        "required": ["x", "y"],
        "additionalProperties": false,
        "properties": {
            "x": axis("The axis from left to right"),
            "y": {
                "description": "What is drawn: a metric, or a row of panels for each of several.",
                "anyOf": [metric, { "type": "array", "items": metric, "minItems": 1 }],
            },
            "lines": axis("The axis with a line for each setting"),
            "panels": axis("The axis with a panel for each setting"),
            "x_scale": scale("By default logarithmic where settings span a decade."),
            "y_scale": scale("By default logarithmic where a single measure spans two decades."),
            "y_min": number("The least value that is shown, in the metric's unit."),
            "y_max": number("The largest value that is shown, in the metric's unit."),
            "title": text("What stands over the figure."),
            "x_label": text("What stands at the axis from left to right."),
            "y_label": text("What stands at the axis of the metric."),
        },
    })
}

fn series_schema() -> Json {
    json!({
        "type": "string",
        "description": "values at equal steps or equal ratios, both ends included",
        "pattern": r"^\s*(linspace|logspace)\([^,()]+,[^,()]+,\s*[0-9]+\s*\)\s*$",
        "examples": ["linspace(10ms, 100ms, 10)", "logspace(1Mbps, 1Gbps, 7)"],
    })
}

fn metric_schema() -> Json {
    let named = |table: &str, columns: &[&str]| {
        let pattern = format!(r"^{table}\.[A-Za-z0-9_.-]+\.({})$", columns.join("|"));
        json!({ "type": "string", "pattern": pattern })
    };
    let mut columns = Vec::from(OF_LINKS);
    columns.extend(OF_GROUPS);
    json!({
        "description": "a number of each run: `links.NAME.COLUMN`, `groups.NAME.COLUMN`, or a \
                        column alone, of the bottleneck or of all flows",
        "anyOf": [
            { "enum": columns }, named("links", &OF_LINKS), named("groups", &OF_GROUPS),
        ],
    })
}

/// The pattern of keys that can vary.
fn varying_keys(definitions: &mut Definitions) -> String {
    let keys = File::keys(definitions);
    let names = keys.iter().map(|key| key.name).filter(|name| !FIXED.contains(name));
    format!(r"^({})(\..+)?$", names.collect::<Vec<_>>().join("|"))
}

/// The keys that the format names, with the values that each may have: an editor completes both.
fn varying_schema(definitions: &mut Definitions) -> Json {
    let series = defined(definitions, "ValueSeries", |_| series_schema());
    let mut fixed = Map::new();
    let mut named = Map::new();
    let add = |table: &mut Map<String, Json>, name: String, key: &Key| {
        let values = json!({ "type": "array", "items": key.schema, "minItems": 1 });
        match table.get_mut(&name).and_then(|known| known["anyOf"].as_array_mut()) {
            // Topologies of other kinds have the key, too.
            Some(known) if known.contains(&values) => {}
            Some(known) => known.insert(0, values),
            None => {
                let about = json!({ "description": key.doc, "anyOf": [values, series] });
                table.insert(name, about);
            }
        }
    };
    for key in File::keys(definitions) {
        // `name` of a zip is what the axis is called.
        let is_table = key.form.contains("table");
        if !is_table && key.name != "name" && !FIXED.contains(&key.name) {
            add(&mut fixed, key.name.to_owned(), &key);
        }
    }
    for (table, keys) in [
        ("packets", PacketsFile::keys(definitions)),
        ("transport", TransportFile::keys(definitions)),
        ("topology", Dumbbell::keys(definitions)),
        ("topology", ParkingLot::keys(definitions)),
        ("topology", MapFile::keys(definitions)),
        ("probe", ProbeFile::keys(definitions)),
        ("fluid", FluidFile::keys(definitions)),
        ("linux", LinuxFile::keys(definitions)),
    ] {
        for key in keys {
            add(&mut fixed, format!("{table}.{}", key.name), &key);
        }
    }
    for (table, keys) in [
        ("links", LinkFile::keys(definitions)),
        ("flows", FlowFile::keys(definitions)),
        ("islands", IslandFile::keys(definitions)),
    ] {
        for key in keys {
            add(&mut named, format!(r"^{table}\.{NAME}\.{}$", key.name), &key);
        }
    }
    json!({ "properties": fixed, "patternProperties": named })
}
