//! TCP as the clever engineer uses it: a value that has not been written yet is replaced by a newer one, events go
//! first, and the kernel is given little that it cannot send at once.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;

use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::frame::{self, Deframer};
use super::{Connection, End, Message, PeerError, Work, tcp};

/// How much the kernel may hold that it has not sent: more than one piece, so that its pipe does not run dry.
const BACKLOG_BYTES: u32 = 2 * 1_024;
/// How much is written at once; decided anew before each piece.
const PIECE_BYTES: usize = 1_400;

pub(super) struct TcpConflating {
    stream: TcpStream,
    incoming: Deframer,
    events: VecDeque<Vec<u8>>,
    /// The newest value of every key that waits, and the order in which the keys began to wait.
    values: HashMap<u16, Vec<u8>>,
    order: VecDeque<u16>,
    /// What has been decided and not been taken by the kernel.
    piece: Vec<u8>,
}

impl TcpConflating {
    pub(super) async fn open(
        end: End,
        address: SocketAddr,
        listening: &mut dyn FnMut(),
    ) -> Result<Self, PeerError> {
        let congestion_control = if tcp::has_bbr() { "bbr" } else { "cubic" };
        let stream = tcp::stream(end, address, Some(congestion_control), listening).await?;
        let set = SockRef::from(&stream).set_tcp_notsent_lowat(BACKLOG_BYTES);
        set.map_err(PeerError::socket("set TCP_NOTSENT_LOWAT"))?;
        Ok(Self {
            stream,
            incoming: Deframer::default(),
            events: VecDeque::new(),
            values: HashMap::new(),
            order: VecDeque::new(),
            piece: Vec::new(),
        })
    }

    fn is_empty(&self) -> bool {
        self.piece.is_empty() && self.events.is_empty() && self.order.is_empty()
    }

    fn fill(&mut self) {
        while self.piece.len() < PIECE_BYTES {
            if let Some(event) = self.events.pop_front() {
                frame::push(&mut self.piece, 0, &event);
            } else if let Some(key) = self.order.pop_front() {
                let value = self.values.remove(&key).expect("a key that waits has a value");
                frame::push(&mut self.piece, key, &value);
            } else {
                return;
            }
        }
    }

    fn write(&mut self) -> Result<(), PeerError> {
        loop {
            if self.piece.is_empty() {
                self.fill();
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

impl Connection for TcpConflating {
    fn put(&mut self, key: u16, bytes: &[u8]) -> Result<(), PeerError> {
        if key == 0 {
            self.events.push_back(bytes.to_vec());
        } else if self.values.insert(key, bytes.to_vec()).is_none() {
            self.order.push_back(key);
        }
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
