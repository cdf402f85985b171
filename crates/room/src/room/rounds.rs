//! The steps in which the clients of a room get their rounds of movement.
//!
//! All clients of one rate are due in the same steps, so they get the same frames, acknowledge the same frames, and share
//! encodings. If the threads of the clients need more time than there is between two rounds, a new round reaches clients that have
//! not begun the round before. Clients then get different frames and share fewer encodings, which needs even more time. So the
//! next round of all clients waits until most clients have begun the round before. An overloaded room sends fewer updates a
//! second, and each client gets the same number.

use nowcast_world::STEP_HZ;

use super::members::Members;

/// A round waits only if more clients than this have not begun the round before. So few clients never delay the others.
const LATE_CLIENTS_MIN: usize = 16;
/// A round waits only if more than one in this number of clients has not begun the round before.
const LATE_SHARE: usize = 8;
/// Maximum steps for which a due round waits. At 20 rounds a second, each client gets at least five.
const WAIT_STEPS_MAX: u64 = 9;

/// The clients whose rounds are common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Crowd {
    clients: usize,
    /// Clients that have not begun the round that was last requested.
    late: usize,
    /// The highest rate of a client, in rounds a second.
    hz_max: u32,
}

impl Crowd {
    pub(super) fn of(members: &Members) -> Self {
        let mut crowd = Self::default();
        for member in &members.seated {
            if let Some(has_begun) = member.client.sink().has_begun_round() {
                crowd.clients += 1;
                crowd.late += usize::from(!has_begun);
                crowd.hz_max = crowd.hz_max.max(member.client.network_hz());
            }
        }
        crowd
    }

    fn is_behind(&self) -> bool {
        self.late > LATE_CLIENTS_MIN && self.late * LATE_SHARE > self.clients
    }
}

/// The rounds of one room.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// The first of the steps in which rounds wait.
    waiting_since: Option<u64>,
}

/// The rounds of a room in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StepRounds {
    tick: u64,
    /// The first step whose common rounds begin in this step or later.
    since: u64,
    waits: bool,
}

impl Rounds {
    /// Decides whether the common rounds of a step wait.
    pub(super) fn step(&mut self, tick: u64, crowd: impl FnOnce() -> Crowd) -> StepRounds {
        let crowd = crowd();
        let since = self.waiting_since.unwrap_or(tick).min(tick);
        let is_due = is_due(since, tick, crowd.hz_max);
        let waits = is_due && crowd.is_behind() && tick - since < WAIT_STEPS_MAX;
        self.waiting_since = waits.then_some(since);
        StepRounds { tick, since, waits }
    }
}

impl StepRounds {
    /// Whether due common rounds wait for a later step.
    pub(super) fn wait(&self) -> bool {
        self.waits
    }

    /// Whether a client with this rate begins a common round: a round of this step, or of a step whose rounds waited.
    pub(super) fn begins(&self, hz: u32) -> bool {
        !self.waits && is_due(self.since, self.tick, hz)
    }

    /// Whether a client with this rate, whose rounds never wait, is due.
    pub(super) fn is_due(&self, hz: u32) -> bool {
        is_due(self.tick, self.tick, hz)
    }
}

/// Whether a client with this rate is due in one of these steps. Rates that do not divide 60 alternate between neighbouring
/// intervals.
fn is_due(first: u64, last: u64, hz: u32) -> bool {
    let rounds_until = |tick: u64| tick * u64::from(hz) / u64::from(STEP_HZ);
    rounds_until(last) != rounds_until(first.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn crowd(clients: usize, late: usize) -> Crowd {
        Crowd { clients, late, hz_max: 20 }
    }

    /// Returns the steps in which a client with this rate begins rounds, of the first 600 steps.
    fn begun(hz: u32, mut crowd: impl FnMut(u64) -> Crowd) -> Vec<u64> {
        let mut rounds = Rounds::default();
        (1..=600).filter(|&tick| rounds.step(tick, || crowd(tick)).begins(hz)).collect()
    }

    #[test]
    fn every_rate_is_kept_to_the_snapshot() {
        for hz in 5..=60 {
            let of_rate = begun(hz, |_| Crowd { hz_max: hz, ..crowd(1_000, 125) });
            assert_eq!(of_rate.len(), hz as usize * 10);
            let plain = (1..=600).filter(|&tick| Rounds::default().step(tick, Crowd::default).is_due(hz));
            assert_eq!(plain.count(), hz as usize * 10);
        }
    }

    #[test]
    fn rounds_wait_until_most_clients_have_begun_the_round_before() {
        // A thread that needs 7 steps for the round of all clients.
        let last = std::cell::Cell::new(0);
        let mut rounds = Rounds::default();
        let mut begun = Vec::new();
        let mut delayed = 0;
        for tick in 1..=600 {
            let late = 1_000u64.saturating_sub((tick - last.get()) * 1_000 / 7) as usize;
            let step = rounds.step(tick, || crowd(1_000, if last.get() == 0 { 0 } else { late }));
            delayed += u64::from(step.wait());
            if step.begins(20) {
                begun.push(tick);
                last.set(tick);
            }
        }
        assert!(begun.windows(2).all(|pair| pair[1] - pair[0] == 7), "{begun:?}");
        assert!(begun.len() > 80 && delayed > 200, "{} rounds, {delayed} steps", begun.len());
    }

    #[test]
    fn clients_of_all_rates_begin_waiting_rounds_in_the_same_step() {
        let is_late = |tick: u64| crowd(100, if tick % 20 < 8 { 100 } else { 0 });
        let (fast, slow) = (begun(20, is_late), begun(5, is_late));
        assert_eq!(slow.len(), 49, "the round of step 600 still waits");
        assert!(slow.iter().all(|tick| fast.contains(tick)), "{fast:?} {slow:?}");
    }

    #[test]
    fn rounds_wait_no_longer_than_the_limit() {
        let stuck = begun(20, |_| crowd(1_000, 1_000));
        assert!(stuck.windows(2).all(|pair| pair[1] - pair[0] <= 3 + WAIT_STEPS_MAX), "{stuck:?}");
        assert!(stuck.len() >= 50, "{} rounds", stuck.len());
    }

    #[test]
    fn few_late_clients_delay_no_round() {
        for (clients, late) in [(16, 16), (1, 1), (1_000, 125), (200, 17)] {
            assert_eq!(begun(20, |_| crowd(clients, late)).len(), 200, "{late} of {clients}");
        }
    }

    #[test]
    fn a_count_of_steps_that_begins_anew_delays_no_round() {
        let mut rounds = Rounds::default();
        assert!(rounds.step(603, || crowd(1_000, 1_000)).wait());
        assert!(rounds.step(3, || crowd(1_000, 0)).begins(20));
    }
}
