//! Prints the JSON Schema of the scenario file.

fn main() {
    println!("{:#}", clearpipe_scenario::json_schema());
}
