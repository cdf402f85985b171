//! The functions of the header (`include/nowcast.h`), and the only `unsafe` of this crate.
//!
//! Each function converts the pointers of its caller into references first, with the functions of `pointers.rs`. Everything
//! after that is safe code. The header states the rules for callers, to which the SAFETY comments refer:
//!
//! - **Pointers**: a pointer with a length points to that many bytes, which stay valid during the call. A pointer to a result
//!   points to one writable value of that type. Text ends with a NUL byte.

#![allow(unsafe_code)]
#![allow(
    clippy::missing_safety_doc,
    reason = "the header states the rules of pointers once, for all functions"
)]

pub mod channels;
pub mod general;
mod pointers;
pub mod process;
pub mod saves;
pub mod worlds;

use crate::failure::{Failure, Status};

/// Runs the body of a function, unless this process is a fork.
fn guard(body: impl FnOnce() -> Result<(), Failure>) -> Status {
    crate::failure::guard(|| {
        process::check()?;
        body()
    })
}
