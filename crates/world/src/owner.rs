//! Ownership rules of a kind: the players that may own its entities, and the changes that an owner may make.

use nowcast_wire::Wire;

use crate::body::{Body, Motion};
use crate::id::PlayerId;
use crate::limits::{POSITION_MAX, VELOCITY_MAX};
use crate::pose::{Pose, Velocity};
use crate::problem::{DefinitionError, Path, Problem};

/// Maximum number of entities that one player may own by request or by [`crate::Command::Spawn`]. The rules of the world may
/// give the player more entities. Gifts of other players do not count.
pub const OWNED_MAX: usize = 32;

/// Maximum number of entities that one player may own as gifts of other players ([`crate::Command::Release`] with `to`).
pub const GIFTS_MAX: usize = 32;

/// Number of steps for which a target moves on with its velocity without an update from the owner: a tenth of a second.
pub(crate) const GOAL_STEPS_MAX: u32 = 6;

/// Maximum distance of a target, in seconds at full speed, if targets beyond the limits are refused.
pub(crate) const GOAL_SECONDS_MAX: f32 = 0.25;

// In one step, an owner can send a command for each of its entities without exceeding the limit of commands.
const _: () = assert!(OWNED_MAX < crate::Limits::DEFAULT.commands_per_player_max);

/// Ownership rules of a kind.
///
/// An owner sends a target pose. The server moves the entity toward it, limited by `speed`, `reach` and `area`.
/// Kinematic bodies pass through everything. Dynamic bodies are stopped by obstacles. Entities without a body are placed at
/// the target.
#[derive(Clone, PartialEq, Debug)]
pub struct OwnerRules {
    /// The players that may claim entities of the kind; `None` if only the behaviour assigns owners.
    pub by: Option<OwnedBy>,
    /// Maximum speed, in metres a second.
    pub speed: f32,
    /// Maximum turn, in radians a second.
    pub turn: f32,
    /// Maximum distance from the owner's avatar, in metres. For an owner without an avatar, the distance is measured from
    /// the place where the owner got the entity.
    pub reach: Option<f32>,
    /// The area that the entities must stay in.
    pub area: Option<Area>,
    /// The treatment of a target outside `reach` or `area`.
    pub beyond: Beyond,
    /// The attributes that an owner may set.
    pub attributes: Vec<String>,
    /// How many entities of the kind an owner may spawn; 0 for none.
    pub spawns_max: u32,
    /// The treatment of owned entities when the owner leaves.
    pub leave: OwnerLeaves,
}

impl Default for OwnerRules {
    fn default() -> OwnerRules {
        OwnerRules {
            by: None,
            speed: 10.0,
            turn: 12.0,
            reach: None,
            area: None,
            beyond: Beyond::default(),
            attributes: Vec::new(),
            spawns_max: 0,
            leave: OwnerLeaves::default(),
        }
    }
}

/// The players that may claim an entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnedBy {
    /// Only human players.
    Player,
    /// Only programs ([`crate::JoinRequest::is_program`]).
    Program,
    /// Human players and programs.
    Anyone,
}

impl OwnedBy {
    pub(crate) fn admits(self, is_program: bool) -> bool {
        match self {
            OwnedBy::Player => !is_program,
            OwnedBy::Program => is_program,
            OwnedBy::Anyone => true,
        }
    }
}

/// The treatment of a target outside the kind's limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Beyond {
    /// The target is moved to the nearest allowed pose.
    #[default]
    Clamp,
    /// The target is refused. It is also refused if the entity needs more than a quarter of a second to reach it at full
    /// speed.
    Refuse,
}

/// The treatment of an entity when its owner leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OwnerLeaves {
    /// The entity stays, and the server owns it. Other players may ask for it.
    #[default]
    Release,
    /// The entity stays and remains owned by the player who left, until the behaviour assigns another owner.
    Keep,
    /// The entity is removed.
    Despawn,
}

/// A box whose sides are parallel to the axes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Area {
    /// The centre of the box, in metres.
    pub at: [f32; 3],
    /// The box's edge lengths, in metres.
    pub size: [f32; 3],
}

impl Area {
    /// Returns the nearest point inside.
    pub fn nearest(&self, place: [f32; 3]) -> [f32; 3] {
        std::array::from_fn(|axis| {
            let half = self.size[axis] / 2.0;
            place[axis].clamp(self.at[axis] - half, self.at[axis] + half)
        })
    }
}

impl OwnerRules {
    pub(crate) fn check(
        &self,
        path: &Path<'_>,
        body: Option<&Body>,
        is_walker: bool,
        has_attribute: impl Fn(&str) -> bool,
    ) -> Result<(), DefinitionError> {
        path.field("speed").within(self.speed, 0.0, VELOCITY_MAX)?;
        path.field("turn").within(self.turn, 0.0, VELOCITY_MAX)?;
        if let Some(reach) = self.reach {
            path.field("reach").within(reach, 0.0, POSITION_MAX)?;
        }
        if let Some(Area { at, size }) = self.area {
            at.iter().try_for_each(|v| path.field("area").within(*v, -POSITION_MAX, POSITION_MAX))?;
            size.iter().try_for_each(|v| path.field("area").within(*v, 0.0, 2.0 * POSITION_MAX))?;
        }
        path.field("spawns").count(self.spawns_max as usize, 0, OWNED_MAX)?;
        if let Some(unknown) = self.attributes.iter().find(|name| !has_attribute(name)) {
            let path = path.field("attributes");
            return Err(path.field(unknown).error(Problem::Invalid("the kind has no such attribute")));
        }
        if self.by.is_some() && is_walker {
            return Err(path.error(Problem::Invalid(
                "players cannot ask for a kind with a walker, because input moves its entities",
            )));
        }
        let is_put = body.is_some_and(|body| matches!(body.motion, Motion::Fixed | Motion::Sensor));
        if self.by.is_some() && is_put {
            return Err(path.error(Problem::Invalid(
                "an owner moves kinematic and dynamic bodies, and entities without a body; make it one of these",
            )));
        }
        Ok(())
    }
}

/// The claim of an owner on an entity.
#[derive(Clone, Copy, PartialEq, Debug, Wire)]
pub(crate) struct OwnerClaim {
    /// The position at the time of the claim.
    pub(crate) home: [f32; 3],
    pub(crate) goal: Option<Goal>,
    /// Whether another player gave the entity to its owner, who did not ask for it.
    pub(crate) is_gift: bool,
}

impl OwnerClaim {
    /// The claim of a new owner.
    pub(crate) fn at(home: [f32; 3]) -> OwnerClaim {
        OwnerClaim { home, goal: None, is_gift: false }
    }
}

/// The target pose of an owner.
#[derive(Clone, Copy, PartialEq, Debug, Wire)]
pub(crate) struct Goal {
    pub(crate) pose: Pose,
    /// The velocity with which the target itself moves.
    pub(crate) velocity: Velocity,
    /// Steps since the owner set the target.
    pub(crate) steps: u32,
}

/// A request of a player about an entity that it owns or wants to own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OwnerRequest {
    /// [`crate::Command::Own`].
    Own,
    /// [`crate::Command::Release`].
    Release,
    /// [`crate::Command::Move`].
    Move,
    /// [`crate::Command::Set`].
    Set,
    /// [`crate::Command::Spawn`].
    Spawn,
    /// [`crate::Command::Despawn`].
    Despawn,
}

impl OwnerRequest {
    /// The name in protocols.
    pub fn word(self) -> &'static str {
        match self {
            OwnerRequest::Own => "own",
            OwnerRequest::Release => "release",
            OwnerRequest::Move => "move",
            OwnerRequest::Set => "set",
            OwnerRequest::Spawn => "spawn",
            OwnerRequest::Despawn => "despawn",
        }
    }
}

/// The reason why an owner's request was refused. The client is at fault.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OwnerError {
    /// The entity does not exist, or does not exist any more.
    #[error("there is no such entity")]
    UnknownEntity,
    /// The definition has no such kind.
    #[error("no kind is called {0:?}")]
    UnknownKind(String),
    /// No player may ask for entities of this kind.
    #[error("no player may ask for a {0:?}")]
    NotGiven(String),
    /// Only human players may own the entity, or only programs may.
    #[error("only {whom} may own a {kind:?}")]
    NotForYou {
        /// The kind.
        kind: String,
        /// The players that may own the entity.
        whom: &'static str,
    },
    /// Another player owns the entity.
    #[error("player {} owns it", .0.0)]
    Taken(PlayerId),
    /// The player does not own the entity.
    #[error("you do not own the entity")]
    NotYours,
    /// The new owner is not in the world.
    #[error("no player {} is in the world", .0.0)]
    UnknownPlayer(PlayerId),
    /// The player owns the maximum number.
    #[error("limit reached: you may own {max} of these entities")]
    TooMany {
        /// The maximum.
        max: usize,
    },
    /// The new owner has the maximum number of gifts.
    #[error("player {} already owns {max} entities that others gave to it, which is the limit", .player.0)]
    TooManyGifts {
        /// The new owner.
        player: PlayerId,
        /// The maximum.
        max: usize,
    },
    /// A position is beyond the kind's reach.
    #[error("the position is out of reach")]
    OutOfReach,
    /// A position is outside of the kind's area.
    #[error("the position is outside of the kind's area")]
    OutsideArea,
    /// A target is further away than the kind's speed allows.
    #[error("the target is farther away than the entity can move in a quarter of a second")]
    TooFast,
    /// The entity is attached to another entity.
    #[error("the entity is attached to another entity")]
    Hangs,
    /// The kind does not let its owner set this attribute.
    #[error("its owner may not set {0:?}")]
    Attribute(String),
    /// The rules of the world refuse the request.
    #[error("the rules of the world do not allow it")]
    Denied,
    /// A value that no entity can have.
    #[error("{0}")]
    Impossible(String),
}
