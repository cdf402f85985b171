//! What a world says: events, screens, timers, time, chance.

use mlua::Value as Luau;
use nowcast_world::{Scene, TimerId, To};

use crate::convert::{Purpose, from_luau};
use crate::fields::Fields;
use crate::handle::{Handle, refused, with_scene};
use crate::namespace::Namespace;

pub(super) fn add(host: &Namespace<'_>) -> mlua::Result<()> {
    host.add("time", |_, ()| with_scene(|scene| Ok(scene.seconds())))?;
    host.add("tick", |_, ()| with_scene(|scene| Ok(scene.tick() as f64)))?;
    host.add("random", |_, ()| with_scene(|scene| Ok(scene.random())))?;
    host.add("players", |_, tag: Option<String>| {
        with_scene(|scene| Ok(who_take_part(scene, false, tag.as_deref())))
    })?;
    host.add("programs", |_, ()| with_scene(|scene| Ok(who_take_part(scene, true, None))))?;
    host.add("after", |_, (seconds, name, data): (f64, String, Luau)| {
        let data = from_luau(&data, Purpose::Keep, "data").map_err(mlua::Error::runtime)?;
        with_scene(|scene| Ok(scene.after(seconds, &name, data).map_err(refused)?.0 as f64))
    })?;
    host.add("cancel", |_, timer: f64| with_scene(|scene| Ok(scene.cancel(TimerId(timer as u64)))))?;
    host.add("emit", |_, (name, payload, options): (String, Luau, Option<mlua::Table>)| {
        let payload = from_luau(&payload, Purpose::Tell, &name).map_err(mlua::Error::runtime)?;
        let to = options.map_or(Ok(To::All), |options| addressee(&options))?;
        with_scene(|scene| scene.emit(&name, to, payload).map_err(refused))
    })?;
    host.add("show", |_, (place, value, player): (String, Luau, Option<Handle>)| {
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

/// The people, or the programs.
/// Players or programs; those with a tag, if one is named.
fn who_take_part(scene: &Scene, are_programs: bool, tag: Option<&str>) -> Vec<Handle> {
    let has_tag = |tags: &[String]| tag.is_none_or(|tag| tags.iter().any(|one| one == tag));
    let those = scene.players().filter(|player| player.is_program == are_programs && has_tag(&player.tags));
    those.map(|player| Handle::Player(player.id)).collect()
}
