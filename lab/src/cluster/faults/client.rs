//! A client on sessions that counts: it repeats each durable action, at any server, until a server confirms it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nowcast::{CarrierKind, Channel, Connector};
use nowcast_queue::conformance::Random;
use nowcast_wire::Value;
use nowcast_world_client::{Join, Update, WorldClient};
use nowcast_world_protocol::session::FromWorld;
use tokio::time::{sleep, timeout};

use super::checker::{Checker, CountsOf};

/// Time for a connection, and for the answer to a join. Rooms that move to the server answer when they run.
const JOIN_WITHIN: Duration = Duration::from_millis(4_000);
/// Silence after which the client joins anew. A server sends movement, or asks whether the client is there.
const SILENT: Duration = Duration::from_millis(2_500);
/// Time for which the client waits for a confirmation, before it joins anew.
const CONFIRM_WITHIN: Duration = Duration::from_millis(6_000);
/// Pause before the client joins anew.
const AGAIN: Duration = Duration::from_millis(40);
/// Minimum pause between two actions. A server allows 20 a second for each client.
const PACE: Duration = Duration::from_millis(60);
/// The event that announces the move of a room (`spec/WORLD.md`, section 8).
const MOVE: &str = "@move";

/// The place on screens that shows the count of a client.
fn place(client: u8) -> String {
    format!("c{client}")
}

/// The rules of the rooms. Each client has a name of its own, and its actions are counted under the name.
pub(super) fn rules(clients: u8) -> String {
    let names: Vec<String> = (0..clients).map(place).collect();
    let state: Vec<String> = names.iter().map(|name| format!("{name} = 0")).collect();
    let list: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!(
        r#"
local world = require("@nowcast/world")
world.state {{ {} }}
local function show()
    for _, name in {{ {} }} do world.show(name, world.state[name]) end
end
world.on("start", show)
world.action("count", {{}}, function(player)
    world.state[player.name] += 1
    world.show(player.name, world.state[player.name])
end, {{ durable = true }})
"#,
        state.join(", "),
        list.join(", ")
    )
}

/// One client of one room.
pub(super) struct Client {
    pub(super) room: u8,
    pub(super) number: u8,
    /// The ports of the servers `s0`, `s1`, …
    pub(super) ports: Arc<[u16]>,
    pub(super) checker: Arc<Checker>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) random: Random,
}

/// An action that is not confirmed yet.
struct Action {
    number: u64,
    first_sent: Instant,
    /// The time from which the client may send it.
    not_before: Instant,
    is_sent: bool,
}

/// A session, from the request to connect.
struct Session {
    client: WorldClient,
    /// The counts that were confirmed before the client began to connect, or shown since.
    least: CountsOf,
    is_welcome: bool,
}

impl Client {
    /// Counts until the life ends.
    pub(super) async fn run(mut self) {
        let now = Instant::now();
        let mut action = Action { number: 1, first_sent: now, not_before: now, is_sent: false };
        let mut next = None;
        while !self.is_over() {
            let has_followed = next.is_some();
            let session = match next.take() {
                Some(session) => Some(session),
                None => {
                    let port = self.ports[self.random.below(self.ports.len() as u64) as usize];
                    self.join(&format!("nowcast://127.0.0.1:{port}/r{}", self.room)).await
                }
            };
            if let Some(session) = session {
                next = self.play(session, &mut action, has_followed).await;
            }
            if next.is_none() {
                sleep(AGAIN).await;
            }
        }
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Acquire) || self.checker.violation().is_some()
    }

    /// Connects to a server, or to the one to which it sends the client, and asks for the room.
    async fn join(&self, url: &str) -> Option<Session> {
        let least = self.checker.confirmed(self.room);
        let channel = connect(url).await?;
        let mut key = [7; 16];
        key[0] = self.number;
        let client = WorldClient::join(channel, Join::new(place(self.number)).key(key)).ok()?;
        Some(Session { client, least, is_welcome: false })
    }

    /// Plays one session to its end. Returns the session in which the client goes on, if the room moved there.
    async fn play(
        &mut self,
        mut session: Session,
        action: &mut Action,
        has_followed: bool,
    ) -> Option<Session> {
        let begun = Instant::now();
        let mut shown: BTreeMap<u8, u64> = BTreeMap::new();
        let mut joined_next = None;
        action.is_sent = false;
        while !self.is_over() {
            if session.is_welcome && !action.is_sent && Instant::now() >= action.not_before {
                self.checker.sends(self.room, self.number, action.number);
                let sent = session.client.act_once(action.number as u32, "count", Value::Map(Vec::new()));
                if sent.is_err() {
                    break;
                }
                action.is_sent = true;
            }
            let patience =
                if session.is_welcome { SILENT } else { JOIN_WITHIN.saturating_sub(begun.elapsed()) };
            let until_send = action.not_before.saturating_duration_since(Instant::now());
            let wait = if session.is_welcome && !action.is_sent { until_send } else { patience };
            let update = match timeout(wait, session.client.receive()).await {
                Ok(Ok(update)) => update,
                // The next action is due.
                Err(_) if session.is_welcome && !action.is_sent => continue,
                Ok(Err(_)) | Err(_) => break,
            };
            match update {
                Update::Welcome => {
                    session.is_welcome = true;
                    self.checker.begins(has_followed);
                }
                Update::Screen(number) => self.see(&mut session, number, &mut shown),
                Update::Event(FromWorld::Done { number }) if u64::from(number) == action.number => {
                    let count = shown.get(&self.number).copied().unwrap_or(0);
                    let Action { number, first_sent, .. } = *action;
                    self.checker.confirms(self.room, self.number, number, count, first_sent);
                    let not_before = Instant::now() + PACE + Duration::from_millis(self.random.below(60));
                    *action =
                        Action { number: number + 1, first_sent: not_before, not_before, is_sent: false };
                    if self.random.percent(3) {
                        break;
                    }
                }
                // The result could not be stored, or the client was too fast. The same action is sent again.
                Update::Event(FromWorld::Refused { number: Some(number), .. })
                    if u64::from(number) == action.number =>
                {
                    action.not_before = Instant::now() + PACE;
                    action.is_sent = false;
                }
                Update::Event(FromWorld::Happened { event, payload }) if event == MOVE => {
                    let address = payload.get("address").and_then(Value::as_text);
                    if let Some(host) = address.and_then(|address| address.strip_prefix("http://")) {
                        joined_next = self.join(&format!("nowcast://{host}/r{}", self.room)).await;
                    }
                }
                _ => {}
            }
            if action.is_sent && action.first_sent.elapsed() > CONFIRM_WITHIN && self.random.percent(5) {
                break;
            }
        }
        joined_next
    }

    /// Checks a count that the server shows.
    fn see(&self, session: &mut Session, number: u32, shown: &mut BTreeMap<u8, u64>) {
        let Some(screen) = session.client.view().screen(number) else { return };
        let client = screen.place.strip_prefix('c').and_then(|text| text.parse::<u8>().ok());
        let (Some(client), Some(count)) = (client, screen.value.as_f64()) else { return };
        let count = count as u64;
        let least = session.least.entry(client).or_default();
        self.checker.shows(self.room, client, *least, count);
        *least = (*least).max(count);
        shown.insert(client, count);
    }
}

async fn connect(url: &str) -> Option<Channel> {
    let connector = Connector::new().carriers([CarrierKind::WebSocket]);
    timeout(JOIN_WITHIN, connector.connect(url)).await.ok()?.ok()
}
