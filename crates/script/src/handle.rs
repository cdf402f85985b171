//! Handles by which scripts refer to entities and players, and the access of scripts to the scene.

use mlua::{FromLua, IntoLua, LightUserData, Lua, Value};
use nowcast_world::{EntityId, PlayerId, Scene, SceneError};

scoped_tls_hkt::scoped_thread_local!(static mut SCENE: for<'a> &'a mut Scene);

/// Lends the scene to this thread while `work` runs, so that [`with_scene`] reaches it. This is necessary because a hook
/// borrows its scene only while it runs, but the functions that a script calls live longer.
pub(crate) fn lend<R>(scene: &mut Scene, work: impl FnOnce() -> R) -> R {
    SCENE.set(scene, work)
}

/// Calls `work` with the scene of the running hook.
pub(crate) fn with_scene<R>(work: impl FnOnce(&mut Scene) -> mlua::Result<R>) -> mlua::Result<R> {
    if !SCENE.is_set() {
        return Err(mlua::Error::runtime(
            "the world does not exist yet while modules are loaded: do this in world.on(\"start\", …)",
        ));
    }
    SCENE.with(work)
}

/// Converts an error of the scene for a script.
pub(crate) fn refused(error: SceneError) -> mlua::Error {
    mlua::Error::runtime(error.to_string())
}

/// The handle of an entity or a player in a script. It is a plain number without an allocation, so two handles of one entity
/// are equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Handle {
    Entity(EntityId),
    Player(PlayerId),
}

impl std::fmt::Display for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Handle::Entity(id) => write!(f, "entity {}", id.0),
            Handle::Player(id) => write!(f, "player {}", id.0),
        }
    }
}

/// A bit that is set in the handles of players.
const PLAYER_BIT: usize = 1 << 40;
/// A bit that is set in every handle, so that no handle is a null pointer.
const HANDLE_BIT: usize = 1 << 41;

impl Handle {
    fn to_bits(self) -> usize {
        HANDLE_BIT
            | match self {
                Handle::Entity(id) => id.0 as usize,
                Handle::Player(id) => PLAYER_BIT | id.0 as usize,
            }
    }

    pub(crate) fn from_light(light: LightUserData) -> Option<Handle> {
        let bits = light.0.addr();
        if bits & HANDLE_BIT == 0 {
            return None;
        }
        let id = bits as u32;
        Some(if bits & PLAYER_BIT == 0 { Handle::Entity(EntityId(id)) } else { Handle::Player(PlayerId(id)) })
    }

    /// Returns the entity itself, or the avatar of a player.
    pub(crate) fn entity(self, scene: &Scene) -> mlua::Result<EntityId> {
        match self {
            Handle::Entity(id) => Ok(id),
            Handle::Player(id) => {
                let player = scene.player(id).ok_or_else(|| refused(SceneError::UnknownPlayer(id)))?;
                player.avatar.ok_or_else(|| mlua::Error::runtime(format!("player {} has no avatar", id.0)))
            }
        }
    }

    pub(crate) fn player(self) -> mlua::Result<PlayerId> {
        match self {
            Handle::Player(id) => Ok(id),
            Handle::Entity(id) => Err(mlua::Error::runtime(format!("entity {} is not a player", id.0))),
        }
    }

    pub(crate) fn only_entity(self) -> mlua::Result<EntityId> {
        match self {
            Handle::Entity(id) => Ok(id),
            Handle::Player(id) => Err(mlua::Error::runtime(format!(
                "player {} is not an entity; its body is `player.avatar`",
                id.0
            ))),
        }
    }
}

impl IntoLua for Handle {
    fn into_lua(self, _: &Lua) -> mlua::Result<Value> {
        Ok(Value::LightUserData(LightUserData(std::ptr::without_provenance_mut(self.to_bits()))))
    }
}

impl FromLua for Handle {
    fn from_lua(value: Value, _: &Lua) -> mlua::Result<Handle> {
        let found = match value {
            Value::LightUserData(light) => Handle::from_light(light),
            _ => None,
        };
        found.ok_or_else(|| {
            let is_none = matches!(value, Value::Nil | Value::Table(_));
            let hint = if is_none { "; methods are called with a colon, as in entity:despawn()" } else { "" };
            mlua::Error::runtime(format!(
                "an entity or a player is expected, not {}{hint}",
                value.type_name()
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_restored_unchanged() {
        let handles = [0, 1, u32::MAX].map(|id| [Handle::Entity(EntityId(id)), Handle::Player(PlayerId(id))]);
        for handle in handles.into_iter().flatten() {
            let light = LightUserData(std::ptr::without_provenance_mut(handle.to_bits()));
            assert_eq!(Handle::from_light(light), Some(handle));
        }
        assert_eq!(Handle::from_light(LightUserData(std::ptr::null_mut())), None);
    }
}
