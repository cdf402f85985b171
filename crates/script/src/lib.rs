//! Behaviour of worlds in Luau: a sandbox with limits, for text that strangers wrote.
//!
//! One rule drives this crate: **a script is a function of its text and of the calls made on it.** It reads no clock and no file,
//! draws no randomness of its own, and is stopped by counted work, never by time; so the same commands give the same world again.
//! The crate never touches a file either: [`Sources`] are texts by path.
//!
//! | what a script may try | what holds it |
//! | --- | --- |
//! | an endless loop, also inside `pcall` | each call and turn costs a unit of [`Limits::work_per_step_max`]; once it is spent, every further one fails |
//! | text or tables without end | [`Limits::memory_bytes_max`]; what a step throws away counts until the step ends |
//! | library functions that run long in one call | they are charged by the size of what they touch |
//! | patterns that try everything | each step of the matcher costs more on a longer text |
//! | deep calls, coroutines in coroutines | the interpreter's own limits, told as an error with its line |
//! | files, clocks, bytecode, the interpreter | they are not there, and the error says what is there instead |
//! | changing the library for others | everything that scripts share is frozen |
//! | addresses, the moment of a collection | no weak tables; a table as text is `table` |

mod fault;
mod garbage;
mod limits;
mod maths;
mod meter;
mod sandbox;
mod sources;

pub use fault::{Fault, FaultKind};
pub use limits::{LINE_BYTES_MAX, Limits};
pub use sandbox::Sandbox;
pub use sources::{MAIN, Sources};
