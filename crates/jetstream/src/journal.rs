//! The stream of one world.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, LastRawMessageErrorKind, RawMessageError, Stream,
};
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use nowcast_cluster::{
    Append, AppendStep, ClaimStep, Epoch, FRAME_BYTES_MAX, Frame, Record, Sequence, ServerId, SnapshotRef,
    Stored,
};
use nowcast_store::{Problem, WorldName};
use parking_lot::Mutex;

use crate::bucket::{from_hex, hex};
use crate::{ClusterError, Link};

/// Messages that are requested at the same time.
const READ_AHEAD: usize = 32;

/// Maximum number of messages of one journal that are remembered.
const KNOWN_MAX: usize = 4_096;

/// Bytes of a message besides its payload.
const HEADER_BYTES: usize = 1_024;

/// The header of a snapshot's message with its time, in milliseconds since 1970.
const TIME_HEADER: &str = "Nowcast-Time-Ms";

/// The header of a snapshot's message with the bytes of the journal since the previous snapshot.
const BYTES_HEADER: &str = "Nowcast-Journal-Bytes";

/// The header of a snapshot's message with the number of batches since the previous snapshot.
const BATCHES_HEADER: &str = "Nowcast-Journal-Batches";

/// The header of a snapshot's message with the number of accounts whose data belongs to the snapshot. It is missing if there are none.
const ACCOUNTS_HEADER: &str = "Nowcast-Accounts";

/// One world's stream: owners' heads, batches, and notes about snapshots. Each append states the sequence number of the
/// last message, so two owners cannot both write.
#[derive(Clone)]
pub(crate) struct Journal {
    link: Link,
    stream: Stream,
    name: String,
    subject: String,
    /// The messages that were read, if they are remembered. A message never changes.
    known: Option<Arc<Mutex<BTreeMap<u64, Frame>>>>,
}

/// The right to append, as the journal's last message gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) epoch: Epoch,
    /// The sequence number of the last message.
    pub(crate) last: u64,
    /// The number of the last batch.
    pub(crate) batch_number: u64,
    pub(crate) tick: u64,
    pub(crate) has_snapshot: bool,
}

/// A note of a snapshot in the journal.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    /// The sequence number of the message.
    pub(crate) sequence: u64,
    pub(crate) snapshot: SnapshotRef,
    /// The time of the snapshot, in milliseconds since 1970.
    pub(crate) time_ms: u64,
    /// Bytes and number of the batches since the previous snapshot.
    pub(crate) since: (u64, u64),
    /// Number of accounts whose data belongs to the snapshot.
    pub(crate) accounts: u64,
}

/// A message with its sequence number.
pub(crate) type Numbered = (u64, Frame);

impl Journal {
    /// Opens the stream of a world, or makes it.
    pub(crate) async fn open(link: &Link, world: &WorldName) -> Result<Journal, ClusterError> {
        let (name, subject) = names(link, world);
        let stream = link
            .open_stream(Config {
                name: name.clone(),
                subjects: vec![format!("{subject}.>")],
                discard: DiscardPolicy::New,
                ..Config::default()
            })
            .await?;
        Ok(Journal { link: link.clone(), stream, name, subject, known: None })
    }

    /// Remembers messages that [`read`](Self::read) returns, so that they are read once. Clones share them.
    pub(crate) fn remembering(self) -> Journal {
        Journal { known: Some(Arc::default()), ..self }
    }

    /// Forgets the remembered messages, and remembers no more of them.
    pub(crate) fn forget(&mut self) {
        if let Some(known) = self.known.take() {
            known.lock().clear();
        }
    }

    /// Returns the stream of a world, if there is one.
    pub(crate) async fn find(link: &Link, world: &WorldName) -> Result<Option<Journal>, ClusterError> {
        let (name, subject) = names(link, world);
        let found = link.find_stream(&name).await?;
        Ok(found.map(|stream| Journal { link: link.clone(), stream, name, subject, known: None }))
    }

    /// Returns the names of all worlds with a stream.
    pub(crate) async fn worlds(link: &Link) -> Result<Vec<WorldName>, ClusterError> {
        let names = link.context().stream_names();
        let names: Vec<String> = names
            .try_collect()
            .await
            .map_err(|error| ClusterError::request("cannot list the streams", error))?;
        let prefix = link.name("world-");
        let world = |name: &String| {
            let text = String::from_utf8(from_hex(name.strip_prefix(&prefix)?)?).ok()?;
            WorldName::new(&text).ok()
        };
        let mut worlds: Vec<WorldName> = names.iter().filter_map(world).collect();
        worlds.sort();
        Ok(worlds)
    }

    /// Returns the sequence numbers of the first and the last message, as the leader knows them.
    pub(crate) async fn bounds(&self) -> Result<(u64, u64), Problem> {
        let info = self.stream.get_info().await.map_err(|error| self.failed("cannot be read", &error))?;
        Ok((info.state.first_sequence, info.state.last_sequence))
    }

    /// Returns a message, if it is there.
    pub(crate) async fn frame(&self, sequence: u64) -> Result<Option<Frame>, Problem> {
        let found = self.found(self.stream.get_raw_message(sequence).await)?;
        found.map(|message| self.parse(&message)).transpose()
    }

    /// Returns the newest note of a snapshot.
    pub(crate) async fn last_snapshot(&self) -> Result<Option<Note>, Problem> {
        let subject = format!("{}.snapshot", self.subject);
        let found = self.found(self.stream.get_last_raw_message_by_subject(&subject).await)?;
        found.map(|message| self.note(&message)).transpose()
    }

    /// Returns all notes of snapshots, the oldest first.
    pub(crate) async fn snapshots(&self) -> Result<Vec<Note>, Problem> {
        let subject = format!("{}.snapshot", self.subject);
        let (mut notes, mut from) = (Vec::new(), 1);
        loop {
            let next = self.stream.raw_message_builder().sequence(from).next_by_subject(&subject);
            let Some(message) = self.found(next.send().await)? else { return Ok(notes) };
            from = message.sequence + 1;
            notes.push(self.note(&message)?);
        }
    }

    /// Returns the messages with these numbers. A missing message is damage.
    pub(crate) async fn read(&self, from: u64, through: u64) -> Result<Vec<Numbered>, Problem> {
        let known = self.known.as_ref();
        let reads = (from..=through).map(|sequence| async move {
            if let Some(frame) = known.and_then(|known| known.lock().get(&sequence).cloned()) {
                return Ok((sequence, frame));
            }
            let frame = self.frame(sequence).await?.ok_or_else(|| self.missing(sequence))?;
            if let Some(mut known) = known.map(|known| known.lock()).filter(|known| known.len() < KNOWN_MAX) {
                known.insert(sequence, frame.clone());
            }
            Ok::<_, Problem>((sequence, frame))
        });
        futures_util::stream::iter(reads).buffered(READ_AHEAD).try_collect().await
    }

    fn found(
        &self,
        message: Result<StreamMessage, RawMessageError>,
    ) -> Result<Option<StreamMessage>, Problem> {
        match message {
            Ok(message) => Ok(Some(message)),
            Err(error) => match error.kind() {
                LastRawMessageErrorKind::NoMessageFound => Ok(None),
                LastRawMessageErrorKind::JetStream(answer)
                    if answer.error_code() == ErrorCode::NO_MESSAGE_FOUND =>
                {
                    Ok(None)
                }
                _ => Err(self.failed("cannot be read", &error)),
            },
        }
    }

    fn parse(&self, message: &StreamMessage) -> Result<Frame, Problem> {
        Frame::from_bytes(&message.payload).map_err(|error| self.damaged(message.sequence, &error))
    }

    fn note(&self, message: &StreamMessage) -> Result<Note, Problem> {
        let Frame::Snapshot(snapshot) = self.parse(message)? else {
            return Err(self.damaged(message.sequence, &"it is not the note of a snapshot"));
        };
        let number = |name: &str| {
            let text = message.headers.get(name).and_then(|value| value.as_str().parse().ok());
            text.ok_or_else(|| self.damaged(message.sequence, &format!("its header {name} is missing")))
        };
        let since = (number(BYTES_HEADER)?, number(BATCHES_HEADER)?);
        let accounts = message.headers.get(ACCOUNTS_HEADER).map_or(Ok(0), |_| number(ACCOUNTS_HEADER))?;
        Ok(Note { sequence: message.sequence, snapshot, time_ms: number(TIME_HEADER)?, since, accounts })
    }

    /// Appends the note of a snapshot.
    pub(crate) async fn append_note(&self, note: &Note, last: u64) -> Option<AppendStep> {
        let mut headers =
            vec![(TIME_HEADER, note.time_ms), (BYTES_HEADER, note.since.0), (BATCHES_HEADER, note.since.1)];
        if note.accounts > 0 {
            headers.push((ACCOUNTS_HEADER, note.accounts));
        }
        self.publish(&Frame::Snapshot(note.snapshot), last, &headers).await
    }

    /// Appends a frame without further data.
    pub(crate) async fn append(&self, frame: &Frame, last: u64) -> Option<AppendStep> {
        self.publish(frame, last, &[]).await
    }

    /// Appends a message behind the message `last`, as [`Append`] decides. Returns its last step; `None` if the message is larger
    /// than NATS accepts.
    async fn publish(&self, frame: &Frame, last: u64, headers: &[(&str, u64)]) -> Option<AppendStep> {
        let bytes = frame.to_bytes();
        if bytes.len() > FRAME_BYTES_MAX || bytes.len() + HEADER_BYTES > self.link.payload_bytes_max() {
            return None;
        }
        let kind = match frame {
            Frame::Snapshot(_) => "snapshot",
            Frame::Batch(_) => "batch",
            Frame::Head(_) => "head",
        };
        let payload = Bytes::from(bytes);
        let mut append = Append::new(Sequence(last));
        loop {
            match append.next().clone() {
                AppendStep::Publish(expected) => {
                    let mut message = PublishMessage::build()
                        .payload(payload.clone())
                        .expected_stream(&self.name)
                        .expected_last_sequence(expected.0);
                    for (name, number) in headers {
                        message = message.header(*name, number.to_string().as_str());
                    }
                    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", self.name);
                    let subject = format!("{}.{kind}", self.subject);
                    let sent = match self.link.context().send_publish(subject, message).await {
                        Ok(ack) => ack.await,
                        Err(error) => Err(error),
                    };
                    append.handle_published(match sent {
                        Ok(ack) => Stored::Yes(Sequence(ack.sequence)),
                        Err(error) => match error.kind() {
                            PublishErrorKind::WrongLastSequence => Stored::Refused,
                            PublishErrorKind::MaxPayloadExceeded => return None,
                            _ => Stored::Unknown(failed(&error)),
                        },
                    });
                }
                AppendStep::Read(sequence) => {
                    let found = self.found(self.stream.get_raw_message(sequence.0).await);
                    let is_own = found.map(|found| found.map(|found| found.payload == payload));
                    append.handle_frame(is_own.map_err(|problem| problem.to_string()));
                }
                AppendStep::ReadBounds => {
                    let bounds = self.bounds().await.map_err(|problem| problem.to_string());
                    append.handle_bounds(bounds.map(|(first, last)| (Sequence(first), Sequence(last))));
                }
                end => return Some(end),
            }
        }
    }

    /// Makes a server the owner of the journal, as [`nowcast_cluster::Claim`](nowcast_cluster::Claim) decides. `after` are the note of
    /// the newest known snapshot, and the message with which the previous owner has ended the journal for this server. Then the
    /// messages between them are read while the head is appended. Returns the newest note of a snapshot, too, and whether the
    /// journal ended after that message.
    pub(crate) async fn claim(
        &self,
        owner: ServerId,
        epoch: Option<Epoch>,
        after: Option<(Note, u64)>,
    ) -> Result<(Claim, Option<Note>, bool), Problem> {
        let mut claim =
            nowcast_cluster::Claim::new(owner, epoch, after.as_ref().map(|(_, last)| Sequence(*last)));
        let (mut direct, mut state) = (after, None);
        loop {
            match claim.next().clone() {
                ClaimStep::ReadEnd => {
                    direct = None;
                    let read = self.read_end().await?;
                    claim.handle_end(Sequence(read.0), read.1.as_ref());
                    // Nothing is written to a damaged journal.
                    state = Some((self.claim_after(read.0, read.1, read.2.is_some()).await?, read.2));
                }
                ClaimStep::Append(head, last) => {
                    let frame = Frame::Head(head);
                    let appended = match &direct {
                        Some((note, after)) => {
                            let read = self.read(note.sequence + 1, *after);
                            let (appended, read) = tokio::join!(self.append(&frame, last.0), read);
                            state = read
                                .ok()
                                .and_then(|frames| Some((claim_of(note, &frames)?, Some(note.clone()))));
                            appended
                        }
                        None => self.append(&frame, last.0).await,
                    };
                    if let (Some(AppendStep::Stored(sequence)), Some(known)) = (&appended, &self.known) {
                        known.lock().insert(sequence.0, frame);
                    }
                    claim.handle_appended(&appended.unwrap_or(AppendStep::Fenced));
                }
                ClaimStep::Owned(head, last) => {
                    let is_direct = direct.is_some() && state.is_some();
                    let (state, note) = match state {
                        Some(state) => state,
                        // The messages could not be read, or have a newer snapshot.
                        None => {
                            let (last, newest, note) = self.read_end().await?;
                            (self.claim_after(last, newest, note.is_some()).await?, note)
                        }
                    };
                    return Ok((Claim { epoch: head.epoch, last: last.0, ..state }, note, is_direct));
                }
                ClaimStep::Fenced => return Err(Problem::Fenced),
                ClaimStep::Failed(why) => {
                    return Err(Problem::Unreachable(format!("{} cannot be claimed: {why}", self.name)));
                }
            }
        }
    }

    /// Reads the last message of the journal, and the newest note of a snapshot.
    async fn read_end(&self) -> Result<(u64, Option<Frame>, Option<Note>), Problem> {
        let ((_, last), note) = tokio::try_join!(self.bounds(), self.last_snapshot())?;
        let newest = match last {
            0 => None,
            last => Some(self.frame(last).await?.ok_or_else(|| self.missing(last))?),
        };
        Ok((last, newest, note))
    }

    /// Returns the state of the journal after its last message, as the newest batch or snapshot records it.
    async fn claim_after(
        &self,
        last: u64,
        newest: Option<Frame>,
        has_snapshot: bool,
    ) -> Result<Claim, Problem> {
        let claim = Claim { epoch: Epoch(0), last, batch_number: 0, tick: 0, has_snapshot };
        let (mut sequence, mut frame) = (last, newest);
        while sequence > 0 {
            match frame {
                Some(Frame::Batch(batch)) => {
                    let (batch_number, tick) = (batch.number, batch.through_step);
                    return Ok(Claim { batch_number, tick, has_snapshot: true, ..claim });
                }
                Some(Frame::Snapshot(snapshot)) => {
                    let (batch_number, tick) = (snapshot.batch_number, snapshot.step);
                    return Ok(Claim { batch_number, tick, has_snapshot: true, ..claim });
                }
                Some(Frame::Head(_)) => sequence -= 1,
                None if has_snapshot => return Err(self.missing(sequence)),
                None => return Ok(claim),
            }
            frame = if sequence > 0 { self.frame(sequence).await? } else { None };
        }
        Ok(claim)
    }

    /// Removes all messages before a number. Returns how many were removed.
    pub(crate) async fn purge_before(&self, sequence: u64) -> Result<u64, Problem> {
        let purged = self.stream.purge().sequence(sequence).await;
        Ok(purged.map_err(|error| self.failed("cannot be purged", &error))?.purged)
    }

    fn missing(&self, sequence: u64) -> Problem {
        self.damaged(sequence, &"it is missing: messages were deleted or purged by hand")
    }

    pub(crate) fn damaged(&self, sequence: u64, what: &dyn std::fmt::Display) -> Problem {
        Problem::Damaged { place: format!("message {sequence} of {}", self.name), what: what.to_string() }
    }

    fn failed(&self, what: &str, error: &dyn std::fmt::Display) -> Problem {
        Problem::Unreachable(format!("{} {what}: {error}", self.name))
    }
}

/// The state of a journal after the messages behind a snapshot; `None` if they have a newer snapshot.
fn claim_of(note: &Note, frames: &[Numbered]) -> Option<Claim> {
    let (mut batch_number, mut tick) = (note.snapshot.batch_number, note.snapshot.step);
    for (_, frame) in frames {
        match frame {
            Frame::Batch(batch) => (batch_number, tick) = (batch.number, batch.through_step),
            Frame::Snapshot(_) => return None,
            Frame::Head(_) => {}
        }
    }
    Some(Claim { epoch: Epoch(0), last: 0, batch_number, tick, has_snapshot: true })
}

/// The name of a world's stream, and the beginning of its subjects.
fn names(link: &Link, world: &WorldName) -> (String, String) {
    let key = hex(world.as_str().as_bytes());
    (link.name(&format!("world-{key}")), link.subject(&format!("world.{key}")))
}
