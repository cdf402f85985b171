//! The deterministic shared world: ground, blocks and avatars, moved by sixty fixed steps a second.
//!
//! One invariant drives this crate: **a world is a function of its [`Config`] and of the calls made on it, in order.**
//! It reads no clock, opens no socket, starts no thread and draws no randomness of its own; two worlds that were given
//! the same seed, inputs and actions before the same steps have the same [`World::hash`], on every machine.
//!
//! ```
//! use nowcast_world::{Action, Config, Input, World};
//!
//! let mut world = World::new(Config::default());
//! let ada = world.join("Ada")?;
//! for tick in 0..120 {
//!     world.set_input(ada, Input::new(1.0, 0.0, 0.0, true, tick == 60)?); // state: the newest wins
//!     if tick == 90 {
//!         world.act(ada, Action::chat("hello")); // event: in order, at the next step
//!     }
//!     world.step();
//!     while let Some(event) = world.poll_event() {
//!         println!("{event:?}");
//!     }
//! }
//! let ada = world.entity(ada).expect("she has not left");
//! assert!(ada.pose.position[1] > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Metres, seconds, radians; Y is up, X right, Z toward the viewer (`spec/PLAIN.md`, section 2).

mod avatar;
mod entity;
mod event;
mod hash;
mod hold;
mod input;
pub mod layout;
mod physics;
mod pose;
mod random;
mod spawn;
mod step;
pub mod text;
mod world;

pub use avatar::{AVATAR_HEIGHT, AVATAR_RADIUS};
pub use entity::{EntityId, EntityRef, Kind};
pub use event::Event;
pub use input::{Action, CHAT_CHARS_MAX, Input, InputError, JoinError, NAME_CHARS_MAX};
pub use layout::Layout;
pub use pose::Pose;
pub use world::{Config, Stats, World};

/// Steps of the world in one second.
pub const STEP_HZ: u32 = 60;

/// Length of one step in seconds.
pub(crate) const STEP_SECONDS: f32 = 1.0 / STEP_HZ as f32;
