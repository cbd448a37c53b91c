//! Any bytes as a map.
#![no_main]

use libfuzzer_sys::fuzz_target;

const SCENARIO: &str = r#"
schema = 1
name = "map"
duration = "10s"
[topology]
kind = "graphml"
file = "any.graphml"
rate = "10Mbps"
owd = "1ms"
buffer = "10pkt"
[flows.f]
protocol = "sack"
from = "a"
to = "b"
"#;

fuzz_target!(|data: &[u8]| clearpipe_fuzz::check(SCENARIO, data));
