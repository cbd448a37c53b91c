//! The link that a run's numbers are of where they name none: said by the scenario, or plain from
//! it, and never by what came of a run.

use crate::error::Fault;
use crate::model::Group;
use crate::resolve::network::Draft;
use crate::resolve::routing::find_link;
use crate::syntax::declaration::At;

/// The number of the link that the file names, or of the one that [`plain`] tells.
pub(crate) fn bottleneck(
    given: Option<&At<String>>,
    links: &[Draft],
    groups: &[Group],
) -> Result<Option<usize>, Fault> {
    match given {
        Some(name) => find_link(links, name).map(Some),
        None => Ok(plain(links, groups)),
    }
}

/// Of one link, with its reverse or without, the link itself, or its reverse where all data goes
/// back. A network of more links has none that is plain.
fn plain(links: &[Draft], groups: &[Group]) -> Option<usize> {
    let (forward, back) = match links {
        [_] => return Some(0),
        [a, b] if b.is_reverse_of(a) => (0, 1),
        [a, b] if a.is_reverse_of(b) => (1, 0),
        _ => return None,
    };
    let all_back = groups.iter().all(|group| group.path == [back]);
    Some(if all_back { back } else { forward })
}
