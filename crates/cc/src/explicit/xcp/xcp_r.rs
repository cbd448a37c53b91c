//! XCP-r: the receiver adds up the feedback, so that a lost ACK loses none. Lopez-Pacheco, Pham,
//! "Robust transport protocol for dynamic high-speed networks: enhancing the XCP approach", IEEE
//! MICC-ICON 2005, as Zan and Yang cite it ("Improving XCP to achieve max-min fair bandwidth
//! allocation", section VI): the window is calculated at the receiver.
//!
//! With XCP every ACK brings the feedback of its own packet, which is lost with it. XCP-r's
//! receiver keeps the sum of all feedback that has come to it, and every ACK brings that sum. The
//! sender adds what the sum has grown by since the last ACK that it saw.
//!
//! ```math
//! F <- F + H_feedback                the receiver, at each packet
//! cwnd <- max(cwnd + F - F_seen, s)  the sender, at each ACK
//! F_seen <- F                        then
//! ```
//!
//! Routers, header and the answer to losses are XCP's ([`super::xcp`]), its deviations and R1 with
//! them. Without lost ACKs the window is XCP's but for the rounding of the sum.
//!
//! Deviations:
//! - D1: the sum travels in place of the window itself, so that what the sender does on its own,
//!   halving and the timeout, need not be told to the receiver.
//! - D2: the bound of one packet holds when the sum is taken, not at each packet's feedback.
//! - D3: an ACK that was overtaken takes the window back to its own sum, up to the next ACK.

use core::fmt;

use units::Rate;

use super::xcp::{LARGEST_FEEDBACK, XcpHeader, XcpSender, XcpSenderParams};
use crate::roles::{
    Ack, Arrived, Departing, Feedback, Loss, Receiver, Sender, SenderContext, Variable,
};

/// The end host's part.
#[derive(Clone, Debug)]
pub struct XcpRSender {
    xcp: XcpSender,
    /// F_seen [bytes].
    seen: f64,
}

/// The receiver's part: F [bytes], and whether a router has written any of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Adding {
    sum: f64,
    told: bool,
}

impl Receiver for Adding {
    type Header = XcpHeader;

    #[inline(never)] // the hot path has the dispatch alone
    fn on_data(&mut self, data: &Arrived<XcpHeader>) -> Feedback<XcpHeader> {
        let mut header = data.header;
        // The largest value says that no router was on the path (XCP's D2).
        if header.feedback.abs() < LARGEST_FEEDBACK {
            (self.sum, self.told) = (self.sum + header.feedback, true);
        }
        header.feedback = if self.told { self.sum } else { f64::INFINITY };
        Feedback { header, code: data.ecn }
    }
}

impl Sender for XcpRSender {
    type Params = XcpSenderParams;
    type Header = XcpHeader;
    type Receiver = Adding;

    const STEADY: bool = true;

    fn new(params: &XcpSenderParams, context: &SenderContext) -> XcpRSender {
        XcpRSender { xcp: XcpSender::new(params, context), seen: 0.0 }
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn on_send(&mut self, segment: &Departing) -> XcpHeader {
        self.xcp.on_send(segment)
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn on_ack(&mut self, ack: &Ack<XcpHeader>) {
        let sum = ack.header.feedback;
        if sum.abs() < LARGEST_FEEDBACK {
            self.xcp.take(XcpHeader { feedback: sum - self.seen, ..ack.header });
            self.seen = sum;
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.xcp.on_loss(loss);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.xcp.cwnd()
    }

    fn paces(&self) -> bool {
        self.xcp.paces()
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        self.xcp.pacing()
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "congestion window"),
        Variable::new("sum", "bytes", "F, all feedback that the receiver has told of"),
        Variable::new("h_cwnd", "bytes", "window in the last header that came back"),
        Variable::new("h_rtt", "s", "RTT estimate in the last header that came back"),
        Variable::new("h_feedback", "bytes", "by how much the last ACK's sum had grown"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        use crate::roles::Header;
        sink("cwnd", self.cwnd());
        sink("sum", self.seen);
        self.xcp.seen().probe(sink);
    }

    fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "XCP-r: the window moves by the growth of the feedback's sum at the receiver")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::{Ecn, LossKind};
    use crate::tests::{ack, loss, ms, near, sender_context};

    fn data(seq: u64, feedback: f64) -> Arrived<XcpHeader> {
        let header = XcpHeader { cwnd: 10_000.0, rtt: 0.1, feedback };
        let (now, expected, ecn) = (ms(seq), seq + 1, Ecn::NotCapable);
        Arrived { now, seq, expected, size: 1000, header, ecn, pending: None }
    }

    fn sender() -> XcpRSender {
        XcpRSender::new(&XcpSenderParams::default(), &sender_context(10.0))
    }

    /// Of the feedback 300, -100, 250, 50 the second and third ACK are lost: 10 packets become 10.3
    /// and then 10.3 + 0.2; XCP would be at 10.35.
    #[test]
    fn a_lost_ack_loses_no_feedback() {
        let (mut receiver, mut s) = (Adding::default(), sender());
        for (seq, feedback) in [300.0, -100.0, 250.0, 50.0].into_iter().enumerate() {
            let back = receiver.on_data(&data(seq as u64, feedback));
            if seq == 0 || seq == 3 {
                s.on_ack(&Ack { header: back.header, ..ack(1) });
            }
        }
        assert!(near(s.cwnd(), 10.5) && near(s.seen, 500.0), "{}", s.cwnd());
        // A cut of the sender's own stays: 10.5/2 and 70 bytes.
        s.on_loss(&loss(LossKind::DupAcks, 10));
        let back = receiver.on_data(&data(4, 70.0));
        s.on_ack(&Ack { header: back.header, ..ack(1) });
        assert!(near(s.cwnd(), 5.32), "{}", s.cwnd());
    }

    #[test]
    fn without_a_router_nothing_is_told() {
        let (mut receiver, mut s) = (Adding::default(), sender());
        let back = receiver.on_data(&data(0, f64::INFINITY));
        assert_eq!(back.header.feedback, f64::INFINITY);
        s.on_ack(&Ack { header: back.header, ..ack(1) });
        assert_eq!((s.cwnd(), s.seen), (10.0, 0.0));
    }

    /// Without losses the windows of both are equal.
    #[test]
    fn with_every_ack_it_is_xcp() {
        let (mut receiver, mut s) = (Adding::default(), sender());
        let mut xcp = XcpSender::new(&XcpSenderParams::default(), &sender_context(10.0));
        for seq in 0..1000_u64 {
            let arrived = data(seq, (seq % 37) as f64 - 10.5);
            xcp.on_ack(&Ack { header: arrived.header, ..ack(1) });
            s.on_ack(&Ack { header: receiver.on_data(&arrived).header, ..ack(1) });
            assert!(near(s.cwnd(), xcp.cwnd()), "{seq}");
        }
    }

    /// Nor is the largest value of the wire form a sum's part (XCP's D2).
    #[test]
    fn the_largest_feedback_is_no_part_of_the_sum() {
        let mut receiver = Adding::default();
        assert_eq!(receiver.on_data(&data(0, LARGEST_FEEDBACK)).header.feedback, f64::INFINITY);
        assert_eq!(receiver.on_data(&data(1, 70.0)).header.feedback, 70.0);
        assert_eq!(receiver.on_data(&data(2, LARGEST_FEEDBACK)).header.feedback, 70.0);
    }
}
