//! A carrier whose packets pass two emulated links.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use tokio::time::Sleep;

use super::link::{Link, LinkType};
use super::{Direction, Impairment};
use crate::carrier::{Carrier, CarrierKind, Ended, Ending};

/// Bytes of a narrow stream that may wait. Beyond it, the carrier is full.
const STREAM_WAITING_BYTES_MAX: usize = 16 * 1_024;

/// Maximum packets on the way in one direction. Beyond it, the link takes no more from the peer.
const ON_THE_WAY_MAX: usize = 65_536;

/// A carrier whose packets pass two emulated links.
pub(super) struct ImpairedCarrier {
    inner: Box<dyn Carrier>,
    impairment: Impairment,
    link_type: LinkType,
    up: Link,
    down: Link,
    leaving: VecDeque<(Instant, Vec<u8>)>,
    arriving: VecDeque<(Instant, Bytes)>,
    ended: Option<Ended>,
    /// Wakes the driver for packets on the way, and for a stream that has room again.
    sleep: Pin<Box<Sleep>>,
}

impl ImpairedCarrier {
    pub(super) fn new(inner: Box<dyn Carrier>, impairment: Impairment, link_type: LinkType) -> Self {
        Self {
            inner,
            impairment,
            link_type,
            up: Link::new(link_type),
            down: Link::new(link_type),
            leaving: VecDeque::new(),
            arriving: VecDeque::new(),
            ended: None,
            sleep: Box::pin(tokio::time::sleep_until(tokio::time::Instant::now())),
        }
    }

    /// Passes on the packets that have left, and takes those that arrived.
    fn pump(&mut self, context: &mut Context<'_>) {
        let now = Instant::now();
        while self.ended.is_none() && self.leaving.front().is_some_and(|(at, _)| *at <= now) {
            let sent = match self.inner.poll_ready(context) {
                Poll::Pending => break,
                Poll::Ready(Ok(())) => {
                    let Some((_, packet)) = self.leaving.pop_front() else { break };
                    self.inner.send(&packet)
                }
                Poll::Ready(Err(ended)) => Err(ended),
            };
            self.ended = sent.err();
        }
        while self.ended.is_none() && self.arriving.len() < ON_THE_WAY_MAX {
            match self.inner.poll_receive(context) {
                Poll::Pending => break,
                Poll::Ready(Ok(packet)) => {
                    let at = self.impairment.send(&mut self.down, Direction::Down, now, packet.len());
                    self.arriving.extend(at.map(|at| (at, packet)));
                }
                Poll::Ready(Err(ended)) => self.ended = Some(ended),
            }
        }
    }

    /// Wakes the driver at the next event.
    fn rest(&mut self, context: &mut Context<'_>, room_at: Option<Instant>) {
        // A packet that is due waits for the inner carrier, which wakes the driver.
        let now = Instant::now();
        let leaving = self.leaving.front().map(|(at, _)| *at).filter(|at| *at > now);
        let arriving = self.arriving.front().map(|(at, _)| *at);
        let Some(next) = leaving.into_iter().chain(arriving).chain(room_at).min() else { return };
        self.sleep.as_mut().reset(next.into());
        if self.sleep.as_mut().poll(context).is_ready() {
            context.waker().wake_by_ref();
        }
    }
}

impl Carrier for ImpairedCarrier {
    fn kind(&self) -> CarrierKind {
        self.inner.kind()
    }

    fn properties(&self) -> nowcast_session::Carrier {
        self.inner.properties()
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Ended>> {
        self.pump(context);
        if let Some(ended) = &self.ended {
            return Poll::Ready(Err(ended.clone()));
        }
        let room_in = match self.link_type {
            LinkType::Stream => self.impairment.backlog(&self.up, STREAM_WAITING_BYTES_MAX),
            LinkType::Datagrams => None,
        };
        let room_at = room_in.map(|wait| Instant::now() + wait);
        self.rest(context, room_at);
        if room_at.is_some() || self.leaving.len() >= ON_THE_WAY_MAX {
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    fn is_shallow(&self) -> bool {
        self.inner.is_shallow()
    }

    fn send(&mut self, packet: &[u8]) -> Result<(), Ended> {
        if let Some(ended) = &self.ended {
            return Err(ended.clone());
        }
        let at = self.impairment.send(&mut self.up, Direction::Up, Instant::now(), packet.len());
        self.leaving.extend(at.map(|at| (at, packet.to_vec())));
        Ok(())
    }

    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, Ended>> {
        self.pump(context);
        let now = Instant::now();
        if self.arriving.front().is_some_and(|(at, _)| *at <= now)
            && let Some((_, packet)) = self.arriving.pop_front()
        {
            return Poll::Ready(Ok(packet));
        }
        if let Some(ended) = self.ended.as_ref().filter(|_| self.arriving.is_empty()) {
            return Poll::Ready(Err(ended.clone()));
        }
        self.rest(context, None);
        Poll::Pending
    }

    /// Closes the carrier after the packets on the way have left.
    fn poll_close(&mut self, context: &mut Context<'_>, ending: Ending) -> Poll<()> {
        self.pump(context);
        if self.ended.is_none() && !self.leaving.is_empty() {
            self.rest(context, None);
            return Poll::Pending;
        }
        self.inner.poll_close(context, ending)
    }
}
