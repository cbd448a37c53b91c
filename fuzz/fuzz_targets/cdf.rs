//! Any bytes as a distribution function.
#![no_main]

use libfuzzer_sys::fuzz_target;

const SCENARIO: &str = r#"
schema = 1
name = "cdf"
duration = "10s"
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "80ms"
[flows.f]
protocol = "sack"
size = { cdf = "any.cdf" }
arrivals = "load(50%)"
count = 10
"#;

fuzz_target!(|data: &[u8]| clearpipe_fuzz::check(SCENARIO, data));
