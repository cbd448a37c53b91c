//! Perfetto's messages, as far as a run needs them: protos/perfetto/trace/trace_packet.proto,
//! track_event/{track_event,track_descriptor,counter_descriptor}.proto. Names and numbers are
//! theirs.

use prost::Message;

/// A whole file; written packet by packet, read back at once.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    /// The packets.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// One entry of a trace.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// [ns]
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Whose packets these are; one writer here.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// Something happened on a track.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// 1: nothing before this packet is referred to.
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// There is a track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// A track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// Its number.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// What it is called.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The track under which it stands.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// It holds a value.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
}

/// What a counter counts.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    /// Its unit.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
}

/// What happened on a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// What kind of event it is.
    #[prost(enumeration = "Type", optional, tag = "9")]
    pub r#type: Option<i32>,
    /// The track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// What it is called.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// A counter's value.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    /// A counter's value.
    #[prost(double, optional, tag = "44")]
    pub double_counter_value: Option<f64>,
    /// Slices with the same number are joined by arrows in the order of time.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Type {
    /// None was given.
    Unspecified = 0,
    /// A slice begins.
    SliceBegin = 1,
    /// The slice that began last on this track ends.
    SliceEnd = 2,
    /// A slice without length.
    Instant = 3,
    /// A counter has a new value.
    Counter = 4,
}
