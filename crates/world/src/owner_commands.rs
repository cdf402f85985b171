//! Commands of players about entities that they own or want to own.

use crate::behaviour::Behaviour;
use crate::command::Command;
use crate::event::{Event, Refusal};
use crate::id::{EntityId, PlayerId};
use crate::owner::{OwnerError, OwnerRequest};
use crate::scene::Scene;

/// Applies a command of an owner; other commands do nothing.
pub(crate) fn carry_out(
    scene: &mut Scene,
    behaviour: &mut dyn Behaviour,
    command: Command,
) -> Result<(), Refusal> {
    let refused =
        |request, entity, number| move |why| Refusal::Owner { request, entity: Some(entity), number, why };
    match command {
        Command::Own { player, entity, number } => {
            own(scene, behaviour, player, entity).map_err(refused(OwnerRequest::Own, entity, number))?;
            scene.push_event(Event::Granted { player, entity, number });
            Ok(())
        }
        Command::Release { player, entity, to } => {
            release(scene, behaviour, player, entity, to).map_err(refused(OwnerRequest::Release, entity, 0))
        }
        Command::Move { player, entity, pose, velocity } => {
            scene.set_goal(player, entity, pose, velocity).map_err(refused(OwnerRequest::Move, entity, 0))
        }
        Command::Set { player, entity, attributes } => {
            scene.set_owned(player, entity, &attributes).map_err(refused(OwnerRequest::Set, entity, 0))?;
            behaviour.set_by_owner(scene, entity, player, &attributes);
            Ok(())
        }
        Command::Spawn { player, kind, pose, attributes, number } => {
            let made = scene.spawn_owned(player, &kind, pose, &attributes).and_then(|entity| {
                if behaviour.own(scene, entity, player) && scene.check_owned(player, entity).is_ok() {
                    return Ok(entity);
                }
                // The rules may have removed the entity.
                let _ = scene.despawn(entity);
                Err(OwnerError::Denied)
            });
            let request = OwnerRequest::Spawn;
            let entity = made.map_err(|why| Refusal::Owner { request, entity: None, number, why })?;
            scene.push_event(Event::Granted { player, entity, number });
            Ok(())
        }
        Command::Despawn { player, entity } => {
            let refused = refused(OwnerRequest::Despawn, entity, 0);
            scene.check_despawn(player, entity).map_err(refused)?;
            scene.despawn(entity).map_err(|error| refused(OwnerError::Impossible(error.to_string())))
        }
        _ => Ok(()),
    }
}

fn own(
    scene: &mut Scene,
    behaviour: &mut dyn Behaviour,
    player: PlayerId,
    entity: EntityId,
) -> Result<(), OwnerError> {
    scene.check_own(player, entity)?;
    if scene.check_owned(player, entity).is_ok() {
        return Ok(());
    }
    if !behaviour.own(scene, entity, player) {
        return Err(OwnerError::Denied);
    }
    // The rules may have changed the entity or its owner.
    scene.check_own(player, entity)?;
    scene.set_owner(entity, Some(player)).map_err(|_| OwnerError::UnknownEntity)
}

fn release(
    scene: &mut Scene,
    behaviour: &mut dyn Behaviour,
    player: PlayerId,
    entity: EntityId,
    to: Option<PlayerId>,
) -> Result<(), OwnerError> {
    match to {
        None => {
            scene.check_owned(player, entity)?;
            behaviour.release(scene, entity, player);
        }
        Some(to) => {
            scene.check_pass(player, entity, to)?;
            if !behaviour.own(scene, entity, to) {
                return Err(OwnerError::Denied);
            }
        }
    }
    // The rules may have assigned another owner, or removed the entity.
    if scene.check_owned(player, entity).is_ok() {
        scene.set_owner(entity, to).map_err(|_| OwnerError::UnknownEntity)?;
    }
    if to.is_some_and(|to| to != player && scene.check_owned(to, entity).is_ok()) {
        scene.note_gift(entity);
    }
    Ok(())
}
