//! One room on one server: claim, recovery, ownership, and both sides of a hand-over.
//!
//! **The one invariant**: the room has at most one append under way, it expects the last sequence that this room has seen, and
//! nothing is confirmed before its append is acknowledged. If an append is refused, the journal decides: either it has this very
//! frame, because an acknowledgement was lost, or another owner has written, and the room ends here.

mod entry_update;
mod hand_over;
mod io;
mod receive;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::frame::{BATCH_BYTES_MAX, Batch, Frame, Head, SnapshotRef};
use crate::journal::{JournalPage, Recovery};
use crate::member::{Member, Stored};
use crate::mutant::Mutant;
use crate::name::{Epoch, Name, Sequence, ServerId};
use crate::peer::{CancelWhy, PeerBody};
use crate::time::Time;
use entry_update::{EntryUpdate, Goal, Reached};
pub use hand_over::HandOverRefused;
use hand_over::Source;
pub use io::{
    BatchRefused, EndedWhy, QUEUE_MAX, RoomAnswer, RoomEvent, RoomRequest, Standing, StoredSnapshot,
    Unanswered,
};
pub(crate) use receive::Offer;
use receive::Receiving;

/// Maximum number of batches that are kept for a hand-over. It must exceed the batches between two snapshots.
const RECENT_MAX: usize = 8_192;
/// Time after which a failed read is repeated.
const RETRY: Duration = Duration::from_millis(50);

/// Arguments of all calls.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) config: &'a Config,
    pub(crate) member: &'a Member,
}

/// The role of this server for the room.
#[derive(Debug)]
enum Role {
    /// The entry is being claimed.
    Claiming,
    /// The journal is read, and then the head is appended.
    Recovering(Recovery),
    /// The thread of the room restores it.
    Restoring,
    /// The room runs here, and may be the source of a hand-over.
    Owner(Option<Source>),
    /// The room is the target of a hand-over.
    Receiving(Receiving),
    /// The room belongs to another server now. This server corrects the entry if no other server does.
    Passing { why: EndedWhy },
    /// The room is over here.
    Ended,
}

/// The append under way.
#[derive(Debug)]
struct Append {
    frame: Frame,
    /// Whether the journal is being read because the append was not acknowledged.
    is_read: bool,
    /// Whether an append of this frame was refused for certain.
    is_refused: bool,
}

/// One room on one server.
#[derive(Debug)]
pub(crate) struct Room {
    me: ServerId,
    epoch: Epoch,
    role: Role,
    entry: EntryUpdate,
    /// The last sequence of the journal that this room has read or written.
    last: Sequence,
    /// The number of the last batch, and the step at which it ends.
    number: u64,
    step: u64,
    append: Option<Append>,
    queue: VecDeque<Frame>,
    retry_at: Option<Time>,
    /// The newest snapshot in the journal, and the batches after it: the beginning of a hand-over.
    snapshot: Option<SnapshotRef>,
    recent: VecDeque<Batch>,
    /// The sequence of each acknowledged batch that a snapshot may name.
    marks: VecDeque<(u64, Sequence)>,
    /// A snapshot that is being verified and appended.
    verifying: Option<SnapshotRef>,
    is_snapshot_asked: bool,
    /// Confirmations that wait for the lease.
    confirmed: VecDeque<u64>,
    pub(crate) requests: VecDeque<RoomRequest>,
    pub(crate) messages: VecDeque<(ServerId, PeerBody)>,
    events: VecDeque<RoomEvent>,
}

impl Room {
    fn new(me: ServerId, role: Role) -> Room {
        Room {
            me,
            epoch: Epoch(0),
            role,
            entry: EntryUpdate::default(),
            last: Sequence(0),
            number: 0,
            step: 0,
            append: None,
            queue: VecDeque::new(),
            retry_at: None,
            snapshot: None,
            recent: VecDeque::new(),
            marks: VecDeque::new(),
            verifying: None,
            is_snapshot_asked: false,
            confirmed: VecDeque::new(),
            requests: VecDeque::new(),
            messages: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Begins to claim a room that no server with a valid lease holds.
    pub(crate) fn claim(context: &Context<'_>, me: ServerId, requires: Arc<[Name]>) -> Room {
        let mut room = Room::new(me, Role::Claiming);
        room.entry.begin(Goal::Claim { requires });
        room.advance(context);
        room
    }

    /// Begins to release a room that this server holds and does not run.
    pub(crate) fn release_held(context: &Context<'_>, me: ServerId) -> Room {
        let mut room = Room::new(me, Role::Passing { why: EndedWhy::Released });
        room.entry.begin(Goal::Release { epoch: None });
        room.advance(context);
        room
    }

    pub(crate) fn standing(&self, context: &Context<'_>) -> Standing {
        match &self.role {
            Role::Claiming | Role::Recovering(_) | Role::Restoring => Standing::Starting,
            Role::Owner(source) if source.as_ref().is_some_and(Source::is_stopped) => Standing::Stopped,
            Role::Owner(_) if self.may_act(context) => Standing::Running,
            Role::Owner(_) => Standing::Suspended,
            Role::Receiving(_) => Standing::Receiving,
            Role::Passing { .. } | Role::Ended => Standing::Ended,
        }
    }

    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(crate) fn is_ended(&self) -> bool {
        matches!(self.role, Role::Ended) && self.events.is_empty()
    }

    /// Whether the lease lasts and no append was refused.
    fn may_act(&self, context: &Context<'_>) -> bool {
        context.member.covers(context.now) && !self.append.as_ref().is_some_and(|append| append.is_refused)
    }

    /// Whether acknowledged batches may be confirmed. After the flush of a hand-over, the target may run already.
    fn may_confirm(&self, context: &Context<'_>) -> bool {
        let is_owner = match &self.role {
            Role::Owner(source) => !source.as_ref().is_some_and(Source::is_deciding),
            _ => false,
        };
        is_owner && self.may_act(context)
    }

    pub(crate) fn poll_event(&mut self, context: &Context<'_>) -> Option<RoomEvent> {
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        let number = if self.may_confirm(context) { self.confirmed.pop_front() } else { None };
        number.map(|number| RoomEvent::Confirm { number })
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let deadline = match &self.role {
            Role::Owner(Some(source)) => source.deadline(),
            Role::Receiving(receiving) => receiving.deadline(),
            _ => None,
        };
        [deadline, self.retry_at, self.entry.poll_timeout()].into_iter().flatten().min()
    }

    pub(crate) fn handle_timeout(&mut self, context: &Context<'_>) {
        self.entry.handle_timeout(context.now);
        if self.retry_at.is_some_and(|at| at <= context.now) {
            self.retry_at = None;
            self.requests.push_back(RoomRequest::ReadJournal { after: self.last });
        }
        self.check_deadlines(context);
        self.advance(context);
    }

    pub(crate) fn handle_answer(&mut self, context: &Context<'_>, answer: RoomAnswer) {
        match answer {
            RoomAnswer::Entry(Ok(found)) => self.entry.handle_read(found),
            RoomAnswer::Entry(Err(Unanswered)) => self.entry.handle_unread(context.now),
            RoomAnswer::EntryStored(stored) => self.entry.handle_stored(stored),
            RoomAnswer::Journal(Ok(page)) => self.handle_journal(context, page),
            RoomAnswer::Journal(Err(Unanswered)) => self.retry_at = Some(context.now + RETRY),
            RoomAnswer::Appended(stored) => self.handle_appended(context, stored),
            RoomAnswer::Verified(is_good) => self.handle_verified(is_good),
        }
        self.advance(context);
    }

    /// Ends the room because the server's life is over.
    pub(crate) fn end_with_server(&mut self) {
        self.end(EndedWhy::ServerEnded);
    }

    /// Accepts the changes up to `through_step`. `hash` is the hash of the world at this step; a hand-over needs it, and it may be
    /// `None` otherwise. Returns the number of the batch.
    pub(crate) fn batch(
        &mut self,
        context: &Context<'_>,
        through_step: u64,
        bytes: Arc<[u8]>,
        hash: Option<u64>,
    ) -> Result<u64, BatchRefused> {
        match &self.role {
            Role::Owner(source) if !source.as_ref().is_some_and(Source::is_stopped) => {}
            _ => return Err(BatchRefused::NotRunning),
        }
        if self.queue.len() >= QUEUE_MAX {
            return Err(BatchRefused::Full);
        }
        if bytes.len() > BATCH_BYTES_MAX {
            return Err(BatchRefused::TooLong);
        }
        self.number += 1;
        let (number, from_step) = (self.number, self.step);
        let batch = Batch { epoch: self.epoch, number, from_step, through_step, bytes };
        self.step = through_step;
        self.send_commands(&batch, hash);
        self.keep_recent(context, batch.clone());
        self.queue.push_back(Frame::Batch(batch));
        self.advance(context);
        Ok(number)
    }

    /// A snapshot of the state after a batch is stored, or could not be stored.
    pub(crate) fn snapshot_stored(&mut self, context: &Context<'_>, stored: Option<StoredSnapshot>) {
        self.is_snapshot_asked = false;
        let Some(stored) = stored.filter(|_| matches!(self.role, Role::Owner(_)) && self.verifying.is_none())
        else {
            return;
        };
        let snapshot = SnapshotRef {
            epoch: self.epoch,
            sequence: Sequence(0),
            batch_number: stored.batch_number,
            step: stored.step,
            hash: stored.hash,
            digest: stored.digest,
            bytes: stored.bytes,
        };
        self.verifying = Some(snapshot);
        self.verify(context);
        self.advance(context);
    }

    /// The thread has restored the room, or could not.
    pub(crate) fn restored(&mut self, context: &Context<'_>, is_restored: bool) {
        match &mut self.role {
            Role::Restoring if is_restored => self.run(Arc::default()),
            Role::Restoring => self.end(EndedWhy::Unrestorable),
            Role::Receiving(_) => self.received_snapshot(is_restored),
            _ => {}
        }
        self.advance(context);
    }

    /// Ends the room and lets any server claim it. All batches should be confirmed.
    pub(crate) fn release(&mut self, context: &Context<'_>) {
        if matches!(self.role, Role::Owner(None)) {
            self.role = Role::Passing { why: EndedWhy::Released };
            self.entry.begin(Goal::Release { epoch: Some(self.epoch) });
            self.advance(context);
        }
    }

    fn run(&mut self, sessions: Arc<[u8]>) {
        self.role = Role::Owner(None);
        self.marks.push_back((self.number, self.last));
        let (epoch, step, batch_number) = (self.epoch, self.step, self.number);
        self.events.push_back(RoomEvent::Run { epoch, step, batch_number, sessions });
    }

    fn end(&mut self, why: EndedWhy) {
        if !matches!(self.role, Role::Ended) {
            self.role = Role::Ended;
            self.append = None;
            self.queue.clear();
            self.requests.clear();
            self.events.push_back(RoomEvent::Ended { why });
        }
    }

    /// Lets another server have the room, and makes sure that the directory shows it.
    fn pass(&mut self, to: ServerId, epoch: Epoch, why: EndedWhy) {
        self.role = Role::Passing { why };
        self.append = None;
        self.queue.clear();
        self.entry.begin(Goal::Pass { to, epoch });
    }

    /// Sends everything that may be sent now.
    fn advance(&mut self, context: &Context<'_>) {
        if let Some(reached) = self.entry.advance(context, self.me, &mut self.requests) {
            self.reach(context, reached);
        }
        if self.may_append()
            && let Some(frame) = self.queue.pop_front()
        {
            if let (Frame::Batch(batch), true) = (&frame, context.config.has(Mutant::ConfirmEarly)) {
                self.confirmed.push_back(batch.number);
            }
            self.send(frame);
        }
        self.advance_source(context);
        self.advance_target(context);
    }

    fn reach(&mut self, context: &Context<'_>, reached: Reached) {
        match reached {
            Reached::Yes(Goal::Claim { .. }, entry) => {
                self.epoch = entry.epoch;
                self.role = Role::Recovering(Recovery::default());
                self.requests.push_back(RoomRequest::ReadJournal { after: Sequence(0) });
            }
            Reached::Yes(Goal::Mark { to, .. }, entry) => {
                self.marked(context, entry.target.filter(|target| target.server == to));
            }
            Reached::Yes(_, _) => {
                if let Role::Passing { why } = self.role {
                    self.end(why);
                }
            }
            Reached::Never(why) => match self.role {
                Role::Owner(_) => self.cancel_hand_over(context, CancelWhy::Overtaken),
                Role::Passing { why: passed } => self.end(passed),
                _ => self.end(why),
            },
        }
    }

    /// Whether the next frame of the queue may be sent. The source of a hand-over leaves the journal to the target.
    fn may_append(&self) -> bool {
        let is_owner = match &self.role {
            Role::Owner(source) => !source.as_ref().is_some_and(Source::is_deciding),
            _ => false,
        };
        is_owner && self.append.is_none()
    }

    fn send(&mut self, frame: Frame) {
        self.append = Some(Append { frame: frame.clone(), is_read: false, is_refused: false });
        self.requests.push_back(RoomRequest::Append { frame, expected: self.last });
    }

    fn handle_appended(&mut self, context: &Context<'_>, stored: Stored<Sequence>) {
        let Some(append) = &mut self.append else { return };
        match stored {
            Stored::Yes(sequence) => self.acknowledged(context, sequence),
            Stored::Refused | Stored::Unknown => {
                append.is_refused |= stored == Stored::Refused;
                append.is_read = true;
                self.requests.push_back(RoomRequest::ReadJournal { after: self.last });
            }
        }
    }

    /// The frame under way is in the journal.
    fn acknowledged(&mut self, context: &Context<'_>, sequence: Sequence) {
        self.last = sequence;
        let Some(append) = self.append.take() else { return };
        match append.frame {
            Frame::Head(head) => self.own(head),
            Frame::Batch(batch) => {
                if context.config.has(Mutant::ConfirmEarly) {
                } else if self.may_confirm(context) {
                    self.events.extend(self.confirmed.drain(..).map(|number| RoomEvent::Confirm { number }));
                    self.events.push_back(RoomEvent::Confirm { number: batch.number });
                } else {
                    self.confirmed.push_back(batch.number);
                }
                self.marks.push_back((batch.number, sequence));
                self.verify(context);
            }
            Frame::Snapshot(snapshot) => {
                self.verifying = None;
                self.recent.retain(|batch| batch.number > snapshot.batch_number);
                self.marks.retain(|(number, _)| *number >= snapshot.batch_number);
                self.snapshot = Some(snapshot);
                self.requests.push_back(RoomRequest::Purge { through: snapshot.sequence });
            }
            Frame::Resume(_) => self.resumed(),
        }
    }

    /// The head is in the journal: this server owns the room.
    fn own(&mut self, head: Head) {
        match std::mem::replace(&mut self.role, Role::Restoring) {
            Role::Recovering(recovery) => {
                (self.number, self.step) = (recovery.batch_number(), recovery.step());
                let batches: Vec<Batch> = recovery.batches.into_iter().map(|(_, batch)| batch).collect();
                self.snapshot = recovery.snapshot;
                self.recent = batches.iter().cloned().collect();
                self.events.push_back(RoomEvent::Restore { snapshot: recovery.snapshot, batches });
            }
            Role::Receiving(receiving) => self.take_over(receiving, head.epoch),
            role => self.role = role,
        }
    }

    fn handle_journal(&mut self, context: &Context<'_>, page: JournalPage) {
        if self.append.as_ref().is_some_and(|append| append.is_read) {
            return self.settle_append(context, page);
        }
        let Role::Recovering(recovery) = &mut self.role else { return };
        let page_last = page.last;
        let is_progress = !page.frames.is_empty();
        if let Err(error) = recovery.read(page) {
            return self.end(EndedWhy::Damaged(error));
        }
        self.last = recovery.last;
        if recovery.last < page_last && is_progress {
            self.requests.push_back(RoomRequest::ReadJournal { after: self.last });
        } else {
            self.fence(context, page_last);
        }
    }

    /// The journal is read: appends the head behind its last frame.
    fn fence(&mut self, context: &Context<'_>, page_last: Sequence) {
        let Role::Recovering(recovery) = &self.role else { return };
        if let Err(error) = recovery.check(page_last) {
            return self.end(EndedWhy::Damaged(error));
        }
        if recovery.epoch >= self.epoch && !context.config.has(Mutant::SameEpoch) {
            return self.end(EndedWhy::Superseded { epoch: recovery.epoch });
        }
        self.last = recovery.last;
        let head =
            Head { epoch: self.epoch, owner: self.me, release: context.config.release, hand_over: None };
        self.send(Frame::Head(head));
    }

    /// Decides from the journal whether the frame under way is stored.
    fn settle_append(&mut self, context: &Context<'_>, page: JournalPage) {
        let Some(append) = &mut self.append else { return };
        append.is_read = false;
        let is_refused = append.is_refused;
        match page.frames.first() {
            None if !is_refused => {
                let frame = append.frame.clone();
                self.requests.push_back(RoomRequest::Append { frame, expected: self.last });
            }
            // The refusal shows that the journal has more than this read, so the read is old.
            None => {
                append.is_read = true;
                self.retry_at = Some(context.now + RETRY);
            }
            // An epoch has one owner, and an owner has one append under way. So this frame is that append.
            Some((sequence, frame)) if frame.epoch() == self.epoch => {
                let sequence = *sequence;
                self.acknowledged(context, sequence);
            }
            Some((_, frame)) => {
                let frame = frame.clone();
                self.lose_append(context, page, &frame);
            }
        }
    }

    /// Another owner has written where the frame under way should stand.
    fn lose_append(&mut self, context: &Context<'_>, page: JournalPage, foreign: &Frame) {
        if context.config.has(Mutant::NoFence)
            && matches!(self.role, Role::Owner(_))
            && let Some(append) = self.append.take()
        {
            self.last = page.last;
            return self.send(append.frame);
        }
        match (&self.role, foreign) {
            (Role::Recovering(_), _) => {
                self.append = None;
                self.handle_journal(context, page);
            }
            (Role::Receiving(_), _) => self.end(EndedWhy::NotReceived { why: CancelWhy::Overtaken }),
            (Role::Owner(Some(source)), Frame::Head(head)) if head.epoch == source.epoch() => {
                let (to, epoch) = (head.owner, head.epoch);
                self.pass(to, epoch, EndedWhy::HandedOver { to });
            }
            _ => self.end(EndedWhy::Superseded { epoch: foreign.epoch() }),
        }
    }

    fn keep_recent(&mut self, context: &Context<'_>, batch: Batch) {
        self.recent.push_back(batch);
        if self.recent.len() > RECENT_MAX {
            self.recent.clear();
            self.snapshot = None;
        }
        if self.recent.len() >= context.config.snapshot_batches || self.awaits_snapshot() {
            self.ask_snapshot();
        }
    }

    fn ask_snapshot(&mut self) {
        if !self.is_snapshot_asked && self.verifying.is_none() {
            self.is_snapshot_asked = true;
            self.events.push_back(RoomEvent::TakeSnapshot);
        }
    }

    /// Requests the verification of a stored snapshot as soon as the sequence of its batch is known.
    fn verify(&mut self, context: &Context<'_>) {
        let Some(snapshot) = &mut self.verifying else { return };
        let is_new = snapshot.sequence == Sequence(0);
        let mark = self.marks.iter().find(|(number, _)| *number == snapshot.batch_number);
        if let (true, Some((_, sequence))) = (is_new, mark) {
            snapshot.sequence = *sequence;
            if context.config.has(Mutant::PurgeEarly) {
                self.requests.push_back(RoomRequest::Purge { through: *sequence });
            }
            self.requests.push_back(RoomRequest::VerifySnapshot { snapshot: *snapshot });
        }
    }

    fn handle_verified(&mut self, is_good: bool) {
        let Some(snapshot) = self.verifying else { return };
        if is_good {
            self.queue.push_back(Frame::Snapshot(snapshot));
        } else {
            self.verifying = None;
        }
    }
}
