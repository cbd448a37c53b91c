//! RED.
use crate::roles::*;
params! { /// RED.
pub struct RedParams {} }
/// RED.
#[derive(Clone, Debug)]
pub struct Red;
impl Router for Red { type Params = RedParams; type Header = (); fn new(_: &RedParams, _: &RouterContext) -> Red { Red } }
