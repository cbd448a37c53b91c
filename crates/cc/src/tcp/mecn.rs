//! The sender of multi-level ECN. Durresi, Sridharan, Liu, Goyal, Jain, "Traffic management using
//! multilevel explicit congestion notification", SCI 2001; the router is
//! [`crate::aqm::mecn`].
//!
//! TCP whose cut depends on the level of congestion that comes back in the two ECN bits: without
//! any (01) the window grows as Reno's, at incipient congestion (10) it loses beta_1, at moderate
//! (11) beta_2, and at a loss, which is severe, beta_3.
//!
//! ```math
//! cwnd <- cwnd + 1/cwnd      per ACK without a level, 01
//! cwnd <- (1 - beta_1)*cwnd  incipient congestion, 10
//! cwnd <- (1 - beta_2)*cwnd  moderate congestion, 11
//! cwnd <- (1 - beta_3)*cwnd  a loss
//! ```
//!
//! The betas are as remembered of the paper: no public text was found to compare them with.
//!
//! Deviations: F1 to F3, F5 and F6 of [`crate::tcp::window`], and
//! - D1: each ACK carries its packet's level back in the two bits; the paper has CWR and ECE for
//!   it, which leave no acknowledgement of the cut.
//! - D2: levels cut once per window of data, by the one that comes first; a higher one within the
//!   same window cuts by what is missing.

use crate::roles::{Ack, Arrived, Ecn, EcnUse, Feedback, Loss, Receiver, SenderContext, Variable};
use crate::tcp::window::{Avoidance, CWND, Frame, SSTHRESH, Window, in_use, window_params};

window_params! {
    ecn = |_params| EcnUse::Codes(Ecn::Ect1);
    /// The sender's parameters.
    pub struct MecnSenderParams {
        /// beta_1, what incipient congestion takes from the window (20 %).
        beta_1: f64 = 0.2 => (0.0, 0.99);
        /// beta_2, what moderate congestion takes (40 %).
        beta_2: f64 = 0.4 => (0.0, 0.99);
        /// beta_3, what a loss takes (50 %).
        beta_3: f64 = 0.5 => (0.0, 0.99);
    }
}

/// The end host's part.
pub type MecnSender = Window<Mecn>;

/// The other end: the highest level of what an ACK answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct MecnReceiver;

impl Receiver for MecnReceiver {
    type Header = ();

    #[inline(never)] // the hot path has the dispatch alone
    fn on_data(&mut self, data: &Arrived<()>) -> Feedback<()> {
        let code = data.pending.map_or(data.ecn, |pending| pending.code.max(data.ecn));
        Feedback { header: (), code }
    }
}

/// The levels' state.
#[derive(Clone, Debug)]
pub struct Mecn {
    betas: [f64; 3],
    /// What is left of the window of the last cut: 1 - beta.
    left: f64,
    /// Up to here levels are of that window.
    cut: u64,
    level: u8,
}

impl Avoidance for Mecn {
    type Params = MecnSenderParams;
    type Receiver = MecnReceiver;

    const VARIABLES: &'static [Variable] = &[
        CWND,
        SSTHRESH,
        Variable::new("level", "", "level of the last ACK: 1 none, 2 incipient, 3 moderate"),
    ];

    fn new(params: &MecnSenderParams, _: &SenderContext) -> Mecn {
        let &MecnSenderParams { beta_1, beta_2, beta_3, .. } = params;
        Mecn { betas: [beta_1, beta_2, beta_3], left: 1.0, cut: 0, level: 0 }
    }

    #[inline(never)] // the hot path has the dispatch alone
    fn measure(&mut self, ack: &Ack<()>, frame: &mut Frame) {
        self.level = ack.code as u8;
        let beta = match ack.code {
            Ecn::Ect0 => self.betas[0],
            Ecn::Ce => self.betas[1],
            Ecn::NotCapable | Ecn::Ect1 => return,
        };
        if ack.recovering {
            return;
        }
        if frame.una > self.cut {
            (self.left, self.cut) = (1.0, frame.nxt);
        }
        let factor = (1.0 - beta) / self.left;
        if factor < 1.0 {
            frame.cwnd = (frame.cwnd * factor).max(frame.cwnd.min(2.0));
            frame.ssthresh = frame.cwnd.max(2.0);
            self.left = 1.0 - beta;
        }
    }

    fn increase(&mut self, ack: &Ack<()>, frame: &Frame) -> f64 {
        if ack.code > Ecn::Ect1 { 0.0 } else { 1.0 / frame.cwnd }
    }

    fn decrease(&mut self, loss: &Loss, frame: &Frame) -> f64 {
        (self.left, self.cut) = (1.0 - self.betas[2], frame.nxt);
        in_use(frame.cwnd, loss) * (1.0 - self.betas[2])
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("level", f64::from(self.level));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Sender;
    use crate::tests::{ack, avoiding, lost, near};

    fn told(code: Ecn) -> Ack<()> {
        Ack { code, ..ack(1) }
    }

    /// 100 packets: 80 at 10, then 60 at 11 of the same window of data, and no more; in the next
    /// 48; a loss halves.
    #[test]
    fn each_level_takes_its_part() {
        let mut window = avoiding::<Mecn>(100.0, &[]);
        window.frame.nxt = 100;
        window.on_ack(&told(Ecn::Ect0));
        assert!(near(window.cwnd(), 80.0));
        window.on_ack(&told(Ecn::Ect0));
        window.on_ack(&told(Ecn::Ce));
        assert!(near(window.cwnd(), 60.0), "{}", window.cwnd());
        for _ in 3..100 {
            window.on_ack(&told(Ecn::Ce));
        }
        assert!(near(window.cwnd(), 60.0));
        window.frame.nxt = 160;
        window.on_ack(&told(Ecn::Ect0));
        assert!(near(window.cwnd(), 48.0));
        window.on_loss(&lost(0, 48));
        assert!(near(window.cwnd(), 24.0));
        // The window before was cut by half already.
        window.on_ack(&told(Ecn::Ce));
        assert!(near(window.cwnd(), 24.0));
    }

    #[test]
    fn without_a_level_it_is_reno() {
        let mut window = avoiding::<Mecn>(10.0, &[]);
        window.on_ack(&told(Ecn::Ect1));
        assert!(near(window.cwnd(), 10.1));
        assert_eq!(window.ecn(), EcnUse::Codes(Ecn::Ect1));
    }

    /// A level that was answered in this window of data changes nothing, ssthresh neither, though
    /// the window has grown since: 80 of 100, then 1/80 more.
    #[test]
    fn a_level_answered_changes_no_threshold() {
        let mut window = avoiding::<Mecn>(100.0, &[]);
        window.frame.nxt = 100;
        window.on_ack(&told(Ecn::Ect0));
        window.on_ack(&told(Ecn::Ect1));
        assert!(near(window.cwnd(), 80.0125));
        window.on_ack(&told(Ecn::Ect0));
        assert!(near(window.cwnd(), 80.0125) && near(window.frame.ssthresh, 80.0));
        // Recovery has had its cut.
        window.on_ack(&Ack { recovering: true, ..told(Ecn::Ce) });
        assert!(near(window.cwnd(), 80.0125));
    }

    /// An ACK of two packets has the higher level.
    #[test]
    fn an_ack_has_the_highest_level() {
        let arrived = |ecn, pending: Option<Ecn>| Arrived {
            now: units::Time::ZERO,
            seq: 0,
            expected: 1,
            size: 1000,
            header: (),
            ecn,
            pending: pending.map(|code| Feedback { header: (), code }),
        };
        for (ecn, pending, code) in [
            (Ecn::Ect1, None, Ecn::Ect1),
            (Ecn::Ect0, Some(Ecn::Ce), Ecn::Ce),
            (Ecn::Ce, Some(Ecn::Ect0), Ecn::Ce),
            (Ecn::Ect0, Some(Ecn::Ect1), Ecn::Ect0),
        ] {
            assert_eq!(MecnReceiver.on_data(&arrived(ecn, pending)).code, code);
        }
    }
}
