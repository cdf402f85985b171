//! The vectors `release.json`. They state the messages that one receiving lane shows its application, in order.

use serde_json::{Value, json};

use super::receive::{Arrived, ReceiveContext, ReceiveLane, What};
use crate::error::Broken;
use crate::limits::Limits;
use crate::packet::{EventHead, EventKind, Frame, Part, Reader, StateHead, write};
use crate::stats::Stats;
use crate::store::Store;
use crate::time::Time;

enum Step {
    Frame(Vec<u8>),
    Consume,
}

struct Script {
    name: &'static str,
    steps: Vec<Step>,
}

impl Script {
    fn new(name: &'static str) -> Self {
        Self { name, steps: Vec::new() }
    }

    fn frame(mut self, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut bytes = Vec::new();
        write(&mut bytes);
        self.steps.push(Step::Frame(bytes));
        self
    }

    /// Values of one interval, as (key, stamp, value).
    fn states(self, interval: u64, states: &[(u64, u64, &str)]) -> Self {
        let base = states.iter().map(|&(_, stamp, _)| stamp).min().unwrap_or(1);
        self.frame(|out| {
            write::states(out, 0, interval, base);
            for &(key, stamp, value) in states {
                write::record(out, base, StateHead { key, stamp, age_ms: 0 }, value.as_bytes());
            }
        })
    }

    fn kind(self, number: u64, kind: EventKind, before: u64, payload: &str) -> Self {
        let head = EventHead { lane: 0, number, kind, before };
        self.frame(|out| write::event(out, head, payload.as_bytes()))
    }

    fn event(self, number: u64, before: u64, payload: &str) -> Self {
        self.kind(number, EventKind::Event, before, payload)
    }

    fn event_part(self, number: u64, payload: &[u8], index: u64) -> Self {
        let head = EventHead { lane: 0, number, kind: EventKind::Event, before: 0 };
        let bytes = &payload[index as usize * 1_024..payload.len().min(index as usize * 1_024 + 1_024)];
        self.frame(|out| write::event_part(out, head, Part { total: payload.len() as u64, index, bytes }))
    }

    fn state_part(self, key: u64, stamp: u64, payload: &[u8], index: u64) -> Self {
        let bytes = &payload[index as usize * 1_024..payload.len().min(index as usize * 1_024 + 1_024)];
        let part = Part { total: payload.len() as u64, index, bytes };
        self.frame(|out| write::state_part(out, 0, 0, StateHead { key, stamp, age_ms: 0 }, part))
    }

    fn consume(mut self) -> Self {
        self.steps.push(Step::Consume);
        self
    }
}

fn scripts() -> Vec<Script> {
    let large: Vec<u8> = (0..2_500u32).map(|index| (index / 10) as u8).collect();
    vec![
        Script::new("values are shown at once, the newest of each key")
            .states(0, &[(1, 1, "a"), (2, 2, "b")])
            .states(0, &[(1, 3, "c")])
            .consume()
            .states(0, &[(2, 4, "d")])
            .consume(),
        Script::new("an older value that comes late is stale")
            .states(0, &[(1, 5, "new")])
            .states(0, &[(1, 4, "old")])
            .states(0, &[(1, 5, "new")])
            .consume(),
        Script::new("an event waits for the last value before it")
            .states(0, &[(1, 1, "first")])
            .event(0, 5, "event")
            .consume()
            .states(0, &[(2, 2, "other")])
            .consume()
            .states(0, &[(1, 3, "last")])
            .consume(),
        Script::new("a value after an event waits for the event")
            .states(1, &[(1, 2, "after")])
            .states(1, &[(1, 4, "later after"), (2, 3, "too")])
            .consume()
            .states(0, &[(1, 1, "before")])
            .consume()
            .event(0, 1, "event")
            .consume(),
        Script::new("events are shown in order, each once")
            .event(2, 0, "two")
            .event(1, 0, "one")
            .event(2, 0, "two")
            .consume()
            .event(0, 0, "zero")
            .event(0, 0, "zero")
            .consume(),
        Script::new("a barrier orders and is not shown")
            .states(1, &[(1, 2, "after")])
            .kind(0, EventKind::Barrier, 1, "")
            .consume()
            .states(0, &[(1, 1, "before")])
            .consume(),
        Script::new("an expired event leaves no hole")
            .event(1, 0, "one")
            .kind(0, EventKind::Expired, 0, "")
            .event(0, 0, "zero, too late")
            .consume(),
        Script::new("unconsumed values are replaced within their interval only")
            .states(0, &[(1, 1, "a")])
            .event(0, 1, "event")
            .states(1, &[(1, 2, "b")])
            .states(1, &[(1, 3, "c")])
            .consume(),
        Script::new("a barrier does not prevent a value from replacing another")
            .states(0, &[(1, 1, "a"), (2, 2, "kept")])
            .kind(0, EventKind::Barrier, 3, "")
            .states(1, &[(1, 3, "b"), (3, 4, "new")])
            .consume()
            .event(1, 7, "event")
            .consume(),
        Script::new(
            "an expired event does not prevent a value from replacing another, but the events around it do",
        )
        .states(0, &[(1, 1, "a")])
        .event(0, 1, "event")
        .states(1, &[(1, 2, "b")])
        .kind(1, EventKind::Expired, 2, "")
        .states(2, &[(1, 3, "c")])
        .event(2, 3, "later")
        .states(3, &[(1, 4, "d")])
        .consume(),
        Script::new("commands and replies are events")
            .kind(0, EventKind::Command, 0, "?")
            .kind(1, EventKind::Reply(7), 0, "!")
            .consume(),
        Script::new("parts in any order, some twice")
            .event_part(0, &large, 2)
            .event_part(0, &large, 0)
            .event_part(0, &large, 0)
            .consume()
            .event_part(0, &large, 1)
            .consume(),
        Script::new("a newer large value replaces an incomplete one")
            .state_part(1, 1, &large, 0)
            .state_part(1, 2, &large[..1_500], 1)
            .state_part(1, 1, &large, 1)
            .consume()
            .state_part(1, 2, &large[..1_500], 0)
            .consume(),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn take(lane: &mut ReceiveLane, frame: &Frame<'_>, context: &mut ReceiveContext<'_>) -> Result<(), Broken> {
    match frame {
        Frame::States(states) => states.records().try_for_each(|(state, value)| {
            lane.state(states.interval, state, value.len(), |store| store.insert(value), context)
        }),
        Frame::Event { head, payload } => lane.event(*head, payload, context),
        Frame::EventPart { head, part } => lane.event_part(*head, *part, context),
        Frame::StatePart { interval, state, part, .. } => lane.state_part(*interval, *state, *part, context),
        other => panic!("{other:?} is not for a lane"),
    }
}

fn shown(arrived: &Arrived, store: &Store) -> Value {
    let payload = hex(store.get(arrived.payload));
    match arrived.what {
        What::State { key } => json!({ "key": key, "value": payload }),
        What::Event { number, kind } => {
            json!({ "event": number, "kind": kind.number(), "payload": payload })
        }
        What::Replication { number } => json!({ "packet": number, "payload": payload }),
    }
}

fn run(script: &Script) -> Value {
    let (mut store, mut stats) = (Store::default(), Stats::default());
    let mut lane = ReceiveLane::new(0x5EED);
    let limits = Limits::default();
    let now = Time::from_millis(10);
    let mut steps = Vec::new();
    for step in &script.steps {
        match step {
            Step::Frame(bytes) => {
                let frame = Frame::read(&mut Reader::new(bytes)).expect("frames of the scripts can be read");
                let context = &mut ReceiveContext {
                    store: &mut store,
                    stats: &mut stats,
                    limits: &limits,
                    left: now,
                    now,
                };
                take(&mut lane, &frame, context).expect("the scripts break no rule");
                steps.push(json!({ "frame": hex(bytes) }));
            }
            Step::Consume => {
                let mut released = Vec::new();
                while let Some(arrived) = lane.poll(now) {
                    released.push(shown(&arrived, &store));
                    store.remove(arrived.payload);
                }
                steps.push(json!({ "consume": released }));
            }
        }
    }
    assert_eq!(store.used(), 0, "{}: every buffer is given back", script.name);
    let late = stats.dropped.stale_states + stats.dropped.late_events;
    json!({ "name": script.name, "steps": steps, "late": late })
}

#[test]
fn a_lane_releases_as_the_vectors_say() {
    let found = Value::Array(scripts().iter().map(run).collect());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/vectors/session/release.json");
    if std::env::var_os("NOWCAST_BLESS").is_some() {
        let text = serde_json::to_string_pretty(&found).expect("values of JSON can be written");
        std::fs::write(path, text + "\n").expect("the vectors' directory can be written");
    }
    let text = std::fs::read_to_string(path).expect("the file of vectors can be read");
    let expected: Value = serde_json::from_str(&text).expect("the vectors are JSON");
    assert_eq!(found, expected);
}
