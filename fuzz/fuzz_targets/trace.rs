//! Any bytes as a trace.
#![no_main]

use libfuzzer_sys::fuzz_target;

const SCENARIO: &str = r#"
schema = 1
name = "trace"
duration = "10s"
[topology]
kind = "dumbbell"
trace = "any.trace"
rtt = "80ms"
buffer = "10pkt"
[flows.f]
protocol = "sack"
"#;

fuzz_target!(|data: &[u8]| clearpipe_fuzz::check(SCENARIO, data));
