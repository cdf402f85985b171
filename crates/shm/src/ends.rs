//! The two ends of a direction, in the form that programs use.

use crate::gate::{self, ASLEEP, Waiting};
use crate::lane::{LaneReader, LaneWriter};
use crate::layout::{READER_CLOSED, READER_GATE, WRITER_CLOSED, WRITER_GATE};
use crate::link::{End, Link};
use crate::map::Map;
use crate::memory::Memory;
use crate::segment::Segment;
use nowcast_queue::{Bounds, Counters, Key, Put, Receiver, Refusal, Sender};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// The value that the closing side writes. Any other value except 0 is damage.
const CLOSED: u64 = 0x0043_4C4F_5345_4421;

/// Number of polls of a blocking call before it sleeps. All these polls together take about as long as the system call that
/// sleeps.
const SPINS: u32 = 200;

/// The end that puts into shared memory. Dropping it closes the direction.
///
/// Methods without a lane argument use lane 0. [`Sender`] also has them, for generic code.
#[derive(Debug)]
pub struct ShmSender {
    lanes: Vec<LaneWriter<Arc<Map>>>,
    pub(crate) map: Arc<Map>,
    link: Arc<Link>,
    broken: Option<Refusal>,
    refused: u64,
}

/// The end that gets from shared memory. Dropping it closes the direction.
#[derive(Debug)]
pub struct ShmReceiver {
    lanes: Vec<LaneReader<Arc<Map>>>,
    pub(crate) map: Arc<Map>,
    link: Arc<Link>,
    broken: Option<Refusal>,
}

impl ShmSender {
    pub(crate) fn new(segment: Segment, link: Arc<Link>) -> Self {
        let Segment { map, lanes } = segment;
        let lanes = lanes.into_iter().map(|layout| LaneWriter::new(Arc::clone(&map), layout)).collect();
        ShmSender { lanes, map, link, broken: None, refused: 0 }
    }

    /// Puts a value on a lane without waiting; see [`Sender::try_put`].
    ///
    /// # Errors
    /// Like [`Sender::try_put`].
    ///
    /// # Panics
    /// If there is no such lane. The program itself chose the number of lanes, so this is its mistake.
    #[inline]
    pub fn try_put_on(&mut self, lane: usize, key: Key, value: &[u8]) -> Result<Put, Refusal> {
        let put = self.attempt(lane, key, value);
        self.refused += u64::from(put.is_err());
        put
    }

    /// Puts a value on a lane and waits for room; see [`Sender::put`].
    ///
    /// # Errors
    /// Like [`Sender::put`].
    ///
    /// # Panics
    /// If there is no such lane.
    pub fn put_on(
        &mut self,
        lane: usize,
        key: Key,
        value: &[u8],
        deadline: Option<Instant>,
    ) -> Result<Put, Refusal> {
        // Each read of a full queue takes a cache line away from the reader. Therefore the writer first waits until the reader
        // could have made room for many entries. Then it polls less and less often.
        let patience = (self.lanes[lane].bounds().entries_max as u32 / 4).clamp(8, 128);
        for pauses in [patience, patience * 2, patience * 4, 0] {
            match self.attempt(lane, key, value) {
                Err(Refusal::Full) => (0..pauses).for_each(|_| std::hint::spin_loop()),
                done => return done,
            }
        }
        loop {
            gate::announce(&self.map, WRITER_GATE, Waiting::Asleep);
            let mut attempt = self.attempt(lane, key, value);
            if attempt == Err(Refusal::Full)
                && let Some(time) = time_to_sleep(deadline, self.link.patience)
            {
                self.map.sleep(WRITER_GATE, ASLEEP, time);
                // After a wake-up there usually is room, so the writer tries again before it announces the next sleep.
                attempt = self.attempt(lane, key, value);
                if attempt == Err(Refusal::Full) {
                    continue;
                }
            }
            gate::withdraw(&self.map, WRITER_GATE);
            return attempt.map_err(|refusal| match refusal {
                Refusal::Full => Refusal::TimedOut,
                other => other,
            });
        }
    }

    /// Puts a value on a lane, or registers the task to be woken; see [`Sender::poll_put`].
    ///
    /// # Errors
    /// Like [`Sender::poll_put`].
    ///
    /// # Panics
    /// If there is no such lane.
    pub fn poll_put_on(
        &mut self,
        context: &mut Context<'_>,
        lane: usize,
        key: Key,
        value: &[u8],
    ) -> Poll<Result<Put, Refusal>> {
        match self.attempt(lane, key, value) {
            Err(Refusal::Full) => {}
            done => return Poll::Ready(done),
        }
        self.link.listen(End::Sender, context.waker());
        gate::announce(&self.map, WRITER_GATE, Waiting::Listening);
        match self.attempt(lane, key, value) {
            Err(Refusal::Full) => Poll::Pending,
            done => {
                gate::withdraw(&self.map, WRITER_GATE);
                Poll::Ready(done)
            }
        }
    }

    /// Always ready, because the peer can get all messages that were put. This method exists for code that is generic over
    /// carriers.
    pub fn poll_drained(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    /// Returns the counters of messages, summed over all lanes.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let none = Counters { refused: self.refused, ..Counters::default() };
        self.lanes.iter().map(LaneWriter::counters).fold(none, |sum, lane| Counters {
            queued: sum.queued + lane.queued,
            replaced: sum.replaced + lane.replaced,
            refused: sum.refused,
            delivered: sum.delivered + lane.delivered,
        })
    }

    /// Returns the number of lanes in this direction.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Returns the id of the process at the other end.
    #[must_use]
    pub fn peer_pid(&self) -> u32 {
        self.link.peer_pid
    }

    #[inline]
    fn attempt(&mut self, lane: usize, key: Key, value: &[u8]) -> Result<Put, Refusal> {
        if let Some(refusal) = self.broken {
            return Err(refusal);
        }
        if let Some(refusal) = end_of(&self.map, READER_CLOSED, &self.link) {
            return Err(refusal);
        }
        let put = self.lanes[lane].put(key, value);
        match put {
            // A reader sleeps because the queue was empty, so only a new entry needs a wake-up.
            Ok(Put::Queued) => {
                let waiting = gate::open(&self.map, READER_GATE);
                self.link.wake(&self.map, READER_GATE, waiting);
            }
            Err(refusal @ Refusal::Corrupt(_)) => self.broken = Some(refusal),
            _ => {}
        }
        put
    }
}

impl ShmReceiver {
    pub(crate) fn new(segment: Segment, link: Arc<Link>) -> Self {
        let Segment { map, lanes } = segment;
        let lanes = lanes.iter().map(|layout| LaneReader::new(Arc::clone(&map), layout)).collect();
        ShmReceiver { lanes, map, link, broken: None }
    }

    /// Gets the next message and its lane, without waiting. Lanes with lower numbers go first. See [`Receiver::try_get`].
    ///
    /// # Errors
    /// Like [`Receiver::try_get`].
    #[inline]
    pub fn try_get_any(&mut self, value: &mut Vec<u8>) -> Result<Option<(usize, Key)>, Refusal> {
        if let Some(refusal) = self.broken {
            return Err(refusal);
        }
        if let Some(got) = self.take(value)? {
            return Ok(Some(got));
        }
        let Some(refusal) = end_of(&self.map, WRITER_CLOSED, &self.link) else {
            return Ok(None);
        };
        // Entries that were put before the end were written before the mark of the end, so a last poll finds them.
        match self.take(value)? {
            Some(got) => Ok(Some(got)),
            None => Err(refusal),
        }
    }

    /// Waits for the next message of any lane, and gets it; see [`Receiver::get`].
    ///
    /// # Errors
    /// Like [`Receiver::get`].
    pub fn get_any(
        &mut self,
        value: &mut Vec<u8>,
        deadline: Option<Instant>,
    ) -> Result<(usize, Key), Refusal> {
        for _ in 0..SPINS {
            if let Some(got) = self.try_get_any(value)? {
                return Ok(got);
            }
            std::hint::spin_loop();
        }
        loop {
            gate::announce(&self.map, READER_GATE, Waiting::Asleep);
            let mut attempt = self.try_get_any(value);
            if attempt == Ok(None)
                && let Some(time) = time_to_sleep(deadline, self.link.patience)
            {
                self.map.sleep(READER_GATE, ASLEEP, time);
                // After a wake-up there usually is a message. The reader checks before it announces the next sleep, because that
                // announcement costs a system call.
                attempt = self.try_get_any(value);
                if attempt == Ok(None) {
                    continue;
                }
            }
            gate::withdraw(&self.map, READER_GATE);
            return attempt?.ok_or(Refusal::TimedOut);
        }
    }

    /// Gets the next message of any lane, or registers the task to be woken; see [`Receiver::poll_get`].
    ///
    /// # Errors
    /// Like [`Receiver::poll_get`].
    pub fn poll_get_any(
        &mut self,
        context: &mut Context<'_>,
        value: &mut Vec<u8>,
    ) -> Poll<Result<(usize, Key), Refusal>> {
        if let Some(got) = self.try_get_any(value)? {
            return Poll::Ready(Ok(got));
        }
        self.link.listen(End::Receiver, context.waker());
        gate::announce(&self.map, READER_GATE, Waiting::Listening);
        match self.try_get_any(value)? {
            None => Poll::Pending,
            Some(got) => {
                gate::withdraw(&self.map, READER_GATE);
                Poll::Ready(Ok(got))
            }
        }
    }

    /// Whether no message waits now.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lanes.iter().all(LaneReader::is_empty)
    }

    /// Returns the bounds of each lane. The sender chose them.
    #[must_use]
    pub fn bounds(&self) -> Vec<Bounds> {
        self.lanes.iter().map(LaneReader::bounds).collect()
    }

    /// Returns the id of the process at the other end.
    #[must_use]
    pub fn peer_pid(&self) -> u32 {
        self.link.peer_pid
    }

    #[inline]
    fn take(&mut self, value: &mut Vec<u8>) -> Result<Option<(usize, Key)>, Refusal> {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            match lane.get(value) {
                Ok(None) => {}
                Ok(Some(key)) => {
                    let waiting = gate::open(&self.map, WRITER_GATE);
                    self.link.wake(&self.map, WRITER_GATE, waiting);
                    return Ok(Some((index, key)));
                }
                Err(refusal) => {
                    self.broken = Some(refusal);
                    return Err(refusal);
                }
            }
        }
        Ok(None)
    }
}

/// Returns how the other side has ended, or `None` if it has not ended.
#[inline]
fn end_of(map: &Arc<Map>, closed: usize, link: &Link) -> Option<Refusal> {
    // The process is checked first. If a process closes and then ends, the other side must see the close.
    let dead = link.is_dead();
    match map.words()[closed].load(Ordering::Acquire) {
        0 if dead => Some(Refusal::PeerDied),
        0 => None,
        CLOSED => Some(Refusal::Closed),
        _ => Some(Refusal::Corrupt("the closing word was overwritten")),
    }
}

/// Returns the duration of the next sleep, or `None` at the deadline.
fn time_to_sleep(deadline: Option<Instant>, patience: Duration) -> Option<Duration> {
    let Some(deadline) = deadline else {
        return Some(patience);
    };
    let left = deadline.saturating_duration_since(Instant::now());
    (!left.is_zero()).then(|| left.min(patience))
}

fn close(map: &Arc<Map>, closed: usize, gate: usize, link: &Link) {
    map.words()[closed].store(CLOSED, Ordering::Release);
    let waiting = gate::open(map, gate);
    link.wake(map, gate, waiting);
}

impl Drop for ShmSender {
    fn drop(&mut self) {
        close(&self.map, WRITER_CLOSED, READER_GATE, &self.link);
    }
}

impl Drop for ShmReceiver {
    fn drop(&mut self) {
        close(&self.map, READER_CLOSED, WRITER_GATE, &self.link);
    }
}

impl Sender for ShmSender {
    #[inline]
    fn try_put(&mut self, key: Key, value: &[u8]) -> Result<Put, Refusal> {
        self.try_put_on(0, key, value)
    }

    fn put(&mut self, key: Key, value: &[u8], deadline: Option<Instant>) -> Result<Put, Refusal> {
        self.put_on(0, key, value, deadline)
    }

    fn poll_put(&mut self, context: &mut Context<'_>, key: Key, value: &[u8]) -> Poll<Result<Put, Refusal>> {
        self.poll_put_on(context, 0, key, value)
    }
}

impl Receiver for ShmReceiver {
    #[inline]
    fn try_get(&mut self, value: &mut Vec<u8>) -> Result<Option<Key>, Refusal> {
        Ok(self.try_get_any(value)?.map(|(_, key)| key))
    }

    fn get(&mut self, value: &mut Vec<u8>, deadline: Option<Instant>) -> Result<Key, Refusal> {
        Ok(self.get_any(value, deadline)?.1)
    }

    fn poll_get(&mut self, context: &mut Context<'_>, value: &mut Vec<u8>) -> Poll<Result<Key, Refusal>> {
        Poll::Ready(Ok(std::task::ready!(self.poll_get_any(context, value))?.1))
    }
}
