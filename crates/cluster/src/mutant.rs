//! Deliberate faults of the core. Tests switch one on and show that the checker of the simulation finds it. They exist only with
//! the feature `mutants`, which only tests enable.

/// A deliberate fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "mutants"), allow(unreachable_pub, reason = "exported with the feature"))]
pub enum Mutant {
    /// After a refused append, the owner appends again behind the foreign frames.
    NoFence,
    /// A refused append counts as stored although a foreign frame stands in its place.
    TrustForeignFrame,
    /// An append without an answer counts as stored.
    TrustUnknownAppend,
    /// An owner acts although its lease is over.
    IgnoreLease,
    /// A server counts its lease from the answer to a renewal.
    CountFromAnswer,
    /// Other servers do not wait for the end of a lease.
    ClaimEarly,
    /// A server whose life was ended goes on.
    IgnoreDeath,
    /// A starting server does not wait until the lease of its previous start is over.
    EnterAtOnce,
    /// A server takes a room from a holder whose lease is over, and does not end the holder's life.
    KeepHolder,
    /// A server takes a room although its holder renewed the lease at the last moment.
    IgnoreRenewal,
    /// A holder that the directory did not show yet counts as dead.
    TrustOldServers,
    /// A room is taken although a holder lives.
    IgnoreOwner,
    /// A claim ignores the target of a move.
    IgnoreTarget,
    /// A new owner takes the epoch of the last one.
    SameEpoch,
    /// A room is owned although the update of its entry was refused.
    TrustRefusedTake,
    /// A server releases a room that another server has taken.
    ReleaseForeign,
    /// The source of a move goes on after it gave the room to the target.
    KeepOwning,
    /// The room stops and goes to the target although the directory did not confirm the target.
    MoveUnnamed,
    /// The end of a move makes the target the owner although the source still has the room.
    EndAtTarget,
    /// The correction after a move removes the target of a later move of the room.
    EndLaterMove,
    /// A move goes on after its server has lost the room and has taken the room again.
    KeepDeparture,
    /// Nobody corrects the directory after a move.
    LeaveTarget,
    /// A server takes a room with the epoch that was given to its former life.
    TakeForFormerLife,
}

/// The deliberate faults of a server: none, unless a test plants one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    #[cfg(feature = "mutants")]
    mutant: Option<Mutant>,
}

impl Faults {
    /// Plants a fault.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub fn of(mutant: Mutant) -> Faults {
        Faults { mutant: Some(mutant) }
    }

    /// Whether a test wants this fault. It is always false without the feature `mutants`.
    pub(crate) fn has(self, mutant: Mutant) -> bool {
        #[cfg(feature = "mutants")]
        let has = self.mutant == Some(mutant);
        #[cfg(not(feature = "mutants"))]
        let has = {
            let _ = mutant;
            false
        };
        has
    }
}
