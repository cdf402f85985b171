//! Our own queue.

use std::time::{Duration, Instant};

use nowcast_queue::{Bounds, Key, Refusal};
use nowcast_shm::{Listener, ShmChannel, advertise, connect_until};

use super::message::Message;
use super::{Inlet, LocalError, Outlet};

const NAME: &str = "nowcast queue";

/// One direction of a channel; the other direction is idle.
pub(super) struct Queue {
    channel: ShmChannel,
    key: Key,
    buffer: Vec<u8>,
}

pub(super) fn listen(name: &str) -> Result<Listener, LocalError> {
    advertise(name, &[Bounds::default()]).map_err(|error| LocalError::carrier(NAME, error))
}

impl Queue {
    pub(super) fn accept(mut listener: Listener, key: Key) -> Result<Queue, LocalError> {
        let deadline = Instant::now() + Duration::from_secs(5);
        let channel = listener.accept(Some(deadline)).map_err(|error| LocalError::carrier(NAME, error))?;
        Ok(Queue { channel, key, buffer: Vec::new() })
    }

    pub(super) fn connect(name: &str, key: Key) -> Result<Queue, LocalError> {
        let deadline = Instant::now() + Duration::from_secs(5);
        let channel = connect_until(name, &[Bounds::default()], deadline)
            .map_err(|error| LocalError::carrier(NAME, error))?;
        Ok(Queue { channel, key, buffer: Vec::with_capacity(128) })
    }

    fn message(&self) -> Result<Message, LocalError> {
        let bytes = self.buffer.as_slice().try_into();
        bytes.map(Message).map_err(|_| LocalError::carrier(NAME, format!("{} bytes came", self.buffer.len())))
    }
}

impl Outlet for Queue {
    #[inline]
    fn send(&mut self, message: &Message) -> Result<(), LocalError> {
        match self.channel.sender.put_on(0, self.key, &message.0, None) {
            Ok(_) => Ok(()),
            Err(refusal) => Err(LocalError::carrier(NAME, refusal)),
        }
    }
}

impl Inlet for Queue {
    #[inline]
    fn try_receive(&mut self) -> Result<Option<Message>, LocalError> {
        match self.channel.receiver.try_get_any(&mut self.buffer) {
            Ok(Some(_)) => self.message().map(Some),
            Ok(None) | Err(Refusal::Closed) => Ok(None),
            Err(refusal) => Err(LocalError::carrier(NAME, refusal)),
        }
    }

    fn receive(&mut self) -> Result<Option<Message>, LocalError> {
        match self.channel.receiver.get_any(&mut self.buffer, None) {
            Ok(_) => self.message().map(Some),
            Err(Refusal::Closed | Refusal::PeerDied) => Ok(None),
            Err(refusal) => Err(LocalError::carrier(NAME, refusal)),
        }
    }
}
