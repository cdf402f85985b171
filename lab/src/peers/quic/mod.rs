//! QUIC (quinn), in the two ways in which programs use it for messages.

mod endpoint;

use std::net::SocketAddr;

use quinn::{Connection as Link, RecvStream, SendStream};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::frame::{self, Deframer};
use super::{Connection, DATAGRAM_BYTES, End, Message, PeerError, Work};

/// Maximum number of messages that are read before the program requests them.
const UNREAD_MAX: usize = 16;
/// Maximum size of a message that is read from a separate stream.
const MESSAGE_BYTES_MAX: usize = 4_096;

/// How streams and datagrams are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Every message on a separate stream.
    Streams,
    /// States in datagrams, events on a stream, with the library's defaults.
    Datagrams,
}

pub(super) struct Quic {
    usage: Use,
    /// Stored, because dropping the endpoint ends the connection.
    _endpoint: quinn::Endpoint,
    link: Link,
    to_stream: mpsc::UnboundedSender<Vec<u8>>,
    arrived: mpsc::Receiver<Vec<u8>>,
    unsent: Vec<u8>,
    states: Vec<u8>,
    incoming: Deframer,
}

impl Quic {
    pub(super) async fn open(
        end: End,
        address: SocketAddr,
        usage: Use,
        listening: &mut dyn FnMut(),
    ) -> Result<Self, PeerError> {
        let (endpoint, link) = endpoint::open(end, address, listening).await?;
        let (to_stream, frames) = mpsc::unbounded_channel();
        let (arrivals, arrived) = mpsc::channel(UNREAD_MAX);
        match usage {
            Use::Streams => {
                tokio::spawn(write_streams(link.clone(), frames));
                tokio::spawn(read_streams(link.clone(), arrivals));
            }
            Use::Datagrams => {
                let (sink, source) = stream(end, &link).await?;
                tokio::spawn(write_stream(sink, frames));
                tokio::spawn(read_datagrams(link.clone(), arrivals.clone()));
                tokio::spawn(read_stream(source, arrivals));
            }
        }
        Ok(Self {
            usage,
            _endpoint: endpoint,
            link,
            to_stream,
            arrived,
            unsent: Vec::new(),
            states: Vec::new(),
            incoming: Deframer::default(),
        })
    }

    fn send_datagram(&mut self) -> Result<(), PeerError> {
        if self.states.is_empty() {
            return Ok(());
        }
        let datagram = std::mem::take(&mut self.states);
        self.link.send_datagram(datagram.into()).map_err(PeerError::stack("send a datagram"))
    }

    fn send_on_stream(&mut self) -> Result<(), PeerError> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        self.to_stream.send(std::mem::take(&mut self.unsent)).map_err(|_| PeerError::Closed)
    }
}

/// Opens one stream for both directions. The near end opens it with an empty frame.
async fn stream(end: End, link: &Link) -> Result<(SendStream, RecvStream), PeerError> {
    match end {
        End::Near => {
            let (mut sink, source) = link.open_bi().await.map_err(PeerError::stack("open a stream"))?;
            sink.write_all(&frame::HELLO).await.map_err(PeerError::stack("open a stream"))?;
            Ok((sink, source))
        }
        End::Far => link.accept_bi().await.map_err(PeerError::stack("accept a stream")),
    }
}

// These tasks end with the connection, or when the program drops its end. Each task then closes a channel, by which the program
// notices the end.

async fn write_stream(mut sink: SendStream, mut frames: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(frame) = frames.recv().await {
        if sink.write_all(&frame).await.is_err() {
            return;
        }
    }
}

async fn read_stream(mut source: RecvStream, arrivals: mpsc::Sender<Vec<u8>>) {
    let mut incoming = Deframer::default();
    while let Ok(Some(chunk)) = source.read_chunk(MESSAGE_BYTES_MAX, true).await {
        incoming.feed(&chunk.bytes);
        // Only complete frames are passed on, because frames of datagrams are inserted between them.
        let mut messages = Vec::new();
        if incoming.take(usize::MAX, &mut messages).is_err() {
            return;
        }
        let mut frames = Vec::new();
        for message in messages {
            frame::push(&mut frames, message.key, &message.bytes);
        }
        if arrivals.send(frames).await.is_err() {
            return;
        }
    }
}

async fn read_datagrams(link: Link, arrivals: mpsc::Sender<Vec<u8>>) {
    while let Ok(datagram) = link.read_datagram().await {
        if arrivals.send(datagram.to_vec()).await.is_err() {
            return;
        }
    }
}

async fn write_streams(link: Link, mut frames: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(frame) = frames.recv().await {
        let Ok(mut sink) = link.open_uni().await else { return };
        if sink.write_all(&frame).await.is_err() || sink.finish().is_err() {
            return;
        }
    }
}

async fn read_streams(link: Link, arrivals: mpsc::Sender<Vec<u8>>) {
    while let Ok(mut source) = link.accept_uni().await {
        let arrivals = arrivals.clone();
        // A stream that waits for a lost packet must not delay the others.
        tokio::spawn(async move {
            if let Ok(bytes) = source.read_to_end(MESSAGE_BYTES_MAX).await {
                let _ = arrivals.send(bytes).await;
            }
        });
    }
}

impl Connection for Quic {
    fn put(&mut self, key: u16, bytes: &[u8]) -> Result<(), PeerError> {
        if key != 0 && self.usage == Use::Datagrams {
            frame::push(&mut self.states, key, bytes);
            return if self.states.len() + bytes.len() > DATAGRAM_BYTES {
                self.send_datagram()
            } else {
                Ok(())
            };
        }
        frame::push(&mut self.unsent, key, bytes);
        if self.usage == Use::Streams { self.send_on_stream() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), PeerError> {
        self.send_datagram()?;
        self.send_on_stream()
    }

    fn work<'a>(&'a mut self, until: Instant, messages_max: usize, inbox: &'a mut Vec<Message>) -> Work<'a> {
        Box::pin(frame::receive(&mut self.arrived, &mut self.incoming, until, messages_max, inbox))
    }
}
