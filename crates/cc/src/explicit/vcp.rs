//! VCP.
use crate::roles::*;
params! { /// VCP.
pub struct VcpParams {} }
/// VCP.
#[derive(Clone, Debug)]
pub struct VcpRouter;
impl Router for VcpRouter { type Params = VcpParams; type Header = (); fn new(_: &VcpParams, _: &RouterContext) -> Self { Self } }
/// VCP.
#[derive(Clone, Debug)]
pub struct VcpSender { cwnd: f64 }
impl Sender for VcpSender { type Params = VcpParams; type Header = (); type Receiver = Echo<()>;
 fn new(_: &VcpParams, c: &SenderContext) -> Self { Self { cwnd: c.initial_window } }
 fn on_ack(&mut self, _: &Ack<()>) {} fn on_loss(&mut self, _: &Loss) {} fn cwnd(&self) -> f64 { self.cwnd } }
