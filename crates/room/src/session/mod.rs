//! The encodings of a room that its clients on sessions share. The `ClientSink` of a session sends deliveries through an
//! outbox, and publishes the room's snapshot once for all sessions.
//!
//! | file | contents |
//! | --- | --- |
//! | `step_update.rs` | the update of one step, encoded once for all clients |
//! | `latest_snapshot.rs` | the snapshot of a room after a step, for the drivers |
//! | `outbox.rs` | deliveries of a room to one client, until the driver reads them |
//! | `input_buffer.rs` | the buffer that delays a client's input until its step |

pub(crate) mod input_buffer;
mod latest_snapshot;
mod outbox;
mod step_update;

pub use self::input_buffer::{BufferedInput, Change, InputBuffer};
pub use self::latest_snapshot::{LatestSnapshot, RoomSnapshot, SeenPlayer};
pub use self::outbox::{Delivery, DeliveryReceiver, DeliverySender, Welcome, outbox};
pub use self::step_update::{StepUpdate, state_of_screen, states_of_change};
