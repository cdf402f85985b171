//! What programs for people do with files of any shape: read JSON and MessagePack, convert, compare.

mod convert;
mod diff;
mod json;

pub use convert::{Format, Progress, convert, read_values};
pub use diff::{Difference, diff};
pub use json::{from_json, write_json};

use std::io;

use crate::save::SaveError;

/// What can go wrong when files are converted.
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
    MessagePack(#[from] crate::Error),
    /// The input is not a whole save file.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// JSON cannot say it.
    #[error("JSON has no {0}: unpack to MessagePack instead")]
    NotJson(&'static str),
}
