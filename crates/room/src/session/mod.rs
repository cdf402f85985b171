//! The part of a room that concerns clients on sessions: the intake of their messages, and the encodings that they share. The
//! `ClientSink` of a session sends deliveries through an outbox, and publishes the room's snapshot once for all sessions.
//!
//! | file | contents |
//! | --- | --- |
//! | `step_update.rs` | the update of one step, encoded once for all clients |
//! | `latest_snapshot.rs` | the snapshot of a room after a step, for the drivers |
//! | `outbox.rs` | deliveries of a room to one client, until the driver reads them |
//! | `session_intake.rs` | the intake of one client's messages |
//! | `input_watchdog.rs` | the input of a client that counts no steps, which ends when the client is silent |
//! | `input_buffer.rs` | the buffer that delays a client's input until its step |

pub(crate) mod input_buffer;
mod input_watchdog;
mod latest_snapshot;
mod outbox;
mod session_intake;
mod step_update;

pub use self::latest_snapshot::{LatestSnapshot, RoomSnapshot, SeenPlayer};
pub use self::outbox::{Delivery, DeliveryReceiver, DeliverySender, Welcome, outbox};
pub use self::session_intake::{ReplicationRequest, SessionIntake};
pub use self::step_update::{StepUpdate, state_of_screen, states_of_change};
