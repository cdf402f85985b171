//! WebSocket, as most programs use it: `send` never waits, and the library's buffer grows.

use std::net::SocketAddr;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message as Packet;

use super::frame::{self, Deframer};
use super::{Connection, End, Message, PeerError, Work, tcp};

/// Maximum number of packets that are read before the program requests them.
const UNREAD_MAX: usize = 16;

pub(super) struct WebSocket {
    packet: Vec<u8>,
    to_send: mpsc::UnboundedSender<Vec<u8>>,
    arrived: mpsc::Receiver<Vec<u8>>,
    incoming: Deframer,
}

impl WebSocket {
    pub(super) async fn open(
        end: End,
        address: SocketAddr,
        listening: &mut dyn FnMut(),
    ) -> Result<Self, PeerError> {
        let stream = tcp::stream(end, address, None, listening).await?;
        let socket = match end {
            End::Far => tokio_tungstenite::accept_async(stream).await,
            End::Near => tokio_tungstenite::client_async(format!("ws://{address}/"), stream)
                .await
                .map(|(socket, _response)| socket),
        };
        let socket = socket.map_err(PeerError::stack("shake hands"))?;
        let (to_send, packets) = mpsc::unbounded_channel();
        let (arrivals, arrived) = mpsc::channel(UNREAD_MAX);
        tokio::spawn(carry(socket, packets, arrivals));
        Ok(Self { packet: Vec::new(), to_send, arrived, incoming: Deframer::default() })
    }
}

/// Writes and reads until either side ends. The channels then close, by which the program notices the end.
async fn carry(
    socket: WebSocketStream<TcpStream>,
    mut packets: mpsc::UnboundedReceiver<Vec<u8>>,
    arrivals: mpsc::Sender<Vec<u8>>,
) {
    let (mut sink, mut source) = socket.split();
    let write = async {
        while let Some(packet) = packets.recv().await {
            sink.send(Packet::binary(packet)).await?;
        }
        Ok::<_, tokio_tungstenite::tungstenite::Error>(())
    };
    let read = async {
        while let Some(Ok(packet)) = source.next().await {
            if packet.is_binary() && arrivals.send(packet.into_data().to_vec()).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        _ = write => {}
        () = read => {}
    }
}

impl Connection for WebSocket {
    fn put(&mut self, key: u16, bytes: &[u8]) -> Result<(), PeerError> {
        frame::push(&mut self.packet, key, bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), PeerError> {
        if self.packet.is_empty() {
            return Ok(());
        }
        self.to_send.send(std::mem::take(&mut self.packet)).map_err(|_| PeerError::Closed)
    }

    fn work<'a>(&'a mut self, until: Instant, messages_max: usize, inbox: &'a mut Vec<Message>) -> Work<'a> {
        Box::pin(frame::receive(&mut self.arrived, &mut self.incoming, until, messages_max, inbox))
    }
}
