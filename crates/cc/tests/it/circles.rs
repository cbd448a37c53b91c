//! No two parts of the crate need each other: the roles know no protocol, a protocol knows the
//! roles and those protocols that it is made of, and nothing knows the registry, which knows all.
//!
//! A part is a file with the files in the folder of its name; a folder that only lists others, a
//! room, is none. Tests are not read: they may ask whom they like.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::source::{crate_dir, sources, tokens, without_tests};

/// Which parts a part needs, by their paths in the crate.
type Needs = BTreeMap<String, BTreeSet<String>>;

/// What is neither a protocol nor a part of one.
const COMMON: [&str; 6] = ["boxed", "classes", "foreign", "params", "registry", "roles"];

/// The module of a source file, `explicit::load::dpcp::host` say; the crate's own is empty.
fn module(file: &Path, root: &Path) -> String {
    let path = file.strip_prefix(root).unwrap().with_extension("");
    let names: Vec<&str> = path.iter().map(|name| name.to_str().unwrap()).collect();
    match names.as_slice() {
        ["lib"] => String::new(),
        [folders @ .., "mod"] => folders.join("::"),
        names => names.join("::"),
    }
}

/// A source's words with its test module cut off.
fn words(source: &str) -> Vec<String> {
    tokens(without_tests(source).expect("the test module is the end of the file"))
}

/// Does it only list other modules?
fn is_room(words: &[String]) -> bool {
    !words.iter().any(|word| ["fn", "struct", "enum", "trait", "const"].contains(&word.as_str()))
}

/// The name after a path so far.
fn joined(so_far: &str, name: &str) -> String {
    match (so_far, name) {
        (_, "super") => so_far.rsplit_once("::").map_or("", |(outer, _)| outer).into(),
        ("", _) => name.into(),
        _ => format!("{so_far}::{name}"),
    }
}

/// All paths in the crate that the source of the module `here` names.
fn paths(words: &[String], here: &str) -> Vec<String> {
    let begins = |i: usize| !words[..i].ends_with(&[":".to_owned(), ":".to_owned()]);
    let mut found = Vec::new();
    for i in (0..words.len()).filter(|&i| begins(i)) {
        match words[i].as_str() {
            "crate" => follow(&words[i + 1..], "", &mut found),
            "super" => follow(&words[i + 1..], &joined(here, "super"), &mut found),
            _ => {}
        }
    }
    // A path may go on from the end of one that was imported.
    let ends = found.iter().map(|path| (path.rsplit("::").next().unwrap(), path.as_str()));
    let imported: BTreeMap<&str, &str> = ends.collect();
    let mut further = Vec::new();
    for i in (0..words.len()).filter(|&i| begins(i)) {
        if let Some(path) = imported.get(words[i].as_str()) {
            follow(&words[i + 1..], path, &mut further);
        }
    }
    [found, further].concat()
}

/// What stands behind a path so far: one more name, or several in braces.
fn follow(words: &[String], so_far: &str, found: &mut Vec<String>) {
    let [colon, second, next, rest @ ..] = words else { return };
    if [colon.as_str(), second.as_str()] != [":", ":"] {
        return;
    }
    if next != "{" {
        let path = joined(so_far, next);
        found.push(path.clone());
        return follow(rest, &path, found);
    }
    let (mut depth, mut begins) = (1, true);
    for (i, word) in rest.iter().enumerate() {
        if begins && depth == 1 {
            let path = joined(so_far, word);
            found.push(path.clone());
            follow(&rest[i + 1..], &path, found);
        }
        depth += i32::from(word == "{") - i32::from(word == "}");
        begins = word == ",";
        if depth == 0 {
            return;
        }
    }
}

/// The parts of a crate of these sources and what each needs.
fn needs(files: &[(String, Vec<String>)]) -> Needs {
    let rooms: BTreeSet<&str> = files
        .iter()
        .filter(|(module, words)| module.is_empty() || is_room(words))
        .map(|(module, _)| module.as_str())
        .collect();
    // The outermost module that is no room.
    let part = |path: &str| -> Option<String> {
        let ends = path.match_indices("::").map(|(at, _)| at).chain([path.len()]);
        let mut outer = ends.map(|end| &path[..end]).filter(|outer| !rooms.contains(outer));
        outer.next().filter(|outer| files.iter().any(|(module, _)| module == outer)).map(Into::into)
    };
    let mut needs = Needs::new();
    for (module, words) in files.iter().filter(|(module, _)| !rooms.contains(module.as_str())) {
        let own = part(module).expect("a module is in a part");
        let all = needs.entry(own.clone()).or_default();
        all.extend(paths(words, module).iter().filter_map(|path| part(path)));
        all.remove(&own);
    }
    needs
}

/// A way from a part back to itself, if there is one.
fn circle(needs: &Needs) -> Option<Vec<String>> {
    let reaches = |from: &str| {
        let mut ways = vec![vec![from.to_owned()]];
        let mut seen = BTreeSet::new();
        while let Some(way) = ways.pop() {
            for next in needs.get(way.last().unwrap()).into_iter().flatten() {
                let longer = [way.clone(), vec![next.clone()]].concat();
                if next == from {
                    return Some(longer);
                }
                if seen.insert(next.clone()) {
                    ways.insert(0, longer);
                }
            }
        }
        None
    };
    needs.keys().filter_map(|part| reaches(part)).min_by_key(Vec::len)
}

/// The sources of this crate.
fn here() -> Vec<(String, Vec<String>)> {
    let root = crate_dir("cc").join("src");
    let mut files = BTreeSet::new();
    sources(&root, &mut files);
    let tests = |module: &str| module.split("::").any(|name| name == "tests");
    let named = files.iter().map(|file| (module(file, &root), file));
    named
        .filter(|(module, _)| !tests(module))
        .map(|(module, file)| (module, words(&fs::read_to_string(file).unwrap())))
        .collect()
}

#[test]
fn nothing_needs_what_needs_it() {
    let needs = needs(&here());
    assert!(needs.len() >= 60, "{:?}", needs.keys());
    assert_eq!(circle(&needs), None);
}

#[test]
fn the_registry_knows_all_and_nobody_knows_it() {
    let needs = needs(&here());
    for (part, needed) in &needs {
        assert!(!needed.contains("registry"), "{part} needs the registry");
    }
    // It names protocols, some of which are made of others.
    let mut known = needs["registry"].clone();
    while let Some(more) = known.iter().flat_map(|part| &needs[part]).find(|p| !known.contains(*p))
    {
        known.insert(more.clone());
    }
    let all: BTreeSet<String> = needs.keys().filter(|part| *part != "registry").cloned().collect();
    assert_eq!(known, all);
}

#[test]
fn the_roles_know_no_protocol() {
    let needs = needs(&here());
    let none = BTreeSet::new();
    assert_eq!(needs["params"], none);
    assert_eq!(needs["roles"], BTreeSet::from(["params".to_owned()]));
    for part in COMMON.into_iter().filter(|part| *part != "registry") {
        let beyond = needs[part].iter().find(|needed| !COMMON.contains(&needed.as_str()));
        assert_eq!(beyond, None, "{part} names a protocol");
    }
}

/// A crate of two rooms whose sources are these.
fn toy(first: &str, second: &str) -> Needs {
    let [first, second] = [first, second].map(|uses| format!("fn own() {{}}\n{uses}"));
    let files = [
        ("", "pub mod room; pub mod other;"),
        ("room", "pub mod first;\n#[allow(clippy::a)]\npub mod nested;"),
        ("room::first", first.as_str()),
        ("room::first::inner", "use super::Half; fn own() {}"),
        ("room::nested", "fn nothing() {}"),
        ("other", second.as_str()),
    ];
    let words = |(module, source): (&str, &str)| (module.to_owned(), words(source));
    needs(&files.map(words))
}

#[test]
fn a_circle_is_found() {
    for (first, second) in [
        ("use crate::other::Whole;", "use crate::room::first::Half;"),
        ("fn a() { crate::other::b() }", "fn b() { crate::room::first::a() }"),
        ("use crate::{other, room::nested};", "use crate::room::{nested, first::{Half, Third}};"),
        ("use super::super::other;", "use crate::room::first;"),
        ("use crate::other;", "use crate::room;\nfn b() { room::first::a() }"),
    ] {
        // Two of the same room, and a child that names its parent, make none.
        let found = circle(&toy(first, second));
        assert_eq!(found.map(|way| way.len()), Some(3), "{first} {second}");
        assert_eq!(circle(&toy(first, "use crate::room::nested::c;")), None, "{first}");
        let tested = format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{\n    {first}\n}}\n");
        assert_eq!(circle(&toy(&tested, second)), None, "{first} in a test");
    }
}
