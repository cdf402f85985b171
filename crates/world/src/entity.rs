//! What is in the world, as others see it.

use crate::pose::Pose;

/// Names one thing in one world. Ids are never given twice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct EntityId(pub u32);

/// What an entity is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A box that never moves.
    Static,
    /// A box that can be pushed, carried and thrown.
    Block,
    /// A person: an upright capsule.
    Avatar,
}

/// One entity as it is now.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EntityRef<'a> {
    /// Its name in this world.
    pub id: EntityId,
    /// What it is.
    pub kind: Kind,
    /// Where its centre is, and how it is turned.
    pub pose: Pose,
    /// Full edge lengths of the box around it, in metres, before rotation.
    pub size: [f32; 3],
    /// 0xRRGGBB.
    pub color: u32,
    /// The name of an avatar; `None` for everything else.
    pub name: Option<&'a str>,
    /// The block that an avatar carries, or the avatar that carries a block.
    pub held: Option<EntityId>,
}
