//! The movement stream of "A wire protocol": an id, a position as three `f64`, and three angles of one byte each.

use nowcast_wire::Wire;
use serde::{Deserialize, Serialize};

use crate::report::{BarChart, Chart, Section};

use super::measure::{Subject, compare, table};
use super::{Options, Result, data, messages};

#[derive(
    Debug,
    Clone,
    PartialEq,
    Serialize,
    Deserialize,
    Wire,
    bitcode::Encode,
    bitcode::Decode,
    wincode::SchemaRead,
    wincode::SchemaWrite,
)]
#[serde(rename_all = "camelCase")]
pub(super) struct Move {
    id: u32,
    position_x: f64,
    position_y: f64,
    position_z: f64,
    euler_x: u8,
    euler_y: u8,
    euler_z: u8,
}

#[derive(Clone, PartialEq, prost::Message)]
struct MoveMirror {
    #[prost(uint32, tag = "1")]
    id: u32,
    #[prost(double, tag = "2")]
    x: f64,
    #[prost(double, tag = "3")]
    y: f64,
    #[prost(double, tag = "4")]
    z: f64,
    #[prost(uint32, tag = "5")]
    a: u32,
    #[prost(uint32, tag = "6")]
    b: u32,
    #[prost(uint32, tag = "7")]
    c: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct MovesMirror {
    #[prost(message, repeated, tag = "1")]
    moves: Vec<MoveMirror>,
}

pub(super) fn run(options: &Options) -> Result<Section> {
    let moves = frame()?;
    let subjects = [
        messages::json(),
        messages::ours(),
        Subject { name: "custom packets, as in the source", encode: write_packets, decode: read_packets },
        Subject { name: "custom, one buffer", encode: write_buffer, decode: read_buffer },
        Subject { name: "protobuf (prost)", encode: write_protobuf, decode: read_protobuf },
        messages::messagepack(),
        messages::bitcode_subject(),
        messages::wincode_subject(),
    ];
    let mut measured = compare("the movement frame", &moves, &subjects, options.samples)?;
    let table = table(&mut measured, "µs", 1e-3);
    let mut section = Section::new("Movement of 1,000 entities in Rust");
    section
        .text("One frame of the movement stream, exact. The custom codecs repeat the hand-written code of the source.");
    section.chart(Chart::Bars(BarChart::from_table("Size", "bytes", &table, 0, &[1, 2, 3])));
    section.chart(Chart::Bars(BarChart::from_table("Time", "µs", &table, 0, &[4, 5]).log()));
    section.table(table);
    Ok(section)
}

/// Returns the first frame of the recording, with angles of one byte.
pub(super) fn frame() -> Result<Vec<Move>> {
    let source = data::moves(None)?;
    let byte = |angle: f64| (angle / std::f64::consts::TAU * 256.0) as u8;
    Ok(source
        .ids
        .iter()
        .zip(&source.frames[0])
        .map(|(&id, row)| Move {
            id,
            position_x: row[0],
            position_y: row[1],
            position_z: row[2],
            euler_x: byte(row[3]),
            euler_y: byte(row[4]),
            euler_z: byte(row[5]),
        })
        .collect())
}

const PACKET: [u8; 2] = [0x4d, 0x56];
const MOVE_BYTES: usize = 4 + 3 * 8 + 3;

fn write_move(one: &Move, out: &mut Vec<u8>) {
    out.extend_from_slice(&one.id.to_le_bytes());
    for position in [one.position_x, one.position_y, one.position_z] {
        out.extend_from_slice(&position.to_le_bytes());
    }
    out.extend_from_slice(&[one.euler_x, one.euler_y, one.euler_z]);
}

fn read_move(bytes: &[u8; MOVE_BYTES]) -> Move {
    let number = |at: usize| f64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    Move {
        id: u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")),
        position_x: number(4),
        position_y: number(12),
        position_z: number(20),
        euler_x: bytes[28],
        euler_y: bytes[29],
        euler_z: bytes[30],
    }
}

/// Writes each entity as a separate packet with a header of two bytes, and joins the packets.
fn write_packets(moves: &Vec<Move>, out: &mut Vec<u8>) {
    for one in moves {
        let mut packet = Vec::with_capacity(2 + MOVE_BYTES);
        packet.extend_from_slice(&PACKET);
        write_move(one, &mut packet);
        out.extend_from_slice(&packet);
    }
}

fn read_packets(bytes: &[u8]) -> std::result::Result<Vec<Move>, String> {
    let packets = bytes.chunks(2 + MOVE_BYTES);
    let read = |packet: &[u8]| {
        let body = packet.strip_prefix(&PACKET)?;
        Some(read_move(body.try_into().ok()?))
    };
    packets.map(read).collect::<Option<_>>().ok_or_else(|| "a packet is damaged".into())
}

fn write_buffer(moves: &Vec<Move>, out: &mut Vec<u8>) {
    out.reserve(4 + moves.len() * MOVE_BYTES);
    out.extend_from_slice(&(moves.len() as u32).to_le_bytes());
    for one in moves {
        write_move(one, out);
    }
}

fn read_buffer(bytes: &[u8]) -> std::result::Result<Vec<Move>, String> {
    let (count, rows) = bytes.split_first_chunk().ok_or("the count is missing")?;
    let (rows, rest) = rows.as_chunks();
    if rows.len() != u32::from_le_bytes(*count) as usize || !rest.is_empty() {
        return Err("the count does not fit".into());
    }
    Ok(rows.iter().map(read_move).collect())
}

#[expect(clippy::ptr_arg, reason = "every codec of a list has this signature")]
fn write_protobuf(moves: &Vec<Move>, out: &mut Vec<u8>) {
    let mirror = MovesMirror {
        moves: moves
            .iter()
            .map(|one| MoveMirror {
                id: one.id,
                x: one.position_x,
                y: one.position_y,
                z: one.position_z,
                a: one.euler_x.into(),
                b: one.euler_y.into(),
                c: one.euler_z.into(),
            })
            .collect(),
    };
    prost::Message::encode(&mirror, out).expect("a vector grows");
}

fn read_protobuf(bytes: &[u8]) -> std::result::Result<Vec<Move>, String> {
    let mirror = <MovesMirror as prost::Message>::decode(bytes).map_err(|error| error.to_string())?;
    Ok(mirror
        .moves
        .into_iter()
        .map(|one| Move {
            id: one.id,
            position_x: one.x,
            position_y: one.y,
            position_z: one.z,
            euler_x: one.a as u8,
            euler_y: one.b as u8,
            euler_z: one.c as u8,
        })
        .collect())
}
