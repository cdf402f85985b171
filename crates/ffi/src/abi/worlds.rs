//! Worlds as a client.

use std::ffi::c_char;
use std::sync::Arc;

use nowcast_wire::Value;
use nowcast_world::{EntityId, Input, PlayerId};
use nowcast_world_client::Join;
use nowcast_world_protocol::session::Owned;

use super::guard;
use super::pointers::{Buffer, Out, text, value};
use crate::channel::{ChannelObject, Wait};
use crate::describe::parse;
use crate::failure::{Failure, Status};
use crate::handles::{self, Object};
use crate::world::{State, UpdateKind, World};

/// The client joins as a program, which the rules of a world can tell from people.
pub const NOWCAST_JOIN_PROGRAM: u32 = 1;
/// The client predicts the steps of its avatar: see `nowcast_world_advance`.
pub const NOWCAST_JOIN_PREDICT: u32 = 2;

/// The description of an update.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct UpdateInfo {
    /// The kind of the update.
    pub kind: UpdateKind,
    /// The number that the kind states; otherwise 0.
    pub id: u32,
}

/// The state of a client.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WorldInfo {
    /// Whether the server has welcomed the client. If not, all other fields are 0.
    pub has_joined: bool,
    /// Whether the client continues as the player of an earlier session.
    pub is_resumed: bool,
    /// Whether the player has an avatar.
    pub has_avatar: bool,
    /// The number of the local player.
    pub player: u32,
    /// The entity that the player moves.
    pub avatar: u32,
    /// Steps of the world a second.
    pub step_hz: u32,
    /// Rounds of movement a second.
    pub network_hz: u32,
    /// The number of steps that the world had taken when the client joined.
    pub tick: u64,
    /// The number of entities in sight.
    pub entities: usize,
    /// The number of players in the room.
    pub players: usize,
}

/// An entity.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EntityInfo {
    /// The number of its kind: see `nowcast_world_kind_name`.
    pub kind: u32,
    /// The entity to which it is attached; 0 for none.
    pub parent: u32,
    /// Whether a player owns the entity.
    pub has_owner: bool,
    /// The player that owns the entity.
    pub owner: u32,
    /// Factors that multiply the kind's shape along its own axes.
    pub scale: [f32; 3],
    /// Whether position and rotation are known.
    pub has_pose: bool,
    /// The newest position of the centre, in metres. In the frame of the parent, if there is one.
    pub position: [f32; 3],
    /// The newest orientation: a unit quaternion x, y, z, w.
    pub rotation: [f32; 4],
}

/// The input of an avatar. It applies until the next input.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WorldInput {
    /// -1 to 1 along the direction that `yaw` faces.
    pub forward: f32,
    /// -1 to 1 to the right of that direction.
    pub right: f32,
    /// Direction in radians; 0 faces -Z, growing counter-clockwise seen from above.
    pub yaw: f32,
    /// Not 0: run instead of walk.
    pub run: u8,
    /// Not 0: jump whenever there is ground below.
    pub jump: u8,
}

/// The predicted avatar.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Predicted {
    /// Whether there is an avatar to predict. If not, position and velocity are 0.
    pub is_predicted: bool,
    /// The position after the newest step, in metres.
    pub position: [f32; 3],
    /// The velocity after the newest step, in metres a second.
    pub velocity: [f32; 3],
    /// The newest step.
    pub step: u32,
    /// The number of corrections by the server so far.
    pub corrections: u64,
}

fn with_state<R>(world: u64, use_state: impl FnOnce(&mut State) -> Result<R, Failure>) -> Result<R, Failure> {
    let world = handles::get::<World>(world)?;
    let mut state = world.lock();
    use_state(&mut state)
}

/// Joins the world at the other end of a channel as `name`, and stores the handle in `world`. `flags` is a sum of
/// `NOWCAST_JOIN_…`, or 0. `key` is null, or 16 random bytes by which the client continues as the same player in a later session.
///
/// The world uses the channel from then on. Do not receive from it. Its handle may be freed before that of the world.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_world_join(
    channel: u64,
    name: *const c_char,
    flags: u32,
    key: *const u8,
    world: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let (name, world) = unsafe { (text("name", name)?, Out::new("world", world)?) };
        if flags & !(NOWCAST_JOIN_PROGRAM | NOWCAST_JOIN_PREDICT) != 0 {
            return Err(Failure::argument(format!("unknown flags {flags:#x}")));
        }
        let mut join = Join::new(name);
        if !key.is_null() {
            // SAFETY: rule "Pointers" of the header; a key has 16 bytes.
            join = join.key(unsafe { value("key", key.cast::<[u8; 16]>()) }?);
        }
        if flags & NOWCAST_JOIN_PROGRAM != 0 {
            join = join.program();
        }
        let channel = handles::get::<ChannelObject>(channel)?;
        let joined = World::join(channel, join, flags & NOWCAST_JOIN_PREDICT != 0)?;
        world.set(handles::add(Object::World(Arc::new(joined)))?);
        Ok(())
    })
}

/// Handles the next message of the server, and stores the change that it made in `update`. Call it until it returns
/// `NOWCAST_STATUS_TIMED_OUT`, in every frame.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_world_update(
    world: u64,
    timeout_ms: i64,
    update: *mut UpdateInfo,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let update = unsafe { Out::new("update", update) }?;
        let (kind, id) = handles::get::<World>(world)?.update(Wait::of_ms(timeout_ms))?;
        update.set(UpdateInfo { kind, id });
        Ok(())
    })
}

/// Copies the content of the newest update as JSON; `null` for updates without one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_world_update_json(
    world: u64,
    json: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let buffer = unsafe { Buffer::new(json.cast::<u8>(), capacity, length) }?;
        with_state(world, |state| buffer.set_text(&state.newest()))
    })
}

/// Stores the state of the client in `info`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_world_info(world: u64, info: *mut WorldInfo) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let info = unsafe { Out::new("info", info) }?;
        with_state(world, |state| {
            let view = state.view();
            let (welcome, avatar) = (view.welcome(), view.avatar());
            info.set(WorldInfo {
                has_joined: welcome.is_some(),
                is_resumed: welcome.is_some_and(|welcome| welcome.resumed),
                has_avatar: avatar.is_some(),
                player: welcome.map_or(0, |welcome| welcome.player.0),
                avatar: avatar.map_or(0, |avatar| avatar.0),
                step_hz: welcome.map_or(0, |welcome| welcome.step_hz),
                network_hz: welcome.map_or(0, |welcome| welcome.network_hz),
                tick: welcome.map_or(0, |welcome| welcome.tick),
                entities: view.entities().count(),
                players: view.players().count(),
            });
            Ok(())
        })
    })
}

/// Copies the ids of the entities in sight, in order. `length` is their number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_world_entities(
    world: u64,
    ids: *mut u32,
    capacity: usize,
    length: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let buffer = unsafe { Buffer::new(ids, capacity, length) }?;
        with_state(world, |state| {
            buffer.set(&state.view().entities().map(|(id, _)| id.0).collect::<Vec<_>>())
        })
    })
}

/// Copies the numbers of the players in the room, in order. `length` is their number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_world_players(
    world: u64,
    players: *mut u32,
    capacity: usize,
    length: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let buffer = unsafe { Buffer::new(players, capacity, length) }?;
        with_state(world, |state| buffer.set(&state.view().players().map(|(id, _)| id.0).collect::<Vec<_>>()))
    })
}

/// Copies the name of a player.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_world_player_name(
    world: u64,
    player: u32,
    name: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let buffer = unsafe { Buffer::new(name.cast::<u8>(), capacity, length) }?;
        with_state(world, |state| match state.view().player(PlayerId(player)) {
            Some(player) => buffer.set_text(&player.name),
            None => Err(Failure::new(Status::NotFound, format!("no player {player} is in the room"))),
        })
    })
}

/// Stores an entity in `entity`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_world_entity(world: u64, id: u32, entity: *mut EntityInfo) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let place = unsafe { Out::new("entity", entity) }?;
        with_state(world, |state| {
            let view = state.view();
            let missing = || Failure::new(Status::NotFound, format!("entity {id} is not in sight"));
            let entity = &view.entity(EntityId(id)).ok_or_else(missing)?.entity;
            let moved = view.transform(EntityId(id)).map(|pose| (pose.position, pose.rotation));
            let pose = moved.or_else(|| entity.place.map(|place| (place.position, place.rotation)));
            let (position, rotation) = pose.unwrap_or(([0.0; 3], [0.0, 0.0, 0.0, 1.0]));
            place.set(EntityInfo {
                kind: entity.kind,
                parent: entity.parent.unwrap_or(0),
                has_owner: entity.owner.is_some(),
                owner: entity.owner.unwrap_or(0),
                scale: entity.scale,
                has_pose: pose.is_some(),
                position,
                rotation,
            });
            Ok(())
        })
    })
}

/// Copies the attributes of an entity as a JSON object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_world_attributes(
    world: u64,
    id: u32,
    json: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let buffer = unsafe { Buffer::new(json.cast::<u8>(), capacity, length) }?;
        with_state(world, |state| buffer.set_text(&state.attributes(id)?))
    })
}

/// Copies the name of a kind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_world_kind_name(
    world: u64,
    kind: u32,
    name: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let buffer = unsafe { Buffer::new(name.cast::<u8>(), capacity, length) }?;
        with_state(world, |state| buffer.set_text(state.kind_name(kind)?))
    })
}

/// Copies a screen as JSON with `place`, `personal` and `value`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_world_screen(
    world: u64,
    number: u32,
    json: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let buffer = unsafe { Buffer::new(json.cast::<u8>(), capacity, length) }?;
        with_state(world, |state| buffer.set_text(&state.screen(number)?))
    })
}

/// Sets the input of the avatar. It applies until the next call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_world_input(world: u64, input: *const WorldInput) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let WorldInput { forward, right, yaw, run, jump } = unsafe { value("input", input) }?;
        let input = Input { forward, right, yaw, run: run != 0, jump: jump != 0 };
        with_state(world, |state| state.input(input))
    })
}

/// Takes the predicted steps that are due, sends the input, and stores the avatar in `predicted`. Call it once in every frame, after
/// `nowcast_world_update`. Only for clients that joined with `NOWCAST_JOIN_PREDICT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_world_advance(world: u64, predicted: *mut Predicted) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let place = unsafe { Out::new("predicted", predicted) }?;
        with_state(world, |state| {
            let predictor = state.advance()?;
            place.set(Predicted {
                is_predicted: predictor.position().is_some(),
                position: predictor.position().unwrap_or_default(),
                velocity: predictor.velocity().unwrap_or_default(),
                step: predictor.step(),
                corrections: predictor.corrections(),
            });
            Ok(())
        })
    })
}

/// Carries out an action that the world declares. `arguments` is a JSON object, or null. With a `number` above 0 the server answers
/// by this number, and carries out a durable action once, however often it is sent. A client with a key counts those from 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_world_act(
    world: u64,
    action: *const c_char,
    arguments: *const c_char,
    number: u32,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let action = unsafe { text("action", action) }?;
        let arguments = match arguments.is_null() {
            true => Value::Nil,
            // SAFETY: rule "Pointers" of the header.
            false => parse(unsafe { text("arguments", arguments) }?)?,
        };
        with_state(world, |state| {
            match number {
                0 => state.client.act(action, arguments)?,
                number => state.client.act_once(number, action, arguments)?,
            }
            Ok(())
        })
    })
}

/// Sends a line of chat to all players in the room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_world_say(world: u64, line: *const c_char) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let line = unsafe { text("line", line) }?;
        with_state(world, |state| Ok(state.client.say(line)?))
    })
}

/// Asks to own an entity. The answer is an update `NOWCAST_UPDATE_KIND_GRANTED` or `NOWCAST_UPDATE_KIND_DENIED` with `number`.
#[unsafe(no_mangle)]
pub extern "C" fn nowcast_world_own(world: u64, id: u32, number: u32) -> Status {
    guard(|| with_state(world, |state| Ok(state.client.own(EntityId(id), number)?)))
}

/// Gives an entity that the player owns back to the server.
#[unsafe(no_mangle)]
pub extern "C" fn nowcast_world_release(world: u64, id: u32) -> Status {
    guard(|| with_state(world, |state| Ok(state.client.release(EntityId(id), None)?)))
}

/// Sets the target pose of an entity that the player owns: `position` has 3 numbers in metres, `rotation` is a unit quaternion
/// x, y, z, w.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_world_move(
    world: u64,
    id: u32,
    position: *const f32,
    rotation: *const f32,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header; the function states the lengths.
        let (position, rotation) = unsafe {
            (value("position", position.cast::<[f32; 3]>())?, value("rotation", rotation.cast::<[f32; 4]>())?)
        };
        if !position.iter().chain(&rotation).all(|number| number.is_finite()) {
            return Err(Failure::argument("the pose has a number that is not finite"));
        }
        let owned = Owned { position, rotation, velocity: None };
        with_state(world, |state| Ok(state.client.move_owned(EntityId(id), &owned)?))
    })
}
