//! The steps in which the clients of a room get their rounds of movement.
//!
//! All clients of one rate are due in the same steps, so they get the same frames, acknowledge the same frames, and share
//! encodings. If the threads of the clients need more time than there is between two rounds, a new round reaches clients that have
//! not begun the previous round. Clients then get different frames and share fewer encodings, which needs even more time. So the
//! next round of all clients waits until most clients have begun the previous round. An overloaded room sends fewer updates a
//! second, and each client gets the same number.

use nowcast_world::STEP_HZ;

use super::members::Members;

/// A round waits only if more clients than this have not begun the previous round. So few clients never delay the others.
const LATE_CLIENTS_MIN: usize = 16;
/// A round waits only if more than one in this number of clients has not begun the previous round.
const LATE_SHARE: usize = 8;
/// Maximum steps for which a due round waits. At 20 rounds a second, each client gets at least five.
const WAIT_STEPS_MAX: u64 = 9;

/// The clients that have common rounds, and are due for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Crowd {
    clients: usize,
    /// Clients that have not begun the round that was last requested.
    late: usize,
}

impl Crowd {
    /// `is_due` states whether clients with a rate are due.
    pub(super) fn of(members: &Members, is_due: impl Fn(u32) -> bool) -> Self {
        let mut crowd = Self::default();
        for member in members.seated.iter().filter(|member| is_due(member.client.network_hz())) {
            if let Some(has_begun) = member.client.sink().has_begun_round() {
                crowd.clients += 1;
                crowd.late += usize::from(!has_begun);
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StepRounds {
    tick: u64,
    /// The first step whose common rounds begin in this step or later.
    since: u64,
    waits: bool,
}

impl Rounds {
    /// Decides whether the common rounds of a step wait. `crowd` counts the clients whose rates are due in this step.
    pub(super) fn step(
        &mut self,
        tick: u64,
        crowd: impl FnOnce(&dyn Fn(u32) -> bool) -> Crowd,
    ) -> StepRounds {
        let since = self.waiting_since.unwrap_or(tick).min(tick);
        let crowd = crowd(&|hz| is_due(since, tick, hz));
        let waits = crowd.is_behind() && tick - since < WAIT_STEPS_MAX;
        self.waiting_since = waits.then_some(since);
        StepRounds { tick, since, waits }
    }
}

impl StepRounds {
    /// Whether due common rounds wait for a later step.
    pub(super) fn wait(&self) -> bool {
        self.waits
    }

    /// Whether a client with this rate begins a common round, either this step's round or a delayed one.
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

    /// Clients with one rate.
    struct Clients {
        hz: u32,
        count: usize,
        late: usize,
    }

    fn crowd(of_rates: &[Clients], is_due: &dyn Fn(u32) -> bool) -> Crowd {
        let due = || of_rates.iter().filter(|clients| is_due(clients.hz));
        Crowd {
            clients: due().map(|clients| clients.count).sum(),
            late: due().map(|clients| clients.late).sum(),
        }
    }

    /// Returns the steps in which clients with the rate `hz` begin rounds, of the first 600 steps.
    fn begun<const N: usize>(hz: u32, of_rates: impl Fn(u64) -> [Clients; N]) -> Vec<u64> {
        let mut rounds = Rounds::default();
        let mut begins = |tick| rounds.step(tick, |is_due| crowd(&of_rates(tick), is_due)).begins(hz);
        (1..=600).filter(|&tick| begins(tick)).collect()
    }

    #[test]
    fn every_rate_is_kept_to_the_round() {
        for hz in 5..=60 {
            let of_rate = begun(hz, |_| [Clients { hz, count: 1_000, late: 125 }]);
            assert_eq!(of_rate.len(), hz as usize * 10);
            let plain =
                (1..=600).filter(|&tick| Rounds::default().step(tick, |_| Crowd::default()).is_due(hz));
            assert_eq!(plain.count(), hz as usize * 10);
        }
    }

    #[test]
    fn rounds_wait_until_most_clients_have_begun_the_previous_round() {
        // A thread that needs 7 steps for the round of all clients.
        let mut last = None;
        let mut rounds = Rounds::default();
        let mut begun = Vec::new();
        let mut delayed = 0;
        for tick in 1..=600u64 {
            let late = last.map_or(0, |last| 1_000u64.saturating_sub((tick - last) * 1_000 / 7));
            let clients = [Clients { hz: 20, count: 1_000, late: late as usize }];
            let step = rounds.step(tick, |is_due| crowd(&clients, is_due));
            delayed += u64::from(step.wait());
            if step.begins(20) {
                begun.push(tick);
                last = Some(tick);
            }
        }
        assert!(begun.windows(2).all(|pair| pair[1] - pair[0] == 7), "{begun:?}");
        assert!(begun.len() > 80 && delayed > 200, "{} rounds, {delayed} steps", begun.len());
    }

    #[test]
    fn clients_of_all_rates_begin_waiting_rounds_in_the_same_step() {
        let of_rates = |tick: u64| {
            let late = if tick % 20 < 8 { 50 } else { 0 };
            [20, 5].map(|hz| Clients { hz, count: 50, late })
        };
        let (fast, slow) = (begun(20, of_rates), begun(5, of_rates));
        assert_eq!(slow.len(), 49, "the round of step 600 still waits");
        assert!(slow.iter().all(|tick| fast.contains(tick)), "{fast:?} {slow:?}");
    }

    #[test]
    fn clients_of_a_high_rate_do_not_wait_for_clients_that_are_not_due() {
        let of_rates =
            |_| [Clients { hz: 20, count: 1_000, late: 120 }, Clients { hz: 60, count: 17, late: 0 }];
        assert_eq!(begun(60, of_rates).len(), 600);
        // Clients of the low rate still work on their round in the steps between.
        let of_rates = |tick: u64| {
            let late = if tick.is_multiple_of(3) { 0 } else { 1_000 };
            [Clients { hz: 20, count: 1_000, late }, Clients { hz: 60, count: 17, late: 0 }]
        };
        assert_eq!((begun(60, of_rates).len(), begun(20, of_rates).len()), (600, 200));
    }

    #[test]
    fn rounds_wait_no_longer_than_the_limit() {
        let stuck = begun(20, |_| [Clients { hz: 20, count: 1_000, late: 1_000 }]);
        assert!(stuck.windows(2).all(|pair| pair[1] - pair[0] <= 3 + WAIT_STEPS_MAX), "{stuck:?}");
        assert!(stuck.len() >= 50, "{} rounds", stuck.len());
    }

    #[test]
    fn few_late_clients_delay_no_round() {
        for (count, late) in [(16, 16), (1, 1), (1_000, 125), (200, 17)] {
            assert_eq!(begun(20, |_| [Clients { hz: 20, count, late }]).len(), 200, "{late} of {count}");
        }
    }

    #[test]
    fn a_count_of_steps_that_begins_anew_delays_no_round() {
        let mut rounds = Rounds::default();
        let late = [Clients { hz: 20, count: 1_000, late: 1_000 }];
        assert!(rounds.step(603, |is_due| crowd(&late, is_due)).wait());
        assert!(rounds.step(3, |_| Crowd::default()).begins(20));
    }
}
