//! End hosts: how a window moves, for each protocol.

use scenario::{Protocol, VcpForm};
use units::math;

use crate::Unsupported;
use crate::load::{Act, LoadSender};
use crate::params::Part;

/// State variables of a class at most.
pub const VARIABLES: usize = 3;

/// What a sender's ACKs tell it at an instant.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The RTT of the packet that is acknowledged [s].
    pub rtt: f64,
    /// The rate at which the packets that were sent one RTT ago come back or are missed
    /// [packets/s]: that at which they were sent, spaced anew by the queues on the way, by the
    /// factor `pace`.
    pub rate: f64,
    pub pace: f64,
    /// ACKs per RTT, where they clock the source.
    pub acks: Option<f64>,
    /// The share of packets that a congestion signal hit, lost or marked.
    pub hit: f64,
    /// The share that arrived.
    pub arrived: f64,
    /// XCP: dx/dt that the tightest link allows [bytes/s^2]; infinite without an XCP router.
    pub feedback: f64,
    /// The largest load factor on the way, for VCP's model.
    pub rho: f64,
    /// Did a link tell a level of load? The highest on the way, and the period over which it was
    /// measured [s].
    pub told: bool,
    pub code: u8,
    pub period: f64,
}

impl Seen {
    /// What a path of this RTT says that nothing waits on and no link tells anything.
    pub fn nothing(rtt: f64) -> Seen {
        Seen {
            rtt,
            rate: 0.0,
            pace: 1.0,
            acks: None,
            hit: 0.0,
            arrived: 1.0,
            feedback: f64::INFINITY,
            rho: 0.0,
            told: false,
            code: 0,
            period: 0.2,
        }
    }
}

/// A protocol's end host.
#[derive(Clone, Debug)]
pub enum Law {
    /// XCP and iXCP: the router says what the window gains.
    Explicit { price: f64 },
    /// VCP, MLCP, DPCP: levels of load.
    Load(LoadSender),
    /// VCP's MIAIMD model.
    Miaimd(Miaimd),
    /// Reno: Misra, Gong, Towsley, SIGCOMM 2000.
    Reno,
    /// CUBIC: Vardoyan, Hollot, Towsley, INFOCOM 2018.
    Cubic(Cubic),
}

/// VCP's model: w' = w*xi(rho)/t_rho + alpha*g(T/t_d)/T, xi(rho) = kappa*(1 - rho)/rho (section V).
#[derive(Clone, Debug)]
pub struct Miaimd {
    kappa: f64,
    /// xi is not taken below this load factor, where VCP's own MI ends.
    least_rho: f64,
    scale: LoadSender,
}

/// RFC 9438.
#[derive(Clone, Debug)]
pub struct Cubic {
    c: f64,
    beta: f64,
    /// The Reno-friendly region?
    friendly: bool,
}

/// A protocol as the engine has it.
#[derive(Clone, Debug)]
pub struct Sender {
    pub law: Law,
    /// Are its packets marked rather than dropped?
    pub ecn: bool,
    /// Does it take a mark as a loss?
    pub heeds_marks: bool,
    /// Does a loss cut its window?
    pub loss_cuts: bool,
    /// RTTs after the start of a flow until its window moves.
    pub silent_rtts: f64,
    /// Does it begin with slow start?
    pub slow_start: bool,
}

type MakeLaw = fn(&Part, VcpForm) -> Law;

/// The fluid forms of protocols, by their names in the registry.
pub const PROTOCOLS: &[(&str, MakeLaw)] = &[
    ("reno", |part, _| reno(part)),
    ("newreno", |part, _| reno(part)),
    ("sack", |part, _| reno(part)),
    ("cubic", |part, _| Law::Cubic(Cubic::new(part))),
    ("xcp", |part, _| explicit(part)),
    ("ixcp", |part, _| explicit(part)),
    ("vcp", |part, form| match form {
        VcpForm::Switching => Law::Load(LoadSender::vcp(part)),
        VcpForm::Miaimd => Law::Miaimd(Miaimd::new(part)),
    }),
    ("mlcp", |part, _| Law::Load(LoadSender::mlcp(part))),
    ("dpcp", |part, _| Law::Load(LoadSender::dpcp(part))),
];

fn reno(part: &Part) -> Law {
    part.used("ecn");
    Law::Reno
}

fn explicit(part: &Part) -> Law {
    Law::Explicit { price: part.number("price") }
}

impl Miaimd {
    fn new(part: &Part) -> Miaimd {
        let scale = LoadSender::vcps_increase(part);
        let least_rho = part.number("high_load");
        Miaimd { kappa: part.number("kappa"), least_rho, scale }
    }

    fn growth(&self, w: f64, rho: f64, (rtt, base_rtt): (f64, f64)) -> f64 {
        let rho = rho.max(self.least_rho);
        let xi = self.kappa * (1.0 - rho) / rho;
        let scale = self.scale.scaling_rtt(rtt, base_rtt);
        w * xi / self.scale.t_rho + self.scale.alpha_s(scale, self.scale.t_d) / rtt
    }
}

impl Cubic {
    fn new(part: &Part) -> Cubic {
        part.used("ecn");
        // There is no fast convergence here: off is exact, on is the mean of losses at equal
        // windows.
        part.used("fast_convergence");
        Cubic {
            c: part.number("c"),
            beta: part.number("beta"),
            friendly: part.flag("tcp_friendly"),
        }
    }

    /// W_cubic(s) = C*(s - K)^3 + W_max, K = cbrt(W_max*(1 - beta)/C) (RFC 9438, section 4.2).
    fn window(&self, w_max: f64, s: f64) -> f64 {
        let k = math::cbrt(w_max.max(0.0) * (1.0 - self.beta) / self.c);
        let off = s - k;
        self.c * off * off * off + w_max
    }
}

impl Sender {
    /// That of a group; `key` is the group's in messages.
    pub fn of(protocol: &Protocol, key: &str, form: VcpForm) -> Result<Sender, Unsupported> {
        let Some((name, make)) = PROTOCOLS.iter().find(|(name, _)| *name == protocol.kind) else {
            return Err(Unsupported::protocol(key, protocol.kind));
        };
        let part = Part::protocol(protocol);
        let law = make(&part, form);
        let classic = matches!(law, Law::Reno | Law::Cubic(_));
        let marked = classic && part.flag("ecn");
        let decoupled = match *name {
            "mlcp" => true,
            "dpcp" => part.flag("decoupled_loss"),
            _ => false,
        };
        part.all_read()?;
        let decoupled = decoupled || matches!(protocol.recovery.name(), "decoupled" | "none");
        Ok(Sender {
            ecn: if classic { marked } else { codes_only(name) },
            heeds_marks: marked,
            loss_cuts: !decoupled,
            silent_rtts: if matches!(law, Law::Explicit { .. }) { 2.0 } else { 1.0 },
            slow_start: classic,
            law,
        })
    }

    /// The state at the start with a window of `w` packets.
    pub fn initial(&self, w: f64) -> [f64; VARIABLES] {
        [w, w, 0.0]
    }

    /// The window [packets].
    #[inline]
    pub fn window(&self, y: &[f64; VARIABLES], slow: bool) -> f64 {
        let w = match &self.law {
            Law::Cubic(cubic) if !slow && cubic.friendly => cubic.window(y[1], y[2]).max(y[0]),
            Law::Cubic(cubic) if !slow => cubic.window(y[1], y[2]),
            _ => y[0],
        };
        w.max(1.0)
    }

    /// Packets per RTT with a window of `w`. Where the protocol itself is modelled and not its
    /// theory, whole packets are sent: half a packet of the window is idle in the mean, and a
    /// growth that goes by ACKs is slower by as much, which decides how long MI takes from one
    /// packet on.
    #[inline]
    pub fn packets(&self, w: f64) -> f64 {
        if matches!(self.law, Law::Load(_)) { (w - 0.5).max(1.0) } else { w }
    }

    /// Signs of congestion per second: each hit counts once, but no more than one per RTT.
    #[inline]
    pub fn cuts(&self, seen: &Seen) -> f64 {
        if self.loss_cuts { (seen.rate * seen.hit).min(1.0 / seen.rtt) } else { 0.0 }
    }

    /// The derivative of the state.
    #[inline]
    pub fn derivative(
        &self,
        y: &[f64; VARIABLES],
        seen: &Seen,
        (act, slow): (Act, bool),
        (packet, base_rtt): (f64, f64),
    ) -> [f64; VARIABLES] {
        let w = self.window(y, slow);
        if slow {
            // Doubles per RTT.
            return [w * core::f64::consts::LN_2 / seen.rtt, 0.0, 0.0];
        }
        let cuts = self.cuts(seen);
        let cut = w / 2.0 * cuts;
        let growth = match &self.law {
            Law::Explicit { .. } if seen.feedback.is_finite() => seen.rtt * seen.feedback / packet,
            Law::Explicit { .. } => 0.0,
            Law::Load(load) => {
                let sent = seen.acks.unwrap_or_else(|| self.packets(w));
                let counted = seen.acks.is_some();
                load.growth(act, (w, sent, counted), (seen.rtt, base_rtt), seen.period)
            }
            Law::Miaimd(model) => model.growth(w, seen.rho, (seen.rtt, base_rtt)),
            Law::Reno => 1.0 / seen.rtt,
            Law::Cubic(cubic) => {
                let b = cubic.beta;
                // The Reno-friendly estimate (section 4.3), the last maximum and the time since.
                let alpha = 3.0 * (1.0 - b) / (1.0 + b);
                let estimate = alpha / seen.rtt + (b * w - y[0]) * cuts;
                return [estimate, (w - y[1]) * cuts, 1.0 - y[2] * cuts];
            }
        };
        [growth - cut, 0.0, 0.0]
    }

    /// The state after the loss that ends slow start.
    pub fn end_slow_start(&self, y: &mut [f64; VARIABLES]) {
        let w = y[0];
        *y = match &self.law {
            Law::Cubic(cubic) => [(w * cubic.beta).max(1.0), w, 0.0],
            _ => [(w / 2.0).max(1.0), 0.0, 0.0],
        };
    }
}

/// Do the ECN bits carry codes, so that RED's marks mean nothing? Packets of XCP are not
/// ECN-capable.
fn codes_only(name: &str) -> bool {
    !matches!(name, "xcp" | "ixcp")
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::XcpForm;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs().max(1.0)
    }

    fn sender(law: Law) -> Sender {
        Sender {
            law,
            ecn: false,
            heeds_marks: false,
            loss_cuts: true,
            silent_rtts: 1.0,
            slow_start: false,
        }
    }

    const SEEN: Seen = Seen {
        rtt: 0.1,
        rate: 200.0,
        pace: 1.0,
        acks: None,
        hit: 0.0,
        arrived: 1.0,
        feedback: f64::INFINITY,
        rho: 0.0,
        told: false,
        code: 0,
        period: 0.2,
    };

    fn dw(law: Law, w: f64, seen: Seen) -> f64 {
        let act = (Act::default(), false);
        sender(law).derivative(&[w, w, 0.0], &seen, act, (1000.0, 0.1))[0]
    }

    #[test]
    fn reno_stands_still_at_the_square_root_formula() {
        // w = sqrt(2/p): p = 0.005 gives 20 packets, 200 packets/s at 0.1 s: 10 - 10*200*0.005 = 0.
        assert!(near(dw(Law::Reno, 20.0, Seen { hit: 0.005, ..SEEN }), 0.0));
        assert!(near(dw(Law::Reno, 20.0, SEEN), 10.0));
        // Every packet lost: one halving per RTT, no more: 10 - 10*10.
        assert!(near(dw(Law::Reno, 20.0, Seen { hit: 1.0, ..SEEN }), -90.0));
    }

    #[test]
    fn xcp_does_what_the_router_says() {
        // 50,000 bytes/s^2 over 0.1 s is 5000 bytes or 5 packets a second.
        assert!(near(dw(Law::Explicit { price: 1.0 }, 9.0, Seen { feedback: 5e4, ..SEEN }), 5.0));
        assert_eq!(dw(Law::Explicit { price: 1.0 }, 9.0, SEEN), 0.0);
    }

    #[test]
    fn vcps_model_stands_still_at_its_equilibrium() {
        // rho = 1.1: xi = -0.25/11; w = 10 at T = 0.1: 0.25*10/(11*0.2) = 1.1364 lost per second;
        // gained: (0.1/0.2)^2/0.1 = 2.5.
        let law = Law::Miaimd(Miaimd::new(&Part::of_sender("vcp")));
        let want = 2.5 - 10.0 * 0.25 * (0.1 / 1.1) / 0.2;
        assert!(near(dw(law, 10.0, Seen { rho: 1.1, ..SEEN }), want));
    }

    #[test]
    fn cubic_begins_at_beta_and_is_back_at_k() {
        let cubic = Cubic { c: 0.4, beta: 0.7, friendly: true };
        // W_max = 100: K = cbrt(30/0.4) = 4.217 s.
        assert!(near(cubic.window(100.0, 0.0), 70.0));
        assert!(near(cubic.window(100.0, math::cbrt(75.0)), 100.0));
        let law = sender(Law::Cubic(cubic));
        let seen = Seen { hit: 0.001, ..SEEN };
        let d = law.derivative(&[50.0, 100.0, 2.0], &seen, (Act::default(), false), (1e3, 0.1));
        // 0.2 losses a second: s' = 1 - 0.4.
        assert!(near(d[2], 0.6));
    }

    /// Where W_max = w and s = K = 1/(losses per second): w = (C/(1 - beta))^(1/4)*(RTT/p)^(3/4).
    /// At p = 0.001 and 0.1 s: (4/3)^(1/4)*100^(3/4) = 33.98; RFC 9438's eq. (6), for losses at
    /// equal distances, has 1.054*31.62 = 33.3.
    #[test]
    fn cubic_stands_still_near_its_response_function() {
        let w = math::pow(0.4 / 0.3, 0.25) * math::pow(100.0, 0.75);
        let k = math::cbrt(w * 0.3 / 0.4);
        let law = sender(Law::Cubic(Cubic { c: 0.4, beta: 0.7, friendly: true }));
        let seen = Seen { hit: 0.001, rate: w / 0.1, ..SEEN };
        let d = law.derivative(&[1.0, w, k], &seen, (Act::default(), false), (1e3, 0.1));
        assert!(near(law.window(&[1.0, w, k], false), w));
        assert!(near(d[1], 0.0) && near(d[2], 0.0), "{d:?}");
        assert!((w - 33.3).abs() < 0.025 * w);
    }

    /// What a fluid form reads is what the registry has, and the names are the registry's.
    #[test]
    fn every_registered_name_of_the_table_is_a_protocol() {
        let known: Vec<&str> = cc::registry::protocols().map(|p| p.name).collect();
        for (name, make) in PROTOCOLS {
            assert!(known.contains(name), "{name}");
            for form in [VcpForm::Switching, VcpForm::Miaimd] {
                make(&Part::of_sender(name), form);
            }
        }
        for (name, make) in crate::link::FEEDBACK {
            for form in [XcpForm::Intervals, XcpForm::Continuous] {
                make(&Part::of_router(name), form);
            }
        }
    }
}
