//! A client of a world on a session (`spec/WORLD.md`): it joins, stores the part of the world that the server sent, sends
//! input and commands, and predicts its own avatar's steps.
//!
//! **The state of a client depends only on the messages that it handled.** [`WorldView`], [`InputSender`],
//! [`StepSender`] and [`Predictor`] use no channel and no clock. [`WorldClient`] connects them with a channel.
//!
//! ```no_run
//! use nowcast_world_client::{Join, Update, WorldClient};
//! use nowcast_world::Input;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let channel = nowcast::connect("nowcast://127.0.0.1:7777/plaza").await?;
//! let mut client = WorldClient::join(channel, Join::new("Ada"))?;
//! loop {
//!     match client.receive().await? {
//!         Update::Welcome => client.set_input(&Input { forward: 1.0, ..Input::default() })?,
//!         Update::Moved(_) => println!("{:?}", client.view().avatar().and_then(|id| client.view().position(id))),
//!         _ => {}
//!     }
//! }
//! # }
//! ```
//!
//! | file | content |
//! | --- | --- |
//! | `client.rs` | [`WorldClient`]: a client on a channel |
//! | `follow.rs` | [`FollowingClient`]: a client that follows its room to other servers of a cluster |
//! | `identity.rs` | [`Identity`]: a key by which a server recognises the client |
//! | `join.rs` | [`Join`]: the first event of a client |
//! | `incoming.rs` | [`Incoming`]: the meaning of a message, before it is decoded |
//! | `view.rs` | [`WorldView`]: definition, entities, players, screens and movement |
//! | `input.rs` | [`InputSender`]: numbers the input of a client that does not predict |
//! | `steps.rs` | [`StepSender`]: the input of a client that counts its steps |
//! | `prediction.rs` | [`Predictor`]: the steps of the local avatar (`spec/MOVEMENT.md`) |
//! | `collision_world.rs` | the solids around an avatar |

mod client;
mod collision_world;
mod follow;
mod identity;
mod incoming;
mod input;
mod join;
mod prediction;
mod steps;
mod view;

pub use client::{ClientError, WorldClient};
pub use follow::{FollowError, FollowingClient};
pub use identity::{Identity, IdentityError};
pub use incoming::Incoming;
pub use input::InputSender;
pub use join::Join;
pub use prediction::{Correction, Predictor};
pub use steps::StepSender;
pub use view::{EntityView, KindView, MessageError, Update, Welcome, WorldView};
