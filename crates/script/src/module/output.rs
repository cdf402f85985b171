//! Output of a world: events, screens, timers; and its time and random numbers.

use mlua::Value as Luau;
use nowcast_world::{Player, Scene, TimerId, To};

use crate::convert::{Purpose, from_luau};
use crate::fields::Fields;
use crate::handle::{Handle, refused, with_scene};
use crate::meter::charge;
use crate::namespace::{Name, Namespace};

/// First letter of the screen places and events that are reserved for servers.
const RESERVED: char = '@';

/// Waiting timers, and players, that are searched for one work unit.
const TIMERS_A_UNIT: u64 = 32;
const PLAYERS_A_UNIT: u64 = 8;

pub(super) fn add(host: &Namespace<'_>) -> mlua::Result<()> {
    host.add("time", |_, ()| with_scene(|scene| Ok(scene.seconds())))?;
    host.add("tick", |_, ()| with_scene(|scene| Ok(scene.tick() as f64)))?;
    host.add("random", |_, ()| with_scene(|scene| Ok(scene.random())))?;
    host.add("players", |_, tag: Option<Name>| {
        with_scene(|scene| participants(scene, false, tag.as_deref()))
    })?;
    host.add("programs", |_, ()| with_scene(|scene| participants(scene, true, None)))?;
    host.add("after", |_, (seconds, name, data): (f64, Name, Luau)| {
        let data = from_luau(&data, Purpose::Keep, "data").map_err(mlua::Error::runtime)?;
        with_scene(|scene| Ok(scene.after(seconds, &name, data).map_err(refused)?.0 as f64))
    })?;
    host.add("every", |_, (seconds, name, data): (f64, Name, Luau)| {
        let data = from_luau(&data, Purpose::Keep, "data").map_err(mlua::Error::runtime)?;
        with_scene(|scene| Ok(scene.every(seconds, &name, data).map_err(refused)?.0 as f64))
    })?;
    host.add("cancel", |_, timer: f64| {
        with_scene(|scene| {
            charge(scene.timers_waiting() as u64 / TIMERS_A_UNIT)?;
            Ok(scene.cancel(TimerId(timer as u64)))
        })
    })?;
    host.add("emit", |_, (name, payload, options): (Name, Luau, Option<mlua::Table>)| {
        if name.starts_with(RESERVED) {
            return Err(mlua::Error::runtime(format!(
                "world.emit: the event \"{}\" begins with `{RESERVED}`, which is reserved for the server; choose another name",
                &*name
            )));
        }
        let payload = from_luau(&payload, Purpose::Tell, &name).map_err(mlua::Error::runtime)?;
        let to = options.map_or(Ok(To::All), |options| addressee(&options))?;
        with_scene(|scene| scene.emit(&name, to, payload).map_err(refused))
    })?;
    host.add("show", |_, (place, value, player): (Name, Luau, Option<Handle>)| {
        if place.starts_with(RESERVED) {
            return Err(mlua::Error::runtime(format!(
                "world.show: the place \"{}\" begins with `{RESERVED}`, which is reserved for the server; choose another name",
                &*place
            )));
        }
        let value = from_luau(&value, Purpose::Tell, &place).map_err(mlua::Error::runtime)?;
        let player = player.map(Handle::player).transpose()?;
        with_scene(|scene| scene.show(player, &place, value).map_err(refused))
    })
}

fn addressee(options: &mlua::Table) -> mlua::Result<To> {
    let fields = Fields::of(options, "options");
    let read = || -> Result<_, String> {
        let (near, radius) = (fields.vector("near")?, fields.number("radius")?);
        fields.nothing_else(&["to", "near", "radius"])?;
        Ok((near, radius))
    };
    let (near, radius) = read().map_err(mlua::Error::runtime)?;
    let to: Option<Handle> = options.raw_get("to")?;
    match (to, near, radius) {
        (Some(player), None, None) => Ok(To::Player(player.player()?)),
        (None, Some(position), Some(radius)) => Ok(To::Near { position, radius }),
        (None, None, None) => Ok(To::All),
        _ => Err(mlua::Error::runtime("options are { to = player } or { near = vector, radius = metres }")),
    }
}

/// Returns players or programs; with a tag, only those that have it.
fn participants(scene: &Scene, are_programs: bool, tag: Option<&str>) -> mlua::Result<Vec<Handle>> {
    charge(scene.players().len() as u64 / PLAYERS_A_UNIT)?;
    let has_tag = |player: &Player| tag.is_none_or(|tag| player.own_tags().any(|one| one == tag));
    let those = scene.players().filter(|player| player.is_program == are_programs && has_tag(player));
    Ok(those.map(|player| Handle::Player(player.id)).collect())
}
