//! A carrier whose packets are recorded.

use std::task::{Context, Poll, ready};

use bytes::Bytes;

use super::PacketRecorder;
use nowcast_engine::carrier::{Carrier, CarrierKind, Ended, Ending};

/// A carrier whose packets are recorded.
pub(super) struct RecordedCarrier {
    inner: Box<dyn Carrier>,
    recorder: PacketRecorder,
    number: u32,
}

impl RecordedCarrier {
    pub(super) fn new(inner: Box<dyn Carrier>, recorder: PacketRecorder, number: u32) -> Self {
        Self { inner, recorder, number }
    }
}

impl Carrier for RecordedCarrier {
    fn kind(&self) -> CarrierKind {
        self.inner.kind()
    }

    fn properties(&self) -> nowcast_session::Carrier {
        self.inner.properties()
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Ended>> {
        self.inner.poll_ready(context)
    }

    fn is_shallow(&self) -> bool {
        self.inner.is_shallow()
    }

    fn send(&mut self, packet: &[u8]) -> Result<(), Ended> {
        self.inner.send(packet)?;
        self.recorder.record(self.number, self.inner.kind(), false, Bytes::copy_from_slice(packet));
        Ok(())
    }

    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, Ended>> {
        let packet = ready!(self.inner.poll_receive(context))?;
        self.recorder.record(self.number, self.inner.kind(), true, packet.clone());
        Poll::Ready(Ok(packet))
    }

    fn poll_close(&mut self, context: &mut Context<'_>, ending: Ending) -> Poll<()> {
        self.inner.poll_close(context, ending)
    }
}
