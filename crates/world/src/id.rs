//! Ids in a world.

use nowcast_wire::Wire;

/// Names one entity in one world. Ids grow and are never reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Wire)]
pub struct EntityId(pub u32);

/// Identifies one player of one world. The sender of [`crate::Command::Join`] chooses it. A world never accepts a number
/// twice. Each new number must be greater than all earlier numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Wire)]
pub struct PlayerId(pub u32);

/// Identifies one kind of one definition: its index in [`crate::Definition::kinds`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct KindId(pub u16);
