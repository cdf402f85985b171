//! The end of a session that the TypeScript implementation runs in a process of Node.
//!
//! The head of `packages/nowcast/test/session/peer.mjs` describes the protocol. Requests and answers pass through pipes in
//! lock-step, so both sides share the virtual time. One process serves all scenarios, one after the other.
//!
//! Scenarios change the byte budgets of lanes and of the session only on a [`Session`](nowcast_session::Session), and not on this
//! end. The TypeScript session accepts its budgets only at its beginning.

use std::cell::RefCell;
use std::io::{self, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use crate::endpoint::{Endpoint, Polled, PolledMessage, Status, Traffic};
use crate::pair::End;
use crate::scenario::OtherImplementation;
use nowcast_session::packet::Resume;
use nowcast_session::{
    Carrier, CloseCode, Closed, ClosedBy, Entropy, Limits, MessageKind, Notice, Refused, Source, Time,
};

/// The reason why the TypeScript end is not available. Each message states a solution.
#[derive(Debug, thiserror::Error)]
pub enum PeerMissing {
    /// The script does not exist. It is part of the checkout, not of the program.
    #[error("there is no {}: run this in a checkout of nowcast, or name the file in {PEER_VARIABLE}", .0.display())]
    Script(PathBuf),
    /// The compiled output of the package, which the peer runs, does not exist.
    #[error("the TypeScript session is not built: run `npm install && npm run build --workspace nowcast`")]
    Build,
    /// Node cannot be started.
    #[error("cannot start `node`: install Node 20 or newer (Debian: `apt-get install nodejs`): {0}")]
    Node(io::Error),
}

/// The environment variable that names the script.
pub const PEER_VARIABLE: &str = "NOWCAST_TYPESCRIPT_PEER";
/// The path of the script in a checkout.
pub const PEER_PATH: &str = "packages/nowcast/test/session/peer.mjs";

/// A process that serves as one end of a pair. It serves one pair at a time.
#[derive(Clone, Debug)]
pub struct Peer(Rc<RefCell<Process>>);

impl Peer {
    /// Starts Node with the script at `path`.
    ///
    /// # Errors
    /// [`PeerMissing`] names the missing program.
    pub fn start(path: &Path) -> Result<Self, PeerMissing> {
        let script = path.canonicalize().map_err(|_| PeerMissing::Script(path.to_owned()))?;
        let package = script.ancestors().nth(3).unwrap_or(&script);
        if !package.join("dist/index.js").is_file() {
            return Err(PeerMissing::Build);
        }
        let mut child = Command::new("node")
            .arg(&script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(PeerMissing::Node)?;
        let requests = BufWriter::new(child.stdin.take().expect("the standard input is piped"));
        let answers = BufReader::new(child.stdout.take().expect("the standard output is piped"));
        Ok(Self(Rc::new(RefCell::new(Process { child, requests: Some(requests), answers }))))
    }

    fn send(&self, request: &Request) {
        self.0.borrow_mut().send(request).expect("the TypeScript end is running");
    }

    fn ask(&self, request: &Request) -> Answer {
        self.send(request);
        let answer = self.0.borrow_mut().receive().expect("the TypeScript end is running");
        let (operation, body) = answer.split_first().expect("an answer names its operation");
        let text = String::from_utf8_lossy(body);
        assert_ne!(*operation, FAILED, "the TypeScript end threw: {text}");
        assert_eq!(*operation, request.0[0], "answers come in the order of requests");
        Answer { bytes: body.to_vec(), offset: 0 }
    }
}

#[derive(Debug)]
struct Process {
    child: Child,
    /// `None` once the process should end.
    requests: Option<BufWriter<ChildStdin>>,
    answers: BufReader<ChildStdout>,
}

impl Process {
    fn send(&mut self, request: &Request) -> io::Result<()> {
        let requests = self.requests.as_mut().expect("requests are sent before the end");
        requests.write_all(&(request.0.len() as u32).to_le_bytes())?;
        requests.write_all(&request.0)
    }

    fn receive(&mut self) -> io::Result<Vec<u8>> {
        self.requests.as_mut().expect("answers come before the end").flush()?;
        let mut length = [0; 4];
        self.answers.read_exact(&mut length)?;
        let mut answer = vec![0; u32::from_le_bytes(length) as usize];
        self.answers.read_exact(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for Process {
    /// The process ends when its standard input closes.
    fn drop(&mut self) {
        self.requests = None;
        let _ = self.child.wait();
    }
}

const BEGIN: u8 = 1;
const PACKET: u8 = 2;
const WAKE: u8 = 3;
const PUT_STATE: u8 = 4;
const PUT_EVENT: u8 = 5;
const READ: u8 = 6;
const DETACH: u8 = 7;
const ATTACH: u8 = 8;
const FAILED: u8 = 255;

const EVENT: u8 = 0;
const COMMAND: u8 = 1;
const REPLY: u8 = 2;
const STATE: u8 = 255;

/// A session of the TypeScript SDK.
#[derive(Debug)]
struct Foreign {
    peer: Peer,
    role: End,
    message_bytes_max: usize,
    status: Status,
    is_closed: bool,
    ticket: Option<Resume>,
    traffic: Traffic,
}

impl Foreign {
    fn read_status(&mut self, answer: &mut Answer) {
        let bits = answer.u8();
        let has = |bit: u8| bits & (1 << bit) != 0;
        self.is_closed = has(2);
        self.status = Status { is_open: has(0), is_detached: has(1), is_drained: has(3), knows_peer: has(4) };
        self.ticket = has(4).then(|| Resume {
            session: answer.array(),
            token: answer.array(),
            epoch: u64::from_le_bytes(answer.array()),
        });
    }

    fn put(
        &mut self,
        request: Request,
        lane_kind: (u8, u8),
        patience: Duration,
        answers: u64,
        payload: &[u8],
    ) -> Result<u64, Refused> {
        let (lane, kind) = lane_kind;
        let request = request.u8(lane).u8(kind).f64(patience.as_micros() as f64).u64(answers).bytes(payload);
        let mut answer = self.peer.ask(&request);
        self.outcome(answer.u8(), payload)?;
        Ok(answer.u64())
    }

    fn outcome(&mut self, outcome: u8, payload: &[u8]) -> Result<(), Refused> {
        match outcome {
            0 | 1 => {
                self.status.is_drained = false;
                Ok(())
            }
            2 => Err(Refused::Full),
            3 => Err(Refused::TooLarge { bytes: payload.len(), bytes_max: self.message_bytes_max }),
            other => panic!("the protocol has no outcome {other}"),
        }
    }
}

impl OtherImplementation for Peer {
    fn begin(
        &self,
        end: End,
        now: Time,
        carrier: Carrier,
        limits: &Limits,
        entropy: Entropy,
    ) -> Box<dyn Endpoint> {
        let request = Request::new(BEGIN, now).u8(end as u8).carrier(carrier).bytes(&entropy.0);
        self.ask(&request.u32(limits.window_bytes).u32(limits.message_bytes_max));
        Box::new(Foreign {
            peer: self.clone(),
            role: end,
            message_bytes_max: limits.message_bytes_max as usize,
            status: Status::default(),
            is_closed: false,
            ticket: None,
            traffic: Traffic::default(),
        })
    }
}

impl Endpoint for Foreign {
    fn handle_packet(&mut self, now: Time, packet: &[u8]) {
        self.peer.send(&Request::new(PACKET, now).bytes(packet));
    }

    fn wake(&mut self, now: Time, _: &mut dyn Source, packets: &mut Vec<Vec<u8>>) -> Option<Time> {
        let mut answer = self.peer.ask(&Request::new(WAKE, now));
        let next = answer.f64();
        self.read_status(&mut answer);
        let count = answer.u32();
        self.traffic.packets_sent += u64::from(count);
        packets.extend((0..count).map(|_| answer.blob()));
        assert!(!next.is_nan(), "the TypeScript end returned an invalid time for its timer");
        (next >= 0.0).then(|| Time::from_micros(next.ceil() as u64))
    }

    fn detach(&mut self, now: Time) {
        let mut answer = self.peer.ask(&Request::new(DETACH, now));
        self.read_status(&mut answer);
    }

    fn attach(&mut self, now: Time, carrier: Carrier, entropy: Entropy) {
        let request = Request::new(ATTACH, now).u8(self.role as u8).carrier(carrier).bytes(&entropy.0);
        let mut answer = self.peer.ask(&request);
        self.read_status(&mut answer);
    }

    fn may_resume(&self, resume: &Resume) -> bool {
        let is_it = |ours: Resume| {
            ours.session == resume.session && ours.token == resume.token && ours.epoch < resume.epoch
        };
        self.role == End::Acceptor && !self.is_closed && self.ticket.is_some_and(is_it)
    }

    fn put_state(&mut self, now: Time, lane: u8, key: u64, value: &[u8]) -> Result<(), Refused> {
        let mut answer = self.peer.ask(&Request::new(PUT_STATE, now).u8(lane).u64(key).bytes(value));
        self.outcome(answer.u8(), value)
    }

    fn put_event(&mut self, now: Time, lane: u8, payload: &[u8]) -> Result<(), Refused> {
        self.put(Request::new(PUT_EVENT, now), (lane, EVENT), Duration::ZERO, 0, payload).map(drop)
    }

    fn put_command(
        &mut self,
        now: Time,
        lane: u8,
        payload: &[u8],
        patience: Duration,
    ) -> Result<u64, Refused> {
        self.put(Request::new(PUT_EVENT, now), (lane, COMMAND), patience, 0, payload)
    }

    fn put_reply(&mut self, now: Time, lane: u8, command: u64, payload: &[u8]) -> Result<(), Refused> {
        self.put(Request::new(PUT_EVENT, now), (lane, REPLY), Duration::ZERO, command, payload).map(drop)
    }

    fn read(&mut self, now: Time, with_messages: bool) -> Polled {
        let mut answer = self.peer.ask(&Request::new(READ, now).u8(with_messages.into()));
        let mut polled = Polled::default();
        for _ in 0..answer.u32() {
            polled.messages.push(answer.message());
        }
        for _ in 0..answer.u32() {
            match answer.notice() {
                News::Notice(notice) => polled.notices.push(notice),
                News::Reply(reply) => polled.messages.push(reply),
            }
        }
        self.traffic.messages_received += polled.messages.len() as u64;
        polled
    }

    fn set_bytes_per_second_max(&mut self, _: Option<u64>) {}

    fn status(&self) -> Status {
        self.status
    }

    fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn describe(&self) -> String {
        format!("in TypeScript, {:?}, {:?}", self.status, self.traffic)
    }
}

/// An operation and its body.
struct Request(Vec<u8>);

impl Request {
    fn new(operation: u8, now: Time) -> Self {
        Self(vec![operation]).f64(now.as_micros() as f64)
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn u8(self, value: u8) -> Self {
        self.bytes(&[value])
    }

    fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    fn u64(self, value: u64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    fn f64(self, value: f64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    fn carrier(self, carrier: Carrier) -> Self {
        self.u8(carrier.is_reliable.into()).bytes(&carrier.packet_bytes_max.to_le_bytes())
    }
}

/// The body of an answer. It is read from start to end. The process is part of the test, so a body that is too short causes a
/// panic.
struct Answer {
    bytes: Vec<u8>,
    offset: usize,
}

enum News {
    Notice(Notice),
    /// The TypeScript session reports replies among its notices.
    Reply(PolledMessage),
}

impl Answer {
    fn array<const N: usize>(&mut self) -> [u8; N] {
        self.offset += N;
        self.bytes[self.offset - N..self.offset].try_into().expect("the length is right")
    }

    fn u8(&mut self) -> u8 {
        let [byte] = self.array();
        byte
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    fn f64(&mut self) -> f64 {
        f64::from_le_bytes(self.array())
    }

    fn blob(&mut self) -> Vec<u8> {
        let length = self.u32() as usize;
        self.offset += length;
        self.bytes[self.offset - length..self.offset].to_vec()
    }

    fn message(&mut self) -> PolledMessage {
        let (lane, kind, number) = (self.u8(), self.u8(), self.u64());
        let kind = match kind {
            STATE => MessageKind::State { key: number },
            EVENT => MessageKind::Event,
            COMMAND => MessageKind::Command { command: number },
            other => panic!("the protocol has no message of kind {other}"),
        };
        PolledMessage { lane, kind, payload: self.blob() }
    }

    fn notice(&mut self) -> News {
        let (kind, lane, id, payload) = (self.u8(), self.u8(), self.u64(), self.blob());
        News::Notice(match kind {
            0 | 1 => Notice::Opened { resumed: kind == 1 },
            2 => Notice::Detached,
            3 => Notice::Closed(Closed {
                code: CloseCode(id as u32),
                reason: String::from_utf8_lossy(&payload).into_owned(),
                by: [ClosedBy::Us, ClosedBy::Peer, ClosedBy::Silence][usize::from(lane)],
            }),
            4 => Notice::CommandTimedOut { lane, command: id },
            5 => {
                return News::Reply(PolledMessage {
                    lane,
                    kind: MessageKind::Reply { command: id },
                    payload,
                });
            }
            other => panic!("the protocol has no notice {other}"),
        })
    }
}
