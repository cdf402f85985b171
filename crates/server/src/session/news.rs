//! What sessions are told of one step, encoded once for all who hear of it.

use nowcast_wire::encode_to_vec;
use nowcast_world::{PlayerId, Value};

use super::{FromWorld, Player, Said, Screen, StateKey};
use crate::dictionary::Dictionary;
use crate::room::happenings::{Audience, Happening};
use crate::room::told::{Changes, Shown, Told, ToldPlayer};

/// What happened in a step, in the order in which it is told.
#[derive(Default)]
pub(crate) struct News {
    /// What there can be from now on, if that changed.
    define: Option<Vec<u8>>,
    /// What there is, by key; empty for what is gone.
    states: Vec<(u64, Vec<u8>)>,
    /// The same, for one player alone.
    personal: Vec<(PlayerId, u64, Vec<u8>)>,
    events: Vec<(Audience, Vec<u8>)>,
    said: Vec<Vec<u8>>,
}

impl News {
    /// What sessions are told of a step. `dictionary` is there when the definition changed.
    pub(crate) fn of(
        changes: &Changes,
        told: &Told,
        happenings: &[Happening],
        dictionary: Option<&Dictionary>,
    ) -> Self {
        let mut news = Self { define: dictionary.map(define), ..Self::default() };
        let Self { states, personal, events, said, .. } = &mut news;
        states.extend(changes.gone.iter().map(|id| (StateKey::Entity(*id).number(), Vec::new())));
        states.extend(changes.left.iter().map(|id| (StateKey::Player(*id).number(), Vec::new())));
        for id in changes.players.iter() {
            states.extend(told.player(*id).map(|player| state_of_player(*id, player)));
        }
        for id in changes.described.iter().chain(&changes.attributes) {
            let entity = told.entity(*id).map(encode_to_vec);
            states.extend(entity.map(|value| (StateKey::Entity(*id).number(), value)));
        }
        for shown in &changes.shown {
            let (key, value) = state_of_screen(shown);
            match shown.player {
                None => states.push((key, value)),
                Some(player) => personal.push((player, key, value)),
            }
        }
        for happening in happenings {
            match happening {
                Happening::Said { player, name, text } => {
                    let line = Said { from: player.0, name: name.clone(), text: text.clone() };
                    said.push(encode_to_vec(&line));
                }
                Happening::Emitted { audience, name, payload } => {
                    let event = FromWorld::Happened { event: name.clone(), payload: payload.clone() };
                    events.push((audience.clone(), encode_to_vec(&event)));
                }
            }
        }
        news
    }

    /// Everything that was told so far, for a newcomer: all but its own screen.
    pub(crate) fn all(told: &Told, dictionary: &Dictionary) -> Self {
        let mut states: Vec<_> = told.players().map(|(id, player)| state_of_player(id, player)).collect();
        let entities = told.entities().iter();
        states.extend(entities.map(|told| (StateKey::Entity(told.id).number(), encode_to_vec(&told.entity))));
        Self { define: Some(define(dictionary)), states, ..Self::default() }
    }

    /// The definition, if it is told.
    pub(super) fn define(&self) -> Option<&[u8]> {
        self.define.as_deref()
    }

    /// The states that a player is told.
    pub(super) fn states_for(&self, player: PlayerId) -> impl Iterator<Item = (u64, &[u8])> {
        let personal = self.personal.iter().filter(move |(whose, _, _)| *whose == player);
        let all = self.states.iter().map(|(key, value)| (*key, value.as_slice()));
        all.chain(personal.map(|(_, key, value)| (*key, value.as_slice())))
    }

    /// The events that a player is told.
    pub(super) fn events_for(&self, player: PlayerId) -> impl Iterator<Item = &[u8]> {
        let heard = self.events.iter().filter(move |(audience, _)| audience.has(player));
        heard.map(|(_, event)| event.as_slice())
    }

    /// Lines of chat.
    pub(super) fn said(&self) -> &[Vec<u8>] {
        &self.said
    }
}

/// What stands on a screen, as a state.
pub(super) fn state_of_screen(shown: &Shown) -> (u64, Vec<u8>) {
    // What is cleared keeps its key until the key names another place.
    let Shown { number, player, place, value } = shown;
    let (place, value): (String, Value) = (place.clone(), value.clone());
    let screen = Screen { place, personal: player.is_some(), value };
    (StateKey::Screen(*number).number(), encode_to_vec(&screen))
}

fn state_of_player(id: PlayerId, ToldPlayer { name, avatar }: &ToldPlayer) -> (u64, Vec<u8>) {
    let player = Player { name: name.clone(), avatar: avatar.map(|id| id.0) };
    (StateKey::Player(id).number(), encode_to_vec(&player))
}

fn define(dictionary: &Dictionary) -> Vec<u8> {
    encode_to_vec(&FromWorld::Define { definition: dictionary.message.clone() })
}
