//! TCP Reno's window.
use units::Span;
use crate::roles::*;
params! { /// Reno.
pub struct RenoParams { /// ECN.
 ecn: bool = false; } }
/// Reno.
#[derive(Clone, Debug)]
pub struct Reno { cwnd: f64, ssthresh: f64, ecn: bool }
impl Sender for Reno {
    type Params = RenoParams; type Header = (); type Receiver = Echo<()>;
    fn new(p: &RenoParams, c: &SenderContext) -> Reno { Reno { cwnd: c.initial_window, ssthresh: f64::INFINITY, ecn: p.ecn } }
    fn ecn(&self) -> EcnUse { if self.ecn { EcnUse::Classic } else { EcnUse::None } }
    fn on_ack(&mut self, a: &Ack<()>) { let _ = Span::ZERO; if a.recovering { return; } for _ in 0..a.delivered { self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd }; } }
    fn on_loss(&mut self, l: &Loss) { self.ssthresh = (f64::from(l.in_flight) / 2.0).max(2.0); self.cwnd = if l.kind == LossKind::Timeout { 1.0 } else { self.ssthresh }; }
    fn cwnd(&self) -> f64 { self.cwnd }
}
