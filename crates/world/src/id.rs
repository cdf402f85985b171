//! The names of what is in a world.

/// Names one entity in one world. Ids grow, and are never given twice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct EntityId(pub u32);

/// Names one player of one world. The sender of [`crate::Command::Join`] chooses it. A number is never used again in a
/// world's life, and one below an earlier number is refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PlayerId(pub u32);

/// Names one kind of one definition: its place in [`crate::Definition::kinds`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct KindId(pub u16);
