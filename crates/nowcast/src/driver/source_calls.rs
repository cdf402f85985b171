//! Calls the application's source. The source runs without any lock. If it calls its own channel, takes a long time or panics,
//! only the packets of its own channel are affected.

use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};

use nowcast_session::{PacketOutcome, Session, Source};

use crate::channel::{BoxedSource, PutBatch};

/// The source of a session, and the results of its calls.
#[derive(Default)]
pub(super) struct SourceCalls {
    source: Option<BoxedSource>,
    /// Messages that the source has put, until they are put into the session. The source learns of refusals at its next call.
    pub(super) fed: PutBatch,
    /// Outcomes that the source has not received yet.
    outcomes: Vec<PacketOutcome>,
}

impl SourceCalls {
    /// Replaces the source. Returns the previous one, which must be dropped without any lock.
    pub(super) fn replace(&mut self, source: BoxedSource) -> Option<BoxedSource> {
        self.fed = PutBatch::default();
        self.source.replace(source)
    }

    /// Collects the outcomes of the source's bytes. Returns whether any wait for the source.
    pub(super) fn collect_outcomes(&mut self, session: &mut Session) -> bool {
        let outcomes = iter::from_fn(|| session.poll_outcome());
        self.outcomes.extend(outcomes.filter(|_| self.source.is_some()));
        !self.outcomes.is_empty()
    }

    /// Passes the outcomes to the source, and then runs its code, which may panic. Must not be called under a lock. Returns those
    /// of `lanes` on which the source has something to send.
    ///
    /// # Errors
    /// Fails with the reason why the channel must end. The source has then been dropped.
    pub(super) fn call(
        &mut self,
        lanes: u16,
        run: impl FnOnce(&mut dyn Source<PutBatch>, &mut PutBatch),
    ) -> Result<u16, &'static str> {
        let Self { source: Some(source), fed, outcomes } = self else { return Ok(0) };
        let called = catch_unwind(AssertUnwindSafe(|| {
            outcomes.drain(..).for_each(|outcome| source.on_outcome(outcome));
            run(&mut **source, fed);
            source.waiting(lanes)
        }));
        called.map_err(|_| {
            self.fed = PutBatch::default();
            discard(self.source.take());
            "the source panicked"
        })
    }
}

/// Drops a source. Must not be called under a lock. A panic ends only that source.
pub(super) fn discard(source: Option<BoxedSource>) {
    // The process's panic hook has printed the cause.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(source)));
}
