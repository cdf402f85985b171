//! `ENet`: reliable and unreliable packets over UDP. Each kind has its own channel, so that states do not wait for events.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use rusty_enet::{Event, Host, HostSettings, Packet, PeerID};
use tokio::io::Interest;
use tokio::time::{Instant, timeout_at};

use super::frame::{self, Deframer};
use super::{Connection, DATAGRAM_BYTES, End, Message, PeerError, Work};

const EVENTS: u8 = 0;
const STATES: u8 = 1;
const CHANNELS: usize = 2;
/// Interval of the calls to `ENet`. `ENet` counts in milliseconds, and runs its timers only when it is called.
const SERVICE_INTERVAL: Duration = Duration::from_millis(1);

pub(super) struct Enet {
    host: Host<UdpSocket>,
    peer: PeerID,
    /// Becomes readable when a datagram has arrived. The host reads the datagram itself.
    readable: tokio::net::UdpSocket,
    states: Vec<u8>,
    incoming: Deframer,
}

impl Enet {
    pub(super) async fn open(
        end: End,
        address: SocketAddr,
        listening: &mut dyn FnMut(),
    ) -> Result<Self, PeerError> {
        let local = match end {
            End::Far => address,
            End::Near => SocketAddr::from(([0, 0, 0, 0], 0)),
        };
        let socket = UdpSocket::bind(local).map_err(PeerError::socket("bind"))?;
        socket.set_nonblocking(true).map_err(PeerError::socket("unblock"))?;
        let twin = socket.try_clone().map_err(PeerError::socket("duplicate"))?;
        let readable = tokio::net::UdpSocket::from_std(twin).map_err(PeerError::socket("watch"))?;
        let settings = HostSettings { peer_limit: 1, channel_limit: CHANNELS, ..HostSettings::default() };
        let mut host = Host::new(socket, settings).map_err(PeerError::stack("create a host"))?;
        match end {
            End::Far => listening(),
            End::Near => {
                host.connect(address, CHANNELS, 0).map_err(PeerError::stack("connect"))?;
            }
        }
        let mut enet =
            Self { host, peer: PeerID(0), readable, states: Vec::new(), incoming: Deframer::default() };
        loop {
            if let Some(Event::Connect { peer, .. }) =
                enet.host.service().map_err(PeerError::stack("service"))?
            {
                enet.peer = peer.id();
                return Ok(enet);
            }
            enet.wait(Instant::now() + SERVICE_INTERVAL).await?;
        }
    }

    async fn wait(&mut self, until: Instant) -> Result<(), PeerError> {
        if let Ok(ready) = timeout_at(until, self.readable.readable()).await {
            ready.map_err(PeerError::socket("wait"))?;
            // The host is about to read all datagrams, so any later readiness means a new datagram.
            let _ =
                self.readable.try_io(Interest::READABLE, || Err::<(), _>(io::ErrorKind::WouldBlock.into()));
        }
        Ok(())
    }

    fn send(&mut self, channel: u8, packet: &Packet) -> Result<(), PeerError> {
        self.host.peer_mut(self.peer).send(channel, packet).map_err(PeerError::stack("send"))
    }

    fn send_states(&mut self) -> Result<(), PeerError> {
        if self.states.is_empty() {
            return Ok(());
        }
        let packet = Packet::unreliable(std::mem::take(&mut self.states).as_slice());
        self.send(STATES, &packet)
    }

    /// Lets the host send, receive and repeat until it has no more work.
    fn service(&mut self) -> Result<(), PeerError> {
        while let Some(event) = self.host.service().map_err(PeerError::stack("service"))? {
            match event {
                Event::Receive { packet, .. } => self.incoming.feed(packet.data()),
                Event::Disconnect { .. } => return Err(PeerError::Closed),
                Event::Connect { .. } => {}
            }
        }
        Ok(())
    }
}

impl Connection for Enet {
    fn put(&mut self, key: u16, bytes: &[u8]) -> Result<(), PeerError> {
        if key == 0 {
            let mut event = Vec::new();
            frame::push(&mut event, key, bytes);
            return self.send(EVENTS, &Packet::reliable(event.as_slice()));
        }
        frame::push(&mut self.states, key, bytes);
        if self.states.len() + bytes.len() > DATAGRAM_BYTES { self.send_states() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), PeerError> {
        self.send_states()?;
        self.host.flush();
        Ok(())
    }

    fn work<'a>(&'a mut self, until: Instant, messages_max: usize, inbox: &'a mut Vec<Message>) -> Work<'a> {
        Box::pin(async move {
            loop {
                if self.incoming.take(messages_max, inbox)? {
                    return Ok(());
                }
                self.service()?;
                if self.incoming.take(messages_max, inbox)? || Instant::now() >= until {
                    return Ok(());
                }
                self.wait(until.min(Instant::now() + SERVICE_INTERVAL)).await?;
            }
        })
    }
}
