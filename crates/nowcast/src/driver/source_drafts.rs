//! How the application's source fills packets. Its code runs with no lock held: whatever it does (it calls its own channel,
//! takes long, panics), it holds up nothing but the packets of its own channel.
//!
//! Just before a packet may leave, the driver releases the channel's lock and asks the source. The bytes that the
//! source writes wait as a *draft* for that one packet, and the session takes the draft in place of the source. A draft
//! that does not leave in its packet, because something else took the room meanwhile, is given up like the bytes of a
//! lost packet, and the source is asked again. So every value is read when its packet leaves (late binding), and the
//! source learns the outcome of everything that it wrote.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use nowcast_session::{PacketOutcome, Replication, Session, Time};

use crate::channel::{PutBatch, Source};

const PANICKED: &str = "the source panicked";
const OVERFLOWED: &str = "the source wrote more than there was room for";
/// The fields of a packet before a draft may have grown by so much since the packet before it.
const MARGIN_BYTES: usize = 8;
/// Maximum overhead of a frame with a draft.
const HEAD_BYTES: usize = 4;
const LANES_MAX: u8 = 16;

/// The source of a session, and what it wrote for the packet that leaves next. To the session, this is the source.
#[derive(Default)]
pub(super) struct SourceDrafts {
    source: Option<Box<dyn Source>>,
    /// The source's other puts, until the session has them.
    feed: PutBatch,
    /// Outcomes that the source has not received yet.
    outcomes: Vec<PacketOutcome>,
    /// A bit for each lane that the session feeds from a source.
    lanes: Cell<u16>,
    /// A bit for each lane for which the source had something when it was asked last.
    waiting: u16,
    drafts: Vec<Draft>,
    /// The number of the packet that leaves next, as far as known.
    number: u64,
    /// The most room that a packet has for a source; `None` before there was one.
    room: Option<usize>,
    /// The question to the source since the last packet.
    asked: Option<Question>,
    /// The most room that the session has offered since it was polled.
    offered: usize,
    /// A lane for which the session found no draft since it was polled.
    missed: Option<u8>,
    /// The lane that goes first: the last one that was missed.
    first: u8,
    /// The room that is known for the packet that leaves next.
    exact: Option<usize>,
}

/// The bytes of a source for one packet.
struct Draft {
    lane: u8,
    number: u64,
    bytes: Vec<u8>,
}

/// A question to a source.
#[derive(Clone, Copy)]
pub(super) struct Question {
    /// The bytes that it may write; with 0 it is only asked whether it has something.
    room: usize,
    /// The lanes that it is asked about.
    lanes: u16,
}

impl SourceDrafts {
    /// Another source from now on. Returns the one before it, which is dropped where no lock is held.
    pub(super) fn replace(&mut self, source: Box<dyn Source>) -> Option<Box<dyn Source>> {
        self.drafts.clear();
        (self.waiting, self.asked, self.feed) = (0, None, PutBatch::default());
        self.source.replace(source)
    }

    /// The driver's turn begins: whatever the source said before may no longer be so. Takes note of what became of bytes.
    pub(super) fn begin(&mut self, session: &mut Session) {
        (self.asked, self.exact) = (None, None);
        while let Some(outcome) = session.poll_outcome() {
            if self.source.is_some() {
                self.outcomes.push(outcome);
            }
        }
    }

    /// Returns the question for the source before the session is polled for a packet; `None` if it was asked.
    pub(super) fn question(&mut self, session: &mut Session, now: Time, may_send: bool) -> Option<Question> {
        if self.source.is_none() || self.asked.is_some() || !session.is_open() {
            return None;
        }
        let room = match (self.exact.take(), self.room) {
            _ if !may_send => 0,
            (Some(exact), _) => exact,
            // How much the messages that wait will take of the packet is known only when they are in it.
            (None, Some(room)) if has_waiting(session) => match session.poll_timeout(now) {
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

    /// Asks the source. To be called while no lock is held.
    ///
    /// # Errors
    /// Why the channel has to end. The source is gone then.
    pub(super) fn ask(&mut self, question: Question) -> Result<(), &'static str> {
        self.asked = Some(question);
        self.guarded(|sourced| sourced.put_question(question))
    }

    /// Lets the source say what it has to put. To be called while no lock is held.
    ///
    /// # Errors
    /// Why the channel has to end. The source is gone then.
    pub(super) fn feed(&mut self) -> Result<(), &'static str> {
        self.guarded(|sourced| {
            sourced.settle();
            if let Some(source) = &mut sourced.source {
                source.feed(&mut sourced.feed);
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
            (self.waiting, self.drafts, self.feed) = (0, Vec::new(), PutBatch::default());
            discard(self.source.take());
        }
        ran
    }

    /// Moves what the source has put into the session. Returns whether all of it was taken; what was not, the source finds out
    /// when it is asked next.
    pub(super) fn put_fed(&mut self, session: &mut Session, now: Time) -> bool {
        self.feed.put_into(session, now)
    }

    /// How the source ends the channel, if it does.
    pub(super) fn take_closing(&mut self) -> Option<(u32, String)> {
        self.feed.take_closing()
    }

    /// Tells the source what became of its bytes.
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
            let mut bytes = Vec::new();
            if room > 0 {
                source.fill(lane, *number, room, &mut bytes);
            }
            if bytes.len() > room {
                return Err(OVERFLOWED);
            }
            if !bytes.is_empty() {
                room = room.saturating_sub(bytes.len() + HEAD_BYTES);
                drafts.push(Draft { lane, number: *number, bytes });
            }
        }
        Ok(())
    }

    /// Polls the session for a packet, whose drafts are the source's part of it.
    pub(super) fn poll_packet(&mut self, session: &mut Session, now: Time, packet: &mut Vec<u8>) -> Polled {
        if self.source.is_none() {
            return if session.poll_packet(now, self, packet) { Polled::Packet } else { Polled::Nothing };
        }
        let is_shared = has_waiting(session);
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
        // A source that had as much room and wrote nothing has nothing that fits.
        let had_room = self.drafts.is_empty() && asked.is_some_and(|asked| asked.room >= self.offered);
        self.exact = self.missed.filter(|_| !had_room).map(|_| self.offered);
        if is_new_lane || self.exact.is_some() { Polled::AskAgain } else { Polled::Nothing }
    }

    /// In a packet with messages of others, the source may go first or last, so the room is what it was at best, unless a draft
    /// was too large for that: packets may be smaller than they were.
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
    /// There is one.
    Packet,
    /// There would be one if the source wrote something for it.
    AskAgain,
    /// There is none.
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
                out.extend_from_slice(&self.drafts.swap_remove(at).bytes);
                self.missed = self.missed.filter(|&missed| missed != lane);
            }
            // The session asks twice: for the lane's share of the packet, and for all that is left.
            None => self.missed = Some(lane),
        }
    }
}

fn has_waiting(session: &Session) -> bool {
    session.gauges().waiting > 0
}

/// Drops a source. To be called while no lock is held; a panic on the way is the end of that source alone.
pub(super) fn discard(source: Option<Box<dyn Source>>) {
    // The process's own hook has said already what happened.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(source)));
}
