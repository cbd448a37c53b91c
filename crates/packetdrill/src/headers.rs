//! The headers of protocols that scripts can name.
//!
//! An extension of packetdrill's language: among a packet's TCP options `<xcp h_cwnd 15000 h_rtt
//! 0.1>`, by the names of [`cc::roles::Header::VARIABLES`]. A packet that is expected must have
//! these fields. An ACK that arrives says by it what the network has written into the header of the
//! packet that it answers; the protocol's own receiver makes of that what the ACK takes back.

use cc::explicit::load::mlcp::MlcpHeader;
use cc::explicit::xcp::xcp::XcpHeader;
use cc::registry::AnyHeader;
use units::Span;

/// A header with other values in some fields.
///
/// # Errors
/// A header that is another than `name`, or the field that it does not have.
pub(crate) fn changed(
    header: AnyHeader,
    name: &str,
    fields: &[(String, f64)],
) -> Result<AnyHeader, String> {
    let mut all = fields_of(&header);
    if all.is_empty() {
        return Err(format!("the header `{name}` with a protocol that has none"));
    }
    for (field, value) in fields {
        match all.iter_mut().find(|(own, _)| own == field) {
            Some((_, own)) => *own = *value,
            None => {
                let names: Vec<&str> = all.iter().map(|(own, _)| *own).collect();
                return Err(format!("the header has no `{field}`; it has {}", names.join(", ")));
            }
        }
    }
    let field = |place: usize| all.get(place).map_or(0.0, |(_, value)| *value);
    match (name, header) {
        ("xcp", AnyHeader::Xcp(_)) => {
            Ok(AnyHeader::Xcp(XcpHeader { cwnd: field(0), rtt: field(1), feedback: field(2) }))
        }
        ("mlcp", AnyHeader::Mlcp(_)) => mlcp(field(0), field(1), field(2)),
        _ => Err(format!("no header `{name}` that the network changes; there are xcp and mlcp")),
    }
}

/// The header of a load code, a period and an RTT [s].
fn mlcp(load: f64, t_p: f64, rtt: f64) -> Result<AnyHeader, String> {
    let rtt = (rtt > 0.0).then(|| Span::from_secs_f64(rtt));
    let mut codes = (0..8).map(|code| AnyHeader::Mlcp(MlcpHeader::new(load as u8, code, rtt)));
    codes
        .find(|header| fields_of(header).contains(&("h_t_p", t_p)))
        .ok_or_else(|| format!("h_t_p {t_p} is no period of MLCP"))
}

/// Its fields with their values.
fn fields_of(header: &AnyHeader) -> Vec<(&'static str, f64)> {
    let mut fields = Vec::new();
    header.probe(&mut |field, value| fields.push((field, value)));
    fields
}

/// The first of these fields that the header does not have with that value, to nine digits: its
/// name, and what the header has.
pub(crate) fn difference(
    header: &AnyHeader,
    fields: &[(String, f64)],
) -> Option<(String, Option<f64>)> {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0);
    let all = fields_of(header);
    fields.iter().find_map(|(name, wanted)| {
        let got = all.iter().find(|(field, _)| field == name).map(|(_, value)| *value);
        let same = got.is_some_and(|got| near(got, *wanted));
        (!same).then(|| (name.clone(), got))
    })
}
