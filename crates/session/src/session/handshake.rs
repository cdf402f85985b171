//! Beginning, resuming and ending (`spec/SESSION.md`, sections 4 and 12).

use std::time::Duration;

use super::outage::Outage;
use super::{AckState, Proof, Session};
use crate::config::{Carrier, Entropy};
use crate::error::{CloseCode, Closed, ClosedBy, Malformed};
use crate::message::Notice;
use crate::packet::{self, HELLO_BYTES_MIN, Hello, Refuse, Resume, VERSION, Welcome};
use crate::rtt::Rtt;
use crate::time::Time;

/// Where a session stands.
#[derive(Debug)]
pub(super) enum Phase {
    /// Acceptor: no HELLO came yet on this carrier.
    Listening,
    /// Initiator: HELLO is repeated until it is answered.
    Connecting {
        nonce: [u8; 8],
        began: Time,
        next: Time,
        wait: Duration,
    },
    /// Acceptor: HELLO was answered, the peer is not proven.
    Answered {
        hello: Hello,
        proof: [u8; 8],
        answer_due: bool,
    },
    /// Acceptor: what is left to do is to send this refusal.
    Refusing {
        refuse: Refuse,
        /// Nothing is left of the session then; otherwise it waits for another carrier.
        ends: bool,
    },
    Open,
    Detached {
        since: Time,
        /// The carrier fell silent while the session was open; it may still be heard again.
        is_attached: bool,
    },
    /// CLOSE is sent, and again as answer to what still arrives.
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

impl Session {
    pub(super) fn begin_connecting(&mut self, now: Time) {
        let nonce = self.entropy.part(0);
        if let Some(identity) = &self.identity {
            self.epoch = self.epoch.max(identity.epoch) + 1;
        }
        self.phase = Phase::Connecting { nonce, began: now, next: now, wait: HELLO_WAIT_FIRST };
    }

    /// Goes on with the session over another carrier; the old one is no longer used. `entropy` must be fresh.
    ///
    /// An acceptor that serves many sessions reads a HELLO with [`Hello::read`], finds the session it names, asks it
    /// [`check_resume`](Self::check_resume), attaches the carrier and handles the HELLO.
    pub fn attach(&mut self, now: Time, carrier: Carrier, entropy: Entropy) {
        if self.is_closed() {
            return;
        }
        self.carrier = carrier;
        let seed = self.entropy.part::<8>(40);
        self.entropy = entropy;
        // The tables of the lanes go on, and so does their seed.
        self.entropy.0[40..].copy_from_slice(&seed);
        self.lose_everything();
        self.outgoing.iter_mut().flatten().for_each(|lane| lane.change_carrier());
        self.forget_path();
        self.last_heard = now;
        if self.is_initiator {
            self.begin_connecting(now);
        } else {
            self.phase = Phase::Listening;
        }
    }

    /// The carrier is known to be dead, before its silence shows it.
    pub fn detach(&mut self, now: Time) {
        match &mut self.phase {
            Phase::Closing { .. } | Phase::Closed => return,
            Phase::Detached { is_attached, .. } => {
                *is_attached = false;
                return;
            }
            _ => {}
        }
        if self.identity.is_none() {
            let reason = "the carrier died before the session began".to_owned();
            self.end(now, Closed { code: CloseCode::GAVE_UP, reason, by: ClosedBy::Silence });
            return;
        }
        self.begin_detached(now, false);
    }

    pub(super) fn begin_detached(&mut self, now: Time, is_attached: bool) {
        self.phase = Phase::Detached { since: now, is_attached };
        self.ack.forget();
        self.is_probe_due = false;
        self.tell(Notice::Detached);
    }

    /// The same carrier runs over another path: what was learned of the old one no longer holds.
    pub fn handle_path_change(&mut self) {
        self.forget_path();
    }

    /// Whether a HELLO may take over this session; the comparison takes the same time for every token.
    ///
    /// # Errors
    /// The code to refuse it with.
    pub fn check_resume(&self, resume: &Resume) -> Result<(), CloseCode> {
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

    /// Appends the refusal of a HELLO for which there is no session object, as a carrier without session would send it.
    pub fn refuse(hello: &Hello, code: CloseCode, text: &str, carrier: Carrier, out: &mut Vec<u8>) {
        let start = out.len();
        Refuse::new(hello.nonce, code, text).write(out);
        if !carrier.is_checked {
            packet::seal(out, start);
        }
    }

    /// Appends the refusal of a first packet that is no HELLO, or none that can be read, where the carrier is one on which
    /// only its sender can be at fault: `false` on others, where such packets are dropped.
    pub fn refuse_first(packet: &[u8], malformed: &Malformed, carrier: Carrier, out: &mut Vec<u8>) -> bool {
        if carrier.is_reliable && carrier.is_checked {
            unreadable(packet, malformed).write(out);
        }
        carrier.is_reliable && carrier.is_checked
    }

    /// A peer that is not proven sent what cannot be read. Where it arrived as it was sent, the peer is told: to its
    /// programmer silence would look like a dead server.
    pub(super) fn refuse_malformed(&mut self, packet: &[u8], malformed: &Malformed) {
        if !(self.carrier.is_reliable && self.carrier.is_checked) {
            return;
        }
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

    pub(super) fn on_hello(&mut self, now: Time, hello: Hello) {
        match &mut self.phase {
            Phase::Listening if !self.is_initiator => {}
            Phase::Answered { hello: answered, answer_due, .. } if answered.nonce == hello.nonce => {
                answered.clock = hello.clock;
                *answer_due = true;
                return;
            }
            _ => {
                self.stats.dropped.misplaced += 1;
                return;
            }
        }
        if let Err((code, text)) = self.admit(&hello) {
            // A wrong token must not end the session that it does not belong to.
            let ends = self.identity.is_none();
            self.phase = Phase::Refusing { refuse: Refuse::new(hello.nonce, code, text), ends };
            return;
        }
        let identity = match (self.identity, hello.resume) {
            (Some(identity), Some(resume)) => Resume { epoch: resume.epoch, ..identity },
            _ => Resume { session: self.entropy.part(8), token: self.entropy.part(16), epoch: 0 },
        };
        let is_resumed = self.identity.is_some();
        if is_resumed && shrinks(&self.peer, &hello.limits) {
            let refuse = Refuse::new(hello.nonce, CloseCode::VIOLATION, "limits shrank");
            self.phase = Phase::Refusing { refuse, ends: false };
            return;
        }
        self.identity = Some(identity);
        self.learn_limits(&hello);
        self.last_heard = now;
        self.clock.guess(now, hello.clock);
        self.phase = Phase::Answered { hello, proof: self.entropy.part(32), answer_due: true };
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
                self.check_resume(resume).map_err(|code| (code, "the resume token or epoch is wrong"))
            }
        }
    }

    fn learn_limits(&mut self, hello: &Hello) {
        self.peer = hello.limits;
        self.idle_timeout = self.config.limits.idle_timeout.min(self.peer.idle_timeout);
        self.resume_timeout = self.config.limits.resume_timeout.min(self.peer.resume_timeout);
    }

    pub(super) fn on_welcome(&mut self, now: Time, welcome: &Welcome) {
        let is_awaited = matches!(&self.phase, Phase::Connecting { nonce, .. } if *nonce == welcome.nonce);
        if !is_awaited {
            self.stats.dropped.misplaced += 1;
            return;
        }
        if welcome.version != VERSION {
            self.break_off(now, CloseCode::VIOLATION, "a version that was not offered");
            return;
        }
        let is_resumed = self.identity.is_some();
        if let Some(identity) = &self.identity {
            let is_same = identity.session == welcome.resume.session
                && welcome.resume.epoch == self.epoch
                && !shrinks(&self.peer, &welcome.limits);
            if !is_same {
                self.break_off(now, CloseCode::VIOLATION, "another session than the one to resume");
                return;
            }
        }
        let fits = self.largest_put <= welcome.limits.message_bytes_max as usize
            && self.highest_lane < welcome.limits.lanes_max;
        if !fits {
            self.break_off(now, CloseCode::LIMIT_EXCEEDED, "what was put exceeds what the peer accepts");
            return;
        }
        self.identity = Some(welcome.resume);
        self.peer = welcome.limits;
        self.idle_timeout = self.config.limits.idle_timeout.min(self.peer.idle_timeout);
        self.resume_timeout = self.config.limits.resume_timeout.min(self.peer.resume_timeout);
        self.last_heard = now;
        self.clock.guess(now, welcome.clock);
        if welcome.hello_clock <= now.as_micros() {
            let sent = Time::from_micros(welcome.hello_clock);
            self.clock.sample(sent, welcome.clock as i64, welcome.clock as i64, now);
            self.rtt.sample(now.since(sent), Duration::ZERO);
        }
        self.proof = Some(Proof { bytes: welcome.proof, was_sent: false });
        self.phase = Phase::Open;
        self.tell(Notice::Opened { resumed: is_resumed });
    }

    pub(super) fn on_refuse(&mut self, now: Time, refuse: Refuse) {
        if !self.awaits(&refuse) {
            self.stats.dropped.misplaced += 1;
            return;
        }
        let reason = if refuse.code == CloseCode::VERSION {
            let (min, max) = (refuse.version_min, refuse.version_max);
            format!("the peer speaks versions {min} to {max}, we speak {VERSION}")
        } else {
            refuse.text
        };
        self.end(now, Closed { code: refuse.code, reason, by: ClosedBy::Peer });
    }

    /// Whether a refusal is for us, and not too late.
    fn awaits(&self, refuse: &Refuse) -> bool {
        let is_ours = refuse.nonce == self.entropy.part(0);
        // Nobody but the peer can say anything on such a carrier, and it may not have been able to read our nonce.
        let is_trusted = self.carrier.is_reliable && self.carrier.is_checked;
        match &self.phase {
            Phase::Connecting { .. } => is_ours || is_trusted && refuse.nonce == NONCE_UNREAD,
            Phase::Open => is_trusted && is_ours && self.proof.is_some(),
            _ => false,
        }
    }

    /// The peer showed that it receives at its address.
    pub(super) fn on_proof(&mut self) {
        let resumed = self.identity.is_some_and(|identity| identity.epoch > 0);
        self.phase = Phase::Open;
        // The answer to a first PING tells round trip and clock before anything else is sent.
        self.is_probe_due = true;
        self.tell(Notice::Opened { resumed });
    }

    /// Ends the session; the peer is told if it can be.
    pub(super) fn end(&mut self, now: Time, closed: Closed) {
        if self.is_closed() {
            return;
        }
        let tells = matches!(self.phase, Phase::Open) && closed.by == ClosedBy::Us;
        self.tell(Notice::Closed(closed.clone()));
        self.phase = if tells {
            Phase::Closing { closed, due: true, left: CLOSES_MAX, until: now + CLOSING_TIME }
        } else {
            Phase::Closed
        };
    }

    pub(super) fn break_off(&mut self, now: Time, code: CloseCode, reason: &str) {
        self.end(now, Closed { code, reason: reason.to_owned(), by: ClosedBy::Us });
    }

    /// Writes the packet of the handshake that is due, if any.
    pub(super) fn write_handshake(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
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
                    limits: self.config.limits,
                    resume,
                };
                hello.write(out);
                true
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
                    limits: self.config.limits,
                };
                let start = out.len();
                welcome.write(out);
                debug_assert!(out.len() - start <= HELLO_BYTES_MIN, "no answer is longer than its request");
                true
            }
            Phase::Refusing { refuse, ends } => {
                refuse.write(out);
                let closed = Closed { code: refuse.code, reason: refuse.text.clone(), by: ClosedBy::Us };
                if *ends {
                    self.end(now, closed);
                } else {
                    self.begin_detached(now, false);
                }
                true
            }
            _ => false,
        }
    }

    /// An initiator that asked in vain.
    pub(super) fn connecting_timed_out(&mut self, now: Time) {
        let Phase::Connecting { began, .. } = self.phase else { return };
        if now.since(began) < self.config.handshake_timeout {
            return;
        }
        if self.identity.is_some() {
            self.detach(now);
        } else {
            let reason = "no answer within the handshake time-out".to_owned();
            self.end(now, Closed { code: CloseCode::GAVE_UP, reason, by: ClosedBy::Silence });
        }
    }

    fn forget_path(&mut self) {
        self.rtt = Rtt::default();
        self.rate.restart(0.5);
        self.sent.forget_path();
        self.outage = Outage::default();
        self.probes = 0;
        self.is_probe_due = false;
        self.waits_since = None;
        self.ack = AckState::default();
        self.proof = None;
    }
}

/// Stands in a refusal for the nonce of a HELLO that could not be read so far.
const NONCE_UNREAD: [u8; 8] = [0; 8];

/// The nonce of a packet that may be a HELLO, as far as it can be read.
fn nonce_of(packet: &[u8]) -> [u8; 8] {
    Hello::read_nonce(packet).unwrap_or(NONCE_UNREAD)
}

fn unreadable(packet: &[u8], malformed: &Malformed) -> Refuse {
    Refuse::new(nonce_of(packet), CloseCode::MALFORMED, &malformed.to_string())
}

fn shrinks(before: &crate::limits::Limits, after: &crate::limits::Limits) -> bool {
    after.lanes_max < before.lanes_max
        || after.window_bytes < before.window_bytes
        || after.message_bytes_max < before.message_bytes_max
}
