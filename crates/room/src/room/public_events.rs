//! The room's events for programs outside of it.

use std::sync::Arc;

use nowcast_world::Event;

use super::Room;
use super::world_events::WorldEvent;
use crate::ownership::Ownership;
use crate::public_events::{PublicEvent, PublicKind};

impl Room {
    /// Publishes the players that joined and left in the step.
    pub(super) fn publish_members(&self, events: &[Event]) {
        let Some(ownership) = self.publisher() else { return };
        let world = self.world.world();
        for event in events {
            let kind = match event {
                Event::Joined(player) => {
                    // A player that left in the same step has no name any more.
                    let Some(known) = world.scene().player(*player) else { continue };
                    let name = known.name.clone();
                    PublicKind::Join { player: *player, name, is_program: known.is_program }
                }
                Event::Left(player) => PublicKind::Leave { player: *player },
                _ => continue,
            };
            ownership.publish(&self.context.name, PublicEvent { step: world.tick(), kind });
        }
    }

    /// Publishes chat and events of the rules. Durable events are published when clients get them.
    pub(super) fn publish_events(&self, events: &[WorldEvent]) {
        let Some(ownership) = self.publisher() else { return };
        let step = self.world.world().tick();
        for event in events {
            ownership.publish(&self.context.name, PublicEvent::of(step, event));
        }
    }

    /// The publisher, if events are published. A room that shows history publishes nothing.
    fn publisher(&self) -> Option<&Arc<dyn Ownership>> {
        let ownership = self.context.rooms.persistence.ownership()?;
        (self.past.is_none() && ownership.publishes()).then_some(ownership)
    }
}
