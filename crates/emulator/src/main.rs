//! The emulator as a program of its own; see [`clearpipe_emulator::main`].

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    clearpipe_emulator::main(&arguments).into()
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("clearpipe-emulator: needs Linux");
    5.into()
}
