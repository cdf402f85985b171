//! Like `tcp_conflating`, but non-blocking, as in an event loop: it writes until the socket accepts no more data.
//!
//! This way has a disadvantage. Linux compares the waiting bytes with `TCP_NOTSENT_LOWAT` only when it begins another buffer.
//! Further bytes are appended to an unsent buffer until it has 64 KB. So during every loss, some waiting values can no longer
//! be replaced.

use std::io;
use std::net::SocketAddr;

use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::frame::Deframer;
use super::tcp_conflating::{self, Waiting};
use super::{Connection, End, Message, PeerError, Work, tcp};

pub(super) struct TcpConflatingEager {
    stream: TcpStream,
    incoming: Deframer,
    waiting: Waiting,
    /// Bytes that were decided and not yet accepted by the kernel.
    piece: Vec<u8>,
}

impl TcpConflatingEager {
    pub(super) async fn open(
        end: End,
        address: SocketAddr,
        listening: &mut dyn FnMut(),
    ) -> Result<Self, PeerError> {
        let stream = tcp_conflating::stream(end, address, listening).await?;
        Ok(Self { stream, incoming: Deframer::default(), waiting: Waiting::default(), piece: Vec::new() })
    }

    fn is_empty(&self) -> bool {
        self.piece.is_empty() && self.waiting.is_empty()
    }

    fn write(&mut self) -> Result<(), PeerError> {
        loop {
            if self.piece.is_empty() {
                self.waiting.fill(&mut self.piece);
            }
            if self.piece.is_empty() {
                return Ok(());
            }
            match self.stream.try_write(&self.piece) {
                Ok(written) => drop(self.piece.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(PeerError::socket("write")(error)),
            }
        }
    }
}

impl Connection for TcpConflatingEager {
    fn put(&mut self, key: u16, bytes: &[u8]) -> Result<(), PeerError> {
        self.waiting.put(key, bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), PeerError> {
        self.write()
    }

    fn work<'a>(&'a mut self, until: Instant, messages_max: usize, inbox: &'a mut Vec<Message>) -> Work<'a> {
        Box::pin(async move {
            loop {
                self.write()?;
                if self.incoming.take(messages_max, inbox)? {
                    return Ok(());
                }
                tcp::read(&self.stream, &mut self.incoming)?;
                if self.incoming.take(messages_max, inbox)? {
                    return Ok(());
                }
                let interest = if self.is_empty() {
                    Interest::READABLE
                } else {
                    Interest::READABLE | Interest::WRITABLE
                };
                match timeout_at(until, self.stream.ready(interest)).await {
                    Err(_) => return Ok(()),
                    Ok(ready) => drop(ready.map_err(PeerError::socket("wait"))?),
                }
            }
        })
    }
}
