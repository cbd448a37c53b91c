//! A protocol fetches nothing: no clock, no file, no randomness that was not handed to it.
//!
//! The compiler holds most of it: `no_std`, `forbid(unsafe_code)` and no dependency
//! but `units`. This suite holds the rest: that those three lines are still there, that no source
//! outside its test module names a way around them, and that the check notices when one does.

use std::collections::BTreeSet;
use std::fs;

use crate::source::{crate_dir, sources, tokens, without_tests};

/// Identifiers that no source may use, and why.
const FORBIDDEN: [(&str, &str); 21] = [
    ("std", "clocks, files and hash seeds live there"),
    ("alloc", "a protocol does not allocate"),
    ("extern", "other crates and foreign functions"),
    ("unsafe", "cycle counters and system calls"),
    ("static", "state outside the protocol's own struct"),
    ("thread_local", "state outside the protocol's own struct"),
    ("atomic", "state shared between runs"),
    ("arch", "cycle counters and random instructions"),
    ("asm", "cycle counters and random instructions"),
    ("global_asm", "cycle counters and random instructions"),
    ("ptr", "an address differs from run to run"),
    ("as_ptr", "an address differs from run to run"),
    ("include", "files"),
    ("include_str", "files"),
    ("include_bytes", "files"),
    ("env", "the environment of the build"),
    ("option_env", "the environment of the build"),
    ("cfg", "code that differs between tests and use, or between platforms"),
    ("cfg_attr", "code that differs between tests and use, or between platforms"),
    ("Instant", "a clock"),
    ("SystemTime", "a clock"),
];

/// Runs of tokens that no source may contain, and why.
const FORBIDDEN_RUNS: [(&[&str], &str); 6] = [
    (&["Stream", ":", ":", "new"], "a random stream is handed over, never made"),
    (&["Stream", ">", ":", ":", "new"], "a random stream is handed over, never made"),
    (&["Stream", "as"], "a random stream under another name"),
    (&["=", "Stream", ";"], "a random stream under another name"),
    (&["#", "[", "path"], "a source outside the crate"),
    (&["as", "*"], "an address differs from run to run"),
];

/// Why this source of the crate `name` is not pure; empty when it is.
fn offences(name: &str, source: &str) -> Vec<String> {
    let code = match without_tests(source) {
        Ok(code) => code,
        Err(offence) => return vec![offence],
    };
    let words = tokens(code);
    let mut found: Vec<String> = FORBIDDEN
        .iter()
        .filter(|(word, _)| words.iter().any(|w| w == word))
        .map(|(word, why)| format!("{word}: {why}"))
        .collect();
    for (run, why) in FORBIDDEN_RUNS {
        // `units` is where streams are made.
        if !(name == "units" && run[0] == "Stream") && words.windows(run.len()).any(|w| w == run) {
            found.push(format!("{}: {why}", run.concat()));
        }
    }
    found
}

/// What a manifest lets in besides the dependencies `allowed`; empty when nothing.
fn manifest_offences(manifest: &str, allowed: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut section = "";
    for line in manifest.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            let known = ["package", "lib", "dependencies", "dev-dependencies", "lints"];
            if !known.contains(&section) {
                found.push(format!("section [{section}]"));
            }
            continue;
        }
        let key = line.split(['=', '.', ' ']).next().unwrap_or_default();
        if section == "dependencies" && !allowed.contains(&key) {
            found.push(format!("dependency {key}"));
        }
        if section == "package" && ["build", "links"].contains(&key) {
            found.push(format!("package key {key}"));
        }
    }
    found
}

#[test]
fn no_source_fetches_anything() {
    for name in ["cc", "units"] {
        let mut files = BTreeSet::new();
        sources(&crate_dir(name).join("src"), &mut files);
        assert!(files.len() >= 4, "{files:?}");
        for file in files {
            let source = fs::read_to_string(&file).unwrap();
            // The one allocation there is: a flow's large sender, when it starts.
            let source = match file.file_name().and_then(|name| name.to_str()) {
                Some("lib.rs") if name == "cc" => source.replacen("extern crate alloc;\n", "", 1),
                Some("boxed.rs") => source.replacen("use alloc::boxed::Box;\n", "", 1),
                _ => source,
            };
            let found = offences(name, &source);
            assert!(found.is_empty(), "{}: {found:#?}", file.display());
        }
    }
}

#[test]
fn the_crates_depend_on_nothing_impure() {
    for (name, allowed) in [("cc", &["units"][..]), ("units", &["libm", "rand_pcg"][..])] {
        let manifest = fs::read_to_string(crate_dir(name).join("Cargo.toml")).unwrap();
        let found = manifest_offences(&manifest, allowed);
        assert!(found.is_empty(), "{name}: {found:#?}");
        assert!(!crate_dir(name).join("build.rs").exists(), "{name} has a build script");
        let lib = fs::read_to_string(crate_dir(name).join("src/lib.rs")).unwrap();
        for line in ["#![no_std]", "#![forbid(unsafe_code)]"] {
            assert!(lib.lines().any(|l| l == line), "{name} lacks {line}");
        }
    }
    // The generator must not be able to seed itself from the system.
    let workspace = fs::read_to_string(crate_dir("..").join("Cargo.toml")).unwrap();
    let line = workspace.lines().find(|l| l.starts_with("rand_pcg")).unwrap();
    assert!(line.contains("default-features = false") && !line.contains("features = ["), "{line}");
}

#[test]
fn the_source_check_can_fail() {
    let offending = [
        "fn now() { std::time::Instant::now(); }",
        "use std :: fs;",
        "extern crate std as core2;",
        "extern \"C\" { fn time(t: *mut i64) -> i64; }",
        "use alloc::vec::Vec;",
        "static COUNT: u32 = 0;",
        "use core::sync::atomic::AtomicU64;",
        "fn t() -> u64 { core::arch::x86_64::_rdtsc() }",
        "fn t() { asm!(\"rdtsc\"); }",
        "const TABLE: &[u8] = include_bytes!(\"/etc/hostname\");",
        "const SEED: Option<&str> = option_env!(\"SEED\");",
        "#[cfg(not(test))]\nfn seed() -> u64 { 4 }",
        "#[cfg_attr(not(test), path = \"other.rs\")]\nmod other;",
        "#[path = \"/tmp/other.rs\"]\nmod other;",
        "fn mine() -> Stream { Stream::new(1, 0, \"mine\") }",
        "fn mine() -> Stream { units::random::Stream\n    ::new(1, 0, \"mine\") }",
        "fn mine() -> Stream { <Stream>::new(1, 0, \"mine\") }",
        "use units::random::Stream as Dice;",
        "type Dice = Stream;",
        "fn seed(x: &u8) -> usize { x as *const u8 as usize }",
        "fn seed(x: &[u8]) -> usize { x.as_ptr().addr() }",
        "fn a() { unsafe { b() } }",
        "fn a() {}\n#[cfg(test)]\nmod tests {\n}\nfn b() { std::process::id(); }\n",
        "fn a() {}\n#[cfg(test)]\nmod tests;\nfn b() {}\n",
        "fn a() { std::process::id(); }\n\n#[cfg(test)]\nmod tests;\n",
        "/* harmless */ fn a() { /* \" */ std::process::id(); /* \" */ }",
        "const QUOTE: char = '\"'; fn a() { std::process::id(); } const END: char = '\"';",
    ];
    for source in offending {
        assert!(!offences("cc", source).is_empty(), "not noticed: {source}");
    }
}

#[test]
fn the_source_check_can_pass() {
    let harmless = [
        "//! No std::fs, no clock.\nfn name() -> &'static str { \"std::time::Instant::now()\" }",
        "fn draw(stream: &mut Stream) -> f64 { stream.unit() }",
        "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n",
        "fn a() {}\n\n#[cfg(test)]\nmod tests;\n",
    ];
    for source in harmless {
        assert_eq!(offences("cc", source), Vec::<String>::new(), "{source}");
    }
    assert!(offences("units", "fn a() { Stream::new(1, 0, \"a\"); }").is_empty());
}

#[test]
fn the_manifest_check_can_fail() {
    let plain = "[package]\nname = \"a\"\n[dependencies]\nunits.workspace = true\n";
    assert!(manifest_offences(plain, &["units"]).is_empty());
    for addition in [
        "rand = \"0.9\"\n",
        "libc.workspace = true\n",
        "[build-dependencies]\ncc = \"1\"\n",
        "[target.'cfg(unix)'.dependencies]\nlibc = \"1\"\n",
        "[dependencies.rand]\nversion = \"1\"\n",
        "[package]\nbuild = \"seed.rs\"\n",
        "[features]\nstd = []\n",
    ] {
        let manifest = format!("{plain}{addition}");
        assert!(!manifest_offences(&manifest, &["units"]).is_empty(), "{addition}");
    }
}
