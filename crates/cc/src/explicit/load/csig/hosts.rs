//! End hosts that read their load factor from the tag. What they do with it is their protocol's
//! affair ([`Law`]); the tag takes the place of what its routers would have written.

use core::fmt;

use units::Rate;

use super::{Buckets, CsigHeader, CsigReceiver, Signal, TagParams};
use crate::explicit::load::bmcc::{BmccHeader, BmccSender, BmccSenderParams, steps};
use crate::explicit::load::dpcp::{DpcpSender, DpcpSenderParams, level};
use crate::explicit::load::mlcp::gauge::t_p_code;
use crate::explicit::load::mlcp::{MlcpHeader, MlcpSender, MlcpSenderParams, code};
use crate::explicit::load::nbit::{NbitHeader, NbitSender, NbitSenderParams, Scheme};
use crate::explicit::load::vcp::{VcpSender, VcpSenderParams};
use crate::params::{First, Params};
use crate::roles::{Ack, Departing, Ecn, Loss, Sender, SenderContext, Variable};

params! {
    /// What a host asks for, and what it makes of the answer.
    pub struct AskParams {
        /// What tells the load: ABW/C, or ABW. A host that asks for ABW does not learn the line's
        /// capacity and takes `abw_range` as that of every line.
        signal: First<Signal, 2> = First(Signal::AbwC);
        /// Does every other packet ask for the largest delay of a hop, so that the load factor
        /// counts the queue?
        queue_delay: bool = false;
        /// gamma, the target utilization (R4).
        gamma: f64 = 0.98 => (0.01, 2.0);
        /// The weight of the old average of the delay, per tag that tells one: VCP's a.
        a: f64 = 0.875 => (0.0, 1.0);
    }
}

/// What a protocol does with a load factor that one packet tells.
pub trait Law: Sized {
    /// Its parameters.
    type Params: Params;
    /// Its sender, which has the window.
    type Sender: Sender;
    /// [`OWN`] and the sender's.
    const VARIABLES: &'static [Variable];
    /// The parameters of the tag, of what is asked for, kappa_q, and the protocol's own.
    fn parts(
        params: &Self::Params,
    ) -> (&TagParams, &AskParams, f64, &<Self::Sender as Sender>::Params);
    /// Its state besides the sender's.
    fn new(params: &Self::Params) -> Self;
    /// An ACK arrives, and the load is this one.
    fn hear(&mut self, sender: &mut Self::Sender, ack: &Ack<CsigHeader>, rho: f64);
}

/// What all show besides their protocol's variables.
const OWN: [Variable; 3] = [
    Variable::new("rho", "", "load factor as the tags tell it"),
    Variable::new("abw_c", "", "available bandwidth over capacity that the last tag told"),
    Variable::new("d", "s", "largest delay of a hop, averaged; 0 if it does not ask"),
];

/// [`OWN`] and a protocol's variables, `N` in all.
const fn joined<const N: usize>(theirs: &[Variable]) -> [Variable; N] {
    let mut all = [OWN[0]; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < OWN.len() { OWN[i] } else { theirs[i - OWN.len()] };
        i += 1;
    }
    all
}

/// An end host of the protocol `L`.
#[derive(Clone, Debug)]
pub struct CsigSender<L: Law> {
    law: L,
    sender: L::Sender,
    buckets: Buckets,
    signal: Signal,
    queue_delay: bool,
    /// Did the last packet ask for the delay?
    asked_delay: bool,
    /// [s]
    delay_range: f64,
    gamma: f64,
    /// kappa_q/t [1/s].
    kappa_q: f64,
    a: f64,
    /// ABW/C of the last tag.
    share: f64,
    /// [s]
    delay: f64,
    rho: f64,
}

impl<L: Law> CsigSender<L> {
    /// The load factor after a tag; `None` where there is none.
    fn read(&mut self, tag: CsigHeader) -> Option<f64> {
        let told = self.buckets.edge(tag.value);
        match tag.signal? {
            // The value that tags leave with is beyond all buckets.
            Signal::Abw | Signal::AbwC if tag.locator == CsigHeader::NOWHERE => self.share = 1.0,
            Signal::Abw | Signal::AbwC => self.share = told,
            Signal::Delay => {
                self.delay = self.a * self.delay + (1.0 - self.a) * told * self.delay_range;
            }
        }
        self.rho = (1.0 - self.share + self.kappa_q * self.delay) / self.gamma;
        Some(self.rho)
    }
}

impl<L: Law> Sender for CsigSender<L> {
    type Params = L::Params;
    type Header = CsigHeader;
    type Receiver = CsigReceiver;

    const STEADY: bool = true;
    const VARIABLES: &'static [Variable] = L::VARIABLES;

    fn new(params: &L::Params, context: &SenderContext) -> CsigSender<L> {
        let (tag, ask, kappa_q, own) = L::parts(params);
        CsigSender {
            law: L::new(params),
            sender: L::Sender::new(own, context),
            buckets: Buckets::new(tag),
            signal: ask.signal.0,
            queue_delay: ask.queue_delay,
            asked_delay: false,
            delay_range: tag.delay_range.as_secs(),
            gamma: ask.gamma,
            kappa_q: kappa_q / tag.interval.as_secs(),
            a: ask.a,
            share: 1.0,
            delay: 0.0,
            rho: 0.0,
        }
    }

    #[inline]
    fn on_send(&mut self, _segment: &Departing) -> CsigHeader {
        self.asked_delay = self.queue_delay && !self.asked_delay;
        CsigHeader::asking(if self.asked_delay { Signal::Delay } else { self.signal })
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<CsigHeader>) {
        if let Some(rho) = self.read(ack.header) {
            self.law.hear(&mut self.sender, ack, rho);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.sender.on_loss(loss);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.sender.cwnd()
    }

    fn paces(&self) -> bool {
        self.sender.paces()
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        self.sender.pacing()
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("rho", self.rho);
        sink("abw_c", self.share);
        sink("d", self.delay);
        self.sender.probe(sink);
    }

    fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "the tags tell a load of {:.1} % of the target", 100.0 * self.rho)?;
        self.sender.describe(out)
    }
}

/// Declares the parameters of a protocol over the tag.
macro_rules! over_the_tag {
    ($(#[$doc:meta])* $params:ident, $own:ty, $kappa_q:literal) => {
        params! {
            $(#[$doc])*
            pub struct $params {
                /// The buckets, the ranges and the interval: the switches'.
                tag: TagParams;
                /// What is asked for.
                ask: AskParams;
                /// kappa_q, the part of the queue that counts as load, if the delay is asked for.
                kappa_q: f64 = $kappa_q => (0.0, 10.0);
                /// The protocol's.
                own: $own;
            }
        }
    };
}

/// The parts of a [`Law`] that all write alike.
macro_rules! alike {
    ($params:ident, $sender:ty) => {
        type Params = $params;
        type Sender = $sender;
        const VARIABLES: &'static [Variable] =
            &joined::<{ OWN.len() + <$sender>::VARIABLES.len() }>(<$sender>::VARIABLES);

        fn parts(params: &$params) -> (&TagParams, &AskParams, f64, &<$sender as Sender>::Params) {
            (&params.tag, &params.ask, params.kappa_q, &params.own)
        }
    };
}

over_the_tag! {
    /// VCP's, over the tag.
    VcpCsigParams, VcpSenderParams, 0.5
}

/// VCP's: three zones, of which the first ends at its transition point.
#[derive(Clone, Debug)]
pub struct VcpLaw {
    high_load: f64,
}

impl Law for VcpLaw {
    alike! { VcpCsigParams, VcpSender }

    fn new(params: &VcpCsigParams) -> VcpLaw {
        VcpLaw { high_load: params.own.high_load }
    }

    fn hear(&mut self, vcp: &mut VcpSender, ack: &Ack<CsigHeader>, rho: f64) {
        let code = if rho < self.high_load {
            Ecn::Ect1
        } else if rho < 1.0 {
            Ecn::Ect0
        } else {
            Ecn::Ce
        };
        vcp.hear(ack, code);
    }
}

over_the_tag! {
    /// MLCP's, over the tag.
    MlcpCsigParams, MlcpSenderParams, 0.75
}

/// The code of the t_p that stands for an interval, as a router of MLCP would tell it.
fn period(tag: &TagParams) -> u8 {
    t_p_code(tag.interval.as_secs())
}

/// MLCP's: its sixteen codes. The period is the interval's, as the tag has none.
#[derive(Clone, Debug)]
pub struct MlcpLaw {
    t_p: u8,
}

impl Law for MlcpLaw {
    alike! { MlcpCsigParams, MlcpSender }

    fn new(params: &MlcpCsigParams) -> MlcpLaw {
        MlcpLaw { t_p: period(&params.tag) }
    }

    fn hear(&mut self, mlcp: &mut MlcpSender, ack: &Ack<CsigHeader>, rho: f64) {
        mlcp.on_ack(&ack.with_header(MlcpHeader::new(code(rho), self.t_p, None)));
    }
}

over_the_tag! {
    /// An n-bit scheme's, over the tag.
    NbitCsigParams, NbitSenderParams, 0.75
}

/// An n-bit scheme's: its own codes, or with `bits = "ideal"` what the tag tells.
#[derive(Clone, Debug)]
pub struct NbitLaw {
    scheme: Scheme,
    t_p: u8,
}

impl Law for NbitLaw {
    alike! { NbitCsigParams, NbitSender }

    fn new(params: &NbitCsigParams) -> NbitLaw {
        let NbitSenderParams { bits, md, inverse, .. } = params.own;
        NbitLaw { scheme: Scheme::new(bits, md, inverse), t_p: period(&params.tag) }
    }

    fn hear(&mut self, nbit: &mut NbitSender, ack: &Ack<CsigHeader>, rho: f64) {
        nbit.on_ack(&ack.with_header(NbitHeader::new(self.scheme.code(rho), self.t_p, None)));
    }
}

over_the_tag! {
    /// DPCP's, over the tag.
    DpcpCsigParams, DpcpSenderParams, 0.5
}

/// DPCP's: its nine levels, of which one packet tells all.
#[derive(Clone, Debug)]
pub struct DpcpLaw;

impl Law for DpcpLaw {
    alike! { DpcpCsigParams, DpcpSender }

    fn new(_: &DpcpCsigParams) -> DpcpLaw {
        DpcpLaw
    }

    fn hear(&mut self, dpcp: &mut DpcpSender, ack: &Ack<CsigHeader>, rho: f64) {
        dpcp.hear_level(ack, level(rho));
    }
}

over_the_tag! {
    /// BMCC's, over the tag.
    BmccCsigParams, BmccSenderParams, 0.75
}

/// BMCC's: the tag in the place of the receiver's estimate.
#[derive(Clone, Debug)]
pub struct BmccLaw;

impl Law for BmccLaw {
    alike! { BmccCsigParams, BmccSender }

    fn new(_: &BmccCsigParams) -> BmccLaw {
        BmccLaw
    }

    fn hear(&mut self, bmcc: &mut BmccSender, ack: &Ack<CsigHeader>, rho: f64) {
        let header = BmccHeader { id: steps(rho) };
        bmcc.on_ack(&Ack { code: Ecn::Ect1, ..ack.with_header(header) });
    }
}
