//! Channels.

use std::ffi::c_char;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nowcast::blocking::{self, wait};
use nowcast::{
    AdvertiseError, CarrierKind, Channel, CommandId, Key, LaneId, ListenConfig, Listener, MessageKind, Phase,
    Publisher, Received, Service,
};

use super::guard;
use super::pointers::{Buffer, Out, input, text};
use crate::channel::{BEGIN, ChannelObject, Wait};
use crate::failure::{Failure, Status};
use crate::handles::{self, Object};

/// Interval between two attempts to connect.
const RETRY: Duration = Duration::from_millis(10);

/// The kind of a message.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageType {
    /// The newest value of a key.
    State = 0,
    /// An event.
    Event = 1,
    /// A command, which waits for `nowcast_reply`.
    Command = 2,
    /// Movement of a world, which only a world client reads.
    Replication = 3,
}

/// The description of a received message.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MessageInfo {
    /// The kind of the message.
    pub kind: MessageType,
    /// The lane, from 0.
    pub lane: u8,
    /// The key of a state. Of a command, its number on the lane, for `nowcast_reply`. Otherwise 0.
    pub key: u64,
    /// The number of bytes of the message.
    pub length: usize,
    /// The time at which the value was produced, on the clock of `nowcast_now_ns`. `nowcast_now_ns() - produced_ns` is the age.
    pub produced_ns: i64,
}

/// The phase of a channel.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelPhase {
    /// Not opened yet.
    Connecting = 0,
    /// Packets flow.
    Open = 1,
    /// The carrier is lost, and messages wait for the next one.
    Interrupted = 2,
    /// Closed.
    Closed = 3,
}

/// The carrier of a channel.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// No carrier yet.
    None = 0,
    /// Queues in shared memory.
    SharedMemory = 1,
    /// Queues over a local socket.
    LocalSocket = 2,
    /// QUIC datagrams.
    WebTransport = 3,
    /// Messages on a TCP connection.
    WebSocket = 4,
}

/// The status of a channel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ChannelStatus {
    /// The phase.
    pub phase: ChannelPhase,
    /// The carrier, or the last one.
    pub carrier: Carrier,
    /// The code with which the channel was closed.
    pub closed_code: u32,
    /// The smoothed round-trip time in nanoseconds; -1 if it is not known.
    pub rtt_ns: i64,
    /// The share of lost packets, 0 to 1.
    pub loss: f64,
    /// Values that were never sent because a newer value replaced them.
    pub superseded: u64,
    /// Values and events that were sent again after a loss.
    pub resent: u64,
    /// The number of times that the channel continued over a new carrier.
    pub resumed: u64,
}

fn connect_failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(Status::ConnectFailed, error.to_string())
}

fn added(channel: Channel) -> Result<u64, Failure> {
    handles::add(Object::Channel(Arc::new(channel.into())))
}

/// Connects to a service, and stores the handle in `channel`. The address is a name on this machine (`tracker`), or
/// `nowcast://HOST:PORT/NAME`. While the service is not there, the call tries again until the timeout; it tries at least once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_connect(
    address: *const c_char,
    timeout_ms: i64,
    channel: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let (address, channel) = unsafe { (text("address", address)?, Out::new("channel", channel)?) };
        let patience = Wait::of_ms(timeout_ms);
        let connected = loop {
            match wait(nowcast::connect(address)) {
                Ok(connected) => break connected,
                Err(error) => {
                    let failure = Failure::from(error);
                    if failure.status != Status::ConnectFailed || patience.left().is_zero() {
                        return Err(failure);
                    }
                    std::thread::sleep(RETRY.min(patience.left()));
                }
            }
        };
        channel.set(added(connected)?);
        Ok(())
    })
}

/// Advertises a name to the programs of this user on this machine, without a network port. Stores the handle in `service`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_advertise(name: *const c_char, service: *mut u64) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let (name, service) = unsafe { (text("name", name)?, Out::new("service", service)?) };
        let advertised = blocking::advertise(name).map_err(connect_failed)?;
        service.set(handles::add(Object::Service(Arc::new(Mutex::new(advertised))))?);
        Ok(())
    })
}

/// Opens an endpoint for other machines and browsers, and stores its handle in `listener`. `host` is an IP address; null means
/// this machine only (127.0.0.1). Port 0 lets the system choose. An endpoint that other machines can reach requires `anonymous`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_listen(
    host: *const c_char,
    port: u16,
    anonymous: bool,
    listener: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let listener = unsafe { Out::new("listener", listener) }?;
        let mut config = ListenConfig::loopback(port);
        if !host.is_null() {
            // SAFETY: rule "Pointers" of the header.
            let host = unsafe { text("host", host) }?;
            let host: IpAddr =
                host.parse().map_err(|_| Failure::argument(format!("'{host}' is not an IP address")))?;
            config.hosts = vec![host];
        }
        config.entry.anonymous = anonymous;
        let bound = wait(Listener::bind(config)).map_err(connect_failed)?;
        listener.set(handles::add(Object::Listener(Arc::new(bound)))?);
        Ok(())
    })
}

/// Stores the port of the endpoint in `port`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_listener_port(listener: u64, port: *mut u16) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let port = unsafe { Out::new("port", port) }?;
        handles::with::<Listener, _>(listener, |listener| {
            port.set(listener.port());
            Ok(())
        })
    })
}

fn advertise_failed(error: AdvertiseError) -> Failure {
    match error {
        AdvertiseError::BadName(_) => Failure::argument(error.to_string()),
        _ => connect_failed(error),
    }
}

/// Advertises a name at the endpoint, and stores the handle in `service`. Programs on this machine find the name without a port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_listener_advertise(
    listener: u64,
    name: *const c_char,
    service: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let (name, service) = unsafe { (text("name", name)?, Out::new("service", service)?) };
        let listener = handles::get::<Listener>(listener)?;
        let advertised = wait(listener.advertise(name)).map_err(advertise_failed)?;
        service.set(handles::add(Object::Service(Arc::new(Mutex::new(advertised))))?);
        Ok(())
    })
}

/// Publishes under a name for any number of subscribers, which call `nowcast_connect`. Stores the handle in `publisher`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_listener_publish(
    listener: u64,
    name: *const c_char,
    publisher: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let (name, publisher) = unsafe { (text("name", name)?, Out::new("publisher", publisher)?) };
        let listener = handles::get::<Listener>(listener)?;
        let published = wait(listener.publish(name)).map_err(advertise_failed)?;
        publisher.set(handles::add(Object::Publisher(Arc::new(published)))?);
        Ok(())
    })
}

/// Waits for the next program that connects, and stores the handle of its channel in `channel`. One thread at a time waits on a
/// service; others wait for that thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_service_accept(service: u64, timeout_ms: i64, channel: *mut u64) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let channel = unsafe { Out::new("channel", channel) }?;
        let service = handles::get::<Mutex<Service>>(service)?;
        let mut service = service.lock().unwrap_or_else(PoisonError::into_inner);
        channel.set(added(Wait::of_ms(timeout_ms).run(service.accept())?)?);
        Ok(())
    })
}

/// Puts the newest value of `key`, at least 1, for all subscribers. Never waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_publisher_state(
    publisher: u64,
    key: u64,
    bytes: *const u8,
    length: usize,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let bytes = unsafe { input("bytes", bytes, length) }?;
        handles::with::<Publisher, _>(publisher, |publisher| Ok(publisher.state(Key::from_raw(key), bytes)?))
    })
}

/// Puts an event for all present subscribers. Never waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_publisher_event(publisher: u64, bytes: *const u8, length: usize) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let bytes = unsafe { input("bytes", bytes, length) }?;
        handles::with::<Publisher, _>(publisher, |publisher| Ok(publisher.event(bytes)?))
    })
}

/// Stores the number of subscribers in `count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_publisher_subscribers(publisher: u64, count: *mut usize) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let count = unsafe { Out::new("count", count) }?;
        handles::with::<Publisher, _>(publisher, |publisher| {
            count.set(publisher.subscribers());
            Ok(())
        })
    })
}

/// Runs a put that never waits, and then, if there was no space, one that waits.
fn put<F: Future<Output = Result<(), nowcast::Error>>>(
    channel: u64,
    timeout_ms: i64,
    attempt: impl FnOnce(&ChannelObject) -> Result<(), Failure>,
    waiting: impl FnOnce(Channel) -> F,
) -> Result<(), Failure> {
    match handles::with::<ChannelObject, _>(channel, |channel| attempt(channel)) {
        Err(failure) if failure.status == Status::TimedOut && timeout_ms != 0 => {
            let channel = handles::get::<ChannelObject>(channel)?.channel().clone();
            Wait::of_ms(timeout_ms).run(waiting(channel))
        }
        done => done,
    }
}

/// Puts the newest value of `key`, at least 1, on a lane. It replaces a value of the key that has not left yet. Waits only if the
/// key is new and the lane is full.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_state(
    channel: u64,
    lane: u8,
    key: u64,
    bytes: *const u8,
    length: usize,
    timeout_ms: i64,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let bytes = unsafe { input("bytes", bytes, length) }?;
        let key = Key::from_raw(key);
        put(
            channel,
            timeout_ms,
            |channel| Ok(channel.lane(lane)?.try_state(key, bytes)?),
            async |channel| channel.lane(lane).state(key, bytes).await,
        )
    })
}

/// Puts an event on a lane: it is delivered exactly once, in order, and after the states that were put before it. Waits while the
/// lane is full.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_event(
    channel: u64,
    lane: u8,
    bytes: *const u8,
    length: usize,
    timeout_ms: i64,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let bytes = unsafe { input("bytes", bytes, length) }?;
        put(
            channel,
            timeout_ms,
            |channel| Ok(channel.lane(lane)?.try_event(bytes)?),
            async |channel| channel.lane(lane).event(bytes).await,
        )
    })
}

/// Puts a command, waits for its reply, and copies the reply into `reply`. A negative timeout means 24 h. If the reply does not fit
/// into `capacity`, it is lost, and `reply_length` is its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_command(
    channel: u64,
    lane: u8,
    bytes: *const u8,
    length: usize,
    timeout_ms: i64,
    reply: *mut u8,
    capacity: usize,
    reply_length: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let (bytes, reply) =
            unsafe { (input("bytes", bytes, length)?, Buffer::new(reply, capacity, reply_length)?) };
        let channel = handles::get::<ChannelObject>(channel)?;
        let answer = wait(channel.lane(lane)?.command(bytes, Wait::of_ms(timeout_ms).left()))?;
        reply.set(&answer)
    })
}

/// Answers a command. `lane` and `number` are the fields `lane` and `key` of its message. Waits while the lane is full.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_reply(
    channel: u64,
    lane: u8,
    number: u64,
    bytes: *const u8,
    length: usize,
    timeout_ms: i64,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let bytes = unsafe { input("bytes", bytes, length) }?;
        let command = CommandId::from_parts(LaneId::new(lane), number);
        put(
            channel,
            timeout_ms,
            |channel| Ok(channel.lane(lane)?.try_reply(command, bytes)?),
            async |channel| channel.reply(command, bytes).await,
        )
    })
}

fn info(received: &Received, bytes: &[u8]) -> MessageInfo {
    let (kind, key) = match received.kind {
        MessageKind::State { key } => (MessageType::State, key.raw()),
        MessageKind::Event => (MessageType::Event, 0),
        MessageKind::Command(id) => (MessageType::Command, id.number()),
        MessageKind::Replication { packet } => (MessageType::Replication, packet),
    };
    MessageInfo {
        kind,
        lane: received.lane.number(),
        key,
        length: bytes.len(),
        produced_ns: since_begin(received.produced_at),
    }
}

fn since_begin(time: Instant) -> i64 {
    let nanoseconds = |duration: Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
    match time.checked_duration_since(*BEGIN) {
        Some(after) => nanoseconds(after),
        None => -nanoseconds(BEGIN.duration_since(time)),
    }
}

/// Receives the next message: copies its bytes into `buffer`, and stores its description in `message`. If the bytes do not fit
/// into `capacity`, nothing is copied, `message->length` is the required size, and the next call receives the same message.
/// Returns `NOWCAST_STATUS_CLOSED` after all messages were received.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_receive(
    channel: u64,
    buffer: *mut u8,
    capacity: usize,
    timeout_ms: i64,
    message: *mut MessageInfo,
) -> Status {
    guard(|| {
        let mut length = 0;
        // SAFETY: rule "Pointers" of the header.
        let (message, buffer) =
            unsafe { (Out::new("message", message)?, Buffer::new(buffer, capacity, &raw mut length)?) };
        let take = |received: &Received, bytes: &[u8]| {
            message.set(info(received, bytes));
            buffer.set(bytes)
        };
        match Wait::of_ms(timeout_ms) {
            Wait::Never => {
                handles::with::<ChannelObject, _>(channel, |channel| channel.receive(Wait::Never, take))
            }
            wait => handles::get::<ChannelObject>(channel)?.receive(wait, take),
        }
    })
}

/// Stores a descriptor in `descriptor`, which is readable while messages wait: for `poll`, `epoll`, or the loop of another
/// language. When it is readable, call `nowcast_receive` (or `nowcast_world_update`) with the timeout 0 until it returns
/// `NOWCAST_STATUS_TIMED_OUT`, which makes the descriptor unreadable. Never read from it, and never close it: it belongs to the
/// channel. The end of the channel makes it readable, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_channel_descriptor(channel: u64, descriptor: *mut i32) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let descriptor = unsafe { Out::new("descriptor", descriptor) }?;
        descriptor.set(handles::get::<ChannelObject>(channel)?.descriptor()?);
        Ok(())
    })
}

/// Waits until all messages put before have arrived at the peer.
#[unsafe(no_mangle)]
pub extern "C" fn nowcast_drained(channel: u64, timeout_ms: i64) -> Status {
    guard(|| {
        let channel = handles::get::<ChannelObject>(channel)?;
        Wait::of_ms(timeout_ms).run(channel.channel().drained())
    })
}

/// Closes the channel at once; messages that have not arrived are lost. The peer receives `code` (0, or 64 and above) and
/// `reason`. Calls that wait on the channel in other threads return `NOWCAST_STATUS_CLOSED`. The handle remains valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_channel_close(channel: u64, code: u32, reason: *const c_char) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let reason = unsafe { text("reason", reason) }?;
        if (1..64).contains(&code) {
            return Err(Failure::argument("codes 1 to 63 belong to the protocol: use 0, or 64 and above"));
        }
        handles::get::<ChannelObject>(channel)?.channel().close(code, reason);
        Ok(())
    })
}

/// Stores the status of the channel in `status`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_channel_status(channel: u64, status: *mut ChannelStatus) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let place = unsafe { Out::new("status", status) }?;
        let status = handles::get::<ChannelObject>(channel)?.channel().status();
        let (phase, closed_code) = match status.phase {
            Phase::Connecting => (ChannelPhase::Connecting, 0),
            Phase::Open => (ChannelPhase::Open, 0),
            Phase::Interrupted => (ChannelPhase::Interrupted, 0),
            Phase::Closed(closed) => (ChannelPhase::Closed, closed.code.0),
        };
        let carrier = match status.carrier {
            None => Carrier::None,
            Some(CarrierKind::SharedMemory) => Carrier::SharedMemory,
            Some(CarrierKind::LocalSocket) => Carrier::LocalSocket,
            Some(CarrierKind::WebTransport) => Carrier::WebTransport,
            Some(CarrierKind::WebSocket) => Carrier::WebSocket,
        };
        place.set(ChannelStatus {
            phase,
            carrier,
            closed_code,
            rtt_ns: status.rtt.map_or(-1, |rtt| i64::try_from(rtt.as_nanos()).unwrap_or(i64::MAX)),
            loss: status.loss,
            superseded: status.superseded,
            resent: status.resent,
            resumed: status.resumed,
        });
        Ok(())
    })
}
