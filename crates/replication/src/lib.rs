//! Replication: sends each viewer the movement of the world in few bytes, even if packets are lost.
//!
//! All moving entities are in **groups** of at most [`GROUP_ENTITIES_MAX`]. A group fits into one packet, so a lost
//! packet affects only the groups in it. A group is encoded against frames that the viewer has acknowledged. Encodings
//! depend only on frames, so viewers with the same acknowledged frames share the bytes. A [`Viewer`] keeps a few
//! numbers for each group, never a copy of the world.
//!
//! The thread that steps the world calls [`InterestGrid::update`] and [`History::publish`]. It then shares
//! [`InterestGrid::grid_snapshot`] and [`History::frames`], which are immutable snapshots of that step. Viewers read these
//! snapshots on other threads. Neither the stepping thread nor a viewer ever waits for the other.
//!
//! ```
//! use nowcast_replication::{History, Replica, Transform, Viewer};
//! use nowcast_world::{Behaviour, Definition, Kind, Pose, Scene, Spawn, Walker, World};
//!
//! struct Fall;
//!
//! impl Behaviour for Fall {
//!     fn start(&mut self, scene: &mut Scene) {
//!         let person = scene.kind("person").expect("the definition has it");
//!         scene.spawn(person, Spawn::at([0.0, 9.0, 0.0])).expect("the world is empty");
//!     }
//! }
//!
//! let kinds = vec![Kind::walker("person", Walker::default())];
//! let mut world = World::new(Definition { kinds, ..Definition::default() }, 0, Box::new(Fall))?;
//! let ada = world.entities().ids()[0];
//! let mut history = History::default();
//! let (mut viewer, mut replica) = (Viewer::default(), Replica::default());
//! for number in 0..60 {
//!     world.step();
//!     let transform = |pose: Pose| Transform { position: pose.position, rotation: pose.rotation };
//!     history.publish(number as u32, world.poses().map(|(id, pose)| (id.0, transform(pose))));
//!     let eye = world.entity(ada).map(|ada| ada.pose.position);
//!     viewer.begin_round(history.frames(), eye); // six times as often as most viewers need
//!     while viewer.has_more() {
//!         let mut payload = Vec::new();
//!         viewer.fill(history.frames(), number, 1_100, &mut payload);
//!         replica.apply(&payload)?; // at the other end of a link
//!     }
//!     viewer.on_outcome(number, true); // the session says what arrived
//! }
//! let quantised = history.rows().find(|(id, _)| *id == ada.0).map(|(_, row)| *row);
//! assert_eq!(replica.row(ada.0), quantised);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | content |
//! | --- | --- |
//! | `row.rs` | transforms as integers, and their precision: [`Quantization`] |
//! | `transform.rs` | [`Transform`]: position and rotation |
//! | `update_rates.rs` | [`UpdateRates`]: how often movement is sent, by distance |
//! | `interest_grid.rs` | [`InterestGrid`]: divides space into sections, and assigns each entity to one |
//! | `grid_snapshot.rs` | [`GridSnapshot`]: the sections at one step, immutable |
//! | `interest_set.rs` | [`InterestSet`]: the sections that one viewer sees |
//! | `history.rs` | [`History`]: records movement once for all viewers |
//! | `flight.rs` | when a body that moves by itself needs another motion row |
//! | `motion.rs` | [`Flight`]: motion rows, and their integration (`spec/MOTION.md`) |
//! | `motion_codec.rs` | the bytes of motion rows |
//! | `frames.rs` | [`Frames`]: the recent frames at one step, immutable |
//! | `snapshot_pool.rs` | [`SnapshotPool`]: immutable snapshots of a changing value |
//! | `acked.rs` | the acknowledged frames of one group |
//! | `viewer.rs` | [`Viewer`]: the state of one viewer, and its next payload |
//! | `attribution.rs` | the entities in a payload, for inspection |
//! | `payload.rs` | the byte format (`spec/WORLD.md`, section 5) |
//! | `replica.rs` | [`Replica`]: the receiver |

mod acked;
mod attribution;
mod flight;
mod frames;
mod grid_snapshot;
mod history;
mod interest_edge;
mod interest_grid;
mod interest_set;
mod motion;
mod motion_codec;
mod payload;
mod replica;
mod row;
mod section;
mod snapshot_pool;
mod transform;
mod update_rates;
mod viewer;

pub use attribution::summary;
pub use frames::Frames;
pub use grid_snapshot::GridSnapshot;
pub use history::{History, Moving};
pub use interest_grid::{InterestGrid, Placed, Relocation};
pub use interest_set::{InterestChange, InterestSet};
pub use motion::Flight;
pub use payload::PayloadError;
pub use replica::{Applied, Replica};
pub use row::{Quantization, Row};
pub use section::{NewSection, Reach, SectionId};
pub use snapshot_pool::{ApplyDelta, SnapshotPool};
pub use transform::Transform;
pub use update_rates::{Interval, RATE_CLASSES_MAX, RateTable, RatesId, UpdateRates};
pub use viewer::{Viewer, ViewerStats};

/// Maximum number of entities in a group. A group of this size fits into one packet even if no value is predicted correctly.
pub const GROUP_ENTITIES_MAX: usize = 20;

/// Maximum number of a group's frames that can be baselines.
pub const FRAMES_KEPT: usize = 64;

/// Maximum number of a group's frames that a receiver keeps: twice the number of baselines, for packets that arrive late.
pub const FRAMES_HELD: usize = 2 * FRAMES_KEPT;

/// Maximum number of groups in a world.
pub const GROUPS_MAX: usize = 65_536;

/// Maximum size of one entity in a frame, in bits: mask, three numbers and three components by the longest code, and an
/// id.
const ROW_BITS_MAX: usize = 1 + 1 + row::WIDTH + 6 * 52 + 4 + 1 + 38;

/// Maximum size of a record.
pub(crate) const RECORD_BYTES_MAX: usize =
    payload::RECORD_HEAD_BYTES_MAX + (8 + 1 + 24 + GROUP_ENTITIES_MAX * ROW_BITS_MAX).div_ceil(8);

// A packet has 1,200 bytes. If no packets are lost, its acknowledgements take less than 50 of these.
const _: () = assert!(RECORD_BYTES_MAX + payload::HEAD_BYTES + 50 <= 1_200);
const _: () = assert!(motion_codec::BYTES_MAX + payload::RECORD_HEAD_BYTES_MAX <= RECORD_BYTES_MAX);
// Equal to the maximum number of entities, because each entity may be far from all others and need its own section.
const _: () = assert!(GROUPS_MAX == 65_536);
