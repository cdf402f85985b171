//! Tools for developers who work with wire types and save files. Servers and clients do not need this crate.
//!
//! The one invariant: this crate decides on no format by itself. The crate of a format reads and writes its bytes, so
//! these tools accept exactly the input that every reader accepts.
//!
//! | to | use |
//! | --- | --- |
//! | generate TypeScript from types | [`typescript::generate`] |
//! | convert between JSON, MessagePack and save files | [`convert()`] |
//! | compare two files of values | [`Compared`], [`diff()`] |
//! | print untrusted text in a terminal | [`printable()`], [`printable_json`] |

mod convert;
mod diff;
mod json;
mod printable;
pub mod typescript;

pub use convert::{Format, Progress, convert, read_value};
pub use diff::{Compared, Difference, diff};
pub use json::{json_text, write_json};
pub use printable::{printable, printable_json};

use std::io;

use nowcast_wire::save::SaveError;

/// Errors of converting files.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The file system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The input is not JSON.
    #[error("not JSON")]
    Json(#[from] serde_json::Error),
    /// The input is not MessagePack.
    #[error("not MessagePack")]
    MessagePack(#[from] nowcast_wire::Error),
    /// The input is not a whole save file.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// JSON cannot represent a value.
    #[error("JSON has no {0}: unpack to MessagePack instead")]
    NotJson(&'static str),
}
