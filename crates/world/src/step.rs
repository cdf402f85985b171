//! What happens in one step, in this order.

use rapier3d::prelude::{Pose, Vector};

use crate::entity::EntityId;
use crate::event::Event;
use crate::hold;
use crate::input::Action;
use crate::spawn;
use crate::world::{World, name_or_guest};

/// Below this height there is nothing left to stand on.
const ABYSS: f32 = -12.0;

/// One sixtieth of a second.
pub(crate) fn step(world: &mut World) {
    apply_actions(world);
    steer_avatars(world);
    carry_blocks(world);
    world.physics.step();
    end_passing(world);
    return_strays(world);
    world.tick += 1;
}

/// Lets an avatar drop what it carries, if it carries anything.
pub(crate) fn let_go(world: &mut World, avatar: EntityId) {
    throw(world, avatar, 0.0, 0.0);
}

fn apply_actions(world: &mut World) {
    let ids: Vec<EntityId> = world.avatars.keys().copied().collect();
    for id in ids {
        while let Some(action) = world.avatars.get_mut(&id).and_then(|avatar| avatar.actions.pop_front()) {
            match action {
                Action::Grab { block } => grab(world, id, block),
                Action::Throw { power, pitch } => throw(world, id, power, pitch),
                Action::Chat { text } => chat(world, id, text),
                Action::Rename { name } => rename(world, id, &name),
            }
        }
    }
}

fn grab(world: &mut World, id: EntityId, asked: Option<EntityId>) {
    let Some(avatar) = world.avatars.get_mut(&id).filter(|avatar| avatar.hold.is_none()) else {
        return;
    };
    let Some(index) = hold::find(avatar, asked, &world.blocks, &world.physics) else {
        return;
    };
    hold::take(avatar, &mut world.blocks[index], &mut world.physics);
    let block = world.blocks[index].id;
    world.push_event(Event::Held { avatar: id, block: Some(block) });
}

fn throw(world: &mut World, id: EntityId, power: f32, pitch: f32) {
    let held = world.avatars.get(&id).and_then(|avatar| avatar.hold.as_ref()).map(|hold| hold.block);
    let Some(index) = held.and_then(|block| world.block_index(block)) else {
        return;
    };
    let Some(avatar) = world.avatars.get_mut(&id) else {
        return;
    };
    hold::release(avatar, &mut world.blocks[index], power, pitch, &mut world.physics);
    world.push_event(Event::Held { avatar: id, block: None });
}

fn chat(world: &mut World, id: EntityId, text: String) {
    if let Some(avatar) = world.avatars.get(&id).filter(|_| !text.is_empty()) {
        let name = avatar.name.clone();
        world.push_event(Event::Chat { from: id, name, text });
    }
}

fn rename(world: &mut World, id: EntityId, name: &str) {
    let name = name_or_guest(name, id);
    if let Some(avatar) = world.avatars.get_mut(&id).filter(|avatar| avatar.name != name) {
        avatar.name.clone_from(&name);
        world.push_event(Event::Renamed { id, name });
    }
}

fn steer_avatars(world: &mut World) {
    for avatar in world.avatars.values_mut() {
        avatar.steer(&mut world.physics);
    }
}

fn carry_blocks(world: &mut World) {
    let mut slipped = Vec::new();
    for avatar in world.avatars.values_mut() {
        if !hold::carry(avatar, &mut world.physics) {
            slipped.push(avatar.id);
        }
    }
    for avatar in slipped {
        let_go(world, avatar);
    }
}

/// A block that was let go touches its former carrier again as soon as the two have parted.
fn end_passing(world: &mut World) {
    for block in &mut world.blocks {
        let Some(avatar) = block.passing.and_then(|id| world.avatars.get(&id)) else {
            continue;
        };
        if !world.physics.are_close(block.body, avatar.body) {
            block.passing = None;
            world.physics.set_passing(block.body, block.id, None);
        }
    }
}

/// What fell off the edge comes back: avatars to a free spot, blocks from above to where they once stood.
fn return_strays(world: &mut World) {
    let is_lost = |position: Vector| !position.is_finite() || position.y < ABYSS;
    for index in 0..world.blocks.len() {
        let block = &world.blocks[index];
        if is_lost(world.physics.get(block.body).translation()) {
            let (id, body, holder) = (block.id, block.body, block.holder);
            let above = Vector::Y * (3.0 + 0.25 * (index % 16) as f32);
            let home = Pose::from_parts(block.home.translation + above, block.home.rotation);
            if let Some(holder) = holder {
                let_go(world, holder);
            }
            world.physics.place(body, home);
            world.stats.returned += 1;
            world.push_event(Event::Returned(id));
        }
    }
    let lost = world.avatars.values().filter(|avatar| is_lost(world.physics.get(avatar.body).translation()));
    let lost: Vec<EntityId> = lost.map(|avatar| avatar.id).collect();
    for id in lost {
        let_go(world, id);
        let spot = spawn::free_spot(world.avatars.values(), &world.blocks, &world.physics);
        world.physics.place(world.avatars[&id].body, Pose::from_translation(spot));
        world.stats.returned += 1;
        world.push_event(Event::Returned(id));
    }
}
