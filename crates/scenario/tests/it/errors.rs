//! Every way to get a scenario file wrong, and the exact message. The cases are a table that a
//! human can read: `errors/cases.txt`.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use clearpipe_scenario::{ScenarioError, parse_with};

/// One case of the table.
#[derive(Default)]
struct Case {
    base: String,
    find: Vec<String>,
    replacement: Vec<String>,
    sets: Vec<String>,
    files: BTreeMap<String, String>,
    message: String,
}

impl Case {
    fn read(block: &str) -> Case {
        let mut case = Case::default();
        let mut file = String::new();
        for line in block.lines() {
            let (mark, rest) = line.split_at_checked(2).unwrap_or((line, ""));
            let rest = rest.to_owned();
            match mark {
                "= " => case.base = rest,
                "- " => case.find.push(rest),
                "+ " => case.replacement.push(rest),
                "> " => case.sets.push(rest),
                "@ " => {
                    file.clone_from(&rest);
                    case.files.insert(rest, String::new());
                }
                "| " => *case.files.get_mut(&file).unwrap() += &(rest + "\n"),
                "! " => case.message = with_names(&rest),
                _ => panic!("not a line of a case: {line}"),
            }
        }
        case
    }

    fn text(&self) -> String {
        let base = match self.base.as_str() {
            "dumbbell" => include_str!("errors/dumbbell.toml"),
            "parking_lot" => include_str!("errors/parking_lot.toml"),
            "named" => include_str!("errors/named.toml"),
            other => panic!("no base file {other}"),
        };
        let find = self.find.join("\n");
        assert!(base.contains(&find), "{} has no {find:?}", self.base);
        base.replacen(&find, &self.replacement.join("\n"), 1)
    }

    fn parse(&self) -> Result<clearpipe_scenario::Parsed, ScenarioError> {
        let load = |name: &Path| {
            let text = self.files.get(name.to_str().unwrap());
            text.map(|text| text.clone().into_bytes()).ok_or(io::ErrorKind::NotFound.into())
        };
        parse_with("base.toml", &self.text(), &self.sets, &load)
    }
}

/// A message with the registry's names, in its order, in place of `<protocols>`, `<queues>` and
/// `<policies>`.
fn with_names(message: &str) -> String {
    use cc::registry::{Role, protocols, queues};
    let list = |names: Vec<&str>| names.join(", ");
    let policies = queues().filter(|info| info.role == Role::Policy);
    message
        .replace("<protocols>", &list(protocols().map(|info| info.name).collect()))
        .replace("<queues>", &list(queues().map(|info| info.name).collect()))
        .replace("<policies>", &list(policies.map(|info| info.name).collect()))
}

fn cases() -> Vec<Case> {
    let blocks = include_str!("errors/cases.txt").split("\n\n").skip(1);
    blocks.map(Case::read).collect()
}

#[test]
fn wrong_files_are_refused_with_the_exact_message() {
    let mut wrong = Vec::new();
    for case in cases() {
        let said = match case.parse() {
            Ok(_) => "accepted".to_owned(),
            Err(error) => error.to_string(),
        };
        if said != case.message {
            wrong.push(format!("want {}\n got {said}", case.message));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_base_files_are_right() {
    for name in ["dumbbell", "parking_lot", "named"] {
        let case = Case { base: name.to_owned(), ..Case::default() };
        let parsed = case.parse().unwrap();
        assert_eq!(parsed.scenario.groups.len(), 1);
    }
}
