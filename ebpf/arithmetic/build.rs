//! Compiles what BPF programs compute with the host's C compiler.

fn main() {
    println!("cargo::rerun-if-changed=../include");
    println!("cargo::rerun-if-changed=host.c");
    cc_build::Build::new()
        .file("host.c")
        .include("../include")
        .flag("-Wall")
        .flag("-Wextra")
        .flag("-Werror")
        // `#pragma unroll` is for clang.
        .flag("-Wno-unknown-pragmas")
        .compile("clearpipe_host");
}
