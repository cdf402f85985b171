//! Beginning, resuming and ending a session (`spec/SESSION.md`, sections 4 and 12).
//!
//! **Invariant**: a session has exactly one [`Phase`]. Code that changes the phase returns the notice for the application.

use std::time::Duration;

use crate::config::{Config, Entropy};
use crate::error::{Broken, CloseCode, Closed, ClosedBy, Malformed};
use crate::limits::Limits;
use crate::message::Notice;
use crate::packet::{Data, Frame, HELLO_BYTES_MIN, Hello, Refuse, Resume, VERSION, Welcome};
use crate::time::Time;

/// The phase of a session.
#[derive(Debug)]
enum Phase {
    /// Acceptor: no HELLO has arrived on this carrier yet.
    Listening,
    /// Initiator: HELLO is repeated until it is answered.
    Connecting {
        nonce: [u8; 8],
        began: Time,
        next: Time,
        wait: Duration,
    },
    /// Acceptor: HELLO was answered, and the peer has not proven yet that it receives packets.
    Answered {
        hello: Hello,
        proof: [u8; 8],
        answer_due: bool,
    },
    /// Acceptor: only this refusal remains to be sent.
    Refusing {
        refuse: Refuse,
        /// Whether the session ends with the refusal. Otherwise the session waits for another carrier.
        ends: bool,
    },
    Open,
    Detached {
        /// The time at which the session ends unless a carrier is attached before.
        until: Time,
        /// Whether packets may still arrive on the carrier. The carrier fell silent while the session was open.
        is_attached: bool,
    },
    /// CLOSE is sent, and sent again in answer to packets that still arrive.
    Closing {
        closed: Closed,
        due: bool,
        left: u32,
        until: Time,
    },
    Closed,
}

const HELLO_WAIT_FIRST: Duration = Duration::from_millis(250);
const HELLO_WAIT_MAX: Duration = Duration::from_secs(2);
const CLOSES_MAX: u32 = 3;
const CLOSING_TIME: Duration = Duration::from_secs(1);

/// The initiator's proof, kept until a packet that carries it is acknowledged.
#[derive(Clone, Copy, Debug)]
struct Proof {
    bytes: [u8; 8],
    was_sent: bool,
}

/// The effect of a HELLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// The HELLO is the first on this carrier, and will be accepted.
    First,
    /// The HELLO was answered before, or will be refused.
    Answered,
    /// No HELLO is expected.
    Misplaced,
}

/// The decision whether a data packet is accepted.
#[derive(Debug)]
pub(super) enum Admission {
    /// Accepted: the session is open.
    Open,
    /// Accepted: the packet proved that the peer receives packets at its address.
    Proven(Notice),
    /// Accepted: the silence of the carrier had detached the session, and this packet arrived before another carrier replaced
    /// it.
    Returned(Notice),
    /// Rejected: the session is closed.
    Closed,
    /// Rejected: the peer has not proven yet that it receives packets.
    Unproven,
}

/// The beginning of the session, its peer, and its end.
#[derive(Debug)]
pub(super) struct Handshake {
    /// This side's limits.
    own: Limits,
    /// The peer's limits; our own until the peer announced its limits.
    peer: Limits,
    /// The shorter one of both sides' idle timeouts.
    idle_timeout: Duration,
    resume_timeout: Duration,
    /// Timeout of a handshake.
    timeout: Duration,
    entropy: Entropy,
    is_initiator: bool,
    phase: Phase,
    /// The identity and the resumption token of the session, once it has one.
    identity: Option<Resume>,
    /// The number of carriers that the initiator has tried, including attempts that got no answer.
    epoch: u64,
    proof: Option<Proof>,
}

impl Handshake {
    /// Begins a handshake. An initiator sends HELLO at once; an acceptor waits.
    pub(super) fn new(now: Time, config: &Config, entropy: Entropy, is_initiator: bool) -> Self {
        let mut handshake = Self {
            own: config.limits,
            peer: config.limits,
            idle_timeout: config.limits.idle_timeout,
            resume_timeout: config.limits.resume_timeout,
            timeout: config.handshake_timeout,
            entropy,
            is_initiator,
            phase: Phase::Listening,
            identity: None,
            epoch: 0,
            proof: None,
        };
        if is_initiator {
            handshake.begin_connecting(now);
        }
        handshake
    }

    /// The peer's limits; our own until the peer has announced its limits.
    pub(super) fn peer(&self) -> &Limits {
        &self.peer
    }

    pub(super) fn identity(&self) -> Option<&Resume> {
        self.identity.as_ref()
    }

    /// Silence after which the carrier is regarded as dead.
    pub(super) fn idle_timeout(&self) -> Duration {
        self.idle_timeout
    }

    fn learn_limits(&mut self, peer: Limits) {
        self.peer = peer;
        self.idle_timeout = self.own.idle_timeout.min(peer.idle_timeout);
        self.resume_timeout = self.own.resume_timeout.min(peer.resume_timeout);
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open)
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closing { .. } | Phase::Closed)
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    pub(super) fn is_detached(&self) -> bool {
        matches!(self.phase, Phase::Detached { .. })
    }

    /// Whether packets of the carrier are accepted. They may be accepted even after the carrier fell silent.
    pub(super) fn is_attached(&self) -> bool {
        !matches!(self.phase, Phase::Closed | Phase::Detached { is_attached: false, .. })
    }

    /// The time since which a HELLO waits for an answer.
    pub(super) fn connecting_since(&self) -> Option<Time> {
        match self.phase {
            Phase::Connecting { began, .. } => Some(began),
            _ => None,
        }
    }

    fn begin_connecting(&mut self, now: Time) {
        let nonce = self.entropy.part(0);
        if let Some(identity) = &self.identity {
            self.epoch = self.epoch.max(identity.epoch) + 1;
        }
        self.phase = Phase::Connecting { nonce, began: now, next: now, wait: HELLO_WAIT_FIRST };
    }

    /// Attaches a new carrier. An initiator asks to resume on it; an acceptor waits for HELLO.
    pub(super) fn attach(&mut self, now: Time, entropy: Entropy) {
        self.entropy = entropy;
        self.proof = None;
        if self.is_initiator {
            self.begin_connecting(now);
        } else {
            self.phase = Phase::Listening;
        }
    }

    /// Records that the carrier is known to be dead.
    pub(super) fn detach(&mut self, now: Time) -> Option<Notice> {
        match &mut self.phase {
            Phase::Closing { .. } | Phase::Closed => return None,
            Phase::Detached { is_attached, .. } => {
                *is_attached = false;
                return None;
            }
            _ => {}
        }
        if self.identity.is_none() {
            return self.give_up(now, "the carrier died before the session began");
        }
        // Only a peer that has received our WELCOME can return, and most such peers have proven it.
        let is_unproven = matches!(self.phase, Phase::Answered { .. }) && !self.is_resumed();
        Some(self.begin_detached(now, false, if is_unproven { self.timeout } else { self.resume_timeout }))
    }

    /// Regards the carrier of an open session as dead, only because it is silent.
    pub(super) fn fell_silent(&mut self, now: Time) -> Notice {
        self.begin_detached(now, true, self.resume_timeout)
    }

    fn begin_detached(&mut self, now: Time, is_attached: bool, timeout: Duration) -> Notice {
        self.phase = Phase::Detached { until: now + timeout, is_attached };
        Notice::Detached
    }

    /// Ends the session; the peer is informed if possible.
    pub(super) fn end(&mut self, now: Time, closed: Closed) -> Option<Notice> {
        if self.is_closed() {
            return None;
        }
        let tells_peer = self.is_open() && closed.by == ClosedBy::Us;
        let notice = Notice::Closed(closed.clone());
        self.phase = if tells_peer {
            Phase::Closing { closed, due: true, left: CLOSES_MAX, until: now + CLOSING_TIME }
        } else {
            Phase::Closed
        };
        Some(notice)
    }

    /// Whether the newest HELLO of an acceptor's peer resumed the session.
    fn is_resumed(&self) -> bool {
        self.identity.is_some_and(|identity| identity.epoch > 0)
    }

    fn give_up(&mut self, now: Time, reason: &str) -> Option<Notice> {
        let reason = reason.to_owned();
        self.end(now, Closed { code: CloseCode::GAVE_UP, reason, by: ClosedBy::Silence })
    }

    /// Whether a HELLO may resume this session. The comparison takes the same time for every token.
    pub(super) fn check_resume(&self, resume: &Resume) -> Result<(), CloseCode> {
        let Some(identity) = self.identity.filter(|_| !self.is_closed() && !self.is_initiator) else {
            return Err(CloseCode::UNKNOWN_SESSION);
        };
        if identity.session != resume.session {
            return Err(CloseCode::UNKNOWN_SESSION);
        }
        let difference =
            identity.token.iter().zip(&resume.token).fold(0, |difference, (a, b)| difference | (a ^ b));
        if difference != 0 || resume.epoch <= identity.epoch {
            return Err(CloseCode::WRONG_TOKEN);
        }
        Ok(())
    }

    /// Refuses a malformed packet from a peer that is not proven, on a carrier on which only the peer can be at fault. The peer
    /// is informed, because its programmer would otherwise assume that the server is down.
    pub(super) fn refuse_malformed(&mut self, packet: &[u8], malformed: &Malformed) {
        let (nonce, ends) = match &self.phase {
            Phase::Listening => (nonce_of(packet), self.identity.is_none()),
            Phase::Answered { hello, .. } => {
                (hello.nonce, self.identity.is_none_or(|identity| identity.epoch == 0))
            }
            _ => return,
        };
        let refuse = Refuse { nonce, ..unreadable(packet, malformed) };
        self.phase = Phase::Refusing { refuse, ends };
    }

    pub(super) fn on_hello(&mut self, hello: Hello) -> Heard {
        match &mut self.phase {
            Phase::Listening if !self.is_initiator => {}
            Phase::Answered { hello: answered, answer_due, .. } if answered.nonce == hello.nonce => {
                answered.clock = hello.clock;
                *answer_due = true;
                return Heard::Answered;
            }
            _ => return Heard::Misplaced,
        }
        if let Err((code, text)) = self.admit(&hello) {
            // The session belongs to another peer, so a HELLO with a wrong token must not end it.
            let ends = self.identity.is_none();
            self.phase = Phase::Refusing { refuse: Refuse::new(hello.nonce, code, text), ends };
            return Heard::Answered;
        }
        let identity = match (self.identity, hello.resume) {
            (Some(identity), Some(resume)) => Resume { epoch: resume.epoch, ..identity },
            _ => Resume { session: self.entropy.part(8), token: self.entropy.part(16), epoch: 0 },
        };
        self.identity = Some(identity);
        self.learn_limits(hello.limits);
        self.phase = Phase::Answered { hello, proof: self.entropy.part(32), answer_due: true };
        Heard::First
    }

    fn admit(&self, hello: &Hello) -> Result<(), (CloseCode, &'static str)> {
        if !(hello.version_min..=hello.version_max).contains(&VERSION) {
            return Err((CloseCode::VERSION, "this peer speaks version 1 only"));
        }
        match (&self.identity, &hello.resume) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err((CloseCode::UNKNOWN_SESSION, "there is no such session here")),
            (Some(_), None) => Err((CloseCode::WRONG_TOKEN, "the carrier is for a session to resume")),
            (Some(_), Some(resume)) => {
                self.check_resume(resume).map_err(|code| (code, "the resume token or epoch is wrong"))?;
                if shrinks(&self.peer, &hello.limits) {
                    return Err((CloseCode::VIOLATION, "limits shrank"));
                }
                Ok(())
            }
        }
    }

    /// Handles the answer to our HELLO. Returns `None` if no such answer is awaited. `fits` states whether the peer accepts all
    /// messages that were put before.
    pub(super) fn on_welcome(&mut self, welcome: &Welcome, fits: bool) -> Result<Option<Notice>, Broken> {
        let is_awaited = matches!(&self.phase, Phase::Connecting { nonce, .. } if *nonce == welcome.nonce);
        if !is_awaited {
            return Ok(None);
        }
        if welcome.version != VERSION {
            return Err(Broken::violation("a version that was not offered"));
        }
        let resumed = self.identity.is_some();
        if let Some(identity) = &self.identity {
            let is_same = identity.session == welcome.resume.session
                && welcome.resume.epoch == self.epoch
                && !shrinks(&self.peer, &welcome.limits);
            if !is_same {
                return Err(Broken::violation("another session than the one to resume"));
            }
        }
        if !fits {
            return Err(Broken::limit("a message exceeds the limits of the peer"));
        }
        self.identity = Some(welcome.resume);
        self.learn_limits(welcome.limits);
        self.proof = Some(Proof { bytes: welcome.proof, was_sent: false });
        self.phase = Phase::Open;
        Ok(Some(Notice::Opened { resumed }))
    }

    /// Handles a refusal. Returns `None` if no refusal is awaited. `is_reliable` states that only the peer can have sent it.
    pub(super) fn on_refuse(&mut self, now: Time, refuse: Refuse, is_reliable: bool) -> Option<Notice> {
        if !self.awaits(&refuse, is_reliable) {
            return None;
        }
        let reason = if refuse.code == CloseCode::VERSION {
            let (min, max) = (refuse.version_min, refuse.version_max);
            format!("the peer speaks versions {min} to {max}, we speak {VERSION}")
        } else {
            refuse.text
        };
        self.end(now, Closed { code: refuse.code, reason, by: ClosedBy::Peer })
    }

    /// Whether a refusal belongs to our HELLO and is still awaited.
    fn awaits(&self, refuse: &Refuse, is_reliable: bool) -> bool {
        let is_ours = refuse.nonce == self.entropy.part(0);
        match &self.phase {
            // The peer may have been unable to read our nonce.
            Phase::Connecting { .. } => is_ours || is_reliable && refuse.nonce == NONCE_UNREAD,
            Phase::Open => is_reliable && is_ours && self.proof.is_some(),
            _ => false,
        }
    }

    /// Decides whether a data packet is accepted.
    pub(super) fn admit_data(&mut self, data: &Data<'_>) -> Admission {
        match &mut self.phase {
            Phase::Open => Admission::Open,
            Phase::Answered { proof, .. } => {
                let proof = Frame::Proof(*proof);
                if !data.frames().any(|frame| frame == proof) {
                    return Admission::Unproven;
                }
                let resumed = self.is_resumed();
                self.phase = Phase::Open;
                Admission::Proven(Notice::Opened { resumed })
            }
            Phase::Detached { is_attached: true, .. } => {
                self.phase = Phase::Open;
                Admission::Returned(Notice::Opened { resumed: true })
            }
            Phase::Closing { due, left, .. } => {
                // CLOSE is sent again, unless the peer has sent one itself.
                *due = *left > 0;
                if data.frames().any(|frame| matches!(frame, Frame::Close { .. })) {
                    self.phase = Phase::Closed;
                }
                Admission::Closed
            }
            _ => Admission::Unproven,
        }
    }

    /// Whether a packet must leave to carry the proof.
    pub(super) fn proof_is_due(&self) -> bool {
        self.proof.is_some_and(|proof| !proof.was_sent)
    }

    /// Returns the proof for a packet that leaves now, if one is due.
    pub(super) fn take_proof(&mut self) -> Option<[u8; 8]> {
        let proof = self.proof.as_mut()?;
        proof.was_sent = true;
        Some(proof.bytes)
    }

    /// Drops the proof, because the peer has it or the path has changed.
    pub(super) fn forget_proof(&mut self) {
        self.proof = None;
    }

    /// Handles the timeouts before and after the session is open.
    pub(super) fn handle_timeout(&mut self, now: Time, last_heard: Time) -> Option<Notice> {
        match &self.phase {
            Phase::Connecting { began, .. } if now.since(*began) >= self.timeout => {
                if self.identity.is_some() {
                    return self.detach(now);
                }
                self.give_up(now, "no answer within the handshake time-out")
            }
            Phase::Answered { .. } if now.since(last_heard) >= self.timeout => {
                if self.is_resumed() {
                    return self.detach(now);
                }
                self.give_up(now, "the peer was not proven within the handshake time-out")
            }
            Phase::Detached { until, .. } if now >= *until => {
                self.give_up(now, "no new carrier within the resume time-out")
            }
            Phase::Closing { until, .. } if now >= *until => {
                self.phase = Phase::Closed;
                None
            }
            _ => None,
        }
    }

    /// Returns the time at which [`Self::handle_timeout`] or [`Self::write`] is due; `None` while the session is open.
    pub(super) fn due_at(&self, now: Time, last_heard: Time) -> Option<Time> {
        match &self.phase {
            Phase::Connecting { began, next, .. } => Some((*next).min(*began + self.timeout)),
            Phase::Answered { answer_due: true, .. } | Phase::Refusing { .. } => Some(now),
            Phase::Answered { .. } => Some(last_heard + self.timeout),
            Phase::Detached { until, .. } => Some(*until),
            Phase::Closing { due: true, .. } => Some(now),
            Phase::Closing { until, .. } => Some(*until),
            Phase::Open | Phase::Listening | Phase::Closed => None,
        }
    }

    /// Writes the packet of the handshake that is due, if any. Returns whether a packet was written, and a notice if nothing
    /// follows on this carrier.
    pub(super) fn write(&mut self, now: Time, out: &mut Vec<u8>) -> (bool, Option<Notice>) {
        match &mut self.phase {
            Phase::Connecting { nonce, next, wait, .. } if now >= *next => {
                *next = now + *wait;
                *wait = (*wait * 2).min(HELLO_WAIT_MAX);
                let resume = self.identity.map(|resume| Resume { epoch: self.epoch, ..resume });
                let hello = Hello {
                    version_min: VERSION,
                    version_max: VERSION,
                    nonce: *nonce,
                    clock: now.as_micros(),
                    limits: self.own,
                    resume,
                };
                hello.write(out);
                (true, None)
            }
            Phase::Answered { hello, proof, answer_due } if *answer_due => {
                *answer_due = false;
                let welcome = Welcome {
                    version: VERSION,
                    nonce: hello.nonce,
                    proof: *proof,
                    resume: self.identity.expect("an answered session has its identity"),
                    hello_clock: hello.clock,
                    clock: now.as_micros(),
                    limits: self.own,
                };
                let start = out.len();
                welcome.write(out);
                debug_assert!(out.len() - start <= HELLO_BYTES_MIN, "no answer is longer than its request");
                (true, None)
            }
            Phase::Refusing { refuse, ends } => {
                refuse.write(out);
                let closed = Closed { code: refuse.code, reason: refuse.text.clone(), by: ClosedBy::Us };
                let notice = if *ends {
                    self.end(now, closed)
                } else {
                    Some(self.begin_detached(now, false, self.resume_timeout))
                };
                (true, notice)
            }
            _ => (false, None),
        }
    }

    /// Returns the content of a CLOSE that is due. The CLOSE is then no longer due.
    pub(super) fn take_close(&mut self) -> Option<&Closed> {
        match &mut self.phase {
            Phase::Closing { closed, due, left, .. } if *due && *left > 0 => {
                *due = false;
                *left -= 1;
                Some(closed)
            }
            _ => None,
        }
    }
}

/// Appends the refusal of a first packet that cannot be read as a HELLO.
pub(super) fn write_unreadable(packet: &[u8], malformed: &Malformed, out: &mut Vec<u8>) {
    unreadable(packet, malformed).write(out);
}

/// The nonce in the refusal of a HELLO whose own nonce could not be read.
const NONCE_UNREAD: [u8; 8] = [0; 8];

/// The nonce of a possible HELLO, if it can be read.
fn nonce_of(packet: &[u8]) -> [u8; 8] {
    Hello::read_nonce(packet).unwrap_or(NONCE_UNREAD)
}

fn unreadable(packet: &[u8], malformed: &Malformed) -> Refuse {
    Refuse::new(nonce_of(packet), CloseCode::MALFORMED, &malformed.to_string())
}

fn shrinks(before: &Limits, after: &Limits) -> bool {
    after.lanes_max < before.lanes_max
        || after.window_bytes < before.window_bytes
        || after.message_bytes_max < before.message_bytes_max
}
