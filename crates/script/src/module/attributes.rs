//! Entity attributes, and the conversion of declared values to types that only Luau has.

use std::collections::BTreeMap;

use mlua::{IntoLua, Lua, Table, Value as Luau, Vector};
use nowcast_world::{EntityId, MisfitError, PlayerId, Scene, SceneError, Value};

use super::entities::gone;
use crate::absent::renamed;
use crate::api::names_of;
use crate::convert::{Purpose, charged_to_luau, from_luau, with_article};
use crate::define::Special;
use crate::fault::place_on_stack;
use crate::handle::{Handle, refused, with_scene};
use crate::namespace::{Name, Namespace, Shared};
use crate::suggest::{closest, instead};

/// Adds reading and writing of attributes by name.
pub(super) fn add(host: &Namespace<'_>, shared: &Shared) -> mlua::Result<()> {
    host.add("cannotSet", |_, name: String| Ok(how_else(&name)))?;
    let declarations = shared.declarations.clone();
    host.add("attribute", move |lua, (handle, name): (Handle, Name)| {
        with_scene(|scene| {
            let Handle::Entity(id) = handle else { return Err(no_field(scene, handle, &name)) };
            let Some(value) = scene.attribute(id, &name) else { return Err(no_field(scene, handle, &name)) };
            let kind = scene.entity(id).ok_or_else(|| gone(handle))?.kind;
            let declarations = declarations.borrow();
            let special =
                declarations.kind_specials.get(usize::from(kind.0)).and_then(|fields| fields.get(&*name));
            special_to_luau(lua, value, special.copied())
        })
    })?;
    let declarations = shared.declarations.clone();
    let writers = shared.writers.clone();
    host.add("setAttribute", move |lua, (handle, name, given): (Handle, Name, Luau)| {
        let value = from_luau(&given, Purpose::Tell, &name).map_err(mlua::Error::runtime)?;
        with_scene(|scene| {
            let Handle::Entity(id) = handle else { return Err(no_field(scene, handle, &name)) };
            let kind = scene.entity(id).ok_or_else(|| gone(handle))?.kind;
            let before = if writers.watches(id) { scene.attribute(id, &name).cloned() } else { None };
            scene.set_attribute(id, &name, value).map_err(|error| match error {
                SceneError::UnknownAttribute { .. } => no_field(scene, handle, &name),
                SceneError::Misfit(misfit) => {
                    let declarations = declarations.borrow();
                    let specials = declarations.kind_specials.get(usize::from(kind.0));
                    let special = specials.and_then(|fields| fields.get(&*name)).copied();
                    refused(SceneError::Misfit(in_words_of_luau(misfit, special, &given)))
                }
                error => refused(error),
            })?;
            if let Some(before) = before
                && let Some(now) = scene.attribute(id, &name)
                && before != *now
            {
                writers.set(id, &name, now, place_on_stack(lua));
            }
            Ok(())
        })
    })
}

/// Describes a type mismatch with the Luau type, if the wire format has only a number or a list for it.
fn in_words_of_luau(misfit: MisfitError, special: Option<Special>, given: &Luau) -> MisfitError {
    let expected = match special {
        Some(Special::Entity) => "an entity",
        Some(Special::Player) => "a player",
        Some(Special::Vector) => "a vector",
        None => return misfit,
    };
    let or_nil = if misfit.expected.ends_with(" or nil") { " or nil" } else { "" };
    MisfitError { expected: format!("{expected}{or_nil}"), found: with_article(given), ..misfit }
}

/// Returns the hint for a script that sets a read-only field.
fn how_else(name: &str) -> &'static str {
    match name {
        "kind" => "an entity keeps its kind; despawn it, and spawn one of the other kind",
        "facing" => "set `yaw` or `rotation`",
        "scale" => "set it in `Kind:spawn { scale = … }`",
        "mass" => "the `body` of the kind declares it",
        "alive" => "call `entity:despawn()`",
        "asleep" => "physics decides it; set `velocity` to wake a body",
        "avatar" | "player" => "call `player:spawn_avatar(Kind, { at = … })`",
        "tags" => "call `entity:tag(name)` and `entity:untag(name)`",
        "name" | "id" | "is_program" => "the server decides it",
        _ => "every entity has a function of that name; choose another name for your own value",
    }
}

fn no_field(scene: &Scene, handle: Handle, name: &str) -> mlua::Error {
    if let Some(cure) = renamed("entity", name) {
        return mlua::Error::runtime(format!("entities have no `{name}`; {cure}"));
    }
    mlua::Error::runtime(match handle {
        Handle::Player(_) => {
            format!("a player has no field `{name}`; your own data of a player belongs in `player.private`")
        }
        Handle::Entity(id) => match scene.entity(id) {
            None => format!("entity {} is gone; check `entity.alive` first", id.0),
            Some(entity) => {
                let kind = scene.kind_of(entity.kind);
                let declared: Vec<_> =
                    kind.attributes.fields().iter().map(|field| field.name.as_str()).collect();
                let all: Vec<_> = declared.iter().copied().chain(names_of("Entity")).collect();
                let cure = match closest(name, &all) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => instead(name, &declared),
                };
                format!("kind {} has no attribute `{name}`; {cure}", kind.name)
            }
        },
    })
}

/// Converts a declared value to its Luau type, if the wire format has only a number or a list for it.
pub(crate) fn special_to_luau(lua: &Lua, value: &Value, special: Option<Special>) -> mlua::Result<Luau> {
    match (special, value) {
        (Some(Special::Entity), value) => match value.as_f64() {
            Some(id) => Handle::Entity(EntityId(id as u32)).into_lua(lua),
            None => Ok(Luau::Nil),
        },
        (Some(Special::Player), value) => match value.as_f64() {
            Some(id) => Handle::Player(PlayerId(id as u32)).into_lua(lua),
            None => Ok(Luau::Nil),
        },
        (Some(Special::Vector), Value::List(parts)) => {
            let part = |index: usize| parts.get(index).and_then(Value::as_f64).unwrap_or(0.0) as f32;
            Ok(Luau::Vector(Vector::new(part(0), part(1), part(2))))
        }
        (_, value) => charged_to_luau(lua, value),
    }
}

/// Converts the arguments of an action to a table.
pub(crate) fn arguments(
    lua: &Lua,
    value: &Value,
    specials: Option<&BTreeMap<String, Special>>,
) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    if let Value::Map(pairs) = value {
        for (name, value) in pairs {
            let Some(name) = name.as_text() else { continue };
            let special = specials.and_then(|specials| specials.get(name)).copied();
            table.raw_set(name, special_to_luau(lua, value, special)?)?;
        }
    }
    Ok(table)
}
