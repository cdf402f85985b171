//! TCP, as most programs use it. Everything is written in order, and the program waits while the socket is full.

use std::io;
use std::net::SocketAddr;

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::io::Interest;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout_at};

use super::frame::{self, Deframer};
use super::{Connection, End, Message, PeerError, Work};

/// Whether the kernel has the BBR congestion control.
pub(super) fn has_bbr() -> bool {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .is_ok_and(|names| names.split_whitespace().any(|name| name == "bbr"))
}

/// Returns the name of the system's default congestion control.
pub(super) fn congestion_control_by_default() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").ok()?;
    Some(name.trim().to_owned())
}

/// Opens a stream that does not delay small segments, with the named congestion control.
pub(super) async fn stream(
    end: End,
    address: SocketAddr,
    congestion_control: Option<&str>,
    listening: &mut dyn FnMut(),
) -> Result<TcpStream, PeerError> {
    let stream = match end {
        End::Far => {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))
                .and_then(|socket| {
                    socket.set_reuse_address(true)?;
                    socket.bind(&address.into())?;
                    socket.listen(1)?;
                    socket.set_nonblocking(true)?;
                    TcpListener::from_std(socket.into())
                })
                .map_err(PeerError::socket("listen"))?;
            listening();
            socket.accept().await.map_err(PeerError::socket("accept"))?.0
        }
        End::Near => TcpStream::connect(address).await.map_err(PeerError::socket("connect"))?,
    };
    stream.set_nodelay(true).map_err(PeerError::socket("set TCP_NODELAY"))?;
    if let Some(name) = congestion_control {
        let set = SockRef::from(&stream).set_tcp_congestion(name.as_bytes());
        set.map_err(PeerError::socket("choose the congestion control"))?;
    }
    Ok(stream)
}

/// A stream, and the bytes that wait to be written to it.
#[derive(Debug)]
pub(super) struct Tcp {
    stream: TcpStream,
    incoming: Deframer,
    unsent: Vec<u8>,
}

impl Tcp {
    pub(super) async fn open(
        end: End,
        address: SocketAddr,
        congestion_control: Option<&str>,
        listening: &mut dyn FnMut(),
    ) -> Result<Self, PeerError> {
        let stream = stream(end, address, congestion_control, listening).await?;
        Ok(Self { stream, incoming: Deframer::default(), unsent: Vec::new() })
    }

    fn write(&mut self) -> Result<(), PeerError> {
        while !self.unsent.is_empty() {
            match self.stream.try_write(&self.unsent) {
                Ok(written) => drop(self.unsent.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(PeerError::socket("write")(error)),
            }
        }
        Ok(())
    }
}

/// Moves the bytes of one read from the stream to a deframer. Reads only once, so that bytes that a slow program has not
/// requested stay in the kernel.
pub(super) fn read(stream: &TcpStream, incoming: &mut Deframer) -> Result<(), PeerError> {
    let mut buffer = [0; 16 * 1_024];
    match stream.try_read(&mut buffer) {
        Ok(0) => Err(PeerError::Closed),
        Ok(length) => {
            incoming.feed(&buffer[..length]);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Err(PeerError::Closed),
        Err(error) => Err(PeerError::socket("read")(error)),
    }
}

impl Connection for Tcp {
    fn put(&mut self, key: u16, bytes: &[u8]) -> Result<(), PeerError> {
        frame::push(&mut self.unsent, key, bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), PeerError> {
        self.write()
    }

    fn is_ready(&self) -> bool {
        self.unsent.is_empty()
    }

    fn work<'a>(&'a mut self, until: Instant, messages_max: usize, inbox: &'a mut Vec<Message>) -> Work<'a> {
        Box::pin(async move {
            let was_ready = self.is_ready();
            loop {
                self.write()?;
                if !was_ready && self.is_ready() {
                    return Ok(());
                }
                if self.incoming.take(messages_max, inbox)? {
                    return Ok(());
                }
                read(&self.stream, &mut self.incoming)?;
                if self.incoming.take(messages_max, inbox)? {
                    return Ok(());
                }
                let interest = if self.unsent.is_empty() {
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
