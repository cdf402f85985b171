//! Values of any shape without a Rust type. Tools use them.

mod infer;
mod read;
mod sizes;
mod skip;
mod write;

pub use infer::infer;
pub(crate) use read::{decode_in, open_rows};
pub use read::{decode_value, decode_value_with};
pub use sizes::LeafSize;
pub(crate) use sizes::sizes;
pub use write::encode_value;
pub(crate) use write::write_rows;
