//! The packets of the vectors, assembled by hand, and a function that writes decoded packets.

use nowcast_session::packet::{Data, Frame, Packet, put_varint, write};

/// The name and the bytes of a packet.
pub(crate) type Case = (&'static str, Vec<u8>);

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal"))
        .collect()
}

/// The limits that most cases use: 8 lanes, 1 MiB, 256 KiB, 1,200 bytes, 10 s, 60 s.
const LIMITS: &str = "08 808040 808010 b009 904e e0d403";

fn hello(tail: &str, length: usize) -> Vec<u8> {
    let mut bytes = unhex(&format!("80 4e4f5743 01 01 a1a2a3a4a5a6a7a8 40420f0000000000 {LIMITS} {tail}"));
    bytes.resize(length, 0);
    bytes
}

fn welcome() -> Vec<u8> {
    unhex(&format!(
        "81 01 a1a2a3a4a5a6a7a8 b1b2b3b4b5b6b7b8 c1c2c3c4c5c6c7c8 d0d1d2d3d4d5d6d7d8d9dadbdcdddedf 00 \
         40420f0000000000 0090cd79d7020000 {LIMITS}"
    ))
}

fn part(begin: &str, length: usize) -> Vec<u8> {
    let mut bytes = unhex(begin);
    bytes.extend((0..length).map(|index| index as u8));
    bytes
}

/// Packets that must be read.
pub(crate) fn valid() -> Vec<Case> {
    vec![
        ("hello, new session", hello("00", 160)),
        ("hello, longer than needed", hello("00", 300)),
        ("hello, resume at epoch 2", hello("01 c1c2c3c4c5c6c7c8 d0d1d2d3d4d5d6d7d8d9dadbdcdddedf 02", 160)),
        ("welcome", welcome()),
        (
            "refuse, no common version",
            unhex("82 a1a2a3a4a5a6a7a8 05 01 03 16 737065616b732076657273696f6e73203120746f2033"),
        ),
        ("nothing but an acknowledgement", unhex("01 0700 010000 2a00 3e 2a")),
        ("an acknowledgement with further ranges", unhex("03 ffff ffffff 0a00 00 01 02 00 02 03 00")),
        ("empty data packet", unhex("00 0000 000000")),
        ("ping and padding", unhex("00 0100 100000 01 00 00 00")),
        ("proof", unhex("00 0000 640000 02 b1b2b3b4b5b6b7b8 01")),
        ("close", unhex("00 0900 640000 03 02 08 746f6f206d616e79")),
        ("close, code of the application", unhex("00 0900 640000 03 a08d06 00")),
        ("states to the end of the packet", unhex("00 0200 640000 10 00 01 07 00 00 03 aabbcc 08 01 05 00")),
        (
            "states, ended, before an event",
            unhex("00 0300 640000 11 05 e807 07 00 00 01 aa ff01 02 8101 02 0102 00 21 05 00 d40f 02 6869"),
        ),
        ("states with the greatest key", unhex("00 0300 640000 1f 00 01 ffffffffffffffffff01 00 00 00")),
        ("event without states before it", unhex("00 0400 640000 20 00 00 00 05 68656c6c6f")),
        ("command", unhex("00 0500 640000 22 0a 01 00 01 3f")),
        ("reply", unhex("00 0600 640000 22 03 02 00 0a 01 21")),
        ("barrier", unhex("00 0700 640000 20 8002 03 d20f 00")),
        ("expired event", unhex("00 0800 640000 20 09 04 00 00")),
        ("first part of an event", part("00 0900 640000 30 02 00 00 8110 00", 1_024)),
        ("last part of an event", part("00 0a00 640000 30 02 00 00 8110 02", 1)),
        ("part of a state, then a ping", {
            let mut bytes = part("00 0b00 640000 41 03 8801 0c 04 dc0b 01", 476);
            bytes.push(0x01);
            bytes
        }),
        ("window", unhex("00 0c00 640000 53 ac02")),
        ("replication", unhex("00 0d00 640000 64 03 010203")),
        (
            "everything at once",
            unhex(
                "01 0e00 800c00 0500 05 01 02 b1b2b3b4b5b6b7b8 50 01 10 01 04 01 00 00 01 ff 00 60 00 20 01 00 04 01 65 01",
            ),
        ),
    ]
}

/// Packets that must not be read.
pub(crate) fn malformed() -> Vec<Case> {
    let mut bad_padding = hello("00", 160);
    bad_padding[159] = 1;
    let mut long_welcome = welcome();
    long_welcome.push(0);
    vec![
        ("empty", Vec::new()),
        ("unknown packet type", unhex("83 00")),
        ("hello too short", hello("00", 159)),
        ("hello with a padding that is not zero", bad_padding),
        ("hello with an invalid resume flag", hello("02", 160)),
        ("hello of another protocol", {
            let mut bytes = hello("00", 160);
            bytes[1] = b'X';
            bytes
        }),
        ("hello with a minimum version above the maximum", {
            let mut bytes = hello("00", 160);
            bytes[5] = 2;
            bytes
        }),
        ("hello without lanes", {
            let mut bytes = hello("00", 160);
            bytes[23] = 0;
            bytes
        }),
        ("hello with more lanes than the maximum", {
            let mut bytes = hello("00", 160);
            bytes[23] = 17;
            bytes
        }),
        ("welcome with trailing bytes", long_welcome),
        ("welcome cut", welcome()[..40].to_vec()),
        ("refuse with a text that is not UTF-8", unhex("82 a1a2a3a4a5a6a7a8 05 01 01 01 ff")),
        ("reserved flag", unhex("04 0000 000000")),
        ("ranges without an acknowledgement", unhex("02 0000 000000")),
        ("header cut", unhex("00 0000 0000")),
        ("acknowledgement cut", unhex("01 0000 000000 0000 05")),
        ("acknowledgement that announces zero further ranges", unhex("03 0000 000000 0000 05 00 00")),
        ("acknowledgement with 32 further ranges", {
            let mut bytes = unhex("03 0000 000000 ffff 00 00 20");
            bytes.extend([0; 64]);
            bytes
        }),
        ("acknowledgement whose range is cut", unhex("03 0000 000000 ffff 00 00 01 00")),
        ("overlong varint", unhex("00 0000 000000 50 8000")),
        ("varint beyond 64 bits", unhex("00 0000 000000 50 ffffffffffffffffff02")),
        ("unknown frame", unhex("00 0000 000000 04")),
        ("unknown frame with a lane", unhex("00 0000 000000 70")),
        ("proof cut", unhex("00 0000 000000 02 b1b2b3")),
        ("close with a code beyond 32 bits", unhex("00 0000 000000 03 8080808010 00")),
        ("close with too long a reason", {
            let mut bytes = unhex("00 0000 000000 03 00 8101");
            bytes.extend([b'a'; 129]);
            bytes
        }),
        ("states without a record", unhex("00 0000 000000 10 00 01")),
        ("states that end before the first record", unhex("00 0000 000000 10 00 01 00")),
        ("state with stamp 0", unhex("00 0000 000000 10 00 00 07 00 00 00")),
        ("stamp beyond its bound", unhex("00 0000 000000 10 00 ffffffffffffffff3f 07 01 00 00")),
        ("value longer than the packet", unhex("00 0000 000000 10 00 01 07 00 00 05 aabb")),
        ("value of an absurd length", unhex("00 0000 000000 10 00 01 07 00 00 ffffffffffffffffff01")),
        ("event of an unknown kind", unhex("00 0000 000000 20 00 05 00 00")),
        ("event cut", unhex("00 0000 000000 20 00 00 00")),
        ("barrier with a payload", unhex("00 0000 000000 20 00 03 00 01 aa")),
        ("expired event with a payload", unhex("00 0000 000000 20 00 04 00 01 aa")),
        ("part of a barrier", part("00 0000 000000 30 00 03 00 8110 00", 1_024)),
        ("part of a message that is too short for parts", part("00 0000 000000 30 00 00 00 8008 00", 1_024)),
        ("part beyond the last", part("00 0000 000000 30 00 00 00 8110 03", 1_024)),
        ("part too short", part("00 0000 000000 30 00 00 00 8110 00", 1_023)),
        ("part of a state with key 0", part("00 0000 000000 40 00 01 00 00 8110 00", 1_024)),
        ("part of a state with stamp 0", part("00 0000 000000 40 00 00 01 00 8110 00", 1_024)),
        ("replication cut", unhex("00 0000 000000 60 04 010203")),
    ]
}

/// Pairs of an acknowledgement and the largest number that was sent when it arrives.
pub(crate) fn acknowledgements() -> Vec<(Vec<u8>, Option<u64>)> {
    let simple = unhex("01 0000 000000 0900 00 09");
    let ranges = unhex("03 0000 000000 6400 00 04 02 02 00 00 09");
    vec![
        (simple.clone(), None),
        (simple.clone(), Some(8)),
        (simple.clone(), Some(9)),
        (simple, Some(65_545)),
        (unhex("01 0000 000000 0900 00 0a"), Some(9)),
        (ranges.clone(), Some(100)),
        (ranges.clone(), Some(65_535)),
        (unhex("03 0000 000000 6400 00 60 01 03 00"), Some(100)),
    ]
}

/// Encodes a packet from its decoded values.
pub(crate) fn write(packet: &Packet<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    match packet {
        Packet::Data(data) => write_data(data, &mut out),
        Packet::Hello(hello) => hello.write(&mut out),
        Packet::Welcome(welcome) => welcome.write(&mut out),
        Packet::Refuse(refuse) => refuse.write(&mut out),
    }
    out
}

fn write_data(data: &Data<'_>, out: &mut Vec<u8>) {
    let flags = data.ack.map_or(0, |ack| if ack.ranges > 0 { 3 } else { 1 });
    out.push(flags);
    out.extend_from_slice(&data.number_low.to_le_bytes());
    out.extend_from_slice(&data.time.to_le_bytes()[..3]);
    if let Some(ack) = &data.ack {
        out.extend_from_slice(&ack.largest_low.to_le_bytes());
        put_varint(out, ack.delay);
        put_varint(out, ack.first);
        if ack.ranges > 0 {
            put_varint(out, ack.ranges as u64);
        }
        for (gap, length) in ack.gaps() {
            put_varint(out, gap);
            put_varint(out, length);
        }
    }
    data.frames().for_each(|frame| write_frame(&frame, out));
}

fn write_frame(frame: &Frame<'_>, out: &mut Vec<u8>) {
    match *frame {
        Frame::Padding => out.push(0),
        Frame::Ping => write::ping(out),
        Frame::Proof(proof) => write::proof(out, &proof),
        Frame::Close { code, reason } => write::close(out, code, reason),
        Frame::States(states) => {
            write::states(out, states.lane, states.interval, states.stamp);
            for (head, value) in states.records() {
                write::record(out, states.stamp, head, value);
            }
            if states.ended {
                write::states_end(out);
            }
        }
        Frame::Event { head, payload } => write::event(out, head, payload),
        Frame::EventPart { head, part } => write::event_part(out, head, part),
        Frame::StatePart { lane, interval, state, part } => {
            write::state_part(out, lane, interval, state, part);
        }
        Frame::Window { lane, consumed } => write::window(out, lane, consumed),
        Frame::Replication { lane, payload } => {
            write::replication_head(out, lane, payload.len());
            out.extend_from_slice(payload);
        }
    }
}
