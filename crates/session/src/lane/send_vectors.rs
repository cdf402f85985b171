//! The vectors `send.json`. They state the messages that one sending lane puts into packets, given its puts and the outcomes of
//! earlier packets.

use std::collections::BTreeMap;
use std::time::Duration;

use nowcast_queue::Bounds;
use serde_json::{Value, json};

use super::LaneConfig;
use super::send::{SendContext, SendLane};
use crate::builder::{Builder, Layout};
use crate::limits::Limits;
use crate::packet::{EventKind, Frame, Reader};
use crate::sent::{Item, SentPackets};
use crate::stats::Stats;
use crate::store::Store;
use crate::time::Time;

/// The peer's limits in all scripts. They are small, so that credit and barriers take effect early.
const LIMITS: Limits = Limits {
    lanes_max: 1,
    window_bytes: 16_384,
    message_bytes_max: 4_096,
    packet_bytes_max: 16_384,
    idle_timeout: Duration::from_secs(10),
    resume_timeout: Duration::from_secs(60),
};
/// Maximum length of a message that is sent whole on a carrier of datagrams.
const DATAGRAM_WHOLE_MAX: usize = 1_024;
const STREAM_WHOLE_MAX: usize = 16_000;
/// The overhead of a packet with such a message in addition to its payload.
const OVERHEAD: usize = 176;
const PATIENCE: Duration = Duration::from_millis(10);

/// The identity of a message: its kind, its stamp or number, and the number of the part if it has parts.
type Name = (&'static str, u64, Option<u64>);

struct Script {
    lane: SendLane,
    store: Store,
    sent: SentPackets,
    stats: Stats,
    now: Time,
    whole_max: usize,
    under_way: BTreeMap<Name, Item>,
    name: &'static str,
    steps: Vec<Value>,
}

impl Script {
    fn new(name: &'static str) -> Self {
        let config =
            LaneConfig { bounds: Bounds { entries_max: 64, bytes_max: 1 << 20 }, ..Default::default() };
        Self {
            lane: SendLane::new(0, config),
            store: Store::default(),
            sent: SentPackets::default(),
            stats: Stats::default(),
            now: Time::from_millis(1_000),
            whole_max: DATAGRAM_WHOLE_MAX,
            under_way: BTreeMap::new(),
            name,
            steps: Vec::new(),
        }
    }

    fn state(mut self, key: u64, length: usize) -> Self {
        let value = vec![0; length];
        let put = self.lane.put_state(self.now, key, &value, &mut self.store, &mut self.stats);
        put.expect("the lane has room");
        self.steps.push(json!({ "put_state": { "key": key, "length": length } }));
        self
    }

    fn put(&mut self, kind: EventKind, length: usize, expires: Option<Time>) {
        let payload = vec![0; length];
        let put = self.lane.put_event(self.now, kind, &payload, expires, &mut self.store);
        put.expect("the lane has room");
    }

    fn event(mut self, length: usize) -> Self {
        self.put(EventKind::Event, length, None);
        self.steps.push(json!({ "put_event": { "length": length } }));
        self
    }

    fn command(mut self, length: usize) -> Self {
        let expires = self.now + PATIENCE;
        self.put(EventKind::Command, length, Some(expires));
        self.steps.push(json!({ "put_command": { "length": length } }));
        self
    }

    /// Lets the deadline of the command pass that was put as the event with this index.
    fn expire(mut self, event: u64) -> Self {
        self.now += 2 * PATIENCE;
        self.lane.expire(event, &mut self.store);
        self.steps.push(json!({ "expire": event }));
        self
    }

    fn arrived(self, names: &[Name]) -> Self {
        self.settled("arrived", names)
    }

    fn lost(self, names: &[Name]) -> Self {
        self.settled("lost", names)
    }

    fn settled(mut self, outcome: &str, names: &[Name]) -> Self {
        for name in names {
            let item = self.under_way.remove(name).expect("the packet is in flight");
            match (item, outcome) {
                (Item::State { slot, stamp, part, .. }, "lost") => self.lane.state_lost(slot, stamp, part),
                (Item::State { slot, stamp, part, .. }, _) => {
                    self.lane.state_arrived(slot, stamp, part, &mut self.store);
                }
                (Item::Event { number, part, .. }, "lost") => self.lane.event_lost(number, part),
                (Item::Event { number, part, .. }, _) => {
                    self.lane.event_arrived(number, part, &mut self.store);
                }
                (other, _) => panic!("{other:?} is not of a lane"),
            }
        }
        self.steps.push(json!({ outcome: names.iter().map(described).collect::<Vec<_>>() }));
        self
    }

    fn consumed(mut self, consumed: u64) -> Self {
        self.lane.consumed(consumed).expect("no more than was sent");
        self.steps.push(json!({ "consumed": consumed }));
        self
    }

    /// Changes to a carrier on which messages up to this length are sent whole.
    fn carrier(mut self, whole_max: usize) -> Self {
        self.whole_max = whole_max;
        self.lane.change_carrier();
        self.steps.push(json!({ "whole_bytes_max": whole_max }));
        self
    }

    /// Sends packets until the lane has nothing more to send.
    fn send(mut self) -> Self {
        let mut messages = Vec::new();
        while self.lane.has_more(self.now) {
            let mut out = Vec::new();
            let first = self.sent.next_number();
            let mut builder = Builder::new(&mut out, Layout::new(self.whole_max + OVERHEAD));
            self.lane.fill(&mut SendContext {
                now: self.now,
                builder: &mut builder,
                store: &mut self.store,
                sent: &mut self.sent,
                stats: &mut self.stats,
                whole_max: self.whole_max,
                limits: &LIMITS,
                bound: &mut Vec::new(),
            });
            if out.is_empty() {
                continue;
            }
            self.sent.push(self.now, out.len(), true);
            let settled = self.sent.acknowledge(first).expect("the packet was just sent");
            let items: Vec<Item> = self.sent.items(settled.items).collect();
            self.sent.forget();
            let carried = carried(&out);
            assert_eq!(carried.len(), items.len(), "every message has its item");
            for ((name, message), item) in carried.into_iter().zip(items) {
                self.under_way.insert(name, item);
                messages.push((name, message));
            }
        }
        messages.sort_by_key(|(name, _)| *name);
        let messages: Vec<Value> = messages.into_iter().map(|(_, message)| message).collect();
        self.steps.push(json!({ "send": messages }));
        self
    }

    fn done(self) -> Value {
        json!({ "name": self.name, "steps": self.steps, "is_drained": self.lane.is_drained() })
    }
}

fn described(&(kind, number, index): &Name) -> Value {
    let mut described = json!({ kind: number });
    if let Some(index) = index {
        described["index"] = index.into();
    }
    described
}

/// Returns the messages of a packet, with a separate entry for each record of states.
fn carried(bytes: &[u8]) -> Vec<(Name, Value)> {
    let mut reader = Reader::new(bytes);
    let mut all = Vec::new();
    while !reader.is_empty() {
        match Frame::read(&mut reader).expect("an encoded packet can be decoded") {
            Frame::States(states) => all.extend(states.records().map(|(state, value)| {
                let name = ("stamp", state.stamp, None);
                let message = json!({
                    "stamp": state.stamp, "interval": states.interval, "key": state.key, "length": value.len(),
                });
                (name, message)
            })),
            Frame::StatePart { interval, state, part, .. } => {
                let message = json!({
                    "stamp": state.stamp, "interval": interval, "key": state.key, "length": part.total,
                    "index": part.index,
                });
                all.push((("stamp", state.stamp, Some(part.index)), message));
            }
            Frame::Event { head, payload } => {
                let message = json!({
                    "number": head.number, "kind": head.kind.number(), "before": head.before,
                    "length": payload.len(),
                });
                all.push((("number", head.number, None), message));
            }
            Frame::EventPart { head, part } => {
                let message = json!({
                    "number": head.number, "kind": head.kind.number(), "before": head.before,
                    "length": part.total, "index": part.index,
                });
                all.push((("number", head.number, Some(part.index)), message));
            }
            other => panic!("{other:?} is not of a lane"),
        }
    }
    all
}

fn state(stamp: u64) -> Name {
    ("stamp", stamp, None)
}

fn part(stamp: u64, index: u64) -> Name {
    ("stamp", stamp, Some(index))
}

fn event(number: u64) -> Name {
    ("number", number, None)
}

fn scripts() -> Vec<Value> {
    vec![
        Script::new(
            "only the newest value of a key leaves, and events have the sum of the last stamps before them",
        )
        .state(1, 10)
        .state(2, 20)
        .state(1, 30)
        .event(5)
        .state(1, 40)
        .send()
        .arrived(&[state(1), state(2), event(0), state(3)])
        .state(1, 50)
        .state(2, 60)
        .event(0)
        .send()
        .arrived(&[state(4), state(5), event(1)])
        .done(),
        Script::new("a lost value is sent again with its stamp, in the open interval and in a closed one")
            .state(1, 10)
            .event(1)
            .state(2, 10)
            .send()
            .lost(&[state(1), event(0), state(2)])
            .send()
            .arrived(&[state(1), event(0), state(2)])
            .done(),
        Script::new("a superseded value is never sent again, but an archived value is")
            .state(1, 10)
            .send()
            .state(1, 11)
            .event(1)
            .state(1, 12)
            .send()
            .lost(&[state(1), state(2), event(0)])
            .send()
            .arrived(&[state(2), event(0), state(3)])
            .done(),
        Script::new("a lost value gives way to a newer one that waits")
            .state(1, 10)
            .send()
            .state(1, 11)
            .lost(&[state(1)])
            .send()
            .arrived(&[state(2)])
            .done(),
        Script::new("a dropped value is sent again when a barrier closes its interval")
            .state(2, 3_900)
            .state(3, 3_900)
            .send()
            .state(1, 10)
            .send()
            .state(1, 3_000)
            .lost(&[state(3)])
            .send()
            .arrived(&[state(3), event(0)])
            .done(),
        Script::new("values that are not larger than earlier values cost nothing more")
            .state(1, 3_900)
            .state(2, 3_900)
            .send()
            .arrived(&[part(1, 0), part(1, 1), part(1, 2), part(1, 3)])
            .arrived(&[part(2, 0), part(2, 1), part(2, 2), part(2, 3)])
            .state(1, 100)
            .state(2, 3_900)
            .send()
            .done(),
        Script::new("without credit a lane waits for WINDOW")
            .event(4_096)
            .event(4_096)
            .event(4_096)
            .event(4_096)
            .event(0)
            .send()
            .consumed(1)
            .send()
            .done(),
        Script::new(
            "no newer value is bound before an older value in parts has arrived, and lost parts do not give way",
        )
        .state(1, 2_500)
        .send()
        .state(1, 10)
        .state(2, 10)
        .send()
        .lost(&[part(1, 0), part(1, 1), part(1, 2)])
        .send()
        .arrived(&[part(1, 0), part(1, 2)])
        .lost(&[part(1, 1)])
        .send()
        .arrived(&[part(1, 1), state(2)])
        .send()
        .arrived(&[state(3)])
        .done(),
        Script::new("a newer value is bound before an event, even while the older value in parts is in flight")
            .state(1, 2_500)
            .send()
            .state(1, 10)
            .event(1)
            .send()
            .lost(&[part(1, 0), part(1, 1), part(1, 2), state(2)])
            .send()
            .arrived(&[state(2), event(0)])
            .done(),
        Script::new("a whole message is fragmented after a move to a carrier with smaller packets")
            .carrier(STREAM_WHOLE_MAX)
            .state(1, 2_500)
            .event(1_500)
            .state(1, 3_000)
            .send()
            .carrier(DATAGRAM_WHOLE_MAX)
            .lost(&[state(1), event(0), state(2)])
            .send()
            .state(1, 10)
            .send()
            .arrived(&[part(2, 0), part(2, 1), part(2, 2)])
            .send()
            .done(),
        Script::new("an expired command keeps its number and sum if it was bound")
            .state(1, 10)
            .command(5)
            .state(1, 20)
            .send()
            .expire(0)
            .lost(&[event(0)])
            .send()
            .arrived(&[state(1), event(0), state(2)])
            .done(),
        Script::new("a command that expires unbound joins the intervals around it")
            .state(1, 10)
            .send()
            .command(5)
            .state(1, 20)
            .state(2, 20)
            .event(0)
            .expire(0)
            .send()
            .lost(&[state(1), state(2)])
            .send()
            .done(),
    ]
}

#[test]
fn a_lane_sends_as_the_vectors_say() {
    let found = json!({
        "limits": { "window_bytes": LIMITS.window_bytes, "message_bytes_max": LIMITS.message_bytes_max },
        "whole_bytes_max": DATAGRAM_WHOLE_MAX,
        "scripts": scripts(),
    });
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/vectors/session/send.json");
    if std::env::var_os("NOWCAST_BLESS").is_some() {
        let text = serde_json::to_string_pretty(&found).expect("values of JSON can be written");
        std::fs::write(path, text + "\n").expect("the vectors' directory can be written");
    }
    let text = std::fs::read_to_string(path).expect("the file of vectors can be read");
    let expected: Value = serde_json::from_str(&text).expect("the vectors are JSON");
    assert_eq!(found, expected);
}
