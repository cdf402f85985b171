//! `nowcast play`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nowcast::record::{RecordedPacket, Recording};
use nowcast::session::packet::{EventKind, Frame, Packet, Part};

use crate::output::{self, printable, printable_json};
use crate::world_reader::WorldReader;

/// Maximum large messages of a carrier that wait for their missing parts.
const INCOMPLETE_MAX: usize = 64;

/// Maximum bytes of a value in a line.
const SHOWN_BYTES_MAX: usize = 32;

/// Play the packets of a record, as they were sent
///
/// Prints a line for each packet at its time: the seconds since the first packet, the carrier, the direction, and the contents in
/// words. Messages of a world are described. Records come from `nowcast record` and `nowcast serve --record`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The record
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Playback speed; 0 prints everything at once
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = factor)]
    speed: f64,

    /// Play only this carrier's packets; the first carrier has the number 1
    #[arg(long, value_name = "NUMBER")]
    carrier: Option<u32>,

    /// Print a JSON line for each packet
    #[arg(long)]
    json: bool,
}

fn factor(text: &str) -> Result<f64, String> {
    let read = text.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor >= 0.0);
    read.ok_or_else(|| "it is not a number from 0 on".into())
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let place = || args.file.display().to_string();
    let packets = Recording::open(&args.file).with_context(place)?.packets();
    let (began, mut first) = (Instant::now(), None);
    let mut readers: BTreeMap<u32, CarrierReader> = BTreeMap::new();
    let mut count = 0_u64;
    for packet in packets {
        let packet = packet.with_context(place)?;
        if args.carrier.is_some_and(|number| number != packet.carrier) {
            continue;
        }
        count += 1;
        let after = packet.time.saturating_sub(*first.get_or_insert(packet.time));
        if args.speed > 0.0 {
            let due =
                began + Duration::try_from_secs_f64(after.as_secs_f64() / args.speed).unwrap_or_default();
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        let contents = describe(&packet, readers.entry(packet.carrier).or_default());
        output::line(if args.json {
            json(&packet, after, &contents)
        } else {
            plain(&packet, after, &contents)
        })?;
    }
    output::note(format_args!("{count} packets."));
    Ok(ExitCode::SUCCESS)
}

/// The messages of one carrier.
#[derive(Default)]
struct CarrierReader {
    world: WorldReader,
    /// Large messages of which some parts are missing.
    incomplete: BTreeMap<LargeMessage, BTreeMap<u64, Vec<u8>>>,
}

/// Identifies a large message: whether it was received, its lane, the key of a state, and its number or stamp.
type LargeMessage = (bool, u8, Option<u64>, u64);

impl CarrierReader {
    /// Adds a part. Returns the whole message if it is complete.
    fn join(&mut self, message: LargeMessage, part: &Part<'_>) -> Option<Vec<u8>> {
        if self.incomplete.len() >= INCOMPLETE_MAX && !self.incomplete.contains_key(&message) {
            self.incomplete.pop_first();
        }
        let parts = self.incomplete.entry(message).or_default();
        parts.insert(part.index, part.bytes.to_vec());
        let bytes: usize = parts.values().map(Vec::len).sum();
        if (bytes as u64) < part.total {
            return None;
        }
        self.incomplete.remove(&message).map(|parts| parts.into_values().flatten().collect())
    }
}

fn plain(packet: &RecordedPacket, after: Duration, contents: &[String]) -> String {
    let direction = if packet.is_received { "received" } else { "sent" };
    let RecordedPacket { carrier, kind, bytes, .. } = packet;
    format!(
        "{:>10.4} {kind} {carrier} {direction} {} bytes: {}",
        after.as_secs_f64(),
        bytes.len(),
        contents.join("; ")
    )
}

fn json(packet: &RecordedPacket, after: Duration, contents: &[String]) -> String {
    printable_json(&serde_json::json!({
        "after_s": after.as_secs_f64(),
        "carrier": packet.carrier,
        "kind": packet.kind.to_string(),
        "received": packet.is_received,
        "bytes": packet.bytes.len(),
        "contents": contents,
    }))
}

/// Describes the frames of a packet. All texts are printable.
fn describe(packet: &RecordedPacket, reader: &mut CarrierReader) -> Vec<String> {
    let data = match Packet::read(&packet.bytes) {
        Ok(Packet::Data(data)) => data,
        Ok(Packet::Hello(hello)) => {
            let resumes = if hello.resume.is_some() { ", resumes a session" } else { "" };
            return vec![format!("HELLO{resumes}")];
        }
        Ok(Packet::Welcome(_)) => return vec!["WELCOME".into()],
        Ok(Packet::Refuse(refuse)) => return vec![printable(&format!("REFUSE: {}", refuse.text))],
        Err(malformed) => return vec![printable(&format!("malformed: {malformed}"))],
    };
    let mut contents = Vec::new();
    for frame in data.frames() {
        describe_frame(&frame, packet.is_received, reader, &mut contents);
    }
    if contents.is_empty() {
        contents.push("acknowledgement".into());
    }
    contents
}

fn describe_frame(
    frame: &Frame<'_>,
    is_received: bool,
    reader: &mut CarrierReader,
    contents: &mut Vec<String>,
) {
    match frame {
        Frame::Padding => {}
        Frame::Ping => contents.push("PING".into()),
        Frame::Proof(_) => contents.push("PROOF".into()),
        Frame::Close { code, reason } => contents.push(printable(&format!("CLOSE {}: {reason}", code.0))),
        Frame::States(states) => {
            for (head, value) in states.records() {
                let words = reader.world.message(states.lane, Some(head.key), value);
                let words = words.unwrap_or_else(|| shown(value));
                contents.push(format!("state {} on lane {}: {words}", head.key, states.lane));
            }
        }
        Frame::Event { head, payload } => match head.kind {
            EventKind::Event => {
                let words = reader.world.message(head.lane, None, payload).unwrap_or_else(|| shown(payload));
                contents.push(format!("event {} on lane {}: {words}", head.number, head.lane));
            }
            EventKind::Command => {
                contents.push(format!("command {} on lane {}: {}", head.number, head.lane, shown(payload)))
            }
            EventKind::Reply(command) => {
                contents.push(format!("reply to {command} on lane {}: {}", head.lane, shown(payload)))
            }
            EventKind::Barrier => contents.push(format!("barrier {} on lane {}", head.number, head.lane)),
            EventKind::Expired => {
                contents.push(format!("expired command {} on lane {}", head.number, head.lane))
            }
        },
        Frame::EventPart { head, part } => {
            let whole = reader.join((is_received, head.lane, None, head.number), part);
            let words = whole.map(|bytes| {
                let words = reader.world.message(head.lane, None, &bytes).unwrap_or_else(|| shown(&bytes));
                format!(", which completes it: {words}")
            });
            let words = words.unwrap_or_default();
            contents
                .push(format!("part {} of event {} on lane {}{words}", part.index, head.number, head.lane));
        }
        Frame::StatePart { lane, state, part, .. } => {
            let whole = reader.join((is_received, *lane, Some(state.key), state.stamp), part);
            let words = whole.map(|bytes| {
                let words =
                    reader.world.message(*lane, Some(state.key), &bytes).unwrap_or_else(|| shown(&bytes));
                format!(", which completes it: {words}")
            });
            let words = words.unwrap_or_default();
            contents.push(format!("part {} of state {} on lane {lane}{words}", part.index, state.key));
        }
        Frame::Window { lane, consumed } => {
            contents.push(format!("consumed {consumed} events on lane {lane}"))
        }
        Frame::Replication { payload, .. } => {
            contents.push(WorldReader::movement(payload).unwrap_or_else(|| shown(payload)));
        }
    }
}

/// Returns the beginning of a value, in hexadecimal.
fn shown(bytes: &[u8]) -> String {
    let beginning: String = bytes.iter().take(SHOWN_BYTES_MAX).map(|byte| format!("{byte:02x}")).collect();
    let more = if bytes.len() > SHOWN_BYTES_MAX { "…" } else { "" };
    format!("{beginning}{more}")
}
