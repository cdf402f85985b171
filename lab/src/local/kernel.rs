//! Byte streams of the kernel: pipe, Unix socket and TCP. One reader serves all three.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::ChildStdin;

use rustix::fs::OFlags;

use super::message::{MESSAGE_BYTES, Message};
use super::{Inlet, LocalError, Outlet, Patience};

/// The sending end of a stream.
pub(super) struct Sending<W>(pub(super) W);

impl<W: Write> Outlet for Sending<W> {
    fn send(&mut self, message: &Message) -> Result<(), LocalError> {
        self.0.write_all(&message.0).map_err(LocalError::system("the stream took no message"))
    }
}

/// The receiving end of a stream.
pub(super) struct Receiving<R> {
    stream: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl<R: Read + AsFd> Receiving<R> {
    /// Makes the receiving end. It takes at most `batch` messages from the kernel at once.
    pub(super) fn new(stream: R, patience: Patience, batch: usize) -> Result<Receiving<R>, LocalError> {
        if patience == Patience::Spin {
            let set = rustix::fs::fcntl_getfl(&stream)
                .and_then(|flags| rustix::fs::fcntl_setfl(&stream, flags | OFlags::NONBLOCK));
            set.map_err(|errno| LocalError::system("a stream could not be made non-blocking")(errno.into()))?;
        }
        Ok(Receiving { stream, buffer: vec![0; batch * MESSAGE_BYTES], start: 0, end: 0 })
    }

    fn buffered(&mut self) -> Option<Message> {
        let bytes = self.buffer[self.start..self.end].first_chunk::<MESSAGE_BYTES>()?;
        self.start += MESSAGE_BYTES;
        Some(Message(*bytes))
    }

    /// Reads more bytes. Returns false if there are none now, or if the stream has ended.
    fn fill(&mut self) -> Result<bool, LocalError> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        match self.stream.read(&mut self.buffer[self.end..]) {
            Ok(bytes) => {
                self.end += bytes;
                Ok(bytes > 0)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(false),
            Err(error) => Err(LocalError::system("the stream gave no message")(error)),
        }
    }
}

impl<R: Read + AsFd> Inlet for Receiving<R> {
    fn try_receive(&mut self) -> Result<Option<Message>, LocalError> {
        if let Some(message) = self.buffered() {
            return Ok(Some(message));
        }
        self.fill()?;
        Ok(self.buffered())
    }

    fn receive(&mut self) -> Result<Option<Message>, LocalError> {
        loop {
            if let Some(message) = self.buffered() {
                return Ok(Some(message));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }
}

/// The address of a stream's other end.
pub(super) enum Door {
    Unix(UnixListener),
    Tcp(TcpListener),
}

pub(super) fn unix_door(name: &str) -> Result<(Door, String), LocalError> {
    let path = std::env::temp_dir().join(format!("{name}.socket"));
    let listener =
        UnixListener::bind(&path).map_err(LocalError::system("a Unix socket could not be made"))?;
    Ok((Door::Unix(listener), path.to_string_lossy().into_owned()))
}

pub(super) fn tcp_door() -> Result<(Door, String), LocalError> {
    let failed = LocalError::system("a TCP port could not be opened");
    let open = || {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        Ok((Door::Tcp(listener), address))
    };
    open().map_err(failed)
}

impl Door {
    pub(super) fn accept(self) -> Result<Box<dyn Outlet>, LocalError> {
        let failed = LocalError::system("nobody connected");
        match self {
            Door::Unix(listener) => {
                let (stream, _) = listener.accept().map_err(failed)?;
                if let Some(path) = listener.local_addr().ok().and_then(|at| at.as_pathname().map(Into::into))
                {
                    let path: std::path::PathBuf = path;
                    // The name is no longer needed. If it cannot be removed, only an unused file remains.
                    let _ = std::fs::remove_file(path);
                }
                Ok(Box::new(Sending(stream)))
            }
            Door::Tcp(listener) => {
                let (stream, _) = listener.accept().map_err(failed)?;
                stream.set_nodelay(true).map_err(LocalError::system("TCP_NODELAY could not be set"))?;
                Ok(Box::new(Sending(stream)))
            }
        }
    }
}

pub(super) fn connect_unix(
    path: &str,
    patience: Patience,
    batch: usize,
) -> Result<Box<dyn Inlet>, LocalError> {
    let stream =
        UnixStream::connect(path).map_err(LocalError::system("the Unix socket could not be reached"))?;
    Ok(Box::new(Receiving::new(stream, patience, batch)?))
}

pub(super) fn connect_tcp(
    address: &str,
    patience: Patience,
    batch: usize,
) -> Result<Box<dyn Inlet>, LocalError> {
    let stream =
        TcpStream::connect(address).map_err(LocalError::system("the TCP port could not be reached"))?;
    Ok(Box::new(Receiving::new(stream, patience, batch)?))
}

pub(super) fn standard_input(patience: Patience, batch: usize) -> Result<Box<dyn Inlet>, LocalError> {
    // A second descriptor is used, without the buffer that the standard library puts in front of the first one.
    let copy = std::io::stdin().as_fd().try_clone_to_owned();
    let copy = copy.map_err(LocalError::system("the pipe could not be taken over"))?;
    Ok(Box::new(Receiving::new(std::fs::File::from(copy), patience, batch)?))
}

pub(super) fn pipe_to(child: ChildStdin) -> Box<dyn Outlet> {
    Box::new(Sending(child))
}
