//! What a window's parts look at and change: the window itself and the sequence space.

/// Where the window and the sequence space stand.
#[derive(Clone, Debug)]
pub struct Frame {
    /// [packets]
    pub cwnd: f64,
    /// [packets]; infinite until the first loss.
    pub ssthresh: f64,
    /// One past the last packet cumulatively acknowledged.
    pub una: u64,
    /// One past the highest packet sent.
    pub nxt: u64,
}

impl Frame {
    /// The start of a flow.
    pub fn new(initial_window: f64) -> Frame {
        Frame { cwnd: initial_window.max(1.0), ssthresh: f64::INFINITY, una: 0, nxt: 0 }
    }
}

/// A round trip told by sequence numbers: over when what was sent last at its start is
/// acknowledged.
#[derive(Clone, Debug, Default)]
pub struct Round {
    end: u64,
}

impl Round {
    /// Is it over with the present ACK? Then the next begins.
    pub fn is_over(&mut self, frame: &Frame) -> bool {
        if frame.una < self.end || frame.una == 0 {
            return false;
        }
        self.end = frame.nxt.max(frame.una + 1);
        true
    }
}
