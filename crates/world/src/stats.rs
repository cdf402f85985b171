//! Counters of a world.

/// Counters of refused and repaired values. All are zero in normal operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Inputs and poses with numbers outside their bounds, refused by [`crate::World::apply`].
    pub invalid_refused: u64,
    /// Commands dropped by [`crate::World::apply`], because its queue was full.
    pub commands_dropped: u64,
    /// Refused commands, each reported by an [`crate::Event::Refused`].
    pub commands_refused: u64,
    /// Targets of owners that were clamped to the limits of their kind.
    pub moves_clamped: u64,
    /// Unpolled events that were dropped, oldest first.
    pub events_dropped: u64,
    /// Bodies whose pose or velocity was not finite. They were reset to their last valid pose, at rest.
    pub bodies_repaired: u64,
    /// Steps after which a part of the recorded past was dropped early, because too many entities moved.
    pub past_shortened: u64,
    /// Attributes of a restored world that did not fit its definition and were set to their defaults.
    pub attributes_defaulted: u64,
}
