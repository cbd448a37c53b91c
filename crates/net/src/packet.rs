//! Packets: a pool of them named by `u32`, and the delay lines they travel in.

use cc::registry::AnyHeader;
use cc::roles::{Ecn, PacketKind};
use transport::SackBlocks;
use transport::accecn::Field;
use units::Time;

/// The handle that names no packet.
pub const NONE: u32 = u32::MAX;

/// A packet. As an ACK it is the data packet that caused it, turned round: `sent_at`,
/// `retransmission` and the header are what the sender wants echoed.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// When the packet behind it in the delay line reaches the end of the line.
    next_due: Time,
    /// When the data packet left its source.
    pub sent_at: Time,
    /// Data: the segment's number. ACK: the next segment expected.
    pub seq: u64,
    /// The protocol's header.
    pub header: AnyHeader,
    /// Its flow.
    pub flow: u32,
    /// The packet behind it in the delay line, or the next in the free list.
    next: u32,
    /// Size on the wire [bytes].
    pub size: u32,
    /// Data: what routers wrote on it ([`Packet::label`]). ACK: its SACK blocks ([`Packet::sack`]).
    extra: u32,
    /// Data or ACK.
    pub kind: PacketKind,
    /// The two ECN bits.
    pub ecn: Ecn,
    /// Links of its path already behind it.
    pub hop: u16,
    /// Links of its path.
    pub links: u16,
    /// Was the data sent before?
    pub retransmission: bool,
    /// RFC 3168: CWR on data, ECE on an ACK.
    pub signal: bool,
}

impl Packet {
    /// A data packet of `flow` with segment `seq` of `size` bytes, sent at `sent_at`, that crosses
    /// no link; everything else is as it is without loss and congestion control.
    pub fn data(flow: u32, seq: u64, size: u32, sent_at: Time) -> Packet {
        Packet {
            next_due: Time::NEVER,
            sent_at,
            seq,
            header: AnyHeader::None,
            flow,
            next: NONE,
            size,
            extra: 0,
            kind: PacketKind::Data,
            ecn: Ecn::NotCapable,
            hop: 0,
            links: 0,
            retransmission: false,
            signal: false,
        }
    }

    /// What routers wrote on a data packet ([`cc::classes::Place::label`]); 0 on an ACK.
    pub fn label(&self) -> f32 {
        if self.kind == PacketKind::Data { f32::from_bits(self.extra) } else { 0.0 }
    }

    /// Writes the label of a data packet; an ACK has none.
    pub fn set_label(&mut self, label: f32) {
        if self.kind == PacketKind::Data {
            self.extra = label.to_bits();
        }
    }

    /// SACK blocks of an ACK in the pool's side table, or [`NONE`].
    #[inline]
    pub fn sack(&self) -> u32 {
        if self.kind == PacketKind::Ack { self.extra } else { NONE }
    }

    /// Becomes an ACK with these SACK blocks, which are [`NONE`] or the pool's.
    #[inline]
    pub fn turn_round(&mut self, sack: u32) {
        (self.kind, self.extra) = (PacketKind::Ack, sack);
    }

    /// Is no link of its path ahead?
    #[inline]
    pub fn is_through(&self) -> bool {
        self.hop >= self.links
    }
}

/// Packets of a run that may be alive at once, unless told.
pub const MAX_PACKETS: u32 = 1 << 24;

/// All packets of a run. Grows to the largest number alive at once; freed places are used again.
#[derive(Clone, Debug)]
pub struct Pool {
    /// A packet whose place is this one or a later one is one too many.
    pub limit: u32,
    packets: Vec<Packet>,
    free: u32,
    sacks: Vec<SackBlocks>,
    /// AccECN's fields beside `sacks`, as far as there are any.
    fields: Vec<Field>,
    free_sacks: Vec<u32>,
}

impl Pool {
    /// An empty pool.
    pub fn new() -> Pool {
        Pool {
            limit: MAX_PACKETS,
            packets: Vec::new(),
            free: NONE,
            sacks: Vec::new(),
            fields: Vec::new(),
            free_sacks: Vec::new(),
        }
    }

    /// Takes a place for `packet`.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> u32 {
        self.place(packet).0
    }

    /// The same, and the packet in its place: what is yet to be written into it need not be copied
    /// there.
    #[inline(always)] // for the hot path, which is not the only caller
    pub fn place(&mut self, packet: Packet) -> (u32, &mut Packet) {
        let id = match self.free {
            NONE => self.add_place(),
            id => id,
        };
        let place = &mut self.packets[id as usize];
        self.free = place.next;
        *place = packet;
        (id, place)
    }

    #[cold]
    #[inline(never)]
    fn add_place(&mut self) -> u32 {
        self.packets.push(Packet::data(0, 0, 0, Time::ZERO));
        (self.packets.len() - 1) as u32
    }

    /// Gives the place of a packet back, and that of its SACK blocks.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        let packet = &mut self.packets[id as usize];
        packet.next = self.free;
        self.free = id;
        match packet.sack() {
            NONE => {}
            blocks => self.free_sacks.push(blocks),
        }
    }

    /// Asks the memory for a packet.
    #[inline]
    pub fn prefetch(&self, id: u32) {
        if let Some(packet) = self.packets.get(id as usize) {
            hint::prefetch(packet);
        }
    }

    /// Stores SACK blocks for an ACK's `sack`.
    pub fn insert_sack(&mut self, blocks: SackBlocks) -> u32 {
        match self.free_sacks.pop() {
            Some(id) => {
                self.sacks[id as usize] = blocks;
                id
            }
            None => {
                self.sacks.push(blocks);
                (self.sacks.len() - 1) as u32
            }
        }
    }

    /// Stores AccECN's fields beside the SACK blocks that an ACK's `sack` names.
    pub fn insert_field(&mut self, sack: u32, field: Field) {
        let at = sack as usize;
        if self.fields.len() <= at {
            self.fields.resize(at + 1, Field::default());
        }
        self.fields[at] = field;
    }

    /// AccECN's fields there.
    pub fn field(&self, sack: u32) -> Field {
        self.fields[sack as usize]
    }

    /// The SACK blocks that an ACK's `sack` names.
    pub fn sack(&self, id: u32) -> &SackBlocks {
        &self.sacks[id as usize]
    }
}

impl std::ops::Index<u32> for Pool {
    type Output = Packet;
    #[inline]
    fn index(&self, id: u32) -> &Packet {
        &self.packets[id as usize]
    }
}

impl std::ops::IndexMut<u32> for Pool {
    #[inline]
    fn index_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.packets[id as usize]
    }
}

/// A delay line: packets leave in the order they entered, each when it is due. Only the first has
/// an event pending.
#[derive(Clone, Copy, Debug)]
pub struct Pipe {
    head: u32,
    tail: u32,
}

impl Pipe {
    /// An empty line.
    pub const EMPTY: Pipe = Pipe { head: NONE, tail: NONE };

    /// Appends a packet that reaches the end at `due`; true when it is the first and its event must
    /// be set. The packet before it learns `due`, so that [`Pipe::pop`] touches one packet only.
    #[inline]
    pub fn push(&mut self, pool: &mut Pool, id: u32, due: Time) -> bool {
        pool[id].next = NONE;
        let empty = self.head == NONE;
        if empty {
            self.head = id;
        } else {
            let last = &mut pool[self.tail];
            last.next = id;
            last.next_due = due;
        }
        self.tail = id;
        empty
    }

    /// Takes the first packet out, and says when the next one is due.
    #[inline]
    pub fn pop(&mut self, pool: &Pool) -> Option<(u32, Option<Time>)> {
        if self.head == NONE {
            return None;
        }
        let id = self.head;
        let packet = &pool[id];
        self.head = packet.next;
        Some((id, (packet.next != NONE).then_some(packet.next_due)))
    }

    /// The first packet, or [`NONE`].
    #[inline]
    pub fn head(&self) -> u32 {
        self.head
    }

    /// The last packet, or [`NONE`].
    pub fn last(&self) -> u32 {
        if self.head == NONE { NONE } else { self.tail }
    }

    /// The packets behind one that [`Pipe::last`] has named, if none has left the line since.
    pub fn behind<'a>(&self, pool: &'a Pool, last: u32) -> impl Iterator<Item = &'a Packet> {
        from(pool, if last == NONE { self.head } else { pool[last].next })
    }

    /// The packets in the line.
    pub fn iter<'a>(&self, pool: &'a Pool) -> impl Iterator<Item = &'a Packet> {
        from(pool, self.head)
    }
}

/// This packet and those behind it in its line.
fn from(pool: &Pool, mut id: u32) -> impl Iterator<Item = &Packet> {
    std::iter::from_fn(move || {
        let packet = (id != NONE).then(|| &pool[id])?;
        id = packet.next;
        Some(packet)
    })
}

/// The line to a host, of packets that have events. It knows when its first one is due, as it may
/// be emptied before: what event is left then is of no account.
#[derive(Clone, Copy, Debug)]
pub struct Inlet {
    packets: Pipe,
    /// [`Time::NEVER`] when nothing is in it.
    due: Time,
}

impl Inlet {
    /// An empty line.
    pub const EMPTY: Inlet = Inlet { packets: Pipe::EMPTY, due: Time::NEVER };

    /// As [`Pipe::push`].
    #[inline]
    pub fn push(&mut self, pool: &mut Pool, id: u32, due: Time) -> bool {
        let first = self.packets.push(pool, id, due);
        if first {
            self.due = due;
        }
        first
    }

    /// As [`Pipe::pop`], of what is due `now`; `None` when another event took this one's place.
    #[inline]
    pub fn pop(&mut self, pool: &Pool, now: Time) -> Option<(u32, Option<Time>)> {
        if self.due != now {
            return None;
        }
        let (id, next) = self.packets.pop(pool)?;
        self.due = next.unwrap_or(Time::NEVER);
        Some((id, next))
    }

    /// When the first packet is due; [`Time::NEVER`] when there is none.
    pub fn due(&self) -> Time {
        self.due
    }

    /// The packets in the line.
    pub fn packets(&self) -> &Pipe {
        &self.packets
    }
}
