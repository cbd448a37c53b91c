//! One link's capture: a pcapng file of raw IP packets with nanosecond stamps.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness, PcapError};

use units::Time;

use crate::{Departure, nanos, wire};

/// `if_tsresol`: stamps count 10^-9 s. The library always writes nanoseconds; without the option
/// they would be read as microseconds.
const NANOSECONDS: u8 = 9;

/// A capture being written.
pub struct Capture<W: Write> {
    writer: PcapNgWriter<W>,
    headers_only: bool,
    packets: u64,
    data: Vec<u8>,
}

impl<W: Write> Capture<W> {
    /// Writes the file's head.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(out: W, name: &str, rate_bps: u64, headers_only: bool) -> io::Result<Capture<W>> {
        // The same bytes on every machine.
        let mut writer =
            PcapNgWriter::with_endianness(out, Endianness::Little).map_err(io_error)?;
        let interface = InterfaceDescriptionBlock {
            // LINKTYPE_RAW: IP without anything below it.
            linktype: DataLink::RAW,
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Owned(name.to_owned())),
                InterfaceDescriptionOption::IfSpeed(rate_bps),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        writer.write_pcapng_block(interface).map_err(io_error)?;
        Ok(Capture { writer, headers_only, packets: 0, data: Vec::new() })
    }

    /// Writes a packet.
    pub fn write(&mut self, packet: &Departure) -> io::Result<()> {
        let wire = wire::encode(packet);
        let length = wire.headers.len() as u32 + wire.zeros;
        self.data.clear();
        self.data.extend_from_slice(&wire.headers);
        if !self.headers_only {
            self.data.resize(length as usize, 0);
        }
        let comment = wire.note.map(|note| EnhancedPacketOption::Comment(Cow::Owned(note)));
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(nanos(packet.end)),
            original_len: length,
            data: Cow::Borrowed(&self.data),
            options: comment.into_iter().collect(),
        };
        self.writer.write_pcapng_block(block).map_err(io_error)?;
        self.packets += 1;
        Ok(())
    }

    /// Writes a real packet, whose last bit left at `at`.
    ///
    /// # Errors
    /// What the system says.
    pub fn write_bytes(&mut self, at: Time, bytes: &[u8]) -> io::Result<()> {
        let kept = if self.headers_only { headers(bytes) } else { bytes };
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(nanos(at)),
            original_len: bytes.len() as u32,
            data: Cow::Borrowed(kept),
            options: Vec::new(),
        };
        self.writer.write_pcapng_block(block).map_err(io_error)?;
        self.packets += 1;
        Ok(())
    }

    /// Hands everything to the system, and says how many packets there are.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(self) -> io::Result<u64> {
        let mut out = self.writer.into_inner();
        out.flush()?;
        Ok(self.packets)
    }
}

/// IP and TCP header of a real packet; all of it where there is no TCP.
fn headers(bytes: &[u8]) -> &[u8] {
    let ip = bytes.first().map_or(0, |first| usize::from(first & 15) * 4);
    let tcp = bytes.get(ip + 12).map_or(0, |offset| usize::from(offset >> 4) * 4);
    match bytes.get(9) {
        Some(6) => bytes.get(..ip + tcp).unwrap_or(bytes),
        _ => bytes,
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
