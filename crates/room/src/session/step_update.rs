//! The update of one step for sessions, encoded once for all recipients.

use std::sync::Arc;
use std::time::Instant;

use nowcast_replication::{
    GridSnapshot, InterestChange, InterestGrid, InterestSet, NewSection, Relocation, SectionId,
};
use nowcast_wire::encode_to_vec;
use nowcast_world::{EntityId, PlayerId, Value};
use nowcast_world_protocol::session::{FromWorld, Player, Said, Screen, StateKey};

use crate::dictionary::Dictionary;
use crate::room::replicated_state::{
    Changes, EntityDescription, EntityDescriptions, ReplicatedState, ScreenValue,
};
use crate::room::world_events::{Audience, WorldEvent};

/// A state. If a player is named, only this player receives it.
type State = (Option<PlayerId>, u64, Vec<u8>);

/// A change of an entity: its new description, and its section.
struct EntityUpdate {
    id: EntityId,
    /// The section before this step.
    from: Option<SectionId>,
    to: Option<SectionId>,
    /// Whether clients that already have the entity need the new description.
    is_changed: bool,
    /// The new description. `None` if the entity was removed.
    entity: Option<Arc<EntityDescription>>,
}

/// The events and changes of a step, in the order in which they are sent.
pub struct StepUpdate {
    /// The time of the step.
    at: Instant,
    /// The new definition, if it changed.
    define: Option<Vec<u8>>,
    /// The room's count of steps.
    tick: u64,
    /// New sections, which are sent before their entities.
    created: Vec<NewSection>,
    /// Entities that changed or moved to another section, ordered by id.
    entities: Vec<EntityUpdate>,
    /// The changed states with their keys, in the order in which they are set. The bytes of a removed state are empty. A
    /// state with a player is for that player alone. States for one player and states for all stay in one list, because a
    /// key of one player may later belong to all.
    states: Vec<State>,
    events: Vec<(Audience, Vec<u8>)>,
    said: Vec<Vec<u8>>,
}

impl StepUpdate {
    /// Encodes the update of a step for sessions. `dictionary` is present if the definition changed.
    pub fn of(
        changes: &Changes,
        replicated: &ReplicatedState,
        (tick, interest_grid): (u64, &InterestGrid),
        world_events: &[WorldEvent],
        dictionary: Option<&Dictionary>,
    ) -> Self {
        let mut update = Self {
            define: dictionary.map(define),
            tick,
            created: interest_grid.created(),
            entities: entity_updates(changes, replicated, interest_grid),
            ..Self::none()
        };
        let Self { states, events, said, .. } = &mut update;
        states.extend(changes.left.iter().map(|id| (None, StateKey::Player(*id).number(), Vec::new())));
        for id in changes.players.iter() {
            states.extend(replicated.player(*id).map(|player| state_of_player(*id, player)));
        }
        states.extend(changes.screens.iter().map(|shown| {
            let (key, value) = state_of_screen(shown);
            (shown.player, key, value)
        }));
        for world_event in world_events {
            match world_event {
                WorldEvent::Said { player, name, text } => {
                    let line = Said { from: player.0, name: name.clone(), text: text.clone() };
                    said.push(encode_to_vec(&line));
                }
                WorldEvent::Emitted { audience, name, payload, .. } => {
                    let event = FromWorld::Happened { event: name.clone(), payload: payload.clone() };
                    events.push((audience.clone(), encode_to_vec(&event)));
                }
            }
        }
        update
    }

    /// Encodes the state that all clients have, for a newcomer. The newcomer's own screen and its entities are not included.
    pub fn all(replicated: &ReplicatedState, dictionary: &Dictionary) -> Self {
        let states = replicated.players().map(|(id, player)| state_of_player(id, player)).collect();
        Self { define: Some(define(dictionary)), states, ..Self::none() }
    }

    fn none() -> Self {
        let (created, entities, states, events, said) = Default::default();
        Self { at: Instant::now(), define: None, tick: 0, created, entities, states, events, said }
    }

    /// The time of the step.
    pub fn at(&self) -> Instant {
        self.at
    }

    /// The room's count of steps after the step.
    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// Whether the update may wait for the next round of movement, because it only has entities that moved to another
    /// section.
    pub fn can_wait(&self) -> bool {
        let Self { define, entities, states, events, said, .. } = self;
        let is_calm = define.is_none() && states.is_empty() && events.is_empty() && said.is_empty();
        is_calm && entities.iter().all(|update| !update.is_changed && update.entity.is_some())
    }

    /// The new sections.
    pub fn created(&self) -> &[NewSection] {
        &self.created
    }

    /// The definition, if it changed.
    pub fn define(&self) -> Option<&[u8]> {
        self.define.as_deref()
    }

    /// Returns the changes of the entities that are in a player's interest set, or were in it before this step.
    pub fn entities_for(&self, interest_set: &InterestSet) -> impl Iterator<Item = (u64, Arc<[u8]>)> {
        let sees = |section: Option<SectionId>| section.is_some_and(|section| interest_set.sees(section));
        self.entities.iter().filter_map(move |EntityUpdate { id, from, to, is_changed, entity }| {
            let value = || entity.as_ref().map_or_else(|| Arc::from([]), |entity| entity.bytes());
            let replicated = match (sees(*from), sees(*to)) {
                (true, true) if *is_changed => value(),
                (false, true) => value(),
                (true, false) if entity.is_none() => value(),
                (true, false) => out_of_sight(self.tick as u32),
                (true, true) | (false, false) => return None,
            };
            Some((StateKey::Entity(*id).number(), replicated))
        })
    }

    /// The states for a player, without entities.
    pub fn states_for(&self, player: PlayerId) -> impl Iterator<Item = (u64, &[u8])> {
        let replicated =
            self.states.iter().filter(move |(whose, _, _)| whose.is_none_or(|whose| whose == player));
        replicated.map(|(_, key, value)| (*key, value.as_slice()))
    }

    /// The events for a player.
    pub fn events_for(&self, player: PlayerId) -> impl Iterator<Item = &[u8]> {
        let heard = self.events.iter().filter(move |(audience, _)| audience.has(player));
        heard.map(|(_, event)| event.as_slice())
    }

    /// Lines of chat.
    pub fn said(&self) -> &[Vec<u8>] {
        &self.said
    }
}

/// Encodes the value on a screen as a state.
pub fn state_of_screen(shown: &ScreenValue) -> (u64, Vec<u8>) {
    // The key of a cleared place stays reserved until the key is used for another place.
    let ScreenValue { number, player, place, value } = shown;
    let (place, value): (String, Value) = (place.clone(), value.clone());
    let screen = Screen { place, personal: player.is_some(), value };
    (StateKey::Screen(*number).number(), encode_to_vec(&screen))
}

/// Returns the states for a player whose interest set changed in this step: the entities that left the set, and full descriptions
/// of the entities that entered, the nearest sections first.
pub fn states_of_change(
    look: &InterestChange,
    descriptions: &EntityDescriptions,
    (tick, grid_snapshot): (u32, &GridSnapshot),
) -> Vec<(u64, Arc<[u8]>)> {
    let members = |sections: &[SectionId]| -> Vec<EntityId> {
        sections.iter().flat_map(|section| grid_snapshot.members(*section)).copied().map(EntityId).collect()
    };
    let out_of_sight = out_of_sight(tick);
    let hidden = members(&look.left).into_iter();
    let hidden = hidden.map(|id| (StateKey::Entity(id).number(), Arc::clone(&out_of_sight)));
    let shown = members(&look.entered).into_iter();
    let shown =
        shown.filter_map(|id| Some((StateKey::Entity(id).number(), descriptions.entity(id)?.bytes())));
    hidden.chain(shown).collect()
}

/// The value of an entity that left the interest set in a step.
fn out_of_sight(tick: u32) -> Arc<[u8]> {
    Arc::from(&tick.to_le_bytes()[..])
}

/// Returns the entities that changed, and the entities that moved to another section.
fn entity_updates(
    changes: &Changes,
    replicated: &ReplicatedState,
    interest_grid: &InterestGrid,
) -> Vec<EntityUpdate> {
    let changed = changes.described.iter().chain(&changes.attributes).map(|id| {
        let section = interest_grid.section_of(id.0);
        (Relocation { id: id.0, from: section, to: section }, true)
    });
    let moved = interest_grid.relocations().iter().map(|relocation| (*relocation, false));
    let mut update: Vec<_> = changed.chain(moved).collect();
    update.sort_by_key(|(relocation, is_changed)| (relocation.id, *is_changed));
    // An entity that changed and also moved is sent only once.
    update.dedup_by(|(later, later_changed), (kept, is_changed)| {
        let is_same = later.id == kept.id;
        *is_changed |= is_same && *later_changed;
        is_same
    });
    let update = update.into_iter().map(|(Relocation { id, from, to }, is_changed)| {
        let id = EntityId(id);
        EntityUpdate { id, from, to, is_changed, entity: replicated.entity(id).cloned() }
    });
    update.collect()
}

fn state_of_player(id: PlayerId, player: &Player) -> State {
    (None, StateKey::Player(id).number(), encode_to_vec(player))
}

fn define(dictionary: &Dictionary) -> Vec<u8> {
    encode_to_vec(&FromWorld::Define { definition: dictionary.message.clone() })
}

#[cfg(test)]
mod tests;
