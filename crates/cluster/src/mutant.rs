//! Deliberate faults of the core. Tests switch one on and show that the checker of the simulation finds it. They exist only with
//! the feature `mutants`, which only tests enable.

/// A deliberate fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "mutants"), allow(unreachable_pub, reason = "exported with the feature"))]
pub enum Mutant {
    /// After a refused append, the owner appends again behind the foreign frames.
    NoFence,
    /// An owner confirms a batch when it sends the append, without the acknowledgement.
    ConfirmEarly,
    /// An owner acts although its lease is over.
    IgnoreLease,
    /// Other servers do not wait for the end of a lease.
    ClaimEarly,
    /// A new owner takes the epoch of the last one.
    SameEpoch,
    /// A hand-over ignores different hashes.
    IgnoreHash,
    /// The journal is purged before the snapshot is verified.
    PurgeEarly,
    /// The source of a hand-over goes on after the time limit without asking the journal.
    ResumeUnasked,
    /// A claim ignores the target of a hand-over.
    IgnoreTarget,
}
