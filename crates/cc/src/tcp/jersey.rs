//! TCP-Jersey. Xu, Tian, Ansari, "TCP-Jersey for wireless IP communications", JSAC 22(4), 2004.
//!
//! The sender estimates what the path delivers from its ACKs (available bandwidth estimation), and
//! routers whose average queue is above a threshold mark all packets (congestion warning). A mark
//! makes the window what the estimate needs; three duplicate ACKs make it so only if they come with
//! a mark, and are else taken for losses of the line, which are repaired and change nothing.
//!
//! ```math
//! R <- (RTT*R + L)/((t - t_before) + RTT)  at an ACK of L packets
//! ownd = RTT*R
//! cwnd <- min(cwnd, ownd)                  at a mark, and at duplicate ACKs that come with one
//! ```
//!
//! The filter and the rule are as remembered of the paper: no public text was found to compare them
//! with.
//!
//! A router of it is `red` with `min_th` = `max_th`, `wait = false` and `gentle = true`, as for
//! DCTCP.
//!
//! Deviations: F1 to F3, F5 and F6 of [`crate::tcp::window`], and
//! - D1: L_n and R_n are in packets; RTT in the filter is the smoothed one and in ownd the
//!   smallest, so that a standing queue does not keep itself.
//! - D2: marks reduce the window once per window of data. An ACK carries its packet's mark back, by
//!   its code instead of ECE.
//! - D3: duplicate ACKs come with a mark if any ACK of the last window of data had one.

use units::{Span, Time};

use crate::roles::{Ack, Ecn, EcnUse, Loss, LossKind, SenderContext, Variable};
use crate::tcp::dctcp::DctcpReceiver;
use crate::tcp::window::{Avoidance, CWND, Frame, SSTHRESH, Window, window_params};

window_params! {
    ecn = |_params| EcnUse::Codes(Ecn::Ect0);
    /// The sender's parameters.
    pub struct JerseyParams {}
}

/// The end host's part.
pub type JerseySender = Window<Jersey>;

/// The paper's state.
#[derive(Clone, Debug)]
pub struct Jersey {
    /// R [packets/s].
    rate: f64,
    /// t_(n-1); never before the first ACK.
    last: Time,
    rtt_min: Span,
    /// Marks up to here belong to a window that was reduced.
    cut: u64,
    /// Losses up to here come with a mark.
    warned: u64,
}

impl Jersey {
    /// ownd [packets].
    fn ownd(&self) -> f64 {
        self.rate * self.rtt_min.as_secs()
    }
}

impl Avoidance for Jersey {
    type Params = JerseyParams;
    type Receiver = DctcpReceiver;

    const VARIABLES: &'static [Variable] = &[
        CWND,
        SSTHRESH,
        Variable::new("r", "pkts/s", "R, the available bandwidth as estimated"),
        Variable::new("ownd", "pkts", "the window that R needs"),
    ];

    fn new(_: &JerseyParams, _: &SenderContext) -> Jersey {
        let (last, rtt_min) = (Time::NEVER, Span::ZERO);
        Jersey { rate: 0.0, last, rtt_min, cut: 0, warned: 0 }
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn measure(&mut self, ack: &Ack<()>, frame: &mut Frame) {
        self.rtt_min = ack.min_rtt.unwrap_or(self.rtt_min);
        if let Some(srtt) = ack.srtt
            && srtt > Span::ZERO
        {
            let rtt = srtt.as_secs();
            let since =
                if self.last == Time::NEVER { rtt } else { ack.now.since(self.last).as_secs() };
            self.rate = (rtt * self.rate + f64::from(ack.delivered)) / (since + rtt);
            self.last = ack.now;
        }
        if ack.code != Ecn::Ce {
            return;
        }
        self.warned = frame.nxt;
        if frame.una > self.cut && !ack.recovering && self.rate > 0.0 {
            frame.ssthresh = self.ownd().max(2.0);
            frame.cwnd = frame.cwnd.min(frame.ssthresh);
            self.cut = frame.nxt;
        }
    }

    fn increase(&mut self, ack: &Ack<()>, frame: &Frame) -> f64 {
        if ack.code == Ecn::Ce { 0.0 } else { 1.0 / frame.cwnd }
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        match loss.kind {
            LossKind::DupAcks if frame.una >= self.warned => frame.cwnd,
            LossKind::DupAcks | LossKind::EcnEcho => self.ownd().min(frame.cwnd),
            LossKind::Timeout => self.ownd(),
        }
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("r", self.rate);
        sink("ownd", self.ownd());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Sender;
    use crate::tests::{avoiding, loss, lost, near, timed};

    /// RTT 100 ms: the first ACK of 10 packets gives 10/(0.1 + 0.1) = 50 packets/s; 10 more after
    /// 50 ms give (0.1*50 + 10)/(0.05 + 0.1) = 100. With a smallest RTT of 80 ms, ownd is 8.
    #[test]
    fn the_estimate_is_the_papers_filter() {
        let mut window = avoiding::<Jersey>(20.0, &[]);
        window.on_ack(&Ack { delivered: 10, ..timed(1000, 100, 80) });
        assert!(near(window.avoidance.rate, 50.0));
        window.on_ack(&Ack { delivered: 10, ..timed(1050, 100, 80) });
        assert!(near(window.avoidance.rate, 100.0) && near(window.avoidance.ownd(), 8.0));
    }

    /// A loss without a mark leaves the window; with one it becomes ownd, and so it does at a mark
    /// alone, once per window of data.
    #[test]
    fn only_marks_reduce() {
        let mut window = avoiding::<Jersey>(20.0, &[]);
        window.frame.nxt = 40;
        window.on_ack(&Ack { delivered: 20, code: Ecn::Ect0, ..timed(1000, 100, 80) });
        let before = window.cwnd();
        window.on_loss(&lost(1000, 20));
        assert_eq!(window.cwnd(), before);
        // (0.1*100 + 1)/(0.1 + 0.1) = 55 packets/s: ownd is 4.4.
        window.on_ack(&Ack { code: Ecn::Ce, ..timed(1100, 100, 80) });
        assert!(near(window.cwnd(), 4.4), "{}", window.cwnd());
        window.frame.cwnd = 10.0;
        window.on_ack(&Ack { code: Ecn::Ce, ..timed(1100, 100, 80) });
        assert_eq!(window.cwnd(), 10.0);
        // The window's last packet, 39, is of the same; the next is of another.
        let mut next = window.clone();
        next.frame.una = 39;
        next.on_ack(&Ack { code: Ecn::Ce, ..timed(1100, 100, 80) });
        assert_eq!((next.frame.una, next.cwnd()), (40, 10.0));
        next.on_ack(&Ack { code: Ecn::Ce, ..timed(1100, 100, 80) });
        assert!(next.cwnd() < 10.0);
        // At the same instant (0.1*55 + 1)/0.1 = 65 packets/s: 5.2.
        window.on_loss(&lost(1100, 10));
        assert!(near(window.cwnd(), 5.2), "{}", window.cwnd());
        window.on_loss(&loss(LossKind::Timeout, 10));
        assert_eq!(window.cwnd(), 1.0);
    }

    /// An RTT of 0 and no RTT give no rate, and a mark before there is one changes nothing.
    #[test]
    fn without_a_rate_a_mark_changes_nothing() {
        let mut window = avoiding::<Jersey>(20.0, &[]);
        window.frame.nxt = 40;
        for srtt in [None, Some(Span::ZERO)] {
            window.on_ack(&Ack { srtt, code: Ecn::Ce, ..timed(1000, 100, 80) });
            assert_eq!((window.avoidance.rate, window.cwnd()), (0.0, 20.0));
        }
    }

    /// Losses of the window of data that a mark came in are of congestion: up to packet 39 where 40
    /// had been sent, and not the one behind it.
    #[test]
    fn a_mark_warns_of_what_was_sent_before_it() {
        for (una, left) in [(39, 8.0), (40, 20.0)] {
            let mut window = avoiding::<Jersey>(20.0, &[]);
            let jersey = &mut window.avoidance;
            (jersey.rate, jersey.rtt_min, jersey.warned) = (100.0, Span::from_millis(80), 40);
            window.frame.una = una;
            window.on_loss(&lost(1000, 20));
            assert!(near(window.cwnd(), left), "{una}: {}", window.cwnd());
        }
    }
}
