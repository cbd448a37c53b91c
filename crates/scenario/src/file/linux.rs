//! The `[linux]` table: what only the linux engine reads.

use serde_json::{Value as Json, json};

use crate::error::Fault;
use crate::syntax::declaration::{Definitions, FileValue, table};
use crate::syntax::document::{Node, Raw};

/// The version of IP that the linux engine's flows have. No other engine reads it, and it is in the
/// versions of a linux run's parts, not in the scenario's identity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ip {
    /// Headers of 20 bytes.
    #[default]
    V4,
    /// Headers of 40 bytes.
    V6,
}

impl FileValue for Ip {
    fn form() -> String {
        "4 or 6".to_owned()
    }
    fn schema(_: &mut Definitions) -> Json {
        json!({ "enum": [4, 6] })
    }
    fn read(node: &Node) -> Result<Ip, Fault> {
        match node.raw {
            Raw::Int(4) => Ok(Ip::V4),
            Raw::Int(6) => Ok(Ip::V6),
            _ => Err(node.mismatch("4 or 6")),
        }
    }
}

table! {
    /// What the linux engine's packets are; other engines ignore it.
    pub(crate) struct LinuxFile {
        /// Version of IP. A full packet has `packets.data` bytes with either, so the payload is 20
        /// bytes less with 6, and an ACK has 60 bytes where `packets.ack` says 40.
        ip: Ip = default(4);
    }
}
