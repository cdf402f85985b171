//! `lab freshness`: the age of shown state, and the latency of events.

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
