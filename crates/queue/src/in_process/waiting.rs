//! Sleeping threads.

use crate::Refusal;
use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::Instant;

/// Sleeps until notified, unless the deadline has passed.
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
