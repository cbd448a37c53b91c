//! The end host of a protocol whose routers tell a rate, as RCP's, MaxNet's and ABR's do: packets
//! leave at the rate told last, one at a time, and a window of twice the bandwidth-delay product is
//! only there so that a path that has fallen silent is not filled for ever. A protocol says what a
//! packet asks and what rate the answer means ([`Told`]); [`Rated`] makes a sender of that.

use units::{Rate, Span, Time};

use crate::params::Params;
use crate::roles::{Ack, Departing, Echo, Header, Loss, LossKind, Sender, SenderContext, Variable};

/// Where such an end host stands.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The rate that was told last [bytes/s]; 0 before the first answer.
    pub rate: f64,
    /// [s]
    pub srtt: f64,
}

/// Rates that an answer may mean [bytes/s]; without a router on the way nobody has answered.
pub(super) const RATES: core::ops::RangeInclusive<f64> = 1e-3..=1e15;

/// What a packet asks of the routers on its way, and what their answer means.
pub trait Told: Sized {
    /// Its parameters.
    type Params: Params;
    /// What it adds to a packet.
    type Header: Header;
    /// What [`Told::probe`] shows, in its order.
    const VARIABLES: &'static [Variable];

    /// The state at the start of a flow.
    fn new(params: &Self::Params) -> Self;
    /// What a packet that leaves asks.
    fn ask(&self, pace: Pace, segment: &Departing) -> Self::Header;
    /// The rate from this ACK on [bytes/s]; `None` where it stays as it is.
    fn answer(&mut self, pace: Pace, ack: &Ack<Self::Header>) -> Option<f64>;
    /// After a timeout the path is asked anew, from rate 0.
    fn begin_again(&mut self) {}
    /// Its variables by the paper's names.
    fn probe(&self, rate: f64, sink: &mut impl FnMut(&'static str, f64));
}

/// An end host that sends at the rate it is told.
#[derive(Clone, Debug)]
pub struct Rated<T> {
    pub(super) told: T,
    pub(super) pace: Pace,
    /// s [bytes].
    packet: f64,
}

impl<T: Told> Sender for Rated<T> {
    type Params = T::Params;
    type Header = T::Header;
    type Receiver = Echo<T::Header>;

    const VARIABLES: &'static [Variable] = T::VARIABLES;

    fn new(params: &T::Params, context: &SenderContext) -> Rated<T> {
        let pace = Pace { rate: 0.0, srtt: 0.0 };
        Rated { told: T::new(params), pace, packet: f64::from(context.packet_bytes) }
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn on_send(&mut self, segment: &Departing) -> T::Header {
        self.told.ask(self.pace, segment)
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn on_ack(&mut self, ack: &Ack<T::Header>) {
        let Pace { rate, srtt } = self.pace;
        self.pace.srtt = ack.srtt.map_or(srtt, |srtt| srtt.as_secs().min(1e4));
        self.pace.rate = self.told.answer(self.pace, ack).unwrap_or(rate);
    }

    fn on_loss(&mut self, loss: &Loss) {
        if loss.kind == LossKind::Timeout {
            self.pace.rate = 0.0;
            self.told.begin_again();
        }
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        let Pace { rate, srtt } = self.pace;
        (2.0 * rate * srtt / self.packet).clamp(1.0, 1e9)
    }

    fn paces(&self) -> bool {
        true
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        // The cast saturates.
        (self.pace.rate > 0.0).then(|| Rate(((self.pace.rate * 8.0) as u64).max(1)))
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.told.probe(self.pace.rate, sink);
    }
}

/// What a link measures from one update of what it tells to the next.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    /// The packets' mean RTT [s].
    pub rtt: f64,
    /// The rate of arrivals in the last period [bytes/s].
    pub y: f64,
    /// What has arrived in the running one [bytes].
    bytes: u64,
    since: Time,
    /// Its end.
    pub next: Time,
}

/// The weight of a packet's RTT in the mean.
const RTT_GAIN: f64 = 0.02;

impl Arrivals {
    /// Nothing has arrived; the mean RTT begins with `rtt`, the first period ends at `next`.
    pub fn new(rtt: Span, next: Time) -> Arrivals {
        Arrivals { rtt: rtt.as_secs(), y: 0.0, bytes: 0, since: Time::ZERO, next }
    }

    /// A packet of `size` bytes with this RTT estimate; 0 is none.
    #[inline]
    pub fn arrive(&mut self, size: u32, rtt: f64) {
        self.bytes += u64::from(size);
        if (1e-9..=1e4).contains(&rtt) {
            self.rtt += RTT_GAIN * (rtt - self.rtt);
        }
    }

    /// A period ends; returns how long it was, if it was [s].
    pub fn end(&mut self, now: Time) -> Option<f64> {
        let length = now.since(self.since).as_secs();
        let bytes = core::mem::take(&mut self.bytes) as f64;
        self.since = now;
        if length <= 0.0 {
            return None;
        }
        self.y = bytes / length;
        Some(length)
    }
}

/// [s]; 0 before the first estimate.
pub(super) fn seconds(srtt: Option<Span>) -> f64 {
    srtt.map_or(0.0, Span::as_secs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explicit::neighbours::rcp::{RcpHeader, RcpSender, RcpSenderParams};
    use crate::tests::{ack, ack_after, loss, ms, near, sender_context};

    /// A fiftieth of the way to each: 100 ms, 102 after one of 200, 101 after one of 52. What is no
    /// RTT counts as bytes alone: 2100 in 20 ms are 105 kB/s.
    #[test]
    fn rtts_have_a_moving_mean_and_a_period_its_rate() {
        let mut arrivals = Arrivals::new(Span::from_millis(100), ms(10));
        assert_eq!((arrivals.next, arrivals.y), (ms(10), 0.0));
        arrivals.arrive(1000, 0.2);
        assert!(near(arrivals.rtt, 0.102));
        arrivals.arrive(500, 0.052);
        assert!(near(arrivals.rtt, 0.101));
        for rtt in [0.0, -1.0, 1e-10, 1.1e4, f64::NAN, f64::INFINITY] {
            arrivals.arrive(100, rtt);
        }
        assert!(near(arrivals.rtt, 0.101));
        assert!(near(arrivals.end(ms(20)).unwrap(), 0.02) && near(arrivals.y, 105_000.0));
        // One that ends as it begins has no rate, and the next one had nothing.
        assert_eq!(arrivals.end(ms(20)), None);
        assert!(near(arrivals.y, 105_000.0));
        assert!(near(arrivals.end(ms(30)).unwrap(), 0.01));
        assert_eq!(arrivals.y, 0.0);
    }

    /// 125 kB/s are 1 Mb/s; two RTTs of 100 ms of them are 25 packets.
    #[test]
    fn a_host_sends_at_the_rate_it_is_told() {
        let mut s = RcpSender::new(&RcpSenderParams::default(), &sender_context(10.0));
        let hear = |s: &mut RcpSender, rate, rtt: Option<u64>| {
            let header = RcpHeader { rate, rtt: 0.0 };
            let plain = rtt.map_or(ack(1), |rtt| ack_after(ms(0), Span::from_millis(rtt)));
            s.on_ack(&Ack { header, ..plain });
            (s.cwnd(), s.pacing().map(|rate| rate.0))
        };
        assert_eq!((s.cwnd(), s.pacing()), (1.0, None));
        assert_eq!(hear(&mut s, 125_000.0, Some(100)), (25.0, Some(1_000_000)));
        // An ACK without an RTT leaves the last one.
        assert_eq!(hear(&mut s, 250_000.0, None), (50.0, Some(2_000_000)));
        for none in [0.0, 1e-4, 1.1e15, f64::INFINITY, f64::NAN] {
            assert_eq!(hear(&mut s, none, Some(100)), (50.0, Some(2_000_000)), "{none}");
        }
        for kind in [LossKind::DupAcks, LossKind::EcnEcho] {
            s.on_loss(&loss(kind, 10));
            assert_eq!((s.cwnd(), s.pacing()), (50.0, Some(Rate(2_000_000))));
        }
        // The smallest rate is a bit per second, the largest window 10^9 packets.
        assert_eq!(hear(&mut s, 1e-3, Some(100)), (1.0, Some(1)));
        assert_eq!(hear(&mut s, 1e15, Some(1_000_000)).0, 1e9);
        s.on_loss(&loss(LossKind::Timeout, 10));
        assert_eq!((s.cwnd(), s.pacing()), (1.0, None));
    }
}
