//! Compiles the programs with clang; they become part of the loader.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// FNV-1a of 64 bits.
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

fn main() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("ebpf/").to_owned();
    let include = programs.join("include");
    println!("cargo::rerun-if-changed={}", include.display());
    println!("cargo::rerun-if-env-changed=CLANG");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    let mut objects = String::from("&[\n");
    let mut digest = FNV_BASIS;
    let mut sources: Vec<PathBuf> = fs::read_dir(&programs)
        .expect("the programs' directory")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.to_string_lossy().ends_with(".bpf.c"))
        .collect();
    sources.sort();
    for source in sources {
        let file = source.file_name().expect("a file").to_string_lossy();
        let name = file.trim_end_matches(".bpf.c").replace('_', "-");
        println!("cargo::rerun-if-changed={}", source.display());
        let object = out.join(format!("{name}.o"));
        let status = Command::new(&clang)
            .current_dir(&out)
            .args([
                "-O2",
                "-g",
                "-target",
                "bpf",
                "-mcpu=v3",
                "-fdebug-compilation-dir=.",
                "-Wall",
                "-Wextra",
                "-Werror",
            ])
            .args(["-Wno-unused-parameter", "-Wno-unused-function", "-I"])
            .arg(&include)
            // Where Debian keeps asm/types.h.
            .arg(format!("-I/usr/include/{arch}-linux-gnu"))
            // What is in the object names no directory of this machine.
            .arg(format!("-ffile-prefix-map={}=ebpf", programs.display()))
            .arg("-c")
            .arg(&source)
            .arg("-o")
            .arg(&object)
            .status()
            .unwrap_or_else(|error| panic!("{clang}: {error}; `make deps-linux` installs it"));
        assert!(status.success(), "{file} does not compile");
        let bytes = fs::read(&object).expect("what clang has written");
        digest =
            bytes.iter().fold(digest, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(FNV_PRIME));
        objects += &format!("    ({name:?}, include_bytes!({object:?})),\n");
    }
    println!("cargo::rustc-env=CLEARPIPE_BUILD={}+{digest:016x}", env!("CARGO_PKG_VERSION"));
    fs::write(out.join("objects.rs"), objects + "]\n").expect("OUT_DIR can be written");
}
