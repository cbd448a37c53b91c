//! Prints the reference page of the scenario file.

fn main() {
    print!("{}", clearpipe_scenario::reference_markdown());
}
