//! Nowcast. Events are on a lane of the first class, and states are on a lane of the second class. So neither kind waits for the
//! other.

use std::net::SocketAddr;

use nowcast::session::{Config, LaneConfig};
use nowcast::{CarrierKind, Channel, Connector, ListenConfig, Listener, MessageKind, Service, Trust};
use tokio::time::{Instant, timeout_at};

use super::{Connection, End, Message, PeerError, Work};

const NAME: &str = "lab";
const EVENTS: u8 = 0;
const STATES: u8 = 1;

pub(super) struct Ours {
    channel: Channel,
    /// The listening end stores these, because dropping them ends the channel.
    _endpoint: Option<(Listener, Service)>,
}

impl Ours {
    pub(super) async fn open(
        end: End,
        address: SocketAddr,
        carrier: CarrierKind,
        listening: &mut dyn FnMut(),
    ) -> Result<Self, PeerError> {
        match end {
            End::Far => {
                let mut config = ListenConfig::on([address.ip()], address.port());
                config.accept.session = session();
                // No other machine can reach the emulated link.
                config.entry.anonymous = true;
                let listener = Listener::bind(config).await.map_err(PeerError::stack("listen"))?;
                let mut service = listener.advertise(NAME).await.map_err(PeerError::stack("advertise"))?;
                listening();
                let channel = service.accept().await.map_err(PeerError::stack("accept"))?;
                Ok(Self { channel, _endpoint: Some((listener, service)) })
            }
            End::Near => {
                let connector =
                    Connector::new().carriers([carrier]).trust(Trust::Announced).session(session());
                let url = format!("nowcast://{address}/{NAME}");
                let channel = connector.connect(&url).await.map_err(PeerError::stack("connect"))?;
                Ok(Self { channel, _endpoint: None })
            }
        }
    }

    /// Takes messages that have arrived. Returns whether there was one.
    fn take(&self, messages_max: usize, inbox: &mut Vec<Message>) -> Result<bool, PeerError> {
        let before = inbox.len();
        while inbox.len() - before < messages_max {
            match self.channel.try_receive().map_err(ended)? {
                Some(message) => inbox.extend(converted(message)),
                None => break,
            }
        }
        Ok(inbox.len() > before)
    }
}

fn session() -> Config {
    let mut lanes = vec![LaneConfig::default(); 2];
    lanes[usize::from(EVENTS)].class = 0;
    Config { lanes, ..Config::default() }
}

fn converted(message: nowcast::Message) -> Option<Message> {
    let key = match message.kind {
        MessageKind::State { key } => u16::try_from(key.raw()).ok()?,
        MessageKind::Event => 0,
        MessageKind::Command(_) | MessageKind::Replication { .. } => return None,
    };
    Some(Message { key, bytes: message.bytes })
}

fn ended(error: nowcast::Error) -> PeerError {
    match error {
        nowcast::Error::Closed(_) => PeerError::Closed,
        other => PeerError::stack("receive")(other),
    }
}

impl Connection for Ours {
    fn put(&mut self, key: u16, bytes: &[u8]) -> Result<(), PeerError> {
        let put = if key == 0 {
            self.channel.lane(EVENTS).try_event(bytes)
        } else {
            self.channel.lane(STATES).try_state(u64::from(key), bytes)
        };
        put.map_err(PeerError::stack("put"))
    }

    fn work<'a>(&'a mut self, until: Instant, messages_max: usize, inbox: &'a mut Vec<Message>) -> Work<'a> {
        Box::pin(async move {
            if self.take(messages_max, inbox)? {
                return Ok(());
            }
            match timeout_at(until, self.channel.receive()).await {
                Err(_) => Ok(()),
                Ok(message) => {
                    inbox.extend(converted(message.map_err(ended)?));
                    self.take(messages_max - 1, inbox).map(drop)
                }
            }
        })
    }
}
