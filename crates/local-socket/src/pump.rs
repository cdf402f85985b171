//! The task that moves frames between a channel's state and its socket.

use std::pin::pin;
use std::process;
use std::sync::Arc;

use nowcast_queue::{Bounds, Refusal};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, split};
use tokio::time::timeout;

use super::ends::{Queues, Shared};
use super::frame::{self, Frame, Hello, Unread};
use super::{LINGER_MAX, OpenError};

/// Maximum number of bytes read from the socket at once.
const READ_BYTES_MAX: usize = 64 * 1_024;

/// Opens this side's half of a channel as the connecting program, which sends its greeting first.
pub(crate) async fn greet<S>(mut stream: S, bounds: &[Bounds]) -> Result<Queues, OpenError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    say_hello(&mut stream, bounds).await?;
    let theirs = Hello::read(&mut stream).await?;
    Ok(start(stream, bounds, &theirs))
}

/// Opens this side's half of a channel as the accepting program, which answers a greeting.
pub(crate) async fn answer<S>(mut stream: S, bounds: &[Bounds]) -> Result<Queues, OpenError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let theirs = Hello::read(&mut stream).await?;
    say_hello(&mut stream, bounds).await?;
    Ok(start(stream, bounds, &theirs))
}

async fn say_hello(stream: &mut (impl AsyncWrite + Unpin), bounds: &[Bounds]) -> Result<(), OpenError> {
    let hello = Hello { pid: process::id(), bounds: bounds.to_vec() };
    let said = stream.write_all(&hello.write()).await;
    said.map_err(|_| OpenError::Handshake("the peer closed the connection"))
}

fn start<S>(stream: S, ours: &[Bounds], theirs: &Hello) -> Queues
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (queues, shared) = Queues::new(theirs.pid, ours, &theirs.bounds);
    tokio::spawn(run(stream, shared));
    queues
}

/// Moves frames until both sides have closed, or the peer is gone.
async fn run<S: AsyncRead + AsyncWrite>(stream: S, shared: Arc<Shared>) {
    let (from, to) = split(stream);
    let mut reading = pin!(read_all(from, &shared));
    let writing = pin!(write_all(to, &shared));
    let ended = tokio::select! {
        ended = &mut reading => ended,
        // The peer closes the connection when it has read the last frame. If this side closed it first, the peer could lose
        // unread data.
        () = writing => timeout(LINGER_MAX, reading).await.unwrap_or(Refusal::PeerDied),
    };
    shared.end_incoming(ended);
    shared.end_outgoing(ended);
}

/// Reads until the end of the connection. Returns the error for waiting callers.
async fn read_all(from: impl AsyncRead + Unpin, shared: &Shared) -> Refusal {
    let bounds = shared.incoming_bounds();
    let mut from = BufReader::with_capacity(READ_BYTES_MAX, from);
    loop {
        let done = match frame::read(&mut from, &bounds).await {
            Ok(Frame::Message { lane, key, value }) => shared.arrive(lane, key, value),
            Ok(Frame::Receipt { lane, receipt }) => shared.receive(lane, receipt),
            Ok(Frame::SenderClosed) => {
                shared.end_incoming(Refusal::Closed);
                Ok(())
            }
            Ok(Frame::ReceiverClosed) => {
                shared.end_outgoing(Refusal::Closed);
                Ok(())
            }
            Err(Unread::Gone) => return Refusal::PeerDied,
            Err(Unread::Broken(what)) => Err(what),
        };
        if let Err(what) = done {
            return Refusal::Corrupt(what);
        }
    }
}

/// Writes until the close. If the socket breaks, the reading side detects the break and finds the reason. The writing side waits
/// for the reading side.
async fn write_all(mut to: impl AsyncWrite + Unpin, shared: &Shared) {
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        if shared.fill(&mut buffer) {
            // The peer sees the end of the stream, or has already gone.
            let _ = to.shutdown().await;
            return;
        }
        if buffer.is_empty() {
            shared.work.notified().await;
        } else if to.write_all(&buffer).await.is_ok() {
            shared.written();
        } else {
            std::future::pending::<()>().await;
        }
    }
}
