//! Seats of disconnected clients. The player of such a client stays in the world until the client returns, or until the seat
//! expires.

use std::time::Instant;

use nowcast_world::{Command, Input, PlayerId};
use tracing::info;

use super::{Members, Newcomer};
use crate::client_handle::ClientHandle;
use crate::client_key::ClientKey;
use crate::closing::Closing;
use crate::persistence::Known;
use crate::recorded_world::RecordedWorld;
use crate::room::chat::RoomChat;
use crate::room::context::RoomContext;

/// The seat of a lost client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::room) struct HeldSeat {
    pub(in crate::room) id: PlayerId,
    pub(in crate::room) key: ClientKey,
    /// The time at which the player leaves.
    pub(in crate::room) until: Instant,
}

impl Members {
    /// Removes members whose clients are gone. The seats of clients that may return are held. If the room `is_past`, no seat
    /// is held, because viewers of history have no players.
    pub(in crate::room) fn remove_departed(
        &mut self,
        context: &RoomContext,
        world: &mut RecordedWorld,
        chat: &mut RoomChat,
        (is_past, now): (bool, Instant),
    ) {
        let gone: Vec<usize> =
            (0..self.seated.len()).rev().filter(|index| self.seated[*index].client.has_left()).collect();
        for index in gone {
            let member = self.seated.remove(index);
            context.rooms.metrics.clients.dec();
            match member.client.held() {
                _ if is_past => {}
                Some((key, until)) => {
                    let input = standing(member.input);
                    context.count(world.apply(Command::Input { player: member.id, input }));
                    self.held.push(HeldSeat { id: member.id, key, until });
                }
                None => self.dismiss(world, chat, member.id),
            }
        }
        let over: Vec<HeldSeat> = self.held.extract_if(.., |held| held.until <= now).collect();
        for held in over {
            self.dismiss(world, chat, held.id);
        }
    }

    /// Whether a seat is held for a client.
    pub(super) fn has_seat(&self, client: &ClientHandle) -> bool {
        client.key.is_some_and(|key| self.held.iter().any(|held| held.key == key))
    }

    pub(super) fn dismiss(&mut self, world: &mut RecordedWorld, chat: &mut RoomChat, id: PlayerId) {
        // The world always accepts a leave.
        let _ = world.apply(Command::Leave { player: id });
        chat.forget(id);
        self.names.forget(id);
    }

    /// Returns the former player of a client, if the player is still in the world. From now on the player belongs to this
    /// client alone.
    pub(in crate::room) fn take_seat_of(
        &mut self,
        context: &RoomContext,
        world: &mut RecordedWorld,
        key: ClientKey,
        newcomers: &mut Vec<Newcomer>,
    ) -> Option<PlayerId> {
        if let Some(at) = self.held.iter().position(|held| held.key == key) {
            return Some(self.held.swap_remove(at).id);
        }
        let is_same = |client: &ClientHandle| client.key == Some(key);
        if let Some(at) = self.seated.iter().position(|member| is_same(&member.client)) {
            let member = self.seated.remove(at);
            context.rooms.metrics.clients.dec();
            member.client.close(Closing::Replaced);
            context.count(world.apply(Command::Input { player: member.id, input: standing(member.input) }));
            return Some(member.id);
        }
        let at = newcomers.iter().position(|newcomer| is_same(&newcomer.client))?;
        let newcomer = newcomers.remove(at);
        newcomer.client.close(Closing::Replaced);
        Some(newcomer.id)
    }

    /// If the world is full of people, or of programs, releases the held seat of one of these that ends first. A client that
    /// joins takes precedence over a held seat.
    pub(in crate::room) fn make_room(
        &mut self,
        world: &mut RecordedWorld,
        chat: &mut RoomChat,
        is_program: bool,
        joining: usize,
    ) {
        let scene = world.world().scene();
        if scene.count_players(is_program) + joining < scene.definition().limits.players_max {
            return;
        }
        let is_alike = |id| scene.player(id).is_some_and(|player| player.is_program == is_program);
        let alike = self.held.iter().enumerate().filter(|(_, held)| is_alike(held.id));
        if let Some((at, _)) = alike.min_by_key(|(_, held)| held.until) {
            let held = self.held.swap_remove(at);
            self.dismiss(world, chat, held.id);
        }
    }

    /// Closes the connections of players that the rules removed, and releases the seats that are held for them.
    pub(in crate::room) fn kick(
        &mut self,
        context: &RoomContext,
        world: &mut RecordedWorld,
        chat: &mut RoomChat,
        kicked: Vec<(PlayerId, String)>,
    ) {
        for (player, reason) in kicked {
            if let Some(member) = self.find(player) {
                info!(room = context.name, player = player.0, reason, "kicked");
                member.client.close(Closing::Kicked(reason));
            } else if let Some(at) = self.held.iter().position(|held| held.id == player) {
                self.held.swap_remove(at);
                self.dismiss(world, chat, player);
            }
        }
    }

    /// Closes the connections of banned members, and releases the seats that are held for banned clients.
    pub(in crate::room) fn remove_banned(
        &mut self,
        context: &RoomContext,
        world: &mut RecordedWorld,
        chat: &mut RoomChat,
    ) {
        for member in &self.seated {
            if let Some(ban) = context.rooms.ban_of(&context.name, &member.client) {
                member.client.close(Closing::Banned(ban.message()));
            }
        }
        let is_banned = |key| {
            let known = Known { key: Some(key), ..Known::default() };
            context.rooms.bans.find(&context.name, &context.offered.name, known).is_some()
        };
        let given_up: Vec<_> = self.held.extract_if(.., |seat| is_banned(seat.key)).collect();
        for seat in given_up {
            self.dismiss(world, chat, seat.id);
        }
    }
}

/// Returns the input of a player without a client.
pub(in crate::room) fn standing(input: Input) -> Input {
    Input { forward: 0.0, right: 0.0, jump: false, ..input }
}
