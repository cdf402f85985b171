//! Lets threads sleep.

use crate::Refusal;
use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::Instant;

/// Sleeps until it is notified or the deadline passes.
pub(super) fn sleep<'a, T>(
    condition: &Condvar,
    state: MutexGuard<'a, T>,
    deadline: Option<Instant>,
) -> (MutexGuard<'a, T>, Result<(), Refusal>) {
    let Some(deadline) = deadline else {
        return (condition.wait(state).unwrap_or_else(PoisonError::into_inner), Ok(()));
    };
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return (state, Err(Refusal::TimedOut));
    }
    (condition.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0, Ok(()))
}
