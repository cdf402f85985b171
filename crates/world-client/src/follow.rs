//! A client that follows its room when the room moves to another server of a cluster.

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use nowcast::{ConnectError, Connector, Message};
use nowcast_replication::Applied;
use nowcast_wire::Value;
use nowcast_world::STEP_HZ;
use nowcast_world_protocol::session::FromWorld;

use crate::{ClientError, Join, Update, WorldClient};

/// The event that announces the move of a room (`spec/WORLD.md`, section 8).
const MOVE: &str = "@move";

/// The code with which a session closes when its client continues at another server.
const MOVED_AWAY: u32 = 0;

/// The code with which a server closes the session of a client that may join again at once (`spec/WORLD.md`, section 7).
const ROOM_ENDED: u32 = 69;

/// Maximum number of durable actions without an answer. Further ones are sent, but not repeated after a move.
const UNANSWERED_MAX: usize = 1_024;

/// Maximum number of the world's steps for which the events of the new session wait for those of the previous one: 3 s.
const HOLD_STEPS: u32 = 3 * STEP_HZ;

/// A client of a room that follows the room when it moves to another server of a cluster. It joins there while it stays in
/// the current session, and continues in the new session when that server sends its first message (`spec/WORLD.md`, section
/// 8). Events of the new session wait until the previous session has ended, so that none is lost or early. Durable actions without
/// an answer are repeated there. A client that did not reach that server in time joins again by its first address.
///
/// ```no_run
/// use nowcast::Connector;
/// use nowcast_world_client::{FollowingClient, Join};
///
/// # async fn play(key: [u8; 16]) -> Result<(), Box<dyn std::error::Error>> {
/// let join = Join::new("Ada").key(key);
/// let mut room = FollowingClient::join(Connector::new(), "nowcast://localhost:7777/plaza", join).await?;
/// loop {
///     println!("{:?}, and the room has moved {} times", room.receive().await?, room.moves());
/// }
/// # }
/// ```
pub struct FollowingClient {
    connector: Connector,
    /// The address of the room at the first server.
    url: String,
    join: Join,
    client: WorldClient,
    next: Next,
    /// The previous session, while its last events are on their way.
    before: Option<Before>,
    /// The events of the present session that wait for the end of the previous one.
    held: VecDeque<Update>,
    /// The events that waited long enough.
    ready: VecDeque<Update>,
    /// The durable actions without an answer, by their numbers.
    unanswered: BTreeMap<u32, (String, Value)>,
    moves: u64,
}

/// The reason why a client did not join.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// No session was opened.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The session ended before the client could join.
    #[error(transparent)]
    Channel(#[from] nowcast::Error),
}

/// The session at the server to which the room moves.
enum Next {
    None,
    Connecting(Pin<Box<dyn Future<Output = Option<WorldClient>> + Send>>),
    /// The client has joined, and the server has not sent anything.
    Waiting(Box<WorldClient>),
}

/// The session at the server from which the room has moved. That server ends it when all its events have arrived.
struct Before {
    client: WorldClient,
    /// The step of the first movement in the present session.
    since: Option<u32>,
}

/// The session from which a message comes.
enum Origin {
    Before,
    Present,
    Next,
}

impl Next {
    fn connect(connector: Connector, url: String, join: Join) -> Self {
        Self::Connecting(Box::pin(async move {
            let channel = connector.connect(&url).await.ok()?;
            WorldClient::join(channel, join).ok()
        }))
    }

    /// Returns the first message of the session, or `None` if the session is over.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Message>> {
        loop {
            *self = match self {
                Self::None => return Poll::Pending,
                Self::Connecting(connecting) => match connecting.as_mut().poll(context) {
                    Poll::Ready(Some(client)) => Self::Waiting(Box::new(client)),
                    Poll::Ready(None) => return Poll::Ready(None),
                    Poll::Pending => return Poll::Pending,
                },
                Self::Waiting(client) => return client.channel().poll_receive(context).map(Result::ok),
            };
        }
    }
}

impl FollowingClient {
    /// Connects to a server, or to the one to which it sends the client, and joins the room. Without a key in `join`, the client
    /// is another player after each move.
    ///
    /// # Errors
    /// Fails if the address is not valid, if no server lets the client in, or if the channel has ended already.
    pub async fn join(connector: Connector, url: &str, join: Join) -> Result<Self, FollowError> {
        let channel = connector.connect(url).await?;
        let client = WorldClient::join(channel, join.clone())?;
        let unanswered = BTreeMap::new();
        let (next, before) = (Next::None, None);
        let (held, ready) = Default::default();
        let url = url.to_owned();
        Ok(Self { connector, url, join, client, next, before, held, ready, unanswered, moves: 0 })
    }

    /// The client of the present session.
    pub fn client(&self) -> &WorldClient {
        &self.client
    }

    /// Number of moves that the client has followed.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Waits for the next message and handles it. After a move, the view of [`client`](Self::client) begins anew. The future may
    /// be dropped at any time without losing a message.
    ///
    /// # Errors
    /// Fails if the session has ended and the client cannot continue in another, or if the server broke the protocol.
    pub async fn receive(&mut self) -> Result<Update, ClientError> {
        loop {
            if let Some(update) = self.ready.pop_front() {
                return Ok(update);
            }
            let Self { connector, url, join, client, next, before, .. } = self;
            let mut end = None;
            let (from, message) = poll_fn(|context| {
                if let Some(Before { client, .. }) = before
                    && let Poll::Ready(received) = client.channel().poll_receive(context)
                {
                    return Poll::Ready((Origin::Before, received));
                }
                match next.poll(context) {
                    Poll::Ready(Some(message)) => return Poll::Ready((Origin::Next, Ok(message))),
                    Poll::Ready(None) => *next = Next::None,
                    Poll::Pending => {}
                }
                if end.is_none() {
                    match client.channel().poll_receive(context) {
                        Poll::Ready(Ok(message)) => return Poll::Ready((Origin::Present, Ok(message))),
                        Poll::Ready(Err(error)) => {
                            if matches!(next, Next::None) && may_join_again(&error) {
                                *next = Next::connect(connector.clone(), url.clone(), join.clone());
                                context.waker().wake_by_ref();
                            }
                            end = Some(error);
                        }
                        Poll::Pending => return Poll::Pending,
                    }
                }
                match (&next, &end) {
                    (Next::None, Some(error)) => Poll::Ready((Origin::Present, Err(error.clone()))),
                    // The room has stopped here, and does not run there yet.
                    _ => Poll::Pending,
                }
            })
            .await;
            let update = match from {
                Origin::Before => match self.handle_before(message) {
                    Some(update) => update,
                    None => continue,
                },
                Origin::Present => self.client.handle(&message?)?,
                Origin::Next => {
                    self.switch_session();
                    self.client.handle(&message?)?
                }
            };
            match &update {
                Update::Event(FromWorld::Happened { event, payload }) if event == MOVE => {
                    self.follow(payload);
                    continue;
                }
                Update::Event(FromWorld::Done { number }) => _ = self.unanswered.remove(number),
                Update::Event(FromWorld::Refused { number: Some(number), .. }) => {
                    self.unanswered.remove(number);
                }
                _ => {}
            }
            if let Update::Moved(Applied { tick, .. }) = update {
                self.limit_before(tick);
            }
            let waits = !matches!(from, Origin::Before) && self.before.is_some();
            if waits && matches!(update, Update::Event(_) | Update::Line(_)) {
                self.held.push_back(update);
                continue;
            }
            return Ok(update);
        }
    }

    /// Sends a durable action: see [`WorldClient::act_once`]. If the room moves before the answer, the action is sent again.
    ///
    /// # Errors
    /// Fails if the channel is closed, or its lane is full.
    pub fn act_once(&mut self, number: u32, action: &str, arguments: Value) -> Result<(), nowcast::Error> {
        self.client.act_once(number, action, arguments.clone())?;
        if self.unanswered.len() < UNANSWERED_MAX {
            self.unanswered.insert(number, (action.to_owned(), arguments));
        }
        Ok(())
    }

    /// Begins to join at the server to which the room moves. A payload without a usable address is ignored: the client then
    /// joins again when its session has ended.
    fn follow(&mut self, payload: &Value) {
        let room = self.url.rsplit('/').next().unwrap_or_default();
        if let Some(url) = payload.get("address").and_then(Value::as_text).and_then(|at| url(at, room)) {
            self.next = Next::connect(self.connector.clone(), url, self.join.clone());
        }
    }

    /// Handles a message of the previous session, or its end. Returns an event or a line of chat. Its states are old, and its grants
    /// of ownership are void.
    fn handle_before(&mut self, message: Result<Message, nowcast::Error>) -> Option<Update> {
        let Before { client, .. } = self.before.as_mut()?;
        let Some(update) = message.ok().and_then(|message| client.handle(&message).ok()) else {
            self.end_before();
            return None;
        };
        match &update {
            Update::Event(FromWorld::Happened { event, .. }) if event == MOVE => None,
            Update::Event(
                FromWorld::Happened { .. }
                | FromWorld::Done { .. }
                | FromWorld::Refused { .. }
                | FromWorld::Notice { .. }
                | FromWorld::Unsaid { .. }
                | FromWorld::Report { .. },
            )
            | Update::Line(_) => Some(update),
            _ => None,
        }
    }

    /// Ends the previous session if it takes too long. `tick` is the step of movement in the present session.
    fn limit_before(&mut self, tick: u32) {
        let Some(Before { since, .. }) = &mut self.before else { return };
        if tick.wrapping_sub(*since.get_or_insert(tick)) >= HOLD_STEPS {
            self.end_before();
        }
    }

    /// Ends the previous session. The events of the present one wait no longer.
    fn end_before(&mut self) {
        if let Some(before) = self.before.take() {
            before.client.channel().close(MOVED_AWAY, "the room has moved");
        }
        self.ready.append(&mut self.held);
    }

    /// Continues in the session at the server to which the room has moved.
    fn switch_session(&mut self) {
        if let Next::Waiting(next) = std::mem::replace(&mut self.next, Next::None) {
            self.end_before();
            let client = std::mem::replace(&mut self.client, *next);
            self.before = Some(Before { client, since: None });
            self.moves += 1;
            for (number, (action, arguments)) in &self.unanswered {
                // If the lane is full, the remaining actions are not repeated, and the caller receives no answer to them.
                if self.client.act_once(*number, action, arguments.clone()).is_err() {
                    break;
                }
            }
        }
    }
}

/// Whether a session ended because its room closed, or moved before the client had followed.
fn may_join_again(error: &nowcast::Error) -> bool {
    matches!(error, nowcast::Error::Closed(closed) if closed.code.0 == ROOM_ENDED)
}

/// Returns the address of a room at another server; `None` if the origin cannot be one.
fn url(origin: &str, room: &str) -> Option<String> {
    let (scheme, rest) = origin.split_once("://")?;
    let host = rest.strip_suffix('/').unwrap_or(rest);
    let known_port = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    if host.is_empty() || host.contains(['/', '?', '#', '@']) {
        return None;
    }
    // The colons of an IPv6 address are in brackets.
    let has_port = host.rsplit(']').next().is_some_and(|rest| rest.contains(':'));
    Some(if has_port {
        format!("nowcast://{host}/{room}")
    } else {
        format!("nowcast://{host}:{known_port}/{room}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_become_addresses_of_the_room_and_others_are_ignored() {
        assert_eq!(url("http://10.0.0.2:7777", "yard").as_deref(), Some("nowcast://10.0.0.2:7777/yard"));
        assert_eq!(url("https://[::1]/", "yard").as_deref(), Some("nowcast://[::1]:443/yard"));
        assert_eq!(url("http://[::1]:7777", "yard").as_deref(), Some("nowcast://[::1]:7777/yard"));
        assert_eq!(
            url("https://north.example.org/", "yard").as_deref(),
            Some("nowcast://north.example.org:443/yard")
        );
        for origin in ["", "http://", "ftp://host", "host:7777", "http://user@host", "http://host/path"] {
            assert_eq!(url(origin, "yard"), None, "{origin}");
        }
    }
}
