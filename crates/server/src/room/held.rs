//! Seats of clients that were lost: their players stay as they were until they come back, or for too long do not.

use std::time::Instant;

use nowcast_world::{Command, Input, PlayerId};

use super::{Newcomer, Room};
use crate::client_handle::Player;
use crate::client_key::ClientKey;
use crate::closing::Closing;

/// The seat of a client that was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeldSeat {
    pub(super) id: PlayerId,
    pub(super) key: ClientKey,
    /// From then on its player leaves.
    pub(super) until: Instant,
}

impl Room {
    /// Has players leave whose clients are gone. Of those that may come back the seats are held.
    pub(super) fn dismiss_leavers(&mut self, now: Instant) {
        let gone: Vec<usize> =
            (0..self.players.len()).rev().filter(|index| self.players[*index].player.has_left()).collect();
        for index in gone {
            let seated = self.players.remove(index);
            self.rooms.metrics.clients.dec();
            match seated.player.held() {
                // A viewer of the past has no player there.
                _ if self.past.is_some() => {}
                Some((key, until)) => self.hold(HeldSeat { id: seated.id, key, until }, seated.input),
                None => self.dismiss(seated.id),
            }
        }
        let over: Vec<HeldSeat> = self.held.extract_if(.., |held| held.until <= now).collect();
        for held in over {
            self.dismiss(held.id);
        }
    }

    /// Nobody steers a player whose seat is held.
    fn hold(&mut self, seat: HeldSeat, input: Input) {
        self.apply(Command::Input { player: seat.id, input: standing(input) });
        self.held.push(seat);
    }

    pub(super) fn dismiss(&mut self, id: PlayerId) {
        // A leave is always accepted.
        let _ = self.world.apply(Command::Leave { player: id });
        self.chat.forget(id);
        self.names.forget(id);
    }

    /// The player that a client was before, if it is known again and its player has stayed. From now on it is this client's, and
    /// no other one's.
    pub(super) fn take_seat_of(&mut self, key: ClientKey, newcomers: &mut Vec<Newcomer>) -> Option<PlayerId> {
        if let Some(at) = self.held.iter().position(|held| held.key == key) {
            return Some(self.held.swap_remove(at).id);
        }
        let is_same = |player: &Player| player.key == Some(key);
        if let Some(at) = self.players.iter().position(|seated| is_same(&seated.player)) {
            let seated = self.players.remove(at);
            self.rooms.metrics.clients.dec();
            seated.player.close(Closing::Replaced);
            self.apply(Command::Input { player: seated.id, input: standing(seated.input) });
            return Some(seated.id);
        }
        let at = newcomers.iter().position(|newcomer| is_same(&newcomer.player))?;
        let newcomer = newcomers.remove(at);
        newcomer.player.close(Closing::Replaced);
        Some(newcomer.id)
    }

    /// Where the world is full, somebody who comes is worth more than a seat that waits: the one that ends first is given up.
    pub(super) fn make_room(&mut self, coming: usize) {
        let scene = self.world.world().scene();
        let is_full = scene.players().count() + coming >= scene.definition().limits.players_max;
        let first = self.held.iter().enumerate().min_by_key(|(_, held)| held.until).map(|(at, _)| at);
        if let Some(at) = first.filter(|_| is_full) {
            let held = self.held.swap_remove(at);
            self.dismiss(held.id);
        }
    }
}

/// The controls of somebody whom nobody steers.
pub(super) fn standing(input: Input) -> Input {
    Input { forward: 0.0, right: 0.0, jump: false, ..input }
}
