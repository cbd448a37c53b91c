//! XCP.
use crate::registry::AnyHeader;
use crate::roles::*;
params! { /// XCP.
pub struct XcpParams {} }
/// XCP.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct XcpHeader { /// a
 pub cwnd: f64, /// b
 pub rtt: f64, /// c
 pub feedback: f64 }
impl Header for XcpHeader { const WIRE_BYTES: usize = 12; fn encode(&self, _: &mut [u8]) {} fn decode(_: &[u8]) -> Option<Self> { None }
 fn wrap(self) -> AnyHeader { AnyHeader::Xcp(self) } fn open(any: &mut AnyHeader) -> Option<&mut Self> { match any { AnyHeader::Xcp(h) => Some(h), _ => None } } }
/// XCP.
#[derive(Clone, Debug)]
pub struct XcpRouter;
impl Router for XcpRouter { type Params = XcpParams; type Header = XcpHeader; fn new(_: &XcpParams, _: &RouterContext) -> Self { Self } }
/// XCP.
#[derive(Clone, Debug)]
pub struct XcpSender { cwnd: f64 }
impl Sender for XcpSender { type Params = XcpParams; type Header = XcpHeader; type Receiver = Echo<XcpHeader>;
 fn new(_: &XcpParams, c: &SenderContext) -> Self { Self { cwnd: c.initial_window } }
 fn on_ack(&mut self, _: &Ack<XcpHeader>) {} fn on_loss(&mut self, _: &Loss) {} fn cwnd(&self) -> f64 { self.cwnd } }
