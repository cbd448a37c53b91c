//! What the fuzz targets share.

use std::path::Path;

use clearpipe_scenario::{Scenario, parse, parse_with};

/// Reads `text`, where every file that it names has the content `file`. What is accepted must be
/// written so that it stands alone and reads back to the same scenario.
pub fn check(text: &str, file: &[u8]) {
    let load = |_: &Path| Ok(file.to_vec());
    if let Ok(parsed) = parse_with("fuzz.toml", text, &[], &load)
        && is_small(&parsed.scenario)
    {
        let written = parsed.scenario.to_toml();
        let again = match parse("written.toml", &written, &[]) {
            Ok(again) => again.scenario,
            Err(error) => panic!("{error}\n{written}"),
        };
        assert!(again == parsed.scenario, "not the same:\n{written}");
        assert!(again.to_toml() == written, "not written the same:\n{written}");
    }
}

/// Lists of values for a million flows take seconds to write and to read.
fn is_small(scenario: &Scenario) -> bool {
    scenario.groups.iter().map(|group| group.access.len()).sum::<usize>() < 1000
        && scenario.links.len() < 1000
}
