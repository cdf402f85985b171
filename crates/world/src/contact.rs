//! Contacts between entities, for kinds that report them.

use crate::id::EntityId;

/// Two entities that began or ceased to touch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Contact {
    /// The one with the smaller id.
    pub a: EntityId,
    /// The other.
    pub b: EntityId,
    /// Whether they touch from now on. When they ceased because one of them was removed, that one is gone already.
    pub is_begin: bool,
    /// How hard they met, in newton seconds; 0 for sensors and at the end.
    pub impulse: f32,
}
