//! The state of a room's world that its clients have, and the changes since then.
//!
//! Changes are computed as the difference between the world and the state that was sent. They are not collected from the
//! engine's events. So they are correct even after a world was restored to an earlier step.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use nowcast_replication::{ApplyDelta, SnapshotPool};
use nowcast_world::{EntityId, EntityRef, Kind, Motion, PlayerId, Pose, Scene, Value, World};
use nowcast_world_protocol::session::{Entity, Place, Player};

use crate::dictionary::{Dictionary, attribute_bytes};

/// The state that every client of a room has, or is about to receive.
#[derive(Default)]
pub struct ReplicatedState {
    /// Ordered by id.
    entities: Vec<Arc<EntityDescription>>,
    /// The ids of `entities`, and the steps of their last known changes, as columns.
    ids: Vec<EntityId>,
    changed_ticks: Vec<u64>,
    /// The descriptions of all entities, for readers on other threads.
    descriptions: SnapshotPool<EntityDescriptions>,
    players: BTreeMap<PlayerId, Player>,
    /// The world's version of its players when `players` was last compared; `None` before the first time.
    players_version: Option<Arc<()>>,
    screens: Screens,
    /// Whether an entity may have changed since its description was sent, although the step of its last change has not advanced.
    is_stale: bool,
}

/// The descriptions of all entities after one step. Immutable. A client reads the description of an entity that enters its
/// interest set.
#[derive(Clone, Default)]
pub struct EntityDescriptions {
    entities: BTreeMap<EntityId, Arc<EntityDescription>>,
}

impl EntityDescriptions {
    /// The description of an entity.
    pub fn entity(&self, id: EntityId) -> Option<&EntityDescription> {
        self.entities.get(&id).map(Arc::as_ref)
    }
}

impl ApplyDelta for EntityDescriptions {
    /// The entities whose descriptions changed. `None` for removed entities.
    type Change = Vec<(EntityId, Option<Arc<EntityDescription>>)>;

    fn apply(&mut self, change: &Self::Change) {
        for (id, entity) in change {
            match entity {
                Some(entity) => self.entities.insert(*id, Arc::clone(entity)),
                None => self.entities.remove(id),
            };
        }
    }
}

/// The description of an entity, as sent to clients.
pub struct EntityDescription {
    /// The entity.
    pub id: EntityId,
    /// The entity, as the plain protocol describes it.
    pub entity: Entity,
    fingerprint: u64,
    /// Whether the plain protocol does not replicate the entity.
    is_private: bool,
    /// The encoding for sessions, once a session needs it.
    bytes: OnceLock<Arc<[u8]>>,
}

impl EntityDescription {
    /// Returns the encoding for sessions, which is computed once for all of them.
    pub fn bytes(&self) -> Arc<[u8]> {
        Arc::clone(self.bytes.get_or_init(|| nowcast_wire::encode_to_vec(&self.entity).into()))
    }
}

/// Collects the changes of entities in one step.
struct EntityUpdate<'a> {
    scene: &'a Scene,
    dictionary: &'a Dictionary,
    changes: &'a mut Changes,
    redescribed: Vec<(EntityId, Option<Arc<EntityDescription>>)>,
}

impl EntityUpdate<'_> {
    fn describe(&mut self, entity: &EntityRef<'_>) -> Arc<EntityDescription> {
        let now = Arc::new(describe(self.scene, self.dictionary, entity));
        self.redescribed.push((now.id, Some(Arc::clone(&now))));
        now
    }

    fn added(&mut self, entity: &EntityRef<'_>) -> Arc<EntityDescription> {
        self.changes.described.push(entity.id);
        self.describe(entity)
    }

    fn replaced(&mut self, known: &EntityDescription, entity: &EntityRef<'_>) -> Arc<EntityDescription> {
        let now = self.describe(entity);
        if now.is_private && !known.is_private {
            self.changes.gone.push(now.id);
        }
        let is_public_now = known.is_private && !now.is_private;
        if is_public_now
            || known.fingerprint != now.fingerprint
            || !is_same_but_for_attributes(&known.entity, &now.entity)
        {
            self.changes.described.push(now.id);
        } else if known.entity.attributes != now.entity.attributes {
            self.changes.attributes.push(now.id);
        }
        now
    }

    fn removed(&mut self, known: &EntityDescription) {
        self.changes.gone.extend((!known.is_private).then_some(known.id));
        self.redescribed.push((known.id, None));
    }
}

/// The changes of one step.
#[derive(Debug, Default, PartialEq)]
pub struct Changes {
    /// Entities whose whole description is sent, because they are new or because they changed beyond their attributes.
    /// Ordered by id.
    pub described: Vec<EntityId>,
    /// Entities of which only attributes changed, ordered by id.
    pub attributes: Vec<EntityId>,
    /// Removed entities, ordered by id. Without private entities, which the plain protocol does not replicate.
    pub gone: Vec<EntityId>,
    /// Players who joined, or whose name or avatar changed.
    pub players: Vec<PlayerId>,
    /// Players who left.
    pub left: Vec<PlayerId>,
    /// The changed values on screens.
    pub screens: Vec<ScreenValue>,
    /// Whether an entity came, went or was described anew, private entities included.
    pub(crate) are_entities_changed: bool,
}

/// The value at one place on a screen.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenValue {
    /// The number of the place on sessions.
    pub number: u32,
    /// The player whose screen has the value. `None` for a value on all screens.
    pub player: Option<PlayerId>,
    /// The name of the place on the screen.
    pub place: String,
    /// The value. Nil if the place is cleared.
    pub value: Value,
}

impl ReplicatedState {
    /// Makes the next update compare the whole world, because its rules changed or it was restored.
    pub(crate) fn invalidate(&mut self) {
        self.is_stale = true;
    }

    /// Shows a value of the room on all screens, in addition to the values of the world. No world may be able to use this
    /// place.
    pub(crate) fn show(&mut self, place: &'static str, value: Value) {
        self.screens.of_room = Some((place, value));
    }

    /// Returns the changes of the world since the last call, and records them as sent.
    pub(crate) fn update(&mut self, world: &World, dictionary: &Dictionary) -> Changes {
        let mut changes = Changes::default();
        let is_stale = std::mem::take(&mut self.is_stale);
        self.update_entities(world, dictionary, is_stale, &mut changes);
        let version = world.scene().players_version();
        if !self.players_version.as_ref().is_some_and(|known| Arc::ptr_eq(known, version)) {
            self.players_version = Some(Arc::clone(version));
            self.update_players(world.scene(), &mut changes);
        }
        self.screens.update(world.scene(), &mut changes);
        changes
    }

    fn update_entities(
        &mut self,
        world: &World,
        dictionary: &Dictionary,
        is_stale: bool,
        changes: &mut Changes,
    ) {
        let (scene, now) = (world.scene(), world.entities());
        let mut update = EntityUpdate { scene, dictionary, changes, redescribed: Vec::new() };
        let are_put: Vec<bool> = scene.definition().kinds.iter().map(is_put).collect();
        let is_same = |known: &EntityDescription, changed_tick, row: usize| {
            // The pose of an entity without movement rows is a part of its description.
            let is_at = |place: Place| {
                now.poses()[row] == Pose { position: place.position, rotation: place.rotation }
            };
            !is_stale
                && changed_tick == now.changed_ticks()[row]
                && (!are_put[usize::from(now.kinds()[row].0)] || known.entity.place.is_none_or(is_at))
        };
        // In most steps no entity comes or goes, and few change. So a known entity stays in its place, and columns are compared
        // without the descriptions.
        let stayed = self.ids.iter().zip(now.ids()).take_while(|(known, id)| known == id).count();
        for row in 0..stayed {
            if !is_same(&self.entities[row], self.changed_ticks[row], row) {
                self.changed_ticks[row] = now.changed_ticks()[row];
                self.entities[row] = update.replaced(&self.entities[row], &now.at(row));
            }
        }
        self.ids.truncate(stayed);
        let changed_ticks = self.changed_ticks.split_off(stayed);
        let descriptions = self.entities.split_off(stayed);
        let mut before = changed_ticks.into_iter().zip(descriptions).peekable();
        for row in stayed..now.ids().len() {
            let entity = now.at(row);
            while let Some((_, gone)) = before.next_if(|(_, known)| known.id < entity.id) {
                update.removed(&gone);
            }
            let description = match before.next_if(|(_, known)| known.id == entity.id) {
                Some((changed_tick, known)) if is_same(&known, changed_tick, row) => known,
                Some((_, known)) => update.replaced(&known, &entity),
                None => update.added(&entity),
            };
            self.ids.push(entity.id);
            self.changed_ticks.push(entity.changed_tick);
            self.entities.push(description);
        }
        for (_, gone) in before {
            update.removed(&gone);
        }
        let redescribed = update.redescribed;
        changes.are_entities_changed = !redescribed.is_empty();
        if changes.are_entities_changed {
            self.descriptions.publish(redescribed);
        }
    }

    fn update_players(&mut self, scene: &Scene, changes: &mut Changes) {
        self.players.retain(|id, _| {
            let stays = scene.player(*id).is_some();
            if !stays {
                changes.left.push(*id);
            }
            stays
        });
        for player in scene.players() {
            let is_sent = self.players.get(&player.id).is_some_and(|replicated| {
                let Player { name, avatar, program } = replicated;
                *name == player.name
                    && *avatar == player.avatar.map(|id| id.0)
                    && *program == player.is_program
            });
            if !is_sent {
                self.players.insert(player.id, player.into());
                changes.players.push(player.id);
            }
        }
    }

    /// Returns the descriptions of all entities, ordered by id.
    pub(crate) fn entities(&self) -> &[Arc<EntityDescription>] {
        &self.entities
    }

    /// The description of an entity.
    pub fn entity(&self, id: EntityId) -> Option<&Arc<EntityDescription>> {
        let row = self.entities.binary_search_by_key(&id, |replicated| replicated.id).ok()?;
        Some(&self.entities[row])
    }

    /// The descriptions of all entities, for readers on other threads.
    pub fn descriptions(&self) -> &Arc<EntityDescriptions> {
        self.descriptions.newest()
    }

    /// Returns all players, ordered by number.
    pub(crate) fn players(&self) -> impl Iterator<Item = (PlayerId, &Player)> {
        self.players.iter().map(|(id, player)| (*id, player))
    }

    /// A player, as sent to clients.
    pub(crate) fn player(&self, id: PlayerId) -> Option<&Player> {
        self.players.get(&id)
    }

    /// Returns the values on all screens, and on the screen of one player.
    pub fn screens_of(&self, player: PlayerId) -> impl Iterator<Item = ScreenValue> {
        self.screens.of(player)
    }
}

/// The values on screens, and the numbers of their places on sessions.
#[derive(Default)]
struct Screens {
    shown: BTreeMap<(Option<PlayerId>, String), (u32, Value)>,
    free: Vec<u32>,
    /// The value that the room itself shows, if there is one.
    of_room: Option<(&'static str, Value)>,
}

impl Screens {
    /// Compares the values on screens with the sent ones. Both are ordered, so one pass over both finds the differences, and a
    /// value that did not change is not copied.
    fn update(&mut self, scene: &Scene, changes: &mut Changes) {
        let Self { shown, free, of_room } = self;
        let mut differ: Vec<(Option<PlayerId>, String, Option<Value>)> = Vec::new();
        let is_of_room = |player: Option<PlayerId>, place: &str| {
            player.is_none() && of_room.as_ref().is_some_and(|(own, _)| *own == place)
        };
        let mut sent = shown.iter().filter(|((player, place), _)| !is_of_room(*player, place)).peekable();
        for (player, place, value) in scene.screens() {
            let now = (player, place);
            let gone = |entry: &(&(Option<PlayerId>, String), _)| (entry.0.0, entry.0.1.as_str()) < now;
            while let Some(((player, place), _)) = sent.next_if(gone) {
                differ.push((*player, place.clone(), None));
            }
            let same = sent.next_if(|((player, place), _)| (*player, place.as_str()) == now);
            if same.is_none_or(|(_, (_, known))| known != value) {
                differ.push((player, place.to_owned(), Some(value.clone())));
            }
        }
        differ.extend(sent.map(|((player, place), _)| (*player, place.clone(), None)));
        if let Some((place, value)) = of_room {
            let known = shown.get(&(None, (*place).to_owned()));
            if known.is_none_or(|(_, known)| known != value) {
                differ.push((None, (*place).to_owned(), Some(value.clone())));
            }
        }
        // Numbers of removed values are free before new values need one.
        differ.sort_by_key(|(.., value)| value.is_some());
        for (player, place, value) in differ {
            let key = (player, place.clone());
            let Some(value) = value else {
                let Some((number, _)) = shown.remove(&key) else { continue };
                free.push(number);
                changes.screens.push(ScreenValue { number, player, place, value: Value::Nil });
                continue;
            };
            // There is one number for each value on screens, and the world limits the number of these values.
            let number = match shown.get(&key) {
                Some((number, _)) => *number,
                None => free.pop().unwrap_or(shown.len() as u32),
            };
            changes.screens.push(ScreenValue { number, player, place, value: value.clone() });
            shown.insert(key, (number, value));
        }
    }

    fn of(&self, player: PlayerId) -> impl Iterator<Item = ScreenValue> {
        self.shown.iter().filter(move |((whose, _), _)| whose.is_none_or(|whose| whose == player)).map(
            |((player, place), (number, value))| ScreenValue {
                number: *number,
                player: *player,
                place: place.clone(),
                value: value.clone(),
            },
        )
    }
}

fn describe(scene: &Scene, dictionary: &Dictionary, entity: &EntityRef<'_>) -> EntityDescription {
    let has_place = entity.parent.is_none() && is_put(scene.kind_of(entity.kind));
    let place = Place { position: entity.pose.position, rotation: entity.pose.rotation };
    let entity_now = Entity {
        kind: entity.kind.0.into(),
        scale: entity.scale,
        parent: entity.parent.map(|id| id.0),
        place: has_place.then_some(place),
        attributes: attribute_bytes(&scene.kind_of(entity.kind).attributes, entity),
        owner: entity.owner.map(|owner| owner.0),
    };
    EntityDescription {
        id: entity.id,
        entity: entity_now,
        fingerprint: dictionary.fingerprint(entity.kind),
        is_private: dictionary.is_private(entity.kind),
        bytes: OnceLock::new(),
    }
}

/// Whether the entities of a kind without a parent have no movement rows, by the rule of [`World::poses`].
fn is_put(kind: &Kind) -> bool {
    kind.body.as_ref().is_some_and(|body| matches!(body.motion, Motion::Fixed | Motion::Sensor))
}

fn is_same_but_for_attributes(a: &Entity, b: &Entity) -> bool {
    (a.kind, a.scale, a.parent, a.place, a.owner) == (b.kind, b.scale, b.parent, b.place, b.owner)
}

#[cfg(test)]
mod tests {
    use nowcast_script::{Assets, Limits, Live, Sources};
    use nowcast_world::Command;

    use super::*;

    fn live(text: &str) -> Live {
        Live::new(Sources::of_main(text), 1, Limits::DEFAULT).expect("the script loads")
    }

    fn dictionary(live: &Live) -> Dictionary {
        Dictionary::new(live.world().scene().definition(), &Assets::default(), 1)
    }

    const LAMP: &str = r#"
        local world = require("@nowcast/world")
        local Lamp = world.kind("lamp", { body = { motion = "fixed", shape = "box", size = vector.one }, attributes = { lit = "bool" } })
        world.on("start", function() Lamp:spawn { at = vector.zero } end)
        world.action("switch", {}, function(player) for _, lamp in Lamp:all() do lamp.lit = not lamp.lit end end)
        world.action("move", {}, function(player) for _, lamp in Lamp:all() do lamp.position = vector.one end end)
        world.action("score", {}, function(player) world.show("score", (world.state.score or 0) + 1); world.state.score = (world.state.score or 0) + 1 end)
        world.action("tell", {}, function(player) world.show("score", "yours", player) end)
        world.action("clear", {}, function(player) world.show("score", nil) end)
    "#;

    fn act(live: &mut Live, action: &str) {
        let arguments = Value::Map(Vec::new());
        live.apply(Command::Action { player: PlayerId(1), name: action.into(), arguments }).unwrap();
        live.step();
    }

    #[test]
    fn only_differences_from_the_sent_state_are_changes() {
        let mut live = live(LAMP);
        let dictionary = dictionary(&live);
        let mut replicated = ReplicatedState::default();
        let first = replicated.update(live.world(), &dictionary);
        assert_eq!(first.described, [EntityId(1)]);
        live.apply(Command::join(PlayerId(1), "Ada")).unwrap();
        live.step();
        let joined = replicated.update(live.world(), &dictionary);
        assert_eq!((joined.players, joined.described), (vec![PlayerId(1)], Vec::new()));
        act(&mut live, "switch");
        assert_eq!(replicated.update(live.world(), &dictionary).attributes, [EntityId(1)]);
        act(&mut live, "move");
        assert_eq!(
            replicated.update(live.world(), &dictionary).described,
            [EntityId(1)],
            "the entity has no rows of movement"
        );
        live.step();
        assert_eq!(replicated.update(live.world(), &dictionary), Changes::default());
        replicated.invalidate();
        assert_eq!(
            replicated.update(live.world(), &dictionary),
            Changes { are_entities_changed: true, ..Changes::default() },
            "described anew, and the same"
        );
    }

    #[test]
    fn numbers_of_cleared_screen_places_are_reused() {
        let mut live = live(LAMP);
        let dictionary = dictionary(&live);
        let mut replicated = ReplicatedState::default();
        live.apply(Command::join(PlayerId(1), "Ada")).unwrap();
        act(&mut live, "score");
        let shown = replicated.update(live.world(), &dictionary).screens;
        assert_eq!((shown.len(), shown[0].number, shown[0].player), (1, 0, None));
        act(&mut live, "tell");
        let shown = replicated.update(live.world(), &dictionary).screens;
        assert_eq!((shown[0].number, shown[0].player), (1, Some(PlayerId(1))));
        assert_eq!(replicated.screens_of(PlayerId(1)).count(), 2);
        assert_eq!(replicated.screens_of(PlayerId(2)).count(), 1, "the other value is for one player alone");
        act(&mut live, "clear");
        let shown = replicated.update(live.world(), &dictionary).screens;
        assert_eq!((shown[0].number, &shown[0].value), (0, &Value::Nil));
        act(&mut live, "score");
        assert_eq!(replicated.update(live.world(), &dictionary).screens[0].number, 0);
    }
}
