//! The room's events for programs outside of it.

use std::sync::Arc;

use nowcast_world::Event;

use super::Room;
use super::world_events::WorldEvent;
use crate::public_events::{EventSink, PublicEvent, PublicKind};

impl Room {
    /// Publishes the players that joined and left in the step.
    pub(super) fn publish_members(&self, events: &[Event]) {
        if self.event_sinks().is_empty() {
            return;
        }
        let world = self.world.world();
        for event in events {
            let kind = match event {
                Event::Joined(player) => {
                    // A player that left in the same step has no name any more.
                    let Some(known) = world.scene().player(*player) else { continue };
                    PublicKind::Join {
                        player: *player,
                        name: known.name.clone(),
                        account: known.account.clone(),
                        is_program: known.is_program,
                    }
                }
                Event::Left(player) => PublicKind::Leave { player: *player },
                _ => continue,
            };
            self.publish_event(PublicEvent { step: world.tick(), kind });
        }
    }

    /// Publishes chat and events of the rules. Durable events are published when clients get them.
    pub(super) fn publish_events(&self, events: &[WorldEvent]) {
        if self.event_sinks().is_empty() {
            return;
        }
        let step = self.world.world().tick();
        for event in events {
            self.publish_event(PublicEvent::of(step, event));
        }
    }

    /// Publishes the end of the room.
    pub(super) fn publish_end(&self) {
        self.publish_event(PublicEvent { step: self.world.world().tick(), kind: PublicKind::Dispose });
    }

    fn publish_event(&self, event: PublicEvent) {
        let event = Arc::new(event);
        for sink in self.event_sinks() {
            sink.take(&self.context.name, &event);
        }
    }

    /// The sinks of events. A room that shows history publishes nothing.
    fn event_sinks(&self) -> &[Arc<dyn EventSink>] {
        if self.past.is_none() { &self.context.rooms.event_sinks } else { &[] }
    }
}
