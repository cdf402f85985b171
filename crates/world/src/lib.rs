//! The engine of shared worlds: entities of kinds, moved by sixty fixed steps a second.
//!
//! One invariant drives this crate: **a world is a function of its [`Definition`], its seed, its [`Behaviour`] and its
//! [`Command`]s, in order.** It reads no clock, opens no socket, starts no thread and has no other source of
//! randomness. Two worlds with the same inputs have the same [`World::hash`] after each step. No
//! arithmetic depends on the platform's C library; the tests compare hashes on x86-64. A world restored from a
//! [`World::snapshot`] continues exactly like the original, to the last bit.
//!
//! A world has three parts. The [`Definition`] declares the possible contents, the [`Behaviour`] implements the rules, and
//! the [`Scene`] is the current state. This crate contains no rules of a particular game.
//!
//! ```
//! use nowcast_world::{Action, Behaviour, Body, ColliderShape, Command, Definition, Event, Input, Kind, PlayerId, Scene};
//! use nowcast_world::{Spawn, To, Value, Walker, World};
//!
//! /// Everybody gets a body, and may wave.
//! struct Park;
//!
//! impl Behaviour for Park {
//!     fn start(&mut self, scene: &mut Scene) {
//!         let ground = scene.kind("ground").expect("the definition has it");
//!         scene.spawn(ground, Spawn::at([0.0, -0.5, 0.0])).expect("the world is empty");
//!     }
//!
//!     fn join(&mut self, scene: &mut Scene, player: PlayerId) {
//!         let person = scene.kind("person").expect("the definition has it");
//!         let _ = scene.spawn_avatar(player, person, Spawn::at([0.0, 0.9, 0.0]));
//!     }
//!
//!     fn action(&mut self, scene: &mut Scene, player: PlayerId, action: &str, arguments: &Value) -> bool {
//!         let _ = scene.emit(action, To::All, Value::List(vec![player.0.into(), arguments.clone()]));
//!         true
//!     }
//! }
//!
//! let ground = Body::fixed(ColliderShape::Box { size: [50.0, 1.0, 50.0] });
//! let definition = Definition {
//!     kinds: vec![Kind::new("ground").with_body(ground), Kind::walker("person", Walker::default())],
//!     actions: vec![Action::new("wave", "times: u8")?],
//!     ..Definition::default()
//! };
//! let mut world = World::new(definition, 7, Box::new(Park))?;
//! let ada = PlayerId(1);
//! world.apply(Command::join(ada, "Ada"))?;
//! for tick in 0..120 {
//!     world.apply(Command::Input { player: ada, input: Input::new(1.0, 0.0, 0.0, true, tick == 60)? })?;
//!     if tick == 90 {
//!         let arguments = Value::Map(vec![("times".into(), 2.into())]);
//!         world.apply(Command::Action { player: ada, name: "wave".into(), arguments })?;
//!     }
//!     world.step();
//!     while let Some(event) = world.poll_event() {
//!         assert!(!matches!(event, Event::Refused { .. }), "{event:?}");
//!     }
//! }
//! let avatar = world.scene().player(ada).and_then(|ada| ada.avatar).expect("Ada has an avatar");
//! assert!(world.entity(avatar).expect("the avatar exists").pose.position[2] < -5.0, "Ada ran toward −Z");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Metres, seconds, radians; Y is up, X right, Z toward the viewer (`spec/PLAIN.md`, section 2).

mod account;
mod attributes;
mod behaviour;
mod body;
mod command;
mod conform;
mod contact;
mod definition;
mod entity;
mod event;
mod exact;
mod grounds;
mod id;
mod input;
mod joint;
pub mod journal;
mod kind;
mod layers;
pub mod limits;
pub mod math;
mod owner;
mod owner_commands;
mod past;
mod physics;
mod planned_move;
mod player;
mod pose;
mod problem;
mod random;
mod scene;
pub mod shape;
mod snapshot;
mod solid;
mod stats;
pub mod text;
mod timer;
mod update_rates;
mod walker;
mod world;

pub use account::{ACCOUNT_BYTES_MAX, SAVED_BYTES_MAX, SavedData, is_account};
pub use attributes::Attributes;
pub use behaviour::Behaviour;
pub use body::{Body, BodyRole, Mass, Motion};
pub use command::{Command, Edit, JoinRequest};
pub use conform::{MisfitError, OutOfRange, is_shallow};
pub use contact::Contact;
pub use definition::{Action, Definition, EventDeclaration};
pub use entity::{Entities, EntityRef, Spawn};
pub use event::{Event, Refusal, To};
pub use id::{EntityId, KindId, PlayerId};
pub use input::{CHAT_CHARS_MAX, Input, InputError, NAME_CHARS_MAX};
pub use joint::{Joint, JointId, JointKind, Motor};
pub use kind::{Interest, Kind};
pub use layers::{LAYERS_MAX, Layers};
pub use limits::Limits;
pub use nowcast_wire::Value;
pub use owner::{
    Area, Beyond, GIFTS_MAX, OWNED_MAX, OwnedBy, OwnerError, OwnerLeaves, OwnerRequest, OwnerRules,
};
pub use physics::SPEED_MAX;
pub use planned_move::{Easing, PathOptions};
pub use player::Player;
pub use pose::{FreeMotion, Pose, Velocity};
pub use problem::{DefinitionError, Problem};
pub use random::Random;
pub use scene::{Filter, Hit, PATH_PLACES_MAX, PATHS_MAX, Scene, SceneError};
pub use shape::{ColliderShape, TRIANGLES_MAX};
pub use snapshot::RestoreError;
pub use solid::{Form, Solid, SolidMotion, Triangle};
pub use stats::Stats;
pub use timer::{Timer, TimerId};
pub use update_rates::{UPDATE_RATES_MAX, UpdateRate};
pub use walker::{Adjustment, Walker, movement};
pub use world::{ApplyError, World};

/// Steps of the world in one second.
pub const STEP_HZ: u32 = 60;

/// Length of one step in seconds.
pub(crate) const STEP_SECONDS: f32 = 1.0 / STEP_HZ as f32;
