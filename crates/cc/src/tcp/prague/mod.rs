//! Prague, L4S's scalable congestion control. udp_prague (L4STeam/udp_prague, e8e3435, February
//! 2026), prague_cc.cpp; draft-briscoe-iccrg-prague-congestion-control; RFC 9331 section 4 has what
//! such a control must do.
//!
//! Packets are ECT(1). alpha is the share of marked packets, averaged over rounds of a window and a
//! virtual RTT, max(srtt, 25 ms).
//!
//! ```math
//! vrtt = max(srtt, 25)                           [ms]
//! alpha <- alpha + (marked/received - alpha)/16  each round
//! W <- (1 - alpha/2)*W                           at a mark, once per round
//! W <- W/2                                       at a loss
//! W <- W + s^2*(srtt/vrtt)^2/W                   per unmarked packet of s bytes
//! ```
//!
//! What a loss took is given back if packets were only reordered. Below the reference RTT of 25 ms
//! flows grow as one at 25 ms. After 7 rounds without a mark, and one more per 15.36 Mb/s, the step
//! is not a packet but 1 ms of the rate. At an srtt of 2 ms or less, or less than a packet takes at
//! the rate, the rate is governed in place of the window, by the same law. It always paces at
//! W/srtt, 3 % above in the first half of a round, 3 % below in the second; the window lets 3 %
//! more through.
//!
//! [`law`] is that, step by step in udp_prague's integers; window, pace, burst, packet size and
//! alpha equal that program's after every ACK of 10^6 random sequences.
//!
//! tcp_prague (L4STeam/linux, net/ipv4/tcp_prague.c, version 0.6) differs where the preset
//! `tcp-prague` says: alpha starts at 1, the step stays a packet, and there is a slow start, which
//! the first mark or loss ends.
//!
//! Deviations:
//! - D1: packets have one size, where udp_prague's shrink so that two fit into 25 ms. The window
//!   counts the packets' whole bytes.
//! - D2: packets leave one by one, not in bursts of 250 us; so does RFC 9331 have it at best.
//! - D3: products of 64 bits that udp_prague lets wrap saturate (from windows of 17 MB on at
//!   alpha = 1); an RTT of 0 us counts as 1.
//! - D4: marks are told by AccECN, or, without it, by each ACK's own packet. There is no fallback
//!   to classic ECN (tcp_prague has one, off by default), and bleached marks are not looked for.
//! - D5: the transport does not detect reordering after it has declared a loss, so nothing is given
//!   back but in the law's tests.
//! - D6: of tcp_prague the RTT independence is udp_prague's from the first round on (there from 500
//!   rounds after slow start), and reductions wait for a round of 25 ms at least as there.
//! - D7: the draft was not at hand; what is above is from the two programs.

use units::{Rate, Time};

use crate::roles::{
    Ack, Departing, Echo, Ecn, EcnUse, Loss, LossKind, Sender, SenderContext, Variable,
};

mod law;

use law::{Counts, Law, Mode, Setting};

params! {
    /// The sender's parameters.
    pub struct PragueParams {
        /// 1/g, what a round's share of marks is divided by in alpha.
        gain: u64 = 16 => (1.0, 1024.0);
        /// alpha at the start.
        alpha_0: f64 = 0.0 => (0.0, 1.0);
        /// Does the step become 1 ms of the rate after rounds without a mark?
        growth: bool = true;
        /// Does the window double per RTT until the first mark or loss?
        slow_start: bool = false;
        /// Rate before the first RTT is known, and after a timeout [bit/s]; not with a slow start.
        init_rate: u64 = 100_000 => (100_000.0, 1e11);
    }
    presets {
        /// What differs in tcp_prague.
        "tcp-prague" { alpha_0 = Number(1.0), growth = Flag(false), slow_start = Flag(true) }
    }
}

/// The end host's part.
#[derive(Clone, Debug)]
pub struct Prague {
    law: Law,
    counts: Counts,
    /// The last event [us].
    now: i64,
}

/// Whole microseconds.
fn us(time: Time) -> i64 {
    (time.0 / 1_000_000) as i64
}

impl Sender for Prague {
    type Params = PragueParams;
    type Header = ();
    type Receiver = Echo<()>;

    const STEADY: bool = true;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("cwnd", "pkts", "what may be in flight, 3 % above rate times srtt"),
        Variable::new("rate", "bit/s", "W/srtt, or what is governed in place of W"),
        Variable::new("alpha", "", "estimated share of marked packets"),
        Variable::new("wait", "", "rounds without a mark until the step grows"),
        Variable::new("mode", "", "0 while the window is governed, 1 while the rate is"),
    ];

    fn new(params: &PragueParams, context: &SenderContext) -> Prague {
        let bytes = u64::from(context.packet_bytes);
        let setting = Setting {
            packet_bytes: (bytes, bytes),
            init_rate: params.init_rate / 8,
            alpha_divisor: params.gain as i64,
            alpha_0: (params.alpha_0 * f64::from(1 << 20)) as i64,
            growth: params.growth,
            slow_start: params.slow_start,
        };
        let packets = (context.initial_window as u64).max(1);
        Prague { law: Law::new(setting, packets, 0), counts: Counts::default(), now: 0 }
    }

    fn ecn(&self) -> EcnUse {
        EcnUse::Codes(Ecn::Ect1)
    }

    fn counts_marks(&self) -> bool {
        true
    }

    fn on_send(&mut self, _: &Departing) {
        self.counts.sent += 1;
    }

    fn on_ack(&mut self, ack: &Ack<()>) {
        self.now = us(ack.now);
        if let Some(rtt) = ack.rtt {
            self.law.on_rtt((rtt.0 / 1_000_000) as i64);
        }
        self.counts.received += i64::from(ack.delivered);
        self.counts.marked += i64::from(ack.marks.min(ack.delivered));
        self.counts.lost += i64::from(ack.lost);
        self.law.on_ack(self.now, self.counts);
    }

    /// What duplicate ACKs show is in the next ACK's count.
    fn on_loss(&mut self, loss: &Loss) {
        if loss.kind == LossKind::Timeout {
            self.now = us(loss.now);
            self.counts.lost += i64::from(loss.lost);
            self.law.restart(self.now);
        }
    }

    fn next_timer(&self) -> Time {
        let half = self.law.half_round();
        if half > self.now { Time((half as u64).saturating_mul(1_000_000)) } else { Time::NEVER }
    }

    fn on_timer(&mut self, now: Time) {
        self.now = us(now);
    }

    fn cwnd(&self) -> f64 {
        self.law.packets as f64
    }

    fn paces(&self) -> bool {
        true
    }

    fn pacing(&self) -> Option<Rate> {
        let pace = self.law.pace(self.now)?;
        Some(Rate(pace.saturating_mul(8).max(1)))
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("cwnd", self.cwnd());
        sink("rate", self.law.rate as f64 * 8.0);
        sink("alpha", self.law.alpha as f64 / f64::from(1 << 20));
        sink("wait", self.law.rounds_to_growth as f64);
        sink("mode", f64::from(u8::from(self.law.mode == Mode::Rate)));
    }
}

#[cfg(test)]
mod tests;
