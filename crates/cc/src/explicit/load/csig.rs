//! CSIG, congestion signaling, as the feedback of the protocols with a load factor: one tag per
//! packet with n bits about the bottleneck, as switches write it in hardware.
//! draft-ravi-ippm-csig-01 (2024); UEC's CSIG in the Switch Abstraction Interface, SAI 1.18 (2025),
//! whose sections are numbered below.
//!
//! A sender puts a tag on each packet that asks for one of three signals: the smallest available
//! bandwidth (ABW) of the way, the smallest ABW over the line's capacity C, or the largest delay of
//! a hop. Each switch compares what it has with the tag and writes its own where it is worse, with
//! its number as the locator. The receiver reflects the tag in the ACK. ABW is what a line did not
//! send in the last interval, the same in all switches (3.3). Values are told by the number of
//! their bucket: 32 in the compact tag, about a million in the wide one (3.2).
//!
//! 1 - ABW/C is a load factor up to 100 %, so a host that has read the tag can do what its protocol
//! does: `hosts` are VCP's, MLCP's, the n-bit schemes', DPCP's and BMCC's. What a line cannot send
//! it does not send, so that ABW/C says of overload that there is some and never how much, and it
//! says nothing of the queue that is left of it. Both stand in the hop's delay d: a queue q waits
//! d = q/C, and kappa_q*d/t is the part of the papers' load factor that is missing. A host may ask
//! for ABW/C and delay in turn (`queue_delay`).
//!
//! ```math
//! A = C - sent/t             available bandwidth, each interval t, of what the line has sent
//! S <- min(S, S_A)           the packet's tag at each switch, S_A its bucket of A/C; max for delays
//! S_A = floor(2^n*x)         of x = A/C in [0, 1), linear buckets; each is read as its lower edge
//! S_A = 1 + floor((2^n - 1)*ln(x/x_0)/ln(1/x_0))  exponential, from x_0 = `least` on; 0 below
//! rho = (1 - A/C + kappa_q*d/t)/gamma  what the host makes of it; d where it asks for it
//! ```
//!
//! Deviations:
//! - D1: the tag is of layer 2 and its reflection of layer 4. Here both are one TCP option with the
//!   fields of the wide tag, whatever n is.
//! - D2: hosts speak of the load over a period of 200 ms, over which their protocols are defined;
//!   the interval is that one, where a data centre has about 256 us (SAI's default).
//! - D3: a hop's delay is what the packet waited, without its transmission.
//! - D4: of the draft the abstract and descriptions were at hand, not the text.
//!
//! Reconstructed:
//! - R1: buckets. The wide tag's are of one width, step, from a base on, both powers of two (3.2);
//!   here the range of a signal is divided into 2^n. The compact tag's can be any; here they are
//!   these, or exponential ones, fine where little bandwidth is left.
//! - R2: a bucket stands for its lower edge, base + S*step: the safe one for bandwidth.
//! - R3: `least` = 1/32, the smallest power of two above 1 - gamma = 0.02: bucket 0 is overload.
//! - R4: gamma, which a VCP router divides by, is the host's, as the switch does not know it.
//! - R5: where an ACK answers several packets that asked for the same, the worse tag goes back.

mod hosts;

use units::{Rate, Span, Time, math};

use crate::roles::{
    Arrived, Backlog, Feedback, Header, PacketKind, Passing, Receiver, Router, RouterContext,
    Variable,
};

pub use hosts::{
    BmccCsigParams, BmccLaw, CsigSender, DpcpCsigParams, DpcpLaw, MlcpCsigParams, MlcpLaw,
    NbitCsigParams, NbitLaw, VcpCsigParams, VcpLaw,
};

choice! {
    /// What a tag asks for: the field T, in this order from 0 (section 3.0).
    pub enum Signal {
        /// The smallest available bandwidth.
        Abw = "abw",
        /// The smallest available bandwidth over its line's capacity.
        AbwC = "abw/c",
        /// The largest delay of a hop.
        Delay = "delay",
    }
}

choice! {
    /// How a signal's range is divided into buckets (R1).
    pub enum Quantization {
        /// All of one width.
        Linear = "linear",
        /// Each wider than the one before by the same factor, from `least` on.
        Exponential = "exponential",
    }
}

params! {
    /// What switches and hosts must agree on.
    pub struct TagParams {
        /// n, the bits of a value: 5 in the compact tag, 20 in the wide one.
        tag_bits: u64 = 5 => (1.0, 20.0);
        /// How a signal's range is divided into buckets.
        quantization: Quantization = Quantization::Linear;
        /// The part of the range that is bucket 0, if the others are exponential.
        least: f64 = 0.03125 => (1e-6, 0.5);
        /// The range of ABW [bit/s]; what is beyond it is in the last bucket.
        abw_range: f64 = 1e8 => (1e3, 1e15);
        /// The range of the delay of a hop.
        delay_range: Span = Span::from_millis(200) => (1e-6, 100.0);
        /// t, the interval over which available bandwidth is measured.
        interval: Span = Span::from_millis(200) => (1e-6, 100.0);
    }
}

/// The buckets of a signal, as parts of its range.
#[derive(Clone, Copy, Debug)]
struct Buckets {
    /// The last one, 2^n - 1.
    last: u32,
    /// The part of the range that is bucket 0, and ln(1/least), if they are exponential.
    exponential: Option<(f64, f64)>,
}

impl Buckets {
    fn new(params: &TagParams) -> Buckets {
        let exponential = match params.quantization {
            Quantization::Linear => None,
            Quantization::Exponential => Some((params.least, -math::ln(params.least))),
        };
        // The parameter is at most 20.
        Buckets { last: (1 << params.tag_bits) - 1, exponential }
    }

    /// The bucket of a part of the range. Rounding of a logarithm must not lose one.
    fn of(&self, x: f64) -> u32 {
        let last = f64::from(self.last);
        let bucket = match self.exponential {
            None => x * (last + 1.0),
            Some((least, _)) if x < least => 0.0,
            Some((least, range)) => 1.0 + last * math::ln(x / least) / range + 1e-9,
        };
        // The cast rounds down and saturates.
        (bucket as u32).min(self.last)
    }

    /// The lower edge of a bucket.
    fn edge(&self, bucket: u32) -> f64 {
        let (bucket, last) = (f64::from(bucket.min(self.last)), f64::from(self.last));
        match self.exponential {
            None => bucket / (last + 1.0),
            Some(_) if bucket < 1.0 => 0.0,
            Some((least, range)) => least * math::exp(range * (bucket - 1.0) / last),
        }
    }
}

/// The tag, on a packet and on the ACK that reflects it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CsigHeader {
    /// T, what it asks for; none: there is no tag.
    signal: Option<Signal>,
    /// S, the bucket of the worst that a switch has written; 20 bits.
    value: u32,
    /// LM, the number of the link whose switch wrote it; all ones before.
    locator: u16,
}

impl CsigHeader {
    const MOST: u32 = (1 << 20) - 1;
    const NOWHERE: u16 = u16::MAX;
    /// T where there is no tag; all of its four bits, and no signal of the draft's.
    const NO_TAG: u8 = 15;

    /// A tag as a sender puts it on: the best value there is.
    pub fn asking(signal: Signal) -> CsigHeader {
        let value = if signal == Signal::Delay { 0 } else { Self::MOST };
        CsigHeader { signal: Some(signal), value, locator: Self::NOWHERE }
    }

    /// A tag with a value that a link's switch wrote.
    pub fn told(signal: Signal, value: u32, locator: u16) -> CsigHeader {
        CsigHeader { signal: Some(signal), value: value & Self::MOST, locator }
    }

    /// Is this value worse than the tag's?
    fn yields(&self, signal: Signal, value: u32) -> bool {
        match signal {
            Signal::Abw | Signal::AbwC => value < self.value,
            Signal::Delay => value > self.value,
        }
    }

    /// The number of T on the wire and in probes.
    fn code(&self) -> u8 {
        match self.signal {
            None => Self::NO_TAG,
            Some(Signal::Abw) => 0,
            Some(Signal::AbwC) => 1,
            Some(Signal::Delay) => 2,
        }
    }
}

impl Header for CsigHeader {
    const WIRE_BYTES: usize = 6;
    const VARIABLES: &'static [Variable] = &[
        Variable::new("h_t", "", "what the tag asks for: 0 ABW, 1 ABW/C, 2 delay, 15 no tag"),
        Variable::new("h_s", "", "value: the bucket of the worst on the way"),
        Variable::new("h_lm", "", "locator: number of the link that wrote it, 65535 for none"),
    ];

    /// The wide tag after its EtherType: LM in 16 bits, T in four, S in 20, and eight bits of
    /// nothing.
    fn encode(&self, wire: &mut [u8]) {
        let word = u64::from(self.locator) << 32 | u64::from(self.code()) << 28;
        let word = word | u64::from(self.value) << 8;
        wire[..6].copy_from_slice(&word.to_be_bytes()[2..]);
    }

    fn decode(wire: &[u8]) -> Option<CsigHeader> {
        let mut word = [0; 8];
        word[2..].copy_from_slice(wire.get(..6)?);
        let word = u64::from_be_bytes(word);
        // Casts of 16, 4 and 20 bits.
        let (locator, value) = ((word >> 32) as u16, (word >> 8) as u32 & Self::MOST);
        let signal = match (word >> 28) as u8 & 15 {
            0 => Signal::Abw,
            1 => Signal::AbwC,
            2 => Signal::Delay,
            Self::NO_TAG => return Some(CsigHeader::default()),
            _ => return None,
        };
        Some(CsigHeader { signal: Some(signal), value, locator })
    }

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("h_t", f64::from(self.code()));
        sink("h_s", f64::from(self.value));
        sink("h_lm", f64::from(self.locator));
    }
}

/// The receiver's part: the tag as it came, the worse of two (R5).
#[derive(Clone, Copy, Debug, Default)]
pub struct CsigReceiver;

impl Receiver for CsigReceiver {
    type Header = CsigHeader;

    #[inline]
    fn on_data(&mut self, data: &Arrived<CsigHeader>) -> Feedback<CsigHeader> {
        let mut header = data.header;
        if let (Some(pending), Some(signal)) = (data.pending, header.signal)
            && pending.header.signal == header.signal
            && header.yields(signal, pending.header.value)
        {
            header = pending.header;
        }
        Feedback { header, code: data.ecn }
    }
}

/// The switch's part at one port.
#[derive(Clone, Debug)]
pub struct CsigRouter {
    params: TagParams,
    buckets: Buckets,
    locator: u16,
    /// C [bytes/s].
    capacity: f64,
    /// What the port has sent in the running interval [bytes].
    sent: u64,
    began: Time,
    ends: Time,
    /// ABW/C of the last interval.
    share: f64,
    /// The buckets of ABW and of ABW/C.
    told: [u32; 2],
    /// Tags that it wrote.
    wrote: u64,
}

impl CsigRouter {
    /// The buckets of the last interval's available bandwidth.
    fn tell(&mut self) {
        let abw = self.share * self.capacity * 8.0;
        self.told = [abw / self.params.abw_range, self.share].map(|x| self.buckets.of(x));
    }
}

impl Router for CsigRouter {
    type Params = TagParams;
    type Header = CsigHeader;

    /// Before the first interval has ended all of the line is available.
    fn new(params: &TagParams, context: &RouterContext) -> CsigRouter {
        let mut router = CsigRouter {
            buckets: Buckets::new(params),
            // Links beyond the field's range share its last numbers but one.
            locator: context.link.min(u32::from(CsigHeader::NOWHERE) - 1) as u16,
            capacity: context.capacity.bytes_per_sec(),
            sent: 0,
            began: Time::ZERO,
            ends: Time::ZERO + params.interval,
            share: 1.0,
            told: [0; 2],
            wrote: 0,
            params: params.clone(),
        };
        router.tell();
        router
    }

    #[inline]
    fn on_departure(&mut self, _now: Time, packet: Passing<'_, CsigHeader>, _: Backlog) {
        self.sent += u64::from(packet.size);
        if packet.kind != PacketKind::Data {
            return;
        }
        let Some(header) = packet.header else { return };
        let Some(signal) = header.signal else { return };
        let value = match signal {
            Signal::Abw => self.told[0],
            Signal::AbwC => self.told[1],
            Signal::Delay => {
                let range = self.params.delay_range.as_secs();
                self.buckets.of(packet.queued_for.as_secs() / range)
            }
        };
        if header.yields(signal, value) {
            (header.value, header.locator) = (value, self.locator);
            self.wrote += 1;
        }
    }

    fn next_timer(&self) -> Time {
        self.ends
    }

    fn on_timer(&mut self, now: Time, _: Backlog) {
        let could = self.capacity * now.since(self.began).as_secs();
        if could > 0.0 {
            // A packet that had begun to leave is counted whole.
            self.share = (1.0 - self.sent as f64 / could).max(0.0);
            self.tell();
        }
        (self.sent, self.began, self.ends) = (0, now, now + self.params.interval);
    }

    /// The running interval ends as planned; what was sent is compared with the new capacity.
    fn on_capacity(&mut self, _now: Time, capacity: Rate) {
        self.capacity = capacity.bytes_per_sec();
    }

    /// Other buckets tell the last interval's bandwidth at once.
    fn retune(&mut self, params: &TagParams, context: &RouterContext) {
        self.params = params.clone();
        self.buckets = Buckets::new(params);
        self.capacity = context.capacity.bytes_per_sec();
        self.tell();
    }

    const VARIABLES: &'static [Variable] = &[
        Variable::new("abw_c", "", "available bandwidth of the last interval over capacity"),
        Variable::new("s_abw", "", "bucket of the available bandwidth"),
        Variable::new("s_abw_c", "", "bucket of the available bandwidth over capacity"),
        Variable::new("wrote", "pkts", "tags that it wrote its own value into"),
    ];

    fn probe(&self, sink: &mut impl FnMut(&'static str, f64)) {
        sink("abw_c", self.share);
        sink("s_abw", f64::from(self.told[0]));
        sink("s_abw_c", f64::from(self.told[1]));
        sink("wrote", self.wrote as f64);
    }
}

#[cfg(test)]
mod tests;
