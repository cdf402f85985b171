//! Fills packets from the application's source. The source runs without any lock. If it calls its own channel, takes a long time
//! or panics, only the packets of its own channel are affected.
//!
//! Just before a packet may leave, the driver releases the channel's lock and calls the source. The bytes that the source writes
//! wait as a *draft* for that one packet. The session reads the draft instead of the source. If other messages take the room
//! first, the draft does not leave. A draft that does not leave is handled like the bytes of a lost packet, and the source is
//! called again. So every value is read when its packet leaves (late binding), and the source learns the outcome of all its
//! bytes.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use nowcast_session::{PacketOutcome, Replication, Session, Time};

use crate::channel::{PutBatch, Source};

const PANICKED: &str = "the source panicked";
const OVERFLOWED: &str = "the source wrote more than there was room for";
/// Maximum growth of the fields in front of a draft, since the previous packet.
const MARGIN_BYTES: usize = 8;
/// Maximum overhead of a frame with a draft.
const HEAD_BYTES: usize = 4;
const LANES_MAX: u8 = 16;

thread_local! {
    /// An empty buffer for the next draft of any session on this thread.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

fn keep(mut bytes: Vec<u8>) {
    bytes.clear();
    SPARE.set(bytes);
}

/// The source of a session, and its drafts for the next packet. The session uses this type as its source.
#[derive(Default)]
pub(super) struct SourceDrafts {
    source: Option<Box<dyn Source>>,
    /// Other messages that the source has put, until they are put into the session. The source learns of refusals at its next call.
    pub(super) fed: PutBatch,
    /// Outcomes that the source has not received yet.
    outcomes: Vec<PacketOutcome>,
    /// One bit for each lane that the session fills from a source.
    lanes: Cell<u16>,
    /// One bit for each lane for which the source last reported data.
    waiting: u16,
    drafts: Vec<Draft>,
    /// The expected number of the next packet.
    number: u64,
    /// The largest room of a packet for a source; `None` before the first packet.
    room: Option<usize>,
    /// The last call of the source since the previous packet.
    asked: Option<Question>,
    /// The largest room that the session has offered since the session was last polled.
    offered: usize,
    /// The last lane for which the session found no draft since the session was last polled.
    missed: Option<u8>,
    /// The lane that is filled first: the last one that had no draft.
    first: u8,
    /// The room of the next packet, if it is known exactly.
    exact: Option<usize>,
}

/// The bytes of a source for one packet.
struct Draft {
    lane: u8,
    number: u64,
    bytes: Vec<u8>,
}

/// A call of a source.
#[derive(Clone, Copy)]
pub(super) struct Question {
    /// Number of bytes that the source may write. With 0, the source only reports whether it has data.
    room: usize,
    /// The lanes of the call.
    lanes: u16,
}

impl SourceDrafts {
    /// Replaces the source. Returns the previous one, which must be dropped without any lock.
    pub(super) fn replace(&mut self, source: Box<dyn Source>) -> Option<Box<dyn Source>> {
        self.drafts.clear();
        (self.waiting, self.asked, self.fed) = (0, None, PutBatch::default());
        self.source.replace(source)
    }

    /// Begins the driver's turn. Collects the outcomes of the source's bytes. Discards earlier answers of the source, because
    /// they may be outdated.
    pub(super) fn begin(&mut self, session: &mut Session) {
        (self.asked, self.exact) = (None, None);
        while let Some(outcome) = session.poll_outcome() {
            if self.source.is_some() {
                self.outcomes.push(outcome);
            }
        }
    }

    /// Returns the call of the source that must be made before the session is polled for a packet. Returns `None` if it has been
    /// made.
    pub(super) fn question(&mut self, session: &mut Session, now: Time, may_send: bool) -> Option<Question> {
        if self.source.is_none() || self.asked.is_some() || !session.is_open() {
            return None;
        }
        let room = match (self.exact.take(), self.room) {
            _ if !may_send => 0,
            (Some(exact), _) => exact,
            // The size of the waiting messages in the packet is known only when the packet holds them.
            (None, Some(room)) if session.has_waiting() => match session.poll_timeout(now) {
                Some(at) if at <= now => room / 2,
                _ => 0,
            },
            (None, Some(room)) => match session.content_room_at(now) {
                Some(at) if at <= now => room.saturating_sub(MARGIN_BYTES),
                _ => 0,
            },
            (None, None) => 0,
        };
        Some(Question { room, lanes: self.lanes.get() })
    }

    /// Calls the source. Must not be called under a lock.
    ///
    /// # Errors
    /// Fails with the reason why the channel must end. The source has then been dropped.
    pub(super) fn ask(&mut self, question: Question) -> Result<(), &'static str> {
        self.asked = Some(question);
        self.guarded(|sourced| sourced.put_question(question))
    }

    /// Lets the source put messages. Must not be called under a lock.
    ///
    /// # Errors
    /// Fails with the reason why the channel must end. The source has then been dropped.
    pub(super) fn feed(&mut self) -> Result<(), &'static str> {
        self.guarded(|sourced| {
            sourced.settle();
            if let Some(source) = &mut sourced.source {
                source.feed(&mut sourced.fed);
            }
            Ok(())
        })
    }

    /// Runs the source's code, which may panic.
    fn guarded(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<(), &'static str>,
    ) -> Result<(), &'static str> {
        let ran = catch_unwind(AssertUnwindSafe(|| run(self))).unwrap_or(Err(PANICKED));
        if ran.is_err() {
            (self.waiting, self.drafts, self.fed) = (0, Vec::new(), PutBatch::default());
            discard(self.source.take());
        }
        ran
    }

    /// Passes the outcomes of the source's bytes to the source.
    fn settle(&mut self) {
        let Self { source: Some(source), outcomes, drafts, .. } = self else { return };
        let given_up = drafts.drain(..).map(|Draft { lane, number, .. }| (lane, number));
        let given_up = given_up.map(|(lane, number)| PacketOutcome { lane, number, arrived: false });
        outcomes.drain(..).chain(given_up).for_each(|outcome| source.on_outcome(outcome));
    }

    fn put_question(&mut self, Question { mut room, lanes }: Question) -> Result<(), &'static str> {
        self.settle();
        let Self { source: Some(source), drafts, waiting, number, first, .. } = self else {
            return Ok(());
        };
        *waiting = 0;
        let in_turn = (*first..LANES_MAX).chain(0..*first);
        for lane in in_turn.filter(|lane| lanes & (1 << lane) != 0) {
            if !source.has_more(lane) {
                continue;
            }
            *waiting |= 1 << lane;
            let mut bytes = SPARE.take();
            if room > 0 {
                source.fill(lane, *number, room, &mut bytes);
            }
            if bytes.len() > room {
                return Err(OVERFLOWED);
            }
            if !bytes.is_empty() {
                room = room.saturating_sub(bytes.len() + HEAD_BYTES);
                drafts.push(Draft { lane, number: *number, bytes });
            } else {
                keep(bytes);
            }
        }
        Ok(())
    }

    /// Polls the session for a packet. The drafts are the source's part of the packet.
    pub(super) fn poll_packet(&mut self, session: &mut Session, now: Time, packet: &mut Vec<u8>) -> Polled {
        if self.source.is_none() {
            return if session.poll_packet(now, self, packet) { Polled::Packet } else { Polled::Nothing };
        }
        let is_shared = session.has_waiting();
        (self.offered, self.missed) = (0, None);
        let has_packet = session.poll_packet(now, self, packet);
        let asked = self.asked.take();
        self.learn_room(is_shared);
        self.first = self.missed.unwrap_or(self.first);
        if has_packet {
            self.number += 1;
            return Polled::Packet;
        }
        let is_new_lane = asked.is_some_and(|asked| asked.lanes != self.lanes.get());
        // If the source had this much room and wrote nothing, it has nothing that fits.
        let had_room = self.drafts.is_empty() && asked.is_some_and(|asked| asked.room >= self.offered);
        self.exact = self.missed.filter(|_| !had_room).map(|_| self.offered);
        if is_new_lane || self.exact.is_some() { Polled::AskAgain } else { Polled::Nothing }
    }

    /// Learns the room that is expected for the next packet. In a packet with other messages, the source may be filled first or
    /// last. The expected room is therefore the largest of the recent ones. If a draft was too large for a packet, the
    /// expectation is lowered, because packets may become smaller.
    fn learn_room(&mut self, is_shared: bool) {
        if self.offered > 0 {
            let was_too_large = self.missed.is_some() && !self.drafts.is_empty();
            let best = if is_shared && !was_too_large { self.room } else { None };
            self.room = best.max(Some(self.offered));
        }
    }
}

/// The result of polling the session for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Polled {
    /// A packet.
    Packet,
    /// A packet would leave if the source wrote something for it.
    AskAgain,
    /// No packet.
    Nothing,
}

impl Replication for SourceDrafts {
    fn has_more(&self, lane: u8) -> bool {
        self.lanes.set(self.lanes.get() | 1 << lane);
        self.waiting & (1 << lane) != 0
    }

    fn fill(&mut self, lane: u8, number: u64, room: usize, out: &mut Vec<u8>) {
        self.number = number;
        let fits = |draft: &Draft| draft.lane == lane && draft.number == number && draft.bytes.len() <= room;
        self.offered = self.offered.max(room);
        match self.drafts.iter().position(fits) {
            Some(at) => {
                let Draft { bytes, .. } = self.drafts.swap_remove(at);
                out.extend_from_slice(&bytes);
                keep(bytes);
                self.missed = self.missed.filter(|&missed| missed != lane);
            }
            // The session asks twice: first for the lane's share of the packet, then for the rest of the packet.
            None => self.missed = Some(lane),
        }
    }
}

/// Drops a source. Must not be called under a lock. A panic ends only that source.
pub(super) fn discard(source: Option<Box<dyn Source>>) {
    // The process's panic hook has printed the cause.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(source)));
}
