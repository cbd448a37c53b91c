//! `clearpipe-lab-bindgen MODULE.wasm FOLDER`: writes FOLDER/engine.js, FOLDER/engine_bg.wasm and, the
//! same compressed, FOLDER/engine_bg.deflate.

use std::fs;
use std::path::Path;
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
    let folder = Path::new(folder);
    let wasm = fs::read(folder.join("engine_bg.wasm"))?;
    let mut packed = Vec::new();
    zopfli::compress(zopfli::Options::default(), zopfli::Format::Deflate, &*wasm, &mut packed)?;
    fs::write(folder.join("engine_bg.deflate"), packed)?;
    Ok(())
}
