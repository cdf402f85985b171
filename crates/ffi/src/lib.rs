//! The C interface: channels, worlds as a client, save files (`include/nowcast.h`).
//!
//! **No call of a C program reaches undefined behaviour, except by a pointer that does not point to the stated memory.** Objects
//! are named by handles with a generation, so a freed or invented handle is an error. A panic becomes an error.
//!
//! The Python package uses the objects below the C functions: [`channel`], [`world`] and [`save`].
//!
//! | file | content |
//! | --- | --- |
//! | `abi/` | the functions of the header; the only module with `unsafe` |
//! | `handles.rs` | the table of objects |
//! | `failure.rs` | status codes, and the text of the newest error of a thread |
//! | `channel.rs` | receiving into the memory of a caller, with timeouts |
//! | `notify.rs` | a descriptor that is readable while messages wait |
//! | `world.rs`, `describe.rs` | a client of a world, and the JSON of its values |
//! | `save.rs` | save files, chunk by chunk |

#![warn(clippy::missing_errors_doc)]

pub mod abi;
pub mod channel;
mod describe;
pub mod failure;
mod handles;
mod notify;
pub mod save;
pub mod world;
