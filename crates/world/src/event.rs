//! What happened in the world that is not visible in poses.

use crate::entity::EntityId;

/// Something that every observer should hear about exactly once, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// An entity came into the world.
    Spawned(EntityId),
    /// An entity left the world; its id is never used again.
    Despawned(EntityId),
    /// An avatar took a block, or let go of the one it had.
    Held {
        /// Who.
        avatar: EntityId,
        /// What; `None` when the hands are empty again.
        block: Option<EntityId>,
    },
    /// An avatar chose a new name.
    Renamed {
        /// Who.
        id: EntityId,
        /// The new name, after [`crate::text::sanitize`].
        name: String,
    },
    /// An avatar spoke.
    Chat {
        /// Who.
        from: EntityId,
        /// The name at that time.
        name: String,
        /// What was said, after [`crate::text::sanitize`]; markup is passed on as it came.
        text: String,
    },
    /// An entity fell off the edge and was put back: its pose jumped, and nobody should interpolate across the jump.
    Returned(EntityId),
}
