//! TCP proxies on the loopback interface. A gate stands between two processes, and can hold, delay or cut their connections.
//!
//! A held connection stays open and loses nothing, as over a network that drops all packets: TCP sends again later. A cut one is
//! closed, as by a firewall that answers with a reset.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The state of a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Passage {
    /// Bytes pass.
    Open,
    /// Each read is delayed by this time.
    Delayed(Duration),
    /// No byte passes. Connections stay.
    Held,
    /// Connections are closed and refused.
    Cut,
}

/// A proxy before one address. It ends with the runtime on which it was opened.
pub(super) struct Gate {
    passage: watch::Sender<Passage>,
    /// The port on the loopback interface.
    pub(super) port: u16,
}

impl Gate {
    /// Opens a gate before a port of the loopback interface.
    pub(super) async fn open(to: u16) -> io::Result<Gate> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let (passage, state) = watch::channel(Passage::Open);
        tokio::spawn(accept(listener, SocketAddr::from((Ipv4Addr::LOCALHOST, to)), state));
        Ok(Gate { passage, port })
    }

    /// Sets the state for existing and new connections.
    pub(super) fn set(&self, passage: Passage) {
        self.passage.send_replace(passage);
    }
}

async fn accept(listener: TcpListener, to: SocketAddr, state: watch::Receiver<Passage>) {
    loop {
        // A failure concerns one connection, or ends when files are closed.
        let Ok((from, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let is_cut = *state.borrow() == Passage::Cut;
        if !is_cut {
            tokio::spawn(connect(from, to, state.clone()));
        }
    }
}

async fn connect(from: TcpStream, to: SocketAddr, mut state: watch::Receiver<Passage>) {
    if state.wait_for(|passage| *passage != Passage::Held).await.is_err() {
        return;
    }
    let Ok(to) = TcpStream::connect(to).await else { return };
    // Small messages pass at once, as without a proxy.
    let _ = (from.set_nodelay(true), to.set_nodelay(true));
    let ((from_read, from_write), (to_read, to_write)) = (from.into_split(), to.into_split());
    let (there, back) = (pump(from_read, to_write, state.clone()), pump(to_read, from_write, state.clone()));
    let cut = async { state.wait_for(|passage| *passage == Passage::Cut).await.map(drop) };
    // The first end closes both directions.
    tokio::select! {
        _ = there => {}
        _ = back => {}
        _ = cut => {}
    }
}

async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut state: watch::Receiver<Passage>,
) -> io::Result<()> {
    let mut bytes = vec![0; 64 << 10];
    loop {
        let count = from.read(&mut bytes).await?;
        let passage = state.wait_for(|passage| *passage != Passage::Held).await.map(|passage| *passage);
        match passage {
            Ok(Passage::Delayed(delay)) => tokio::time::sleep(delay).await,
            Ok(Passage::Open) => {}
            Ok(Passage::Held | Passage::Cut) | Err(_) => return Ok(()),
        }
        if count == 0 {
            return Ok(());
        }
        to.write_all(&bytes[..count]).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_held_gate_loses_nothing_and_a_cut_gate_closes_connections() -> io::Result<()> {
        let target = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let gate = Gate::open(target.local_addr()?.port()).await?;
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, gate.port)).await?;
        let (mut server, _) = target.accept().await?;
        let mut byte = [0];
        client.write_all(b"a").await?;
        server.read_exact(&mut byte).await?;
        gate.set(Passage::Held);
        client.write_all(b"b").await?;
        gate.set(Passage::Delayed(Duration::from_millis(1)));
        server.read_exact(&mut byte).await?;
        assert_eq!(byte, *b"b");
        gate.set(Passage::Cut);
        assert!(!matches!(server.read(&mut byte).await, Ok(1..)), "the connection is closed");
        let mut refused = TcpStream::connect((Ipv4Addr::LOCALHOST, gate.port)).await?;
        assert!(!matches!(refused.read(&mut byte).await, Ok(1..)), "a new connection is closed");
        Ok(())
    }
}
