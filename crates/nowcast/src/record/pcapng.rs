//! The blocks of pcapng that a record has. Each packet is an exported PDU of Wireshark, which names its dissector.

use nowcast_engine::carrier::CarrierKind;

use super::RecordedPacket;

/// The types of blocks.
pub(super) const SECTION_BLOCK: u32 = 0x0A0D_0D0A;
pub(super) const INTERFACE_BLOCK: u32 = 1;
pub(super) const PACKET_BLOCK: u32 = 6;
/// The number that states the order of bytes, here little-endian.
pub(super) const BYTE_ORDER: u32 = 0x1A2B_3C4D;
/// The link type of exported PDUs (LINKTYPE_WIRESHARK_UPPER_PDU).
pub(super) const LINK_TYPE: u16 = 252;

/// Options of blocks.
pub(super) const OPTION_END: u16 = 0;
const OPTION_APPLICATION: u16 = 4;
pub(super) const OPTION_FLAGS: u16 = 2;
/// The values of the flags: received or sent.
pub(super) const RECEIVED: u32 = 1;
const SENT: u32 = 2;

/// Tags of an exported PDU.
pub(super) const TAG_END: u16 = 0;
pub(super) const TAG_DISSECTOR: u16 = 12;
const TAG_IPV4_SOURCE: u16 = 20;
const TAG_IPV4_TARGET: u16 = 21;
pub(super) const TAG_PORT_TYPE: u16 = 24;
pub(super) const TAG_SOURCE_PORT: u16 = 25;
pub(super) const TAG_TARGET_PORT: u16 = 26;
/// A port type of the tag above. TCP stands for WebSocket, and UDP for WebTransport.
const PORT_TCP: u32 = 2;
pub(super) const PORT_UDP: u32 = 3;

/// The name of the dissector (`spec/wireshark/nowcast.lua`).
pub(super) const DISSECTOR: &[u8] = b"nowcast\0";

/// The addresses of the recording program and of its peers. They are reserved for documents, because a carrier does not know its addresses.
const OWN: [u8; 4] = [192, 0, 2, 1];
const PEERS: [u8; 4] = [192, 0, 2, 2];
/// The port of the recording program. The port of a peer is the number of the carrier.
const OWN_PORT: u32 = 7_777;

/// Returns the blocks with which a file begins.
pub(super) fn head() -> Vec<u8> {
    let mut out = Vec::new();
    block(&mut out, SECTION_BLOCK, |out| {
        out.extend(BYTE_ORDER.to_le_bytes());
        out.extend([1, 0, 0, 0]);
        out.extend(u64::MAX.to_le_bytes());
        option(out, OPTION_APPLICATION, concat!("nowcast ", env!("CARGO_PKG_VERSION")).as_bytes());
        option(out, OPTION_END, &[]);
    });
    block(&mut out, INTERFACE_BLOCK, |out| {
        out.extend(u32::from(LINK_TYPE).to_le_bytes());
        out.extend(0_u32.to_le_bytes());
    });
    out
}

/// Writes the block of a packet.
pub(super) fn write_packet(packet: &RecordedPacket, out: &mut Vec<u8>) {
    let mut data = Vec::with_capacity(packet.bytes.len() + 80);
    let own = (TAG_IPV4_SOURCE, TAG_IPV4_TARGET, TAG_SOURCE_PORT, TAG_TARGET_PORT);
    let (address, peer_address, port, peer_port) = match packet.is_received {
        false => own,
        true => (own.1, own.0, own.3, own.2),
    };
    let port_type = if packet.kind == CarrierKind::WebTransport { PORT_UDP } else { PORT_TCP };
    tag(&mut data, TAG_DISSECTOR, DISSECTOR);
    tag(&mut data, address, &OWN);
    tag(&mut data, peer_address, &PEERS);
    tag(&mut data, TAG_PORT_TYPE, &port_type.to_be_bytes());
    tag(&mut data, port, &OWN_PORT.to_be_bytes());
    tag(&mut data, peer_port, &packet.carrier.to_be_bytes());
    tag(&mut data, TAG_END, &[]);
    data.extend_from_slice(&packet.bytes);
    block(out, PACKET_BLOCK, |out| {
        let micros = packet.time.as_micros() as u64;
        out.extend(0_u32.to_le_bytes());
        out.extend(((micros >> 32) as u32).to_le_bytes());
        out.extend((micros as u32).to_le_bytes());
        out.extend((data.len() as u32).to_le_bytes());
        out.extend((data.len() as u32).to_le_bytes());
        out.extend_from_slice(&data);
        pad(out, data.len());
        let flags = if packet.is_received { RECEIVED } else { SENT };
        option(out, OPTION_FLAGS, &flags.to_le_bytes());
        option(out, OPTION_END, &[]);
    });
}

/// Writes a block with its length before and after its body.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let length = ((out.len() - begin + 4) as u32).to_le_bytes();
    out[begin + 4..begin + 8].copy_from_slice(&length);
    out.extend(length);
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend_from_slice(value);
    pad(out, value.len());
}

/// Writes a tag of an exported PDU, which is big-endian.
fn tag(out: &mut Vec<u8>, tag: u16, value: &[u8]) {
    out.extend(tag.to_be_bytes());
    out.extend((value.len() as u16).to_be_bytes());
    out.extend_from_slice(value);
}

/// Fills up to a multiple of four bytes.
fn pad(out: &mut Vec<u8>, length: usize) {
    out.extend(std::iter::repeat_n(0, length.next_multiple_of(4) - length));
}
