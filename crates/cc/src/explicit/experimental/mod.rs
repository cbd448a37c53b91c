//! What no paper defines: changes to protocols that go beyond their papers, and senders that break
//! their rules.

pub mod ixcp_plus;
pub mod vcp_endhost;
pub mod xcp_misbehaving;
