//! Players that rules ban, and players that rules send to other rooms.

use std::time::{Duration, Instant};

use nowcast_script::ARRIVE;
use nowcast_world::{Command, PlayerId, Scene, Value};
use tracing::{info, warn};

use super::Room;
use super::context::RoomContext;
use super::editor_commands::marks_of;
use super::members::Members;
use super::world_events::{Audience, Banned, WorldEvent};
use crate::client_handle::ClientHandle;
use crate::persistence::{ADDRESS_BAN_MAX, Ban, BanScope, BannedBy, now_ms};
use crate::portals::Passage;
use crate::rooms::Opener;

/// The event that asks a client to go to another room: a map of `room` and `ticket`.
const GO: &str = "@go";

impl Members {
    /// Bans players by their marks. Their connections are closed in the next step. Returns the players that cannot be
    /// recognised when they return, with the reasons: these are only removed.
    pub(super) fn ban(
        &self,
        context: &RoomContext,
        scene: &Scene,
        banned: Vec<Banned>,
    ) -> Vec<(PlayerId, String)> {
        let mut removed = Vec::new();
        for Banned { player, seconds, of_world, reason } in banned {
            let lasts = Duration::from_secs(seconds.into());
            let name = scene.player(player).map_or("", |player| player.name.as_str());
            let marks =
                self.find(player).map(|member| marks_of(member.client.known(), None)).unwrap_or_default();
            let mut holds = false;
            for by in marks {
                let scope = match of_world {
                    true => BanScope::World(context.offered.name.clone()),
                    false => BanScope::Room(context.name.clone()),
                };
                let lasts = match &by {
                    BannedBy::Address(_) => lasts.min(ADDRESS_BAN_MAX),
                    _ => lasts,
                };
                let ban = Ban::new(scope, by, Some(lasts), name, &reason, now_ms());
                match ban.and_then(|ban| context.rooms.bans.add(ban, Box::new(|_| ()))) {
                    Ok(()) => holds = true,
                    Err(error) => warn!(room = context.name, player = player.0, %error, "a ban of the rules"),
                }
            }
            info!(room = context.name, player = player.0, reason, holds, "banned by the rules");
            if !holds {
                removed.push((player, reason));
            }
        }
        removed
    }

    /// Opens a passage for each player that the rules send to another room, and returns the events for their clients. If the
    /// room does not exist or has no seat, the player stays and receives the reason.
    pub(super) fn send_to(
        &self,
        context: &RoomContext,
        scene: &Scene,
        sent: Vec<(PlayerId, String, Value)>,
    ) -> Vec<WorldEvent> {
        let mut events = Vec::new();
        for (player, room, data) in sent {
            let Some(member) = self.find(player) else { continue };
            if room == context.name {
                member.client.notice(&format!("you are in the room {room} already"));
                continue;
            }
            if !context.rooms.catalogue.names(&room) {
                member.client.notice(&format!(
                    "the world sends you to the room {room}, but no world of this server has that name"
                ));
                continue;
            }
            let address = member.client.address;
            let is_local = address.is_some_and(|address| address.to_canonical().is_loopback());
            let opener = Opener { address, is_local, is_program: member.client.is_program };
            if let Err(refusal) = context.rooms.may_enter(&room, opener) {
                member.client.notice(&format!("the world sends you to the room {room}: {refusal}"));
                continue;
            }
            let account = scene.player(player).and_then(|player| player.account.clone());
            let passage = Passage { from: context.name.clone(), room: room.clone(), account, data };
            let Some(ticket) = context.rooms.portals.open(passage, Instant::now()) else { continue };
            let text = |text: &str| Value::Text(text.to_owned());
            let payload = Value::Map(vec![(text("room"), text(&room)), (text("ticket"), text(&ticket))]);
            let audience = Audience::These([player].into());
            events.push(WorldEvent::Emitted { audience, name: GO.to_owned(), payload, durable: false });
        }
        events
    }
}

impl Room {
    /// Brings a player who comes from another room: exchanges the ticket for the data, and gives the rules the action
    /// [`ARRIVE`]. Returns whether the action is one of the server, so that clients cannot give it.
    pub(super) fn arrive(
        &mut self,
        client: &ClientHandle,
        id: PlayerId,
        action: &str,
        arguments: &Value,
    ) -> bool {
        if !action.starts_with('@') {
            return false;
        }
        let Self { context, world, .. } = self;
        let scene = world.world().scene();
        let account = scene.player(id).and_then(|player| player.account.as_deref());
        let ticket = arguments.get("ticket").and_then(Value::as_text).filter(|_| action == ARRIVE);
        let passage = ticket
            .and_then(|ticket| context.rooms.portals.take(ticket, &context.name, account, Instant::now()));
        match passage {
            None => {
                client.notice("this way from another room has ended: its ticket is valid for a minute, once")
            }
            // Rules without a hook for arrivals do not declare the action.
            Some(_) if scene.definition().action(ARRIVE).is_none() => {}
            Some(Passage { from, data, .. }) => {
                let text = |text: &str| Value::Text(text.to_owned());
                let arguments = Value::Map(vec![(text("data"), data), (text("from"), text(&from))]);
                let name = ARRIVE.to_owned();
                context.count(world.apply(Command::Action { player: id, name, arguments }));
            }
        }
        true
    }
}
