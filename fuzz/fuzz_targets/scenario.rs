//! Any text as a scenario file. Files that it names hold a trace that is also a bad map.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        clearpipe_fuzz::check(text, b"1\n1\n3\n");
    }
});
