//! EXPERIMENTAL: XCP senders that ignore feedback or lie, for [`crate::explicit::xcp::xcp_police`]
//! to catch. After Katabi, Handley, Rohrs, SIGCOMM 2002, section 7, which says that there may be
//! such and not what they do.
//!
//! ```math
//! feedback = xi_p*H_rtt^2*s/H_cwnd - xi_n*H_rtt*s  what a router gives for what the header states
//! H_cwnd = c*cwnd                                  with the parameter cwnd_factor, 1 for the truth
//! H_rtt = r*srtt                                   with the parameter rtt_factor
//! ```
//!
//! What a lie is worth follows from eq. (4): a packet's increase grows with H_rtt^2/H_cwnd. So a
//! smaller H_cwnd and a larger H_rtt both get more than the fair share. Everything else is XCP's
//! ([`crate::explicit::xcp::xcp`]).

use crate::explicit::xcp::xcp::{XcpHeader, XcpReceiver, XcpSender, XcpSenderParams};
use crate::roles::{Ack, Departing, Loss, Sender, SenderContext, Variable};

params! {
    /// XCP's parameters, and what the sender does wrong; nothing, unless told.
    pub struct MisbehavingParams {
        /// XCP's.
        xcp: XcpSenderParams;
        /// Is feedback that asks for a smaller window ignored, in the window and in H_cwnd?
        ignores: bool = false;
        /// H_cwnd over the window.
        cwnd_factor: f64 = 1.0 => (1e-3, 1e3);
        /// H_rtt over the RTT estimate.
        rtt_factor: f64 = 1.0 => (1e-3, 1e3);
    }
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct MisbehavingSender {
    xcp: XcpSender,
    ignores: bool,
    cwnd_factor: f64,
    rtt_factor: f64,
}

impl Sender for MisbehavingSender {
    type Params = MisbehavingParams;
    type Header = XcpHeader;
    type Receiver = XcpReceiver;

    fn new(params: &MisbehavingParams, context: &SenderContext) -> MisbehavingSender {
        let &MisbehavingParams { ignores, cwnd_factor, rtt_factor, .. } = params;
        let xcp = XcpSender::new(&params.xcp, context);
        MisbehavingSender { xcp, ignores, cwnd_factor, rtt_factor }
    }

    fn on_send(&mut self, segment: &Departing) -> XcpHeader {
        let XcpHeader { cwnd, rtt, feedback } = self.xcp.on_send(segment);
        XcpHeader { cwnd: cwnd * self.cwnd_factor, rtt: rtt * self.rtt_factor, feedback }
    }

    fn on_ack(&mut self, ack: &Ack<XcpHeader>) {
        if !(self.ignores && ack.header.feedback < 0.0) {
            self.xcp.take(ack.header);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if !self.ignores {
            self.xcp.on_loss(loss);
        }
    }

    fn cwnd(&self) -> f64 {
        self.xcp.cwnd()
    }

    const VARIABLES: &'static [Variable] = XcpSender::VARIABLES;

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        self.xcp.probe(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::LossKind;
    use crate::tests::{ack as plain_ack, departing, loss, sender_context};
    use units::Span;

    fn sender(params: &MisbehavingParams) -> MisbehavingSender {
        MisbehavingSender::new(params, &sender_context(10.0))
    }

    fn ack(sender: &mut MisbehavingSender, feedback: f64) {
        let header = XcpHeader { feedback, ..XcpHeader::default() };
        sender.on_ack(&Ack { header, ..plain_ack(1) });
    }

    #[test]
    fn it_may_do_nothing_wrong() {
        let mut s = sender(&MisbehavingParams::default());
        ack(&mut s, -3000.0);
        s.on_loss(&loss(LossKind::DupAcks, 7));
        assert_eq!(s.cwnd(), 3.5);
        let srtt = Some(Span::from_millis(80));
        let header = s.on_send(&Departing { srtt, ..departing() });
        assert_eq!(header, XcpHeader { cwnd: 3500.0, rtt: 0.08, feedback: f64::INFINITY });
    }

    #[test]
    fn it_may_take_increases_only() {
        let mut s = sender(&MisbehavingParams { ignores: true, ..Default::default() });
        ack(&mut s, -3000.0);
        s.on_loss(&loss(LossKind::Timeout, 7));
        ack(&mut s, 2000.0);
        assert_eq!(s.cwnd(), 12.0);
    }

    #[test]
    fn it_may_lie_in_the_header() {
        let lies = MisbehavingParams { cwnd_factor: 0.25, rtt_factor: 4.0, ..Default::default() };
        let mut s = sender(&lies);
        let srtt = Some(Span::from_millis(50));
        let header = s.on_send(&Departing { srtt, ..departing() });
        assert_eq!((header.cwnd, header.rtt), (2500.0, 0.2));
        assert_eq!(s.cwnd(), 10.0);
    }
}
