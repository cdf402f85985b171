//! Represents packets as the JSON of the vectors.

use nowcast_session::Limits;
use nowcast_session::packet::{
    Ack, Data, EventHead, EventKind, Frame, Hello, Packet, Part, Refuse, Resume, Welcome,
};
use serde_json::{Value, json};

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Represents a number. Numbers that JavaScript cannot represent become text.
pub(crate) fn number(value: u64) -> Value {
    if value <= 1 << 53 { json!(value) } else { json!(value.to_string()) }
}

pub(crate) fn packet(packet: &Packet<'_>) -> Value {
    match packet {
        Packet::Data(data) => self::data(data),
        Packet::Hello(hello) => self::hello(hello),
        Packet::Welcome(welcome) => self::welcome(welcome),
        Packet::Refuse(refuse) => self::refuse(refuse),
    }
}

fn hello(hello: &Hello) -> Value {
    json!({
        "type": "hello",
        "version_min": number(hello.version_min),
        "version_max": number(hello.version_max),
        "nonce": hex(&hello.nonce),
        "clock": number(hello.clock),
        "limits": limits(&hello.limits),
        "resume": hello.resume.as_ref().map(resume),
    })
}

fn welcome(welcome: &Welcome) -> Value {
    json!({
        "type": "welcome",
        "version": number(welcome.version),
        "nonce": hex(&welcome.nonce),
        "proof": hex(&welcome.proof),
        "resume": resume(&welcome.resume),
        "hello_clock": number(welcome.hello_clock),
        "clock": number(welcome.clock),
        "limits": limits(&welcome.limits),
    })
}

fn refuse(refuse: &Refuse) -> Value {
    json!({
        "type": "refuse",
        "nonce": hex(&refuse.nonce),
        "code": refuse.code.0,
        "version_min": number(refuse.version_min),
        "version_max": number(refuse.version_max),
        "text": refuse.text,
    })
}

fn resume(resume: &Resume) -> Value {
    json!({ "session": hex(&resume.session), "token": hex(&resume.token), "epoch": number(resume.epoch) })
}

fn limits(limits: &Limits) -> Value {
    json!({
        "lanes_max": limits.lanes_max,
        "window_bytes": limits.window_bytes,
        "message_bytes_max": limits.message_bytes_max,
        "packet_bytes_max": limits.packet_bytes_max,
        "idle_timeout_ms": limits.idle_timeout.as_millis() as u64,
        "resume_timeout_ms": limits.resume_timeout.as_millis() as u64,
    })
}

fn data(data: &Data<'_>) -> Value {
    json!({
        "type": "data",
        "number_low": data.number_low,
        "time": data.time,
        "ack": data.ack.as_ref().map(ack),
        "frames": data.frames().map(|frame| self::frame(&frame)).collect::<Vec<_>>(),
    })
}

fn ack(ack: &Ack<'_>) -> Value {
    let ranges: Vec<Value> = ack.gaps().map(|(gap, length)| json!([number(gap), number(length)])).collect();
    json!({ "largest_low": ack.largest_low, "delay": number(ack.delay), "first": number(ack.first), "ranges": ranges })
}

pub(crate) fn frame(frame: &Frame<'_>) -> Value {
    match frame {
        Frame::Padding => json!({ "type": "padding" }),
        Frame::Ping => json!({ "type": "ping" }),
        Frame::Proof(proof) => json!({ "type": "proof", "proof": hex(proof) }),
        Frame::Close { code, reason } => json!({ "type": "close", "code": code.0, "reason": reason }),
        Frame::States(states) => {
            let records: Vec<Value> = states
                .records()
                .map(|(head, value)| {
                    json!({
                        "key": number(head.key),
                        "stamp": number(head.stamp),
                        "age": number(head.age_ms),
                        "value": hex(value),
                    })
                })
                .collect();
            json!({
                "type": "states",
                "lane": states.lane,
                "interval": number(states.interval),
                "stamp": number(states.stamp),
                "records": records,
                "ended": states.ended,
            })
        }
        Frame::Event { head, payload } => {
            let mut described = event("event", head);
            described["payload"] = json!(hex(payload));
            described
        }
        Frame::EventPart { head, part } => with_part(event("event_part", head), part),
        Frame::StatePart { lane, interval, state, part } => {
            let described = json!({
                "type": "state_part",
                "lane": lane,
                "interval": number(*interval),
                "stamp": number(state.stamp),
                "key": number(state.key),
                "age": number(state.age_ms),
            });
            with_part(described, part)
        }
        Frame::Window { lane, consumed } => {
            json!({ "type": "window", "lane": lane, "consumed": number(*consumed) })
        }
        Frame::Replication { lane, payload } => {
            json!({ "type": "replication", "lane": lane, "payload": hex(payload) })
        }
    }
}

fn event(kind: &str, head: &EventHead) -> Value {
    let mut described = json!({
        "type": kind,
        "lane": head.lane,
        "number": number(head.number),
        "kind": head.kind.number(),
        "before": number(head.before),
    });
    if let EventKind::Reply(command) = head.kind {
        described["answers"] = number(command);
    }
    described
}

fn with_part(mut described: Value, part: &Part<'_>) -> Value {
    described["total"] = number(part.total);
    described["index"] = number(part.index);
    described["part"] = json!(hex(part.bytes));
    described
}
