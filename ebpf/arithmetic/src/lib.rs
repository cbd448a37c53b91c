//! What the BPF programs of the end hosts compute (ebpf/include), compiled for this host. Only for
//! tests: they hold it against the protocols of the simulator.

/// `struct vcp_state`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vcp {
    /// [packets, 2^-32]
    pub cwnd: u64,
    /// The end of the phase [us].
    pub until_us: u64,
    /// 0 free, 1 frozen, 2 additive increase.
    pub phase: u32,
}

/// `struct dpcp_state`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dpcp {
    /// The window and its phase.
    pub vcp: Vcp,
    /// The window before the cut.
    pub remembered: u64,
    /// The end of the fall-back [us].
    pub vcp_until_us: u64,
    /// 0 pairs, 1 VCP, 2 resuming, 3 VCP for good.
    pub mode: u32,
    /// The zone.
    pub msp: u32,
    /// The level.
    pub lsp: u32,
    /// The last ACK's part: 0 MSP, 1 LSP.
    pub last: u32,
    /// How many came in a row.
    pub in_row: u32,
    /// Times it fell back.
    pub downgrades: u32,
    /// MSPs after MSPs and LSPs after LSPs.
    pub exceptions: u32,
}

/// `struct mlcp_state`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mlcp {
    /// [packets, 2^-32]
    pub cwnd: u64,
    /// No decrease before then [us].
    pub decreased_until_us: u64,
    /// The code of t_p.
    pub t_p: u32,
}

/// `struct xcp_state`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Xcp {
    /// [2^-16 bytes]
    pub cwnd: u64,
}

/// `struct xcp_round`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct XcpRound {
    /// When it began [2^-16 bytes].
    pub cwnd: u64,
    /// A sequence number.
    pub end: u32,
    /// Has one begun?
    pub begun: u32,
}

/// `struct load_meter`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadMeter {
    /// The persistent queue [bytes/256].
    pub q: u64,
    /// Of all arrivals, those of earlier periods [bytes].
    pub counted: u64,
    /// [ns]
    pub next_sample: u64,
    /// [ns]
    pub period_start: u64,
    /// The length of the running period [ns].
    pub period: u64,
    /// The last period's load factor [2^-20].
    pub rho: u64,
    /// How many have ended.
    pub periods: u64,
}

/// `struct mlcp_sums`: of all packets so far.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MlcpSums {
    /// Bytes.
    pub bytes: u64,
    /// Packets with an RTT.
    pub rtts: u64,
    /// The sum of those [us].
    pub rtt_us: u64,
}

/// `struct mlcp_gauge`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MlcpGauge {
    /// The load factor's.
    pub meter: LoadMeter,
    /// What of the RTTs earlier Ts had: how many.
    pub rtts: u64,
    /// And their sum [us].
    pub rtt_us: u64,
    /// [ns]
    pub next_mean: u64,
    /// T_d [ns]; 0: T_c has taken it.
    pub t_d: u64,
    /// T_c [ns]
    pub t_c: u64,
    /// The code of the running period's length.
    pub t_p: u32,
    /// And of the last one's.
    pub told: u32,
    /// The load's code.
    pub load: u32,
    /// Nothing.
    pub pad: u32,
}

impl MlcpGauge {
    /// What is due when a packet comes; true when the load factor is new.
    pub fn measure(&mut self, capacity: u64, now: u64, sums: &MlcpSums, waiting: u64) -> bool {
        // SAFETY: the layouts are equal, and C only writes into the gauge.
        unsafe { c::host_mlcp_measure(self, capacity, now, sums, waiting) != 0 }
    }

    /// What a data packet's header leaves as.
    pub fn mark(&self, word: u32) -> u32 {
        // SAFETY: C only reads.
        unsafe { c::host_mlcp_router(self, word) }
    }
}

impl LoadMeter {
    /// What is due when a packet comes; true when the load factor is new.
    pub fn measure(&mut self, capacity: u64, now: u64, arrived: u64, waiting: u64) -> bool {
        // SAFETY: the layouts are equal, and C only writes into the state.
        unsafe { c::host_load_measure(self, capacity, now, arrived, waiting) != 0 }
    }

    /// What VCP's router makes of a data packet's code.
    pub fn vcp(&self, theirs: u32) -> u32 {
        // SAFETY: numbers only.
        unsafe { c::host_vcp_router(self.rho, theirs) }
    }

    /// What DPCP's router makes of the code of a data packet of a part, and its flow's flag.
    pub fn dpcp(&self, flag: &mut u8, part: u32, theirs: u32) -> u32 {
        // SAFETY: C only writes into the flag.
        unsafe { c::host_dpcp_router(self.rho, flag, part, theirs) }
    }
}

/// `struct real`: m*2^e.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Real {
    /// The mantissa.
    pub m: u64,
    /// The exponent.
    pub e: i64,
}

impl Real {
    /// The number.
    pub fn value(self) -> f64 {
        self.m as f64 * 2_f64.powi(self.e as i32)
    }
}

/// `struct xcp_meter`, in bytes and microseconds; times are in nanoseconds.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct XcpMeter {
    /// Over the packets of the running interval.
    pub sum_rtt_by_cwnd: Real,
    /// Likewise.
    pub sum_rtt2_by_cwnd: Real,
    /// Nothing.
    pub apart: [u64; 8],
    /// Of all arrivals, those of earlier intervals.
    pub counted: u64,
    /// That an arrival of the running queue window met.
    pub lowest_queue: u64,
    /// Of the running interval.
    pub interval_start: u64,
    /// Likewise.
    pub interval_end: u64,
    /// Of the running window of the persistent queue.
    pub window_end: u64,
    /// C.
    pub capacity: Real,
    /// y of the last interval.
    pub y: Real,
    /// And its length.
    pub length: Real,
    /// And what came in it.
    pub input_traffic: Real,
    /// The mean RTT.
    pub d: Real,
    /// Q.
    pub persistent_queue: u64,
    /// How many intervals have ended.
    pub intervals: u64,
}

/// `struct xcp_shares`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct XcpShares {
    /// The scale of increases.
    pub xi_p: Real,
    /// The scale of decreases.
    pub xi_n: Real,
    /// What may still be given [2^-44 bytes/us].
    pub residue_pos: i64,
    /// What must still be taken [2^-44 bytes/us].
    pub residue_neg: i64,
}

/// `struct xcp_router`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct XcpRouter {
    /// What it hands out.
    pub shares: XcpShares,
    /// What it measures.
    pub meter: XcpMeter,
}

/// `struct ixcp_router`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IxcpRouter {
    /// What it hands out to all.
    pub spare: XcpShares,
    /// And to packets that name its link.
    pub shuffle: XcpShares,
    /// Of those, over the running interval.
    pub input_traffic_shuffle: u64,
    /// Likewise.
    pub sum_rtt_by_cwnd_shuffle: Real,
    /// What it measures.
    pub meter: XcpMeter,
}

/// A packet on its way through XCP's or iXCP's router: its bytes, and how many the kernel has put
/// into one buffer.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    /// The queue that it meets [bytes].
    pub waiting: u64,
    /// Of all packets.
    pub size: u32,
    /// How many.
    pub packets: u32,
}

impl XcpRouter {
    /// What is due when a packet comes; true when a control interval has ended.
    pub fn measure(&mut self, capacity: u64, now: u64, arrived: u64, waiting: u64) -> bool {
        // SAFETY: the layouts are equal, and C only writes into the state.
        unsafe { c::host_xcp_measure(self, capacity, now, arrived, waiting) != 0 }
    }

    /// What its header leaves as.
    pub fn forward(&mut self, packet: Bundle, mut header: [u8; 16]) -> [u8; 16] {
        let Bundle { waiting, size, packets } = packet;
        // SAFETY: as above, and C writes 16 bytes.
        unsafe { c::host_xcp_forward(self, waiting, header.as_mut_ptr(), size, packets) }
        header
    }
}

impl IxcpRouter {
    /// As XCP's.
    pub fn measure(&mut self, capacity: u64, now: u64, arrived: u64, waiting: u64) -> bool {
        // SAFETY: the layouts are equal, and C only writes into the state.
        unsafe { c::host_ixcp_measure(self, capacity, now, arrived, waiting) != 0 }
    }

    /// What its header leaves as at the link of this number.
    pub fn forward(&mut self, link: u32, packet: Bundle, mut header: [u8; 24]) -> [u8; 24] {
        let Bundle { waiting, size, packets } = packet;
        // SAFETY: as above, and C writes 24 bytes.
        unsafe { c::host_ixcp_forward(self, waiting, header.as_mut_ptr(), size, packets, link) }
        header
    }
}

/// `MAX_CWND` [packets].
pub const MAX_CWND: u64 = 1 << 20;

mod c {
    use super::{
        Dpcp, IxcpRouter, LoadMeter, Mlcp, MlcpGauge, MlcpSums, Vcp, Xcp, XcpRound, XcpRouter,
    };

    unsafe extern "C" {
        pub fn host_vcp(vcp: &mut Vcp, now_us: u64, srtt_us: u32, code: u32, acked: u32);
        pub fn host_dpcp_start(dpcp: &mut Dpcp);
        pub fn host_dpcp(
            dpcp: &mut Dpcp,
            now_us: u64,
            srtt_us: u32,
            part: u32,
            code: u32,
            acked: u32,
        );
        pub fn host_load_measure(
            meter: &mut LoadMeter,
            capacity: u64,
            now: u64,
            arrived: u64,
            waiting: u64,
        ) -> i32;
        pub fn host_mlcp_measure(
            gauge: &mut MlcpGauge,
            capacity: u64,
            now: u64,
            sums: &MlcpSums,
            waiting: u64,
        ) -> i32;
        pub fn host_mlcp_router(gauge: &MlcpGauge, word: u32) -> u32;
        pub fn host_vcp_router(rho: u64, theirs: u32) -> u32;
        pub fn host_dpcp_router(rho: u64, flag: &mut u8, part: u32, theirs: u32) -> u32;
        pub fn host_dpcp_switched(seq: u32, ack: u32, from: u32, to: u32, expected: u32) -> u32;
        pub fn host_dpcp_part(seq: u32, ack: u32) -> u32;
        pub fn host_mlcp(mlcp: &mut Mlcp, now_us: u64, srtt_us: u32, word: u32, acked: u32);
        pub fn host_mlcp_word(load: u32, t_p: u32, rtt_us: u32) -> u32;
        pub fn host_xcp(xcp: &mut Xcp, feedback: i64, packet: u32);
        pub fn host_xcp_bound(xcp: &mut Xcp, round: &mut XcpRound, before: u64, una: u32, nxt: u32);
        pub fn host_xcp_header(bytes: *mut u8, rtt_us: u32, cwnd: u64, feedback: i64);
        pub fn host_ixcp_header(
            bytes: *mut u8,
            rtt_us: u32,
            cwnd: u64,
            feedback: i64,
            bottleneck: u32,
        );
        pub fn host_xcp_measure(
            router: &mut XcpRouter,
            capacity: u64,
            now: u64,
            arrived: u64,
            waiting: u64,
        ) -> i32;
        pub fn host_ixcp_measure(
            router: &mut IxcpRouter,
            capacity: u64,
            now: u64,
            arrived: u64,
            waiting: u64,
        ) -> i32;
        pub fn host_xcp_forward(
            router: &mut XcpRouter,
            waiting: u64,
            header: *mut u8,
            size: u32,
            packets: u32,
        );
        pub fn host_ixcp_forward(
            router: &mut IxcpRouter,
            waiting: u64,
            header: *mut u8,
            size: u32,
            packets: u32,
            link: u32,
        );
        pub fn host_mlcp_near(word: u32, srtt_us: u32) -> i32;
        pub fn host_xcp_near(rtt_us: u32, srtt_us: u32) -> i32;
        pub fn host_ixcp_near(rtt_us: u32, srtt_us: u32) -> i32;
    }
}

/// Do senders of MLCP, XCP and iXCP believe an echo with this RTT?
pub fn believe(rtt_us: u32, srtt_us: u32) -> [bool; 3] {
    // SAFETY: plain values.
    unsafe {
        [
            c::host_mlcp_near(Mlcp::word(1, 0, rtt_us), srtt_us) != 0,
            c::host_xcp_near(rtt_us, srtt_us) != 0,
            c::host_ixcp_near(rtt_us, srtt_us) != 0,
        ]
    }
}

impl Vcp {
    /// An ACK.
    pub fn ack(&mut self, now_us: u64, srtt_us: u32, code: u32, acked: u32) {
        // SAFETY: the layouts are equal, and C only writes into the state.
        unsafe { c::host_vcp(self, now_us, srtt_us, code, acked) }
    }
}

impl Dpcp {
    /// As at a connection's start.
    pub fn start() -> Dpcp {
        let mut dpcp = Dpcp::default();
        // SAFETY: as above.
        unsafe { c::host_dpcp_start(&mut dpcp) }
        dpcp
    }

    /// An ACK of a part with a code.
    pub fn ack(&mut self, now_us: u64, srtt_us: u32, (part, code): (u32, u32), acked: u32) {
        // SAFETY: as above.
        unsafe { c::host_dpcp(self, now_us, srtt_us, part, code, acked) }
    }

    /// Were a packet's numbers switched?
    pub fn switched(seq: u32, ack: u32, from: u32, to: u32, expected: u32) -> bool {
        // SAFETY: numbers only.
        unsafe { c::host_dpcp_switched(seq, ack, from, to, expected) != 0 }
    }

    /// What the numbers on the wire say.
    pub fn part(seq: u32, ack: u32) -> u32 {
        // SAFETY: numbers only.
        unsafe { c::host_dpcp_part(seq, ack) }
    }
}

impl Mlcp {
    /// An ACK.
    pub fn ack(&mut self, now_us: u64, srtt_us: u32, word: u32, acked: u32) {
        // SAFETY: as above.
        unsafe { c::host_mlcp(self, now_us, srtt_us, word, acked) }
    }

    /// The header.
    pub fn word(load: u32, t_p: u32, rtt_us: u32) -> u32 {
        // SAFETY: numbers only.
        unsafe { c::host_mlcp_word(load, t_p, rtt_us) }
    }
}

impl Xcp {
    /// Feedback.
    pub fn feedback(&mut self, feedback: i64, packet: u32) {
        // SAFETY: as above.
        unsafe { c::host_xcp(self, feedback, packet) }
    }

    /// What an ACK leaves of a window that was `before`.
    pub fn bound(&mut self, round: &mut XcpRound, before: u64, una: u32, nxt: u32) {
        // SAFETY: as above.
        unsafe { c::host_xcp_bound(self, round, before, una, nxt) }
    }

    /// The header of a window.
    pub fn header(&self, rtt_us: u32, feedback: i64) -> [u8; 16] {
        let mut bytes = [0; 16];
        // SAFETY: C writes 16 bytes.
        unsafe { c::host_xcp_header(bytes.as_mut_ptr(), rtt_us, self.cwnd, feedback) }
        bytes
    }

    /// iXCP's header of a window.
    pub fn ixcp_header(&self, rtt_us: u32, feedback: i64, bottleneck: u32) -> [u8; 24] {
        let mut bytes = [0; 24];
        let at = bytes.as_mut_ptr();
        // SAFETY: C writes 24 bytes.
        unsafe { c::host_ixcp_header(at, rtt_us, self.cwnd, feedback, bottleneck) }
        bytes
    }
}
