//! DRR, deficit round robin. Shreedhar and Varghese, "Efficient fair queueing using deficit round
//! robin", SIGCOMM 1995, section 3.
//!
//! Each flow has a queue. In its turn a queue gets a quantum of bytes on its deficit counter and
//! sends while its head is not larger than the counter, which falls by what is sent; what is left
//! is kept for its next turn, and lost when the queue runs empty.
//!
//! ```math
//! deficit <- deficit + quantum  in a queue's turn
//! deficit <- deficit - l        for each packet of l bytes that it sends
//! ```
//!
//! Deviations:
//! - D1: a queue for each flow, where the paper hashes flows into queues.
//! - D2: a full buffer drops the last packet of the queue with the most bytes (the paper's buffer
//!   stealing leaves the choice of the packet open).

use super::weighted::{self, Weighted};
use crate::classes::{By, Order, Overflow, Plan};

params! {
    /// What makes a class, and what it gets.
    pub struct DrrParams {
        /// What makes a class: a flow, a group of flows in the order of the scenario, or ACKs
        /// (class 0) and data (class 1).
        by: By = By::Flow;
        /// Q, the quantum of weight 1 [bytes], section 3; 0: a full packet.
        quantum: u64 = 0 => (0.0, 1e6);
        /// Weight of class 0: its quantum is so many times Q.
        w0: f64 = 1.0 => (0.01, 100.0);
        /// Weight of class 1.
        w1: f64 = 1.0 => (0.01, 100.0);
        /// Weight of class 2.
        w2: f64 = 1.0 => (0.01, 100.0);
        /// Weight of class 3 and all further ones.
        w3: f64 = 1.0 => (0.01, 100.0);
    }
}

/// The router's part.
pub type Drr = Weighted<ByDrr>;

/// Its order.
#[derive(Clone, Debug)]
pub struct ByDrr;

impl weighted::Order for ByDrr {
    type Params = DrrParams;

    fn plan(params: &DrrParams) -> Plan {
        Plan {
            order: Order::RoundRobin,
            quantum: params.quantum as u32,
            overflow: Overflow::Longest,
            per_class: None,
        }
    }

    fn weights(params: &DrrParams) -> (By, [f64; 4]) {
        (params.by, [params.w0, params.w1, params.w2, params.w3])
    }
}
