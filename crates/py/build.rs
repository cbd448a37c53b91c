//! Tells the crate what `build_info` reports.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=BUILD_TARGET={}", env::var("TARGET").unwrap_or_default());
    println!("cargo::rustc-env=BUILD_PROFILE={}", profile().unwrap_or_default());
    println!("cargo::rustc-env=BUILD_RUSTC={}", rustc().unwrap_or_default());
}

/// The profile's own name, which only OUT_DIR tells: `.../<profile>/build/<package>/out`.
fn profile() -> Option<String> {
    let out = env::var("OUT_DIR").ok()?;
    let profile = Path::new(&out).ancestors().nth(3)?.file_name()?;
    Some(profile.to_string_lossy().into_owned())
}

fn rustc() -> Option<String> {
    let output = Command::new(env::var("RUSTC").ok()?).arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
