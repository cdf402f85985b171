//! Panels on the screens of players.

use mlua::{Table, Value as Luau};
use nowcast_world::text::sanitize;
use nowcast_world::{PlayerId, Value};

use crate::convert::{Purpose, charged_to_luau, declared_from_luau, from_luau};
use crate::handle::{Handle, refused, with_scene};
use crate::namespace::{Name, Namespace, Shared};
use crate::source_map::text_hash;

/// Letters of the short names of places.
const LETTERS: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Letters of a short name, after the `@`.
const LETTERS_A_PLACE: usize = 4;

/// Maximum length of a text that a player writes into a panel, in characters.
const INPUT_CHARS_MAX: usize = 200;

pub(super) fn add(host: &Namespace<'_>, shared: &Shared) -> mlua::Result<()> {
    let declarations = shared.declarations.clone();
    host.add("declarePanel", move |_, panel: Table| {
        let described = declared_from_luau(&Luau::Table(panel), "panel").map_err(mlua::Error::runtime)?;
        declarations.borrow_mut().panel(described).map_err(mlua::Error::runtime)
    })?;
    host.add("screenPlace", |_, name: Name| Ok(place_of(&name)))?;
    host.add("showPart", |_, (place, value, player): (Name, Luau, Option<Handle>)| {
        let value = from_luau(&value, Purpose::Tell, "value").map_err(mlua::Error::runtime)?;
        let player = player.map(Handle::player).transpose()?;
        with_scene(|scene| scene.show(player, &place, value).map_err(refused))
    })?;
    // Number of places with a map that has this field, apart from one place.
    host.add("otherPlaces", |_, (field, except): (Name, Name)| {
        with_scene(|scene| {
            let is_other = |place: &str, value: &Value| place != except.0 && value.get(&field).is_some();
            Ok(scene.screens().filter(|(_, place, value)| is_other(place, value)).count())
        })
    })?;
    host.add("sanitize", |_, (text, characters): (Name, usize)| {
        Ok(sanitize(&text, characters.min(INPUT_CHARS_MAX)))
    })?;
    host.add("screenOf", |lua, (player, place): (Handle, Name)| {
        let player: PlayerId = player.player()?;
        let value = with_scene(|scene| Ok(scene.screen(player, &place).cloned()))?;
        value.map_or(Ok(Luau::Nil), |value| charged_to_luau(lua, &value))
    })
}

/// Returns the short name of the place of a panel or a part: `@` and four letters from the hash of its name, because clients
/// receive the place with each value.
pub(crate) fn place_of(name: &str) -> String {
    let mut hash = text_hash(name.as_bytes());
    let mut place = String::from("@");
    for _ in 0..LETTERS_A_PLACE {
        place.push(char::from(LETTERS[(hash % 62) as usize]));
        hash /= 62;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_short_and_depends_on_the_name_alone() {
        assert_eq!(place_of("hud.coins"), place_of("hud.coins"));
        assert_ne!(place_of("hud.coins"), place_of("hud.coin"));
        assert_eq!(place_of("hud").len(), 1 + LETTERS_A_PLACE);
    }
}
