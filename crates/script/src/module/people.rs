//! Methods of players: roles, removal, and the way to another room.

use mlua::{Table, Value as Luau};

use super::entities::{PLAYERS_A_UNIT, gone};
use crate::convert::{Purpose, from_luau};
use crate::fields::Fields;
use crate::handle::{Handle, refused, with_scene};
use crate::meter::charge;
use crate::namespace::{Name, Namespace, Quoted};

/// Duration of a ban without `hours`, in hours.
const BAN_HOURS: f64 = 24.0;

/// Adds the methods to those of entities.
pub(super) fn add(host: &Namespace<'_>) -> mlua::Result<()> {
    let method = Namespace { lua: host.lua, table: host.table.raw_get("methods")? };
    method.add("has_role", |_, (handle, role): (Handle, Name)| {
        with_scene(|scene| {
            let player = scene.player(handle.player()?).ok_or_else(|| gone(handle))?;
            Ok(player.roles().any(|known| known == role.0))
        })
    })?;
    method.add("control", |_, (handle, entity, seat): (Handle, Handle, Option<Table>)| {
        let player = handle.player()?;
        let seat =
            seat.map(|options| read_seat(&options)).transpose().map_err(mlua::Error::runtime)?.flatten();
        with_scene(|scene| {
            charge(scene.players().len() as u64 / PLAYERS_A_UNIT + scene.attached_count() as u64)?;
            let entity = entity.only_entity()?;
            let body = scene.player(player).ok_or_else(|| gone(handle))?.avatar;
            if let (Some(body), Some(place)) = (body.filter(|body| *body != entity), seat) {
                scene.seat(body, entity, place).map_err(refused)?;
            }
            if scene.input(entity).is_some() && scene.entity(entity).is_some_and(|own| own.parent.is_some()) {
                scene.set_parent(entity, None).map_err(refused)?;
            }
            scene.control(player, entity).map_err(refused)
        })
    })?;
    method.add("kick", |_, (handle, reason): (Handle, Option<Quoted>)| {
        let player = handle.player()?;
        with_scene(|scene| {
            scene.kick(player, reason.as_ref().map_or("", |reason| &reason.0)).map_err(refused)
        })
    })?;
    method.add("ban", |_, (handle, reason, options): (Handle, Option<Quoted>, Option<Table>)| {
        let player = handle.player()?;
        let (hours, of_world) = options
            .map_or(Ok((BAN_HOURS, false)), |options| read_ban(&options))
            .map_err(mlua::Error::runtime)?;
        let reason = reason.as_ref().map_or("", |reason| &reason.0);
        with_scene(|scene| scene.ban(player, hours * 3_600.0, of_world, reason).map_err(refused))
    })?;
    method.add("send_to", |_, (handle, room, data): (Handle, Name, Luau)| {
        let player = handle.player()?;
        let data = from_luau(&data, Purpose::Tell, "data").map_err(mlua::Error::runtime)?;
        with_scene(|scene| scene.send_to(player, &room, data).map_err(refused))
    })
}

/// Reads the options of `control`: the place of the seat.
fn read_seat(options: &Table) -> Result<Option<[f32; 3]>, String> {
    let fields = Fields::of(options, "options");
    fields.nothing_else(&["seat"])?;
    fields.vector("seat")
}

/// Reads the options of a ban: its hours, and whether it applies in all rooms of the world.
fn read_ban(options: &Table) -> Result<(f64, bool), String> {
    let fields = Fields::of(options, "options");
    fields.nothing_else(&["hours", "world"])?;
    Ok((fields.double("hours")?.unwrap_or(BAN_HOURS), fields.truth("world")?.unwrap_or(false)))
}
