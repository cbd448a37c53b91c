//! Metrics in Prometheus's text format (0.0.4), and the endpoint that serves them.
//!
//! The format is written by hand: everything is read from maps when it is asked for, so there is
//! no registry to keep, and what is left is one line per sample. The tests hold it against
//! Prometheus's own parser.

use std::fmt::Display;
use std::net::SocketAddr;

use serde_json::json;
use tiny_http::{Header, Method, Response, Server};

use crate::log::Log;
use crate::read::{self, Loaded};
use crate::table::is_router;
use crate::{Error, Result, switch};

/// Labels of a sample.
type Labels<'a> = Vec<(&'static str, &'a str)>;
/// A family's samples of one object.
type Samples<'a> = Vec<(Labels<'a>, f64)>;

/// A metric: its name, its type, what it is, and how it is read of an object.
struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    of: fn(&Loaded) -> Samples<'_>,
}

/// What routers' packets leave with, and the counters.
const CODES: [&str; 7] = ["uncoded", "low", "high", "overload", "kept", "own", "less"];

const FAMILIES: &[Family] = &[
    Family {
        name: "clearpipe_attached",
        kind: "gauge",
        help: "1 where a program is attached to its device, 0 where the device is gone.",
        of: attached,
    },
    Family {
        name: "clearpipe_router_rate_bits_per_second",
        kind: "gauge",
        help: "The capacity that the router was given.",
        of: |one| router(one, one.rate_bps.map(|rate| rate as f64)),
    },
    Family {
        name: "clearpipe_router_load_ratio",
        kind: "gauge",
        help: "Load factor (rho) of the last measurement period.",
        of: |one| router(one, one.counter("rho_milli").map(|rho| rho as f64 / 1e3)),
    },
    Family {
        name: "clearpipe_router_periods_total",
        kind: "counter",
        help: "Measurement periods that have ended.",
        of: |one| router(one, number(one, "periods")),
    },
    Family {
        name: "clearpipe_router_packets_total",
        kind: "counter",
        help: "Packets by the code that they left with, of XCP and iXCP by whose feedback (kept: \
               the sender's or another router's; own; less: its own below zero); uncoded ones are \
               ACKs and those that no end host of ours sent.",
        of: packets,
    },
    Family {
        name: "clearpipe_router_bytes_total",
        kind: "counter",
        help: "Bytes that arrived, with IP headers.",
        of: |one| router(one, number(one, "bytes")),
    },
    Family {
        name: "clearpipe_router_queue_bytes",
        kind: "gauge",
        help: "Backlog of the device's root queueing discipline.",
        of: |one| router(one, one.queue.as_ref().map(|queue| queue.bytes as f64)),
    },
    Family {
        name: "clearpipe_router_queue_packets",
        kind: "gauge",
        help: "The same in packets.",
        of: |one| router(one, one.queue.as_ref().map(|queue| queue.packets as f64)),
    },
    Family {
        name: "clearpipe_router_drops_total",
        kind: "counter",
        help: "Packets that the root queueing discipline has dropped.",
        of: |one| router(one, one.queue.as_ref().map(|queue| queue.drops as f64)),
    },
    Family {
        name: "clearpipe_host_flows",
        kind: "gauge",
        help: "Connections of this machine that run the protocol now.",
        of: |one| {
            let ended = one.counter("ended").unwrap_or(0);
            host(one, one.counter("flows").map(|flows| flows.saturating_sub(ended) as f64))
        },
    },
    Family {
        name: "clearpipe_host_flows_started_total",
        kind: "counter",
        help: "Connections that have begun.",
        of: |one| host(one, number(one, "flows")),
    },
    Family {
        name: "clearpipe_host_fallbacks_total",
        kind: "counter",
        help: "Times that a sender became Reno, for want of feedback or by the kill switch.",
        of: |one| host(one, number(one, "fallbacks")),
    },
    Family {
        name: "clearpipe_host_returns_total",
        kind: "counter",
        help: "Times that feedback made such a sender the protocol's again.",
        of: |one| host(one, number(one, "returns")),
    },
    Family {
        name: "clearpipe_host_downgrades_total",
        kind: "counter",
        help: "Times that a DPCP sender went on as VCP.",
        of: |one| host(one, number(one, "downgrades")),
    },
    Family {
        name: "clearpipe_host_exceptions_total",
        kind: "counter",
        help: "Pairs that DPCP's exceptions ended.",
        of: |one| host(one, number(one, "exceptions")),
    },
    Family {
        name: "clearpipe_host_switched_total",
        kind: "counter",
        help: "Segments that left with their two numbers switched (DPCP).",
        of: |one| host(one, number(one, "switched")),
    },
    Family {
        name: "clearpipe_host_switched_back_total",
        kind: "counter",
        help: "Segments that arrived so and were switched back (DPCP).",
        of: |one| host(one, number(one, "undone")),
    },
];

fn number(one: &Loaded, counter: &str) -> Option<f64> {
    one.counter(counter).map(|value| value as f64)
}

fn place(one: &Loaded) -> Labels<'_> {
    let Some((attached, _)) = one.devices.first() else { return Vec::new() };
    let netns = attached.place.netns.as_deref().unwrap_or("");
    vec![("dev", &attached.place.dev), ("netns", netns), ("router", router_name(one))]
}

fn router_name(one: &Loaded) -> &str {
    one.name.trim_end_matches("-router")
}

fn router(one: &Loaded, value: Option<f64>) -> Samples<'_> {
    // One that is half loaded has no place yet, and samples need a label to differ in.
    let value = value.filter(|_| is_router(&one.name) && !one.devices.is_empty());
    value.map(|value| (place(one), value)).into_iter().collect()
}

fn host(one: &Loaded, value: Option<f64>) -> Samples<'_> {
    let value = value.filter(|_| !is_router(&one.name));
    value.map(|value| (vec![("protocol", one.name.as_str())], value)).into_iter().collect()
}

fn packets(one: &Loaded) -> Samples<'_> {
    let coded = |code: &&'static str| {
        let (labels, value) = router(one, number(one, code)).pop()?;
        Some(([labels, vec![("code", *code)]].concat(), value))
    };
    CODES.iter().filter_map(coded).collect()
}

fn attached(one: &Loaded) -> Samples<'_> {
    let mut samples = Samples::new();
    for (place, gone) in one.places() {
        let netns = place.netns.as_deref().unwrap_or("");
        let labels = vec![("dev", place.dev.as_str()), ("netns", netns), ("program", &*one.name)];
        samples.push((labels, if gone { 0.0 } else { 1.0 }));
    }
    samples
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    *text += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

fn sample(text: &mut String, name: &str, labels: &[(&str, &str)], value: impl Display) {
    let escaped =
        |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let labels: Vec<_> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    let labels =
        if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    *text += &format!("{name}{labels} {value}\n");
}

/// All that is loaded as text.
fn exposition(all: &[Loaded], off: bool) -> String {
    let mut text = String::new();
    head(&mut text, "clearpipe_info", "gauge", "1; the version of clearpipe-bpf.");
    sample(&mut text, "clearpipe_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    head(&mut text, "clearpipe_off", "gauge", "1 while the kill switch is off.");
    sample(&mut text, "clearpipe_off", &[], u8::from(off));
    for family in FAMILIES {
        head(&mut text, family.name, family.kind, family.help);
        for (labels, value) in all.iter().flat_map(family.of) {
            sample(&mut text, family.name, &labels, value);
        }
    }
    text
}

/// Serves metrics at /metrics from now on, as long as the process lives.
pub fn serve(address: SocketAddr, log: Log) -> Result<SocketAddr> {
    let server = Server::http(address)
        .map_err(|error| Error::Failed(format!("metrics on {address}: {error}")))?;
    let bound = server.server_addr().to_ip().unwrap_or(address);
    let html = |text: &'static str| Header::from_bytes(&b"Content-Type"[..], text.as_bytes());
    let kind = html("text/plain; version=0.0.4; charset=utf-8");
    let kind = kind.map_err(|()| Error::Failed("metrics: a header".to_owned()))?;
    std::thread::spawn(move || {
        for request in server.incoming_requests() {
            let path = request.url().split('?').next().unwrap_or_default();
            let known = path == "/metrics";
            let answer = match request.method() {
                Method::Get | Method::Head if known => {
                    Response::from_string(exposition(&read::all(), switch::is_off()))
                        .with_header(kind.clone())
                }
                Method::Get | Method::Head => {
                    Response::from_string("metrics are at /metrics\n").with_status_code(404)
                }
                _ => Response::from_string("GET only\n").with_status_code(405),
            };
            // Who asked may be gone.
            let _ = request.respond(answer);
        }
        log.warning("metrics", "the metrics' endpoint has ended", json!({}));
    });
    Ok(bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Place;
    use crate::pins::Attached;
    use crate::read::Queue;

    fn on(dev: &str, netns: Option<&str>, name: &str) -> Loaded {
        let place = Place { netns: netns.map(str::to_owned), dev: dev.to_owned() };
        let attached = |direction: &str| Attached {
            path: "x".into(),
            place: place.clone(),
            direction: direction.to_owned(),
        };
        Loaded {
            name: name.to_owned(),
            registered: true,
            build: None,
            counters: Vec::new(),
            devices: vec![(attached("egress"), false), (attached("ingress"), false)],
            rate_bps: None,
            queue: None,
        }
    }

    fn example() -> Vec<Loaded> {
        let mut router = on("eth0", Some("n\"1"), "vcp-router");
        router.devices.truncate(1);
        router.rate_bps = Some(20_000_000);
        router.counters = vec![
            ("rho_milli", 847),
            ("periods", 3),
            ("uncoded", 5),
            ("low", 1),
            ("high", 2),
            ("overload", 4),
            ("bytes", 18_000),
        ];
        router.queue = Some(Queue { kind: "tbf".into(), bytes: 3028, packets: 2, drops: 7 });
        let mut host = on("eth1", None, "dpcp");
        host.counters = vec![("downgrades", 6), ("flows", 9), ("ended", 4), ("fallbacks", 2)];
        host.devices[1].1 = true;
        vec![router, host]
    }

    #[test]
    fn samples_are_what_was_read() {
        let text = exposition(&example(), true);
        let router = r#"{dev="eth0",netns="n\"1",router="vcp"}"#;
        for line in [
            "clearpipe_off 1".to_owned(),
            format!("clearpipe_router_load_ratio{router} 0.847"),
            format!("clearpipe_router_rate_bits_per_second{router} 20000000"),
            format!("clearpipe_router_queue_bytes{router} 3028"),
            format!("clearpipe_router_drops_total{router} 7"),
            r#"clearpipe_router_packets_total{dev="eth0",netns="n\"1",router="vcp",code="uncoded"} 5"#.into(),
            r#"clearpipe_router_packets_total{dev="eth0",netns="n\"1",router="vcp",code="overload"} 4"#.into(),
            r#"clearpipe_host_flows{protocol="dpcp"} 5"#.into(),
            r#"clearpipe_host_downgrades_total{protocol="dpcp"} 6"#.into(),
            r#"clearpipe_attached{dev="eth1",netns="",program="dpcp"} 0"#.into(),
            r#"clearpipe_attached{dev="eth0",netns="n\"1",program="vcp-router"} 1"#.into(),
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        // No host has a router's metrics, nor the other way round.
        assert!(!text.contains("clearpipe_router_bytes_total{protocol"));
        assert_eq!(text.matches("clearpipe_host_flows{").count(), 1);
    }

    #[test]
    fn the_dashboard_asks_for_what_there_is() {
        let dashboard = include_str!("../../debian/grafana-dashboard.json");
        let names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
        let mut asked = 0;
        for part in dashboard.split("clearpipe_").skip(1) {
            let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let name = format!("clearpipe_{}", &part[..end.unwrap_or(part.len())]);
            assert!(names.contains(&name.as_str()) || name == "clearpipe_off", "{name}");
            asked += 1;
        }
        assert!(asked >= 8);
    }
}
