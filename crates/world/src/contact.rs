//! Contacts between entities, for kinds that report them.

use crate::id::EntityId;

/// Two entities that began to touch or stopped touching.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Contact {
    /// The entity with the smaller id.
    pub a: EntityId,
    /// The other entity.
    pub b: EntityId,
    /// Whether the contact began. If the contact ended because an entity was removed, that entity no longer exists.
    pub is_begin: bool,
    /// The impulse of the collision, in newton seconds; 0 for sensors and at the end.
    pub impulse: f32,
}
