//! `clearpipe-lab-bindgen MODULE.wasm FOLDER`: writes FOLDER/engine.js and FOLDER/engine_bg.wasm.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, folder] = arguments.as_slice() else {
        eprintln!("usage: clearpipe-lab-bindgen MODULE.wasm FOLDER");
        return ExitCode::from(2);
    };
    match bind(module, folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{module}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bind(module: &str, folder: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(module)
        .out_name("engine")
        .web(true)?
        .typescript(false)
        .remove_name_section(true);
    bindgen.remove_producers_section(true).omit_default_module_path(true).generate(folder)?;
    Ok(())
}
