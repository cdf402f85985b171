//! The fence: how a frame is appended to a journal exactly once, and how a server becomes the owner of a journal.
//!
//! Both types say what to do next ([`Append::next`], [`Claim::next`]), and the driver reports the answer of JetStream.

use crate::frame::{Frame, Head};
use crate::mutant::{Faults, Mutant};
use crate::name::{Epoch, Sequence, ServerId};
use crate::release::Release;

/// Attempts to become the owner of a journal to which others write at the same time.
const CLAIM_TRIES: u32 = 16;

/// The outcome of an update or an append.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stored<T> {
    /// It is stored, with this number.
    Yes(T),
    /// It is not stored, because the expected number is not the last one.
    Refused,
    /// No answer came in time, or the answer was another error, which the text names. It may be stored, now or later.
    Unknown(String),
}

/// One frame on its way into a journal. The append states the expected last sequence, and it is never sent with another one. So
/// the frame is stored at most once, and only directly behind the frames that its owner knows.
#[derive(Clone, Debug)]
pub struct Append {
    expected: Sequence,
    next: AppendStep,
    faults: Faults,
}

/// The next step of an append.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AppendStep {
    /// Publish the frame with this expected last sequence, and report the outcome to [`Append::handle_published`].
    Publish(Sequence),
    /// Read the frame with this sequence, and report the outcome to [`Append::handle_frame`].
    Read(Sequence),
    /// Read the first and the last sequence of the journal, and report the outcome to [`Append::handle_bounds`].
    ReadBounds,
    /// The frame is stored with this sequence.
    Stored(Sequence),
    /// Another owner has appended a frame.
    Fenced,
    /// The journal does not end where it should, and nothing stands behind that place. Either a reader's answer is old, or the
    /// expected sequence is wrong. [`Append::retry`] asks again.
    Elsewhere(Sequence),
    /// The journal did not answer, and the text says why. The frame may be stored. [`Append::retry`] asks again.
    Failed(String),
}

impl Append {
    /// Begins to append a frame behind this sequence.
    #[must_use]
    pub fn new(expected: Sequence) -> Append {
        Append { expected, next: AppendStep::Publish(expected), faults: Faults::default() }
    }

    /// Plants deliberate faults.
    #[must_use]
    pub fn with(self, faults: Faults) -> Append {
        Append { faults, ..self }
    }

    /// The next step.
    #[must_use]
    pub fn next(&self) -> &AppendStep {
        &self.next
    }

    /// Handles the answer to [`AppendStep::Publish`].
    pub fn handle_published(&mut self, stored: Stored<Sequence>) {
        let place = self.expected.next();
        self.next = match stored {
            Stored::Yes(sequence) => AppendStep::Stored(sequence),
            // An earlier attempt whose answer was lost may have stored the frame.
            Stored::Refused => AppendStep::Read(place),
            Stored::Unknown(_) if self.faults.has(Mutant::TrustUnknownAppend) => AppendStep::Stored(place),
            Stored::Unknown(cause) => AppendStep::Failed(cause),
        };
    }

    /// Handles the answer to [`AppendStep::Read`]: whether the frame there is this one, or `None` if there is no frame. No two
    /// owners write equal frames, because each frame has the epoch of its owner.
    pub fn handle_frame(&mut self, found: Result<Option<bool>, String>) {
        let place = self.expected.next();
        self.next = match found {
            Ok(Some(true)) => AppendStep::Stored(place),
            Ok(Some(false)) if self.faults.has(Mutant::NoFence) => AppendStep::ReadBounds,
            Ok(Some(false)) if self.faults.has(Mutant::TrustForeignFrame) => AppendStep::Stored(place),
            Ok(Some(false)) => AppendStep::Fenced,
            Ok(None) => AppendStep::ReadBounds,
            Err(cause) => AppendStep::Failed(cause),
        };
    }

    /// Handles the answer to [`AppendStep::ReadBounds`].
    pub fn handle_bounds(&mut self, bounds: Result<(Sequence, Sequence), String>) {
        self.next = match bounds {
            Ok((_, last)) if self.faults.has(Mutant::NoFence) => {
                self.expected = last;
                AppendStep::Publish(last)
            }
            // The frame was purged, so another owner has appended it.
            Ok((first, _)) if first > self.expected.next() => AppendStep::Fenced,
            // One of the answers comes from an old leader.
            Ok((_, last)) => AppendStep::Elsewhere(last),
            Err(cause) => AppendStep::Failed(cause),
        };
    }

    /// Publishes the same frame again, after a failure.
    pub fn retry(&mut self) {
        self.next = AppendStep::Publish(self.expected);
    }
}

/// A server on its way to become the owner of a journal: it appends its head directly behind the last frame. From then on, no
/// append of an earlier owner has the expected last sequence.
#[derive(Clone, Debug)]
pub struct Claim {
    owner: ServerId,
    epoch: Option<Epoch>,
    tries: u32,
    next: ClaimStep,
}

/// The next step of a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClaimStep {
    /// Read the last sequence of the journal and the frame with it, and report the outcome to [`Claim::handle_end`].
    ReadEnd,
    /// Append the head behind this sequence, and report the outcome to [`Claim::handle_appended`].
    Append(Head, Sequence),
    /// The journal belongs to the server, and this is the sequence of its head.
    Owned(Head, Sequence),
    /// A later owner has claimed the journal.
    Fenced,
    /// The journal cannot be claimed now. The text says why.
    Failed(String),
}

impl Claim {
    /// Begins to claim a journal. Without an epoch, takes the epoch after the last owner's. `after` is the last frame of an
    /// owner that ended the journal for this server.
    #[must_use]
    pub fn new(owner: ServerId, epoch: Option<Epoch>, after: Option<Sequence>) -> Claim {
        let head = epoch.map(|epoch| head(owner, epoch));
        Claim {
            owner,
            epoch,
            tries: CLAIM_TRIES,
            next: head.zip(after).map_or(ClaimStep::ReadEnd, |(head, after)| ClaimStep::Append(head, after)),
        }
    }

    /// The next step.
    #[must_use]
    pub fn next(&self) -> &ClaimStep {
        &self.next
    }

    /// Handles the answer to [`ClaimStep::ReadEnd`].
    pub fn handle_end(&mut self, last: Sequence, newest: Option<&Frame>) {
        let newest_epoch = newest.map_or(Epoch(0), Frame::epoch);
        let head = head(self.owner, self.epoch.unwrap_or(newest_epoch.next()));
        self.next = if newest.is_some_and(|newest| matches!(newest, Frame::Head(found) if *found == head)) {
            // An earlier attempt has appended this head.
            ClaimStep::Owned(head, last)
        } else if head.epoch <= newest_epoch {
            ClaimStep::Fenced
        } else {
            ClaimStep::Append(head, last)
        };
    }

    /// Handles the outcome of appending the head.
    pub fn handle_appended(&mut self, outcome: &AppendStep) {
        let ClaimStep::Append(head, _) = &self.next else { return };
        self.tries -= 1;
        self.next = match outcome {
            AppendStep::Stored(sequence) => ClaimStep::Owned(head.clone(), *sequence),
            AppendStep::Failed(cause) if self.tries == 0 => ClaimStep::Failed(cause.clone()),
            _ if self.tries == 0 => ClaimStep::Failed("others claim it at the same time".to_owned()),
            _ => ClaimStep::ReadEnd,
        };
    }
}

fn head(owner: ServerId, epoch: Epoch) -> Head {
    Head { epoch, owner, release: Release::CURRENT }
}
