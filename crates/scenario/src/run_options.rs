//! Options of a run that name parts of its scenario or hold a quantity, but are no part of it: what
//! is written down does not change what happens.

use units::Time;

use crate::error::{Place, Problem, ScenarioError};
use crate::model::Scenario;
use crate::values::quantity::{BYTES, TIME};

/// Every link.
const ALL: &str = "all";

/// The links that `names` stand for, each once and in the order of the scenario; `all` stands for
/// every link. Messages call the file `file` and the option `option`.
///
/// # Errors
/// A name that no link has.
pub fn links_named(
    scenario: &Scenario,
    names: &[String],
    file: &str,
    option: &str,
) -> Result<Vec<usize>, ScenarioError> {
    let links = &scenario.links;
    let known = |name: &&String| *name == ALL || links.iter().any(|link| link.name == **name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all = [ALL.to_owned()].into_iter();
        let allowed = all.chain(links.iter().map(|link| link.name.clone())).collect();
        let name = unknown.clone();
        return Err(refused(file, option, Problem::Name { what: "link", name, allowed }));
    }
    let wanted = |name: &str| names.iter().any(|n| n == ALL || n == name);
    Ok((0..links.len()).filter(|&i| wanted(&links[i].name)).collect())
}

/// Flows are logged in a file each: so many.
pub const MOST_FLOWS: usize = 256;

/// The flows that `names` stand for, each once and in order, and their groups; a name is `all`,
/// that of a group, or else a flow's number. Flows that come while the run goes on have no number
/// of their own. Messages call the file `file` and the option `option`.
///
/// # Errors
/// A name that neither a group nor a flow has, a group whose flows come and go, more than
/// [`MOST_FLOWS`].
pub fn flows_named(
    scenario: &Scenario,
    names: &[String],
    file: &str,
    option: &str,
) -> Result<Vec<(u32, usize)>, ScenarioError> {
    let groups = &scenario.groups;
    let rule = |text: String| Err(refused(file, option, Problem::Rule(text)));
    let owners = || groups.iter().enumerate().flat_map(|(i, group)| vec![i; group.count as usize]);
    let count = owners().count();
    for name in names.iter().filter(|name| *name != ALL) {
        if let Some(group) = groups.iter().find(|group| group.name == *name) {
            if group.count == 0 {
                return rule(format!(
                    "the flows of {name} come and go: only fixed flows are logged"
                ));
            }
        } else if let Ok(number) = name.parse::<usize>() {
            if number >= count {
                let last = count.saturating_sub(1);
                return rule(format!("there is no flow {number} (allowed: 0 to {last})"));
            }
        } else {
            let all = [ALL.to_owned()].into_iter();
            let allowed = all.chain(groups.iter().map(|group| group.name.clone())).collect();
            let name = name.clone();
            return Err(refused(file, option, Problem::Name { what: "group", name, allowed }));
        }
    }
    let is_group = |name: &str| groups.iter().any(|group| group.name == name);
    let wanted = |number: usize, group: usize| {
        let of_flow = |name: &String| !is_group(name) && name.parse() == Ok(number);
        names.iter().any(|name| *name == ALL || *name == groups[group].name || of_flow(name))
    };
    let found: Vec<(u32, usize)> = owners()
        .enumerate()
        .filter(|&(number, group)| wanted(number, group))
        .map(|(number, group)| (number as u32, group))
        .collect();
    if found.len() > MOST_FLOWS {
        let text = format!("{} flows are more than the {MOST_FLOWS} that are allowed", found.len());
        return rule(text);
    }
    if found.is_empty() && !names.is_empty() {
        return rule("all flows come and go: only fixed flows are logged".to_owned());
    }
    Ok(found)
}

/// The instants that the options `from` and `to` mean, each with its name; without one, a run's
/// start or its end and beyond.
///
/// # Errors
/// A text that is no time, a start at or after the run's end, an end that is not after the start.
pub fn window(
    scenario: &Scenario,
    from: (&str, Option<&str>),
    to: (&str, Option<&str>),
    file: &str,
) -> Result<(Time, Time), ScenarioError> {
    let time = |(option, text): (&str, Option<&str>)| {
        text.map(|text| TIME.parse(text).map_err(|problem| refused(file, option, problem)))
            .transpose()
    };
    let start = Time(time(from)?.unwrap_or(0));
    let end = time(to)?.map_or(Time::NEVER, Time);
    let duration = scenario.duration;
    if start >= Time::ZERO + duration {
        let text = format!("nothing is left: the run ends at {}", TIME.exact(duration.0));
        return Err(refused(file, from.0, Problem::Rule(text)));
    }
    if end <= start {
        let text =
            format!("it is not after {} = {}", from.0, TIME.exact(start.since(Time::ZERO).0));
        return Err(refused(file, to.0, Problem::Rule(text)));
    }
    Ok((start, end))
}

/// The bytes that an option means.
///
/// # Errors
/// A text that is no number of bytes.
pub fn bytes(text: &str, file: &str, option: &str) -> Result<u64, ScenarioError> {
    BYTES.parse(text).map_err(|problem| refused(file, option, problem))
}

fn refused(file: &str, option: &str, problem: Problem) -> ScenarioError {
    let place = Place::File(file.to_owned());
    ScenarioError { place, key: option.to_owned(), problem: Box::new(problem) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Span;

    fn scenario() -> Scenario {
        let text = "schema = 1\nname = \"f\"\nduration = \"20s\"\n[topology]\nkind = \"dumbbell\"\nrate = \
                    \"5Mbps\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"\nqueue = \"droptail\"\n\
                    [flows.a]\nprotocol = \"reno\"\ncount = 1\n";
        match crate::parse("f.toml", text, &[]) {
            Ok(parsed) => parsed.scenario,
            Err(error) => panic!("{error}"),
        }
    }

    fn named(names: &[&str]) -> Result<Vec<usize>, String> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        links_named(&scenario(), &names, "f.toml", "capture").map_err(|error| error.to_string())
    }

    #[test]
    fn links_are_found_by_name_once_each() {
        let names: Vec<String> = scenario().links.into_iter().map(|link| link.name).collect();
        let (first, last) = (names[0].as_str(), names[names.len() - 1].as_str());
        assert_eq!(named(&[last, first, last]), Ok(vec![0, names.len() - 1]));
        assert_eq!(named(&["all", first]), Ok((0..names.len()).collect()));
        assert_eq!(named(&[]), Ok(vec![]));
        let message = named(&["botleneck"]).unwrap_err();
        let start = "f.toml: capture: unknown link \"botleneck\"; did you mean \"bottleneck\"? \
                     (allowed: all, bottleneck";
        assert!(message.starts_with(start), "{message}");
    }

    #[test]
    fn flows_are_found_by_group_and_number() {
        let text = "schema = 1\nname = \"f\"\nduration = \"20s\"\n[topology]\nkind = \"dumbbell\"\nrate = \
                    \"5Mbps\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"\nqueue = \"droptail\"\n\
                    [flows.a]\nprotocol = \"reno\"\ncount = 2\n[flows.b]\nprotocol = \"reno\"\n\
                    count = 300\n";
        let scenario = crate::parse("f.toml", text, &[]).expect("a scenario").scenario;
        let named = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            flows_named(&scenario, &names, "f.toml", "qlog").map_err(|error| error.to_string())
        };
        assert_eq!(named(&[]), Ok(vec![]));
        assert_eq!(named(&["2", "a", "1"]), Ok(vec![(0, 0), (1, 0), (2, 1)]));
        let says = |names| named(names).unwrap_err();
        assert_eq!(says(&["302"]), "f.toml: qlog: there is no flow 302 (allowed: 0 to 301)");
        assert_eq!(says(&["b"]), "f.toml: qlog: 300 flows are more than the 256 that are allowed");
        assert_eq!(says(&["aa"]), "f.toml: qlog: unknown group \"aa\" (allowed: all, a, b)");
    }

    /// Group "7" has flows 0 and 1, group "0" flow 2, and flow 1 is only a number.
    #[test]
    fn a_groups_name_comes_before_a_flows_number() {
        let group =
            |name: &str, count: &str| format!("[flows.{name}]\nprotocol = \"reno\"\n{count}\n");
        let named = |flows: &str, name: &str| {
            let text = format!(
                "schema = 1\nname = \"f\"\nduration = \"20s\"\n[topology]\nkind = \"dumbbell\"\n\
                 rate = \"5Mbps\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"\nqueue = \"droptail\"\n{flows}"
            );
            let scenario = crate::parse("f.toml", &text, &[]).expect("a scenario").scenario;
            let names = [name.to_owned()];
            flows_named(&scenario, &names, "f.toml", "qlog").map_err(|error| error.to_string())
        };
        let flows = group("7", "count = 2") + &group("0", "count = 1");
        assert_eq!(named(&flows, "7"), Ok(vec![(0, 0), (1, 0)]));
        assert_eq!(named(&flows, "0"), Ok(vec![(2, 1)]));
        assert_eq!(named(&flows, "1"), Ok(vec![(1, 0)]));
        assert_eq!(named(&flows, "01"), Ok(vec![(1, 0)]));
        let message = "f.toml: qlog: there is no flow 3 (allowed: 0 to 2)";
        assert_eq!(named(&flows, "3"), Err(message.to_owned()));
        let flows =
            group("a", "count = 2") + &group("1", "arrivals = \"poisson(1/s)\"\nsize = \"9kB\"");
        let message = "f.toml: qlog: the flows of 1 come and go: only fixed flows are logged";
        assert_eq!(named(&flows, "1"), Err(message.to_owned()));
    }

    #[test]
    fn windows_lie_within_the_run() {
        let at = |from, to| {
            window(&scenario(), ("from", from), ("to", to), "f").map_err(|error| error.to_string())
        };
        let s = |seconds| Time::ZERO + Span::from_secs(seconds);
        assert_eq!(at(None, None), Ok((Time::ZERO, Time::NEVER)));
        assert_eq!(at(Some("10s"), Some("12s")), Ok((s(10), s(12))));
        assert_eq!(at(None, Some("12s")), Ok((Time::ZERO, s(12))));
        let says = |from, to| at(from, to).unwrap_err();
        assert_eq!(says(Some("20s"), None), "f: from: nothing is left: the run ends at 20s");
        assert_eq!(says(Some("3s"), Some("3s")), "f: to: it is not after from = 3s");
        assert_eq!(says(None, Some("0s")), "f: to: it is not after from = 0s");
        assert!(says(Some("10"), None).contains("10 has no unit"));
        assert!(says(None, Some("soon")).contains("expected a time such as"));
    }

    #[test]
    fn bytes_have_units() {
        assert_eq!(bytes("200MB", "f", "limit").ok(), Some(200_000_000));
        assert!(bytes("200", "f", "limit").unwrap_err().to_string().contains("no unit"));
    }
}
