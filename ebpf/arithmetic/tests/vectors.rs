//! The published test vectors (docs/reference/wire-vectors.json) against what the BPF programs
//! compute: the headers that they write and the order of DPCP's numbers.

use clearpipe_arithmetic::{Dpcp, Mlcp, Xcp};
use serde_json::Value;

fn vectors(part: &str) -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/wire-vectors.json");
    let text = std::fs::read_to_string(path).expect("docs/reference/wire-vectors.json");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    all[part].as_array().expect("a list").clone()
}

fn whole(value: &Value) -> u32 {
    u32::try_from(value.as_u64().expect("a whole number")).expect("32 bits")
}

fn micros(seconds: &Value) -> u32 {
    (seconds.as_f64().expect("seconds") * 1e6).round() as u32
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The units of H_feedback.
fn feedback(bytes: &Value) -> i64 {
    if bytes == "inf" {
        i64::MAX
    } else {
        (bytes.as_f64().expect("bytes") * 65_536.0).round() as i64
    }
}

#[test]
fn headers_are_those_that_are_published() {
    let mut met = [0; 3];
    for vector in vectors("options") {
        let (name, means) = (&vector["name"], &vector["means"]);
        let header = match vector["protocol"].as_str().expect("a name") {
            "mlcp" => {
                let t_p = match micros(&means["h_t_p"]) {
                    80_000 => 0,
                    us => us / 200_000,
                };
                met[0] += 1;
                let word = Mlcp::word(whole(&means["h_load"]), t_p, micros(&means["h_rtt"]));
                hex(&word.to_be_bytes())
            }
            // The kernel has no RTT below a microsecond and none above an hour, and makes no
            // offers.
            "xcp" if vector["only"] != "encode" && means["h_cwnd"] != 0 => {
                met[1] += 1;
                let xcp = Xcp { cwnd: u64::from(whole(&means["h_cwnd"])) << 16 };
                hex(&xcp.header(micros(&means["h_rtt"]), feedback(&means["h_feedback"])))
            }
            // A host leaves the second identifier to the routers.
            "ixcp" if means["h_next_bottleneck"] == 0 => {
                met[2] += 1;
                let xcp = Xcp { cwnd: u64::from(whole(&means["h_cwnd"])) << 16 };
                let (rtt, id) = (micros(&means["h_rtt"]), whole(&means["h_bottleneck"]));
                hex(&xcp.ixcp_header(rtt, feedback(&means["h_feedback"]), id))
            }
            _ => continue,
        };
        let option = vector["option"].as_str().expect("bytes");
        assert_eq!(header, option[8..], "{name}");
    }
    assert_eq!(met, [4, 4, 1]);
}

#[test]
fn dpcps_numbers_are_read_as_published() {
    for vector in vectors("order") {
        let (name, wire, host) = (&vector["name"], &vector["wire"], &vector["host"]);
        let (seq, ack) = (whole(&wire["seq"]), whole(&wire["ack"]));
        let part = u32::from(vector["part"] == "lsp");
        assert_eq!(Dpcp::part(seq, ack), part, "{name}");
        // The kernel's hosts send ties as they are.
        if wire["stale"] == true {
            continue;
        }
        let [from, to, expected] =
            ["sent_from", "sent_to", "expected"].map(|name| whole(&host[name]));
        let switched = seq != whole(&vector["seq"]);
        assert_eq!(Dpcp::switched(seq, ack, from, to, expected), switched, "{name}");
    }
}
