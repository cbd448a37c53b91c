//! Buffers in bytes or packets, once the flows that cross them are known.

use cc::roles::Limit;
use units::Span;

use crate::error::Fault;
use crate::model::{Group, Packets};
use crate::resolve::network::{Draft, Network};
use crate::values::Amount;
use crate::values::quantity::{BYTES, Decimal};

/// What crosses a link, data or ACKs.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    /// Does anything cross it? Flows that arrive do, but are not counted.
    crossed: bool,
    flows: u64,
    longest_rtt: Span,
}

/// The limit of every link's buffer.
pub(crate) fn limits(
    network: &Network,
    groups: &[Group],
    packets: Packets,
) -> Result<Vec<Limit>, Fault> {
    let mut loads = vec![Load::default(); network.links.len()];
    // The last group that was counted at each link.
    let mut counted = vec![usize::MAX; network.links.len()];
    for (number, group) in groups.iter().enumerate() {
        let links = group.path.iter().chain(&group.reverse);
        let named = links.clone().fold(Span::ZERO, |sum, &i| sum + network.links[i].owd);
        let access = group.access.iter().map(|access| access.source_owd + access.sink_owd);
        let rtt = named + access.max().unwrap_or_default() * 2;
        for &link in links {
            // A group's data and its ACKs may cross the same link.
            if std::mem::replace(&mut counted[link], number) == number {
                continue;
            }
            loads[link].crossed = true;
            loads[link].flows += u64::from(group.count);
            loads[link].longest_rtt = loads[link].longest_rtt.max(rtt);
        }
    }
    network.links.iter().zip(loads).map(|(link, load)| limit(link, load, packets)).collect()
}

fn limit(link: &Draft, load: Load, packets: Packets) -> Result<Limit, Fault> {
    let spot = &link.buffer.spot;
    let too_large = || spot.rule("the buffer is too large");
    let base = match link.buffer.value.0 {
        Amount::Bytes(bytes) => Limit::Bytes(bytes),
        Amount::Packets(count) => Limit::Packets(u32::try_from(count).map_err(|_| too_large())?),
        Amount::Bdp(factor) => {
            Limit::Bytes(bdp(link, load, factor, packets).ok_or_else(too_large)?)
        }
        Amount::BdpPackets(factor) => {
            let bytes = bdp(link, load, factor, packets).ok_or_else(too_large)?;
            let count = bytes / u64::from(packets.data_bytes);
            Limit::Packets(u32::try_from(count).map_err(|_| too_large())?)
        }
        Amount::Unlimited => return Err(spot.rule("a buffer has a limit")),
    };
    let limit = at_least_per_flow(base, link, load, packets).ok_or_else(too_large)?;
    match limit {
        Limit::Packets(0) => Err(spot.rule("the buffer holds no packet")),
        Limit::Bytes(bytes) if bytes < u64::from(packets.data_bytes) => {
            let text = format!(
                "the buffer of {} is smaller than a data packet ({})",
                BYTES.exact(bytes),
                BYTES.exact(u64::from(packets.data_bytes))
            );
            Err(spot.rule(text))
        }
        limit => Ok(limit),
    }
}

/// `factor` times capacity times the longest two-way propagation time of the flows that cross the
/// link in either direction. A link that none crosses counts its own delay there and back, and
/// holds a packet.
fn bdp(link: &Draft, load: Load, factor: Decimal, packets: Packets) -> Option<u64> {
    const BITS_PS: u128 = 8 * 1_000_000_000_000;
    let rtt = if load.crossed { load.longest_rtt } else { link.owd * 2 };
    let scaled = factor.times(u128::from(link.rate.0).checked_mul(u128::from(rtt.0))?)?;
    let bytes = u64::try_from(scaled / BITS_PS).ok()?;
    Some(if load.crossed { bytes } else { bytes.max(u64::from(packets.data_bytes)) })
}

/// The larger of `base` and the link's amount per flow, in the unit of `base`.
fn at_least_per_flow(base: Limit, link: &Draft, load: Load, packets: Packets) -> Option<Limit> {
    let Some(per_flow) = &link.per_flow else { return Some(base) };
    let packet = u64::from(packets.data_bytes);
    let bytes = match per_flow.value.0 {
        Amount::Packets(count) => count.checked_mul(packet)?,
        Amount::Bytes(bytes) => bytes,
        Amount::Bdp(_) | Amount::BdpPackets(_) | Amount::Unlimited => 0,
    };
    let bytes = bytes.checked_mul(load.flows)?;
    Some(match base {
        Limit::Bytes(base) => Limit::Bytes(base.max(bytes)),
        Limit::Packets(base) => {
            Limit::Packets(base.max(u32::try_from(bytes.div_ceil(packet)).ok()?))
        }
    })
}
