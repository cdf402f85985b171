//! `lab freshness`: how old what a receiver shows is, and how long events take.

mod ages;
mod findings;
mod plan;
mod run;
pub mod simulated;
mod stream;
pub mod tcp;
pub mod workload;

pub use ages::Ages;
pub use plan::Plan;
pub use stream::Stream;
pub(crate) use stream::{receive, send};
