//! Players and their avatars.

use std::sync::Arc;

use nowcast_wire::Value;

use super::stored_bytes::named_bytes;
use super::{Scene, SceneError};
use crate::conform::{self, held_bytes};
use crate::entity::Spawn;
use crate::event::{Event, Refusal};
use crate::id::{EntityId, KindId, PlayerId};
use crate::input::{Input, NAME_CHARS_MAX, quantise_yaw};
use crate::limits::ROLES_MAX;
use crate::owner::OwnerLeaves;
use crate::player::{Player, ROLE};
use crate::pose::Pose;
use crate::text;
use crate::walker::Pace;

impl Scene {
    /// Returns all players, ordered by number.
    pub fn players(&self) -> impl ExactSizeIterator<Item = &Player> {
        self.players.values()
    }

    /// Returns a token that is replaced when a player joins, leaves, or gets another name or avatar. Each restored world has a new
    /// token, too. Compare tokens by [`Arc::ptr_eq`].
    pub fn players_version(&self) -> &Arc<()> {
        &self.players_version
    }

    /// Returns one player.
    pub fn player(&self, id: PlayerId) -> Option<&Player> {
        self.players.get(&id)
    }

    /// Returns the number of people, or of programs.
    pub fn count_players(&self, is_program: bool) -> usize {
        self.players.values().filter(|player| player.is_program == is_program).count()
    }

    /// Spawns the avatar of a player. The player owns it, and its input moves it. A player has at most one avatar: an
    /// earlier avatar is removed. If the player controls an entity that it does not own ([`Scene::control`]), this entity stays,
    /// and the player's walkers are removed.
    ///
    /// # Errors
    /// Fails if the player is unknown, or for the reasons of [`Scene::spawn`].
    pub fn spawn_avatar(
        &mut self,
        player: PlayerId,
        kind: KindId,
        spawn: Spawn,
    ) -> Result<EntityId, SceneError> {
        let known = self.player(player).ok_or(SceneError::UnknownPlayer(player))?;
        let (before, mut input) = (known.avatar, known.input);
        let turned = spawn.pose.rotation != Pose::IDENTITY.rotation;
        let yaw = quantise_yaw(spawn.pose.yaw());
        // Many players that join at once may begin at one place, because `players_max` bounds their number.
        let id = self.spawn_with(kind, Spawn { owner: Some(player), ..spawn }, |_, _, _| Ok(()))?;
        for body in self.bodies_of(player, before).into_iter().filter(|body| *body != id) {
            // An attached entity may have been removed with its parent.
            if self.entities.row(body).is_some() {
                self.despawn(body)?;
            }
        }
        self.change_player(player)?.avatar = Some(id);
        self.players_version = Arc::default();
        if self.walkers.contains_key(&id) {
            // A player that was placed with a direction keeps it until the input changes.
            if turned {
                input.yaw = yaw;
            }
            self.set_player_input(player, input)?;
        }
        Ok(id)
    }

    /// Returns the avatar of a player or, if it controls an entity that it does not own, its walkers.
    fn bodies_of(&self, player: PlayerId, avatar: Option<EntityId>) -> Vec<EntityId> {
        let Some(avatar) = avatar else { return Vec::new() };
        let is_own = self.entity(avatar).is_some_and(|entity| entity.owner == Some(player));
        if is_own {
            return vec![avatar];
        }
        self.owned_by(player).into_iter().filter(|id| self.walkers.contains_key(id)).collect()
    }

    /// Lets the input of a player move another entity, such as a drone or a vehicle. The former avatar stays in the world: a
    /// walker stands still. When the player leaves, its walkers are removed, and an entity that it does not own stays.
    ///
    /// # Errors
    /// Fails if the player or the entity is unknown, or if the entity is the avatar of another player.
    pub fn control(&mut self, player: PlayerId, entity: EntityId) -> Result<(), SceneError> {
        self.row(entity)?;
        let known = self.player(player).ok_or(SceneError::UnknownPlayer(player))?;
        let (before, input) = (known.avatar, known.input);
        if self.players.values().any(|other| other.id != player && other.avatar == Some(entity)) {
            return Err(SceneError::Controlled(entity));
        }
        if let Some(walker) = before.and_then(|before| self.walkers.get_mut(&before)) {
            walker.input = Input { yaw: walker.input.yaw, ..Input::default() };
        }
        self.change_player(player)?.avatar = Some(entity);
        self.players_version = Arc::default();
        if let Some(walker) = self.walkers.get_mut(&entity) {
            walker.input = input;
        }
        Ok(())
    }

    /// Adds or removes a tag of a player, such as its team.
    ///
    /// # Errors
    /// Fails if the player is unknown, if the tag is not a name or begins with `@` as roles do, or if the player has too
    /// many tags.
    pub fn set_player_tag(&mut self, player: PlayerId, tag: &str, is_set: bool) -> Result<(), SceneError> {
        if tag.starts_with(ROLE) {
            return Err(SceneError::BadName(tag.to_owned()));
        }
        let tags_max = self.definition.limits.tags_max;
        super::entities::change_tag(&mut self.change_player(player)?.tags, tag, is_set, tags_max).map(drop)
    }

    /// Sets the private data of a player.
    ///
    /// # Errors
    /// Fails if the player is unknown, if the value is too large, or if the world holds too many bytes of values.
    pub fn set_player_private(
        &mut self,
        player: PlayerId,
        value: impl Into<Value>,
    ) -> Result<(), SceneError> {
        let value = value.into();
        conform::bounded(&value, self.definition.limits.value_bytes_max)?;
        let before = held_bytes(&self.change_player(player)?.private);
        self.replace_kept(before, held_bytes(&value))?;
        self.change_player(player)?.private = value;
        Ok(())
    }

    fn change_player(&mut self, player: PlayerId) -> Result<&mut Player, SceneError> {
        self.players.get_mut(&player).ok_or(SceneError::UnknownPlayer(player))
    }

    /// Sets the roles of a player that joins.
    pub(crate) fn set_roles(&mut self, player: PlayerId, roles: &[String]) {
        let Some(player) = self.players.get_mut(&player) else { return };
        for role in roles.iter().take(ROLES_MAX) {
            // A role that is not a valid name is ignored, because no rules can name it.
            let _ = super::entities::change_tag(&mut player.tags, &format!("{ROLE}{role}"), true, ROLES_MAX);
        }
    }

    pub(crate) fn add_player(&mut self, id: PlayerId, name: &str, is_program: bool) -> Result<(), Refusal> {
        let players_max = self.definition.limits.players_max;
        if id.0 < self.next_player {
            return Err(Refusal::PlayerUsed(id.0));
        }
        if self.count_players(is_program) >= players_max {
            return Err(Refusal::Full { players_max });
        }
        self.next_player = id.0.saturating_add(1);
        let name = name_or_guest(name, id);
        let player = Player {
            id,
            name,
            is_program,
            avatar: None,
            input: Input::default(),
            tags: Vec::new(),
            private: Value::Nil,
            account: None,
            behind_ms: 0,
        };
        self.players.insert(id, player);
        self.players_version = Arc::default();
        self.push_event(Event::Joined(id));
        Ok(())
    }

    /// Returns all entities of a player, ordered by id.
    pub(crate) fn owned_by(&self, id: PlayerId) -> Vec<EntityId> {
        self.entities.iter().filter(|entity| entity.owner == Some(id)).map(|entity| entity.id).collect()
    }

    /// Removes a player. The player's entities are removed, released or kept, as their kinds define.
    pub(crate) fn remove_player(&mut self, id: PlayerId) {
        let owned = self.owned_by(id);
        let player = self.players.remove(&id);
        self.players_version = Arc::default();
        self.release_kept(player.as_ref().map_or(0, |player| held_bytes(&player.private)));
        self.forget_account(player.as_ref());
        let avatar = player.and_then(|player| player.avatar);
        avatar.into_iter().for_each(|avatar| self.drop_attached(avatar));
        // A player that controlled an entity of the world leaves its own body behind.
        let is_elsewhere = avatar.is_some_and(|avatar| !owned.contains(&avatar));
        for entity in owned {
            // An attached entity may have been removed with its parent.
            let Some(row) = self.entities.row(entity) else { continue };
            let leave = self.kind_of(self.entities.kinds[row]).owner.leave;
            let _ = match leave {
                _ if avatar == Some(entity) => self.despawn(entity),
                _ if is_elsewhere && self.walkers.contains_key(&entity) => self.despawn(entity),
                OwnerLeaves::Despawn => self.despawn(entity),
                OwnerLeaves::Release => self.set_owner(entity, None),
                OwnerLeaves::Keep => {
                    self.drop_target(entity);
                    Ok(())
                }
            };
        }
        let mut freed = 0;
        self.screens.retain(|(player, place), value| {
            let is_theirs = *player == Some(id);
            freed += if is_theirs { named_bytes(place, value) } else { 0 };
            !is_theirs
        });
        self.release_kept(freed);
        self.push_event(Event::Left(id));
    }

    /// Leaves the entities that are attached to an avatar where they are, unless the rules of their kind remove them with their
    /// player.
    fn drop_attached(&mut self, avatar: EntityId) {
        for id in self.attached_to(avatar) {
            let Some(row) = self.entities.row(id) else { continue };
            if self.kind_of(self.entities.kinds[row]).owner.leave != OwnerLeaves::Despawn {
                // An attached entity can be detached.
                let _ = self.set_parent(id, None);
            }
        }
    }

    pub(crate) fn rename_player(&mut self, id: PlayerId, name: &str) -> Result<(), SceneError> {
        let name = name_or_guest(name, id);
        let player = self.change_player(id)?;
        if player.name != name {
            player.name.clone_from(&name);
            let avatar = player.avatar;
            self.players_version = Arc::default();
            if let Some(row) = avatar.and_then(|avatar| self.entities.row(avatar)) {
                self.entities.changed_ticks[row] = self.next_tick();
            }
            self.push_event(Event::Renamed { player: id, name });
        }
        Ok(())
    }

    pub(crate) fn set_player_input(&mut self, id: PlayerId, input: Input) -> Result<(), SceneError> {
        let player = self.change_player(id)?;
        player.input = input;
        if let Some(walker) = player.avatar.and_then(|avatar| self.walkers.get_mut(&avatar)) {
            walker.input = input;
        }
        Ok(())
    }

    /// Sets how a player's walker takes the next step. Other entities ignore it.
    pub(crate) fn set_pace(&mut self, id: PlayerId, pace: Pace) {
        let avatar = self.players.get(&id).and_then(|player| player.avatar);
        if let Some(walker) = avatar.and_then(|avatar| self.walkers.get_mut(&avatar)) {
            walker.pace = pace;
        }
    }

    /// Whether a player's walker took its last step among fixed bodies only, and therefore may take two steps in one world step.
    pub fn may_stride(&self, id: PlayerId) -> bool {
        let avatar = self.players.get(&id).and_then(|player| player.avatar);
        avatar.and_then(|avatar| self.walkers.get(&avatar)).is_some_and(|walker| walker.is_exact)
    }
}

/// Returns the name that a player gets: the sanitised name, or `guest-N` if no visible character is left.
fn name_or_guest(raw: &str, id: PlayerId) -> String {
    let name = text::sanitize(raw, NAME_CHARS_MAX);
    if name.is_empty() { format!("guest-{}", id.0) } else { name }
}
