//! DropTail: first in, first out; what does not fit is dropped. The buffer's limit is the queue's
//! own, so that the policy has nothing to decide and nothing to remember.

use crate::roles::{Router, RouterContext};

params! {
    /// DropTail has no parameters: the limit belongs to the buffer.
    pub struct DropTailParams {}
}

/// The router's part.
#[derive(Clone, Debug)]
pub struct DropTail;

impl Router for DropTail {
    type Params = DropTailParams;
    type Header = ();
    const IDLE: bool = true;
    fn new(_: &DropTailParams, _: &RouterContext) -> DropTail {
        DropTail
    }
    fn retune(&mut self, _: &DropTailParams, _: &RouterContext) {}
}
