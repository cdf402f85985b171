//! Named steps of writing, at which a test can kill the process.
//!
//! With the feature `fail-points` the environment variable [`VARIABLE`] names one step and a count, such as
//! `after-commit:3`. When the process has reached the step as often as the count says, it kills itself, by SIGKILL on
//! systems with signals. Without the feature a step does nothing. The step is chosen by an environment variable and not by a
//! hook, because the tests kill the released program in a separate process.

macro_rules! fail_points {
    ($($(#[$doc:meta])+ $point:ident = $name:literal,)+) => {
        /// A step of writing, approximately in the order in which a command passes them.
        #[cfg_attr(not(feature = "fail-points"), expect(unreachable_pub, reason = "only trials name steps"))]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum FailPoint {
            $($(#[$doc])+ $point,)+
        }

        #[cfg(feature = "fail-points")]
        impl FailPoint {
            /// All steps.
            pub const ALL: [FailPoint; [$($name),+].len()] = [$(FailPoint::$point),+];

            /// Returns the name of the step in [`VARIABLE`] and in reports.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(FailPoint::$point => $name),+
                }
            }

            /// Returns the step of this name.
            #[must_use]
            pub fn named(name: &str) -> Option<FailPoint> {
                FailPoint::ALL.into_iter().find(|point| point.name() == name)
            }
        }
    };
}

fail_points! {
    /// The world has applied the commands, but the store does not have them yet.
    BeforeAppend = "before-append",
    /// A batch waits in the queue of the writer.
    AfterAppend = "after-append",
    /// The writer has taken a group of jobs from the queue. The transaction has not begun.
    GroupTaken = "group-taken",
    /// A part of a group is written, in an open transaction.
    BetweenRows = "between-rows",
    /// The whole group is written, but not committed.
    BeforeCommit = "before-commit",
    /// The group is committed, but no caller has been answered.
    AfterCommit = "after-commit",
    /// Some of the callers that wait for a commit were answered.
    BetweenConfirmations = "between-confirmations",
    /// All callers that wait for a commit were answered.
    AfterConfirmations = "after-confirmations",
    /// A world was saved as bytes, but the store does not have them yet.
    SnapshotTaken = "snapshot-taken",
    /// The store has the batch that leads to a snapshot, but the snapshot is not stored yet.
    SnapshotAnnounced = "snapshot-announced",
    /// A snapshot waits in the queue of the writer.
    SnapshotGiven = "snapshot-given",
    /// In an open transaction, the snapshot's row is written, but the row of its world is not.
    SnapshotHalfWritten = "snapshot-half-written",
    /// Snapshots are stored, but no older rows are deleted yet.
    BeforePrune = "before-prune",
    /// In an open transaction, old snapshots are deleted, but the batches before them are not.
    HalfPruned = "half-pruned",
    /// Old rows are deleted, but their pages are not returned to the file system yet.
    AfterPrune = "after-prune",
    /// A new database is complete, but does not have its final name yet.
    DatabaseMade = "database-made",
}

/// Reports that the process is at this step.
#[cfg(not(feature = "fail-points"))]
pub(crate) fn pass(_: FailPoint) {}

#[cfg(feature = "fail-points")]
pub use armed::VARIABLE;
#[cfg(feature = "fail-points")]
pub(crate) use armed::{check_environment, pass};

#[cfg(feature = "fail-points")]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::FailPoint;

    /// The environment variable that names a step and a count.
    pub const VARIABLE: &str = "NOWCAST_FAIL_POINT";

    /// The step at which this process kills itself.
    #[derive(Debug)]
    struct Armed {
        point: FailPoint,
        passages_left: AtomicU32,
    }

    impl Armed {
        /// Parses a text such as `after-commit:3`.
        fn read(text: &str) -> Option<Armed> {
            let (name, passages) = text.split_once(':')?;
            let passages = passages.parse().ok().filter(|passages| *passages > 0)?;
            Some(Armed { point: FailPoint::named(name)?, passages_left: AtomicU32::new(passages) })
        }

        /// Whether the process must end now, because it reached the step as often as the count says.
        fn is_due(&self, point: FailPoint) -> bool {
            self.point == point && self.passages_left.fetch_sub(1, Ordering::Relaxed) == 1
        }
    }

    static ARMED: OnceLock<Option<Armed>> = OnceLock::new();

    fn armed() -> Option<&'static Armed> {
        let read = || {
            let text = std::env::var(VARIABLE).ok()?;
            Some(
                Armed::read(&text)
                    .unwrap_or_else(|| panic!("{VARIABLE} is {text:?}, which is not a step and a number")),
            )
        };
        ARMED.get_or_init(read).as_ref()
    }

    /// Reads [`VARIABLE`] now instead of at the first step.
    ///
    /// # Panics
    /// Panics if the variable names no step. Otherwise a test that kills nothing would seem to prove that nothing is lost.
    pub(crate) fn check_environment() {
        armed();
    }

    /// Records that the process is at this step, and kills it if this is the chosen step.
    pub(crate) fn pass(point: FailPoint) {
        if armed().is_some_and(|armed| armed.is_due(point)) {
            die();
        }
    }

    fn die() -> ! {
        #[cfg(unix)]
        {
            use rustix::process::{Signal, getpid, kill_process};
            // A process is always allowed to kill itself. If the signal fails, the process aborts.
            let _ = kill_process(getpid(), Signal::KILL);
        }
        std::process::abort()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_passage_that_is_named_is_the_one_and_no_other_step_counts() {
            let armed = Armed::read("after-commit:3").expect("the text is a step and a number");
            let passed = [
                FailPoint::AfterCommit,
                FailPoint::BeforeCommit,
                FailPoint::AfterCommit,
                FailPoint::AfterCommit,
            ];
            assert_eq!(passed.map(|point| armed.is_due(point)), [false, false, false, true]);
        }

        #[test]
        fn each_step_has_its_own_name_and_an_unknown_name_is_refused() {
            for point in FailPoint::ALL {
                assert_eq!(FailPoint::named(point.name()), Some(point));
            }
            for text in
                ["", "after-commit", "after-commit:0", "after-commit:x", "sometime:1", "after-commit:1:1"]
            {
                assert!(Armed::read(text).is_none(), "{text}");
            }
        }
    }
}
