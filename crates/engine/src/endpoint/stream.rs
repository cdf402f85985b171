//! TCP connections, plain or over TLS. The first byte shows which.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::carrier::OverTcp;

/// The first byte of a TLS connection (RFC 8446, section 5.1: handshake). It differs from the first byte of plain HTTP on the
/// same port.
const TLS_HANDSHAKE: u8 = 0x16;

/// A connection on a port for both plain HTTP and TLS.
#[derive(Debug)]
pub enum Stream {
    /// Not encrypted.
    Plain(TcpStream),
    /// Encrypted.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Waits for the first byte. If this byte begins a TLS handshake, also waits for the end of the handshake.
    ///
    /// # Errors
    /// If the peer ends the connection before its first byte (`UnexpectedEof`), breaks off, or sends bytes that are not TLS
    /// (`InvalidData`).
    pub async fn open(stream: TcpStream, tls: &TlsAcceptor) -> io::Result<Self> {
        let mut first = [0];
        if stream.peek(&mut first).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(match first[0] {
            TLS_HANDSHAKE => Self::Tls(Box::new(tls.accept(stream).await?)),
            _ => Self::Plain(stream),
        })
    }

    /// Registers the socket with the event queue of the runtime that runs the caller. From now on, the socket wakes the tasks of
    /// that runtime without another thread.
    ///
    /// # Errors
    /// If the system has no free file descriptor, or rejects the registration.
    pub fn move_here(&mut self) -> io::Result<()> {
        let socket = match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_mut().0,
        };
        // The duplicate is the same connection. Dropping the former descriptor ends its registration.
        let duplicate = std::net::TcpStream::from(SockRef::from(&*socket).try_clone()?);
        *socket = TcpStream::from_std(duplicate)?;
        Ok(())
    }

    /// Whether the connection is encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        matches!(self, Self::Tls(_))
    }
}

impl OverTcp for Stream {
    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
