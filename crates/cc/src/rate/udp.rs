//! UDP, RFC 768: no congestion control at all.
//!
//! A packet leaves when the application offers it, and nothing comes back. So the application sets
//! rate and pattern: with a rate alone it is a constant bit rate, with on and off periods an on-off
//! source, with drawn gaps a Poisson process. Nothing is sent again.
//!
//! Deviations:
//! - D1: sizes are those on the wire, as everywhere; a UDP header is not written out.

use crate::roles::{
    Ack, Arrived, Departing, Echo, Loss, Reporter, Sender, SenderContext, Variable,
};

params! {
    /// There is nothing to set: the application decides.
    pub struct UdpParams {
    }
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct Udp;

/// The receiver's part: it says nothing.
#[derive(Clone, Copy, Debug)]
pub struct UdpReporter;

impl Reporter for UdpReporter {
    type Params = UdpParams;
    type Header = ();

    fn new(_params: &UdpParams, _context: &SenderContext) -> UdpReporter {
        UdpReporter
    }

    fn on_data(&mut self, _data: &Arrived<()>) -> Option<()> {
        None
    }
}

/// More packets than any run sends.
const UNLIMITED: f64 = 1e18;

impl Sender for Udp {
    type Params = UdpParams;
    type Header = ();
    type Receiver = Echo<()>;

    const OPEN_LOOP: bool = true;
    const VARIABLES: &'static [Variable] = &[];

    fn new(_params: &UdpParams, _context: &SenderContext) -> Udp {
        Udp
    }

    fn on_send(&mut self, _segment: &Departing) {}

    fn on_ack(&mut self, _ack: &Ack<()>) {}

    fn on_loss(&mut self, _loss: &Loss) {}

    fn cwnd(&self) -> f64 {
        UNLIMITED
    }

    fn probe(&self, _sink: &mut impl FnMut(&'static str, f64)) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::{Ecn, LossKind};
    use crate::tests::{ack, loss, sender_context};
    use units::Time;

    #[test]
    fn nothing_is_acknowledged_and_nothing_holds_it_back() {
        let mut udp = Udp::new(&UdpParams::default(), &sender_context(1.0));
        udp.on_loss(&loss(LossKind::Timeout, 5));
        udp.on_ack(&ack(1));
        assert_eq!((udp.cwnd(), udp.pacing()), (UNLIMITED, None));
        let mut sink = UdpReporter;
        let (now, header, ecn) = (Time::ZERO, (), Ecn::Ce);
        let data = Arrived { now, seq: 0, expected: 1, size: 1000, header, ecn, pending: None };
        assert_eq!(sink.on_data(&data), None);
    }
}
