//! The frames of a group that a viewer has acknowledged, and the choice of baselines for the next frame.

use crate::FRAMES_KEPT;

/// The ticks of the baselines that a frame is encoded against, newest first. Unused places are `None`.
pub(crate) type Baselines = [Option<u32>; 3];

/// The newest acknowledged frame of a group, and the acknowledged frames among the 63 steps before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Acked {
    newest: u32,
    /// Bit `n` stands for the frame `n` steps before the newest. If bit 0 is clear, there is no frame.
    ages: u64,
}

/// Maximum age of a baseline, in steps.
const AGE_MAX: u32 = u64::BITS - 1;

impl Acked {
    /// The newest tick.
    pub(crate) fn newest(&self) -> Option<u32> {
        (self.ages != 0).then_some(self.newest)
    }

    /// Whether the viewer has the frame of `tick`.
    pub(crate) fn has(&self, tick: u32) -> bool {
        let age = self.newest.wrapping_sub(tick);
        age <= AGE_MAX && self.ages >> age & 1 == 1
    }

    /// Records that the viewer also has the frame of `tick`.
    pub(crate) fn add(&mut self, tick: u32) {
        let Some(newest) = self.newest() else {
            *self = Self { newest: tick, ages: 1 };
            return;
        };
        let ahead = tick.wrapping_sub(newest) as i32;
        if ahead > 0 {
            self.ages = self.ages.checked_shl(ahead.unsigned_abs()).unwrap_or(0) | 1;
            self.newest = tick;
        } else if ahead.unsigned_abs() <= AGE_MAX {
            self.ages |= 1 << ahead.unsigned_abs();
        }
    }

    /// Returns the best baselines for the frame of `tick`. Bit `n` of `usable` marks the frame `n` steps before the
    /// newest as usable.
    ///
    /// The first baseline is the newest frame. If possible, the distance between the baselines equals the distance of the
    /// new frame from the first baseline, because the rounding errors of closely spaced baselines grow with the distance of
    /// the extrapolation. If that is not possible, the baselines are at least evenly spaced, because the codec mistakes
    /// uneven spacing for curved movement, which costs bits.
    pub(crate) fn baselines(&self, tick: u32, usable: u64) -> Baselines {
        let (newest, ages) = (self.newest, self.ages & usable);
        if ages & 1 == 0 {
            return [None; 3];
        }
        let wanted = tick.wrapping_sub(newest).clamp(1, AGE_MAX / 2);
        let before = |age: u32| newest.wrapping_sub(age);
        let has = |age: u32| ages >> age & 1 == 1;
        if wanted <= AGE_MAX / 2 && has(wanted) && has(2 * wanted) {
            return [Some(newest), Some(before(wanted)), Some(before(2 * wanted))];
        }
        let evenly_spaced = ages & even_bits(ages) & !1;
        if let Some(gap) = nearest(evenly_spaced, wanted, Tie::Upper) {
            return [Some(newest), Some(before(gap)), Some(before(2 * gap))];
        }
        let Some(gap) = nearest(ages & !1, wanted, Tie::Upper) else {
            return [Some(newest), None, None];
        };
        let older = ages & u64::MAX.checked_shl(gap + 1).unwrap_or(0);
        [Some(newest), Some(before(gap)), nearest(older, 2 * gap, Tie::Lower).map(before)]
    }
}

/// The bits at even places: bit `n` of the result is bit `2 * n`.
fn even_bits(bits: u64) -> u64 {
    let bits = bits & 0x5555_5555_5555_5555;
    let bits = (bits | bits >> 1) & 0x3333_3333_3333_3333;
    let bits = (bits | bits >> 2) & 0x0F0F_0F0F_0F0F_0F0F;
    let bits = (bits | bits >> 4) & 0x00FF_00FF_00FF_00FF;
    let bits = (bits | bits >> 8) & 0x0000_FFFF_0000_FFFF;
    (bits | bits >> 16) & 0x0000_0000_FFFF_FFFF
}

/// The choice between two bits that are equally near.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tie {
    Upper,
    Lower,
}

/// Returns the set bit that is nearest to `place`.
fn nearest(bits: u64, place: u32, tie: Tie) -> Option<u32> {
    let above = bits.checked_shr(place).filter(|above| *above != 0);
    let above = above.map(|above| place + above.trailing_zeros());
    let below = bits & !u64::MAX.checked_shl(place).unwrap_or(0);
    let below = (below != 0).then(|| below.ilog2());
    match (above, below) {
        (Some(above), Some(below)) => {
            let (up, down) = (above - place, place - below);
            let is_above = up < down || up == down && tie == Tie::Upper;
            Some(if is_above { above } else { below })
        }
        (above, below) => above.or(below),
    }
}

// All stored frames of a group that always moves are possible baselines.
const _: () = assert!(FRAMES_KEPT as u32 == AGE_MAX + 1);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Searches baselines gap by gap.
    fn searched(acked: &Acked, tick: u32, usable: u64) -> Baselines {
        let (newest, ages) = (acked.newest, acked.ages & usable);
        if ages & 1 == 0 {
            return [None; 3];
        }
        let wanted = tick.wrapping_sub(newest).clamp(1, AGE_MAX / 2);
        let before = |age: u32| newest.wrapping_sub(age);
        let has = |age: u32| ages >> age & 1 == 1;
        // Gaps sorted by their difference from the wanted gap. Of two equal differences, the wider gap comes first.
        let mut gaps = (0..AGE_MAX).flat_map(move |off| [wanted + off, wanted.saturating_sub(off)]);
        let even = gaps.clone().find(|gap| (1..=AGE_MAX / 2).contains(gap) && has(*gap) && has(2 * gap));
        if let Some(gap) = even {
            return [Some(newest), Some(before(gap)), Some(before(2 * gap))];
        }
        let Some(gap) = gaps.find(|gap| (1..=AGE_MAX).contains(gap) && has(*gap)) else {
            return [Some(newest), None, None];
        };
        let oldest = (gap + 1..=AGE_MAX).filter(|age| has(*age)).min_by_key(|age| age.abs_diff(2 * gap));
        [Some(newest), Some(before(gap)), oldest.map(before)]
    }

    proptest! {
        #[test]
        fn baselines_equal_those_of_a_search(
            newest: u32,
            ahead in 0u32..100,
            picks: [u64; 3],
            rarely: bool,
        ) {
            let ages = if rarely { picks[0] & picks[1] & picks[2] } else { picks[0] } | 1;
            let acked = Acked { newest, ages };
            let tick = newest.wrapping_add(ahead);
            for usable in [u64::MAX, picks[1] | 1, picks[2] | 1, 0xFFFF, !1] {
                prop_assert_eq!(acked.baselines(tick, usable), searched(&acked, tick, usable));
            }
        }
    }

    fn of(ticks: impl IntoIterator<Item = u32>) -> Acked {
        let mut acked = Acked::default();
        ticks.into_iter().for_each(|tick| acked.add(tick));
        acked
    }

    #[test]
    fn three_frames_are_as_far_apart_as_the_next_one_is_ahead() {
        let all = of((0..40).map(|round| round * 2));
        assert_eq!(all.baselines(80, u64::MAX), [Some(78), Some(76), Some(74)]);
        assert_eq!(all.baselines(84, u64::MAX), [Some(78), Some(72), Some(66)]);
        assert_eq!(all.baselines(500, u64::MAX), [Some(78), Some(48), Some(18)], "as far as is remembered");
        assert_eq!(all.baselines(84, 0x1FF), [Some(78), Some(74), Some(70)], "as far as is kept");
    }

    #[test]
    fn lost_values_are_skipped_evenly() {
        let lossy = of([60, 64, 68, 70, 72, 76, 80]);
        assert_eq!(lossy.baselines(84, u64::MAX), [Some(80), Some(76), Some(72)]);
        let lossier = of([60, 64, 70, 76, 80]);
        assert_eq!(lossier.baselines(84, u64::MAX), [Some(80), Some(70), Some(60)]);
        assert_eq!(
            of([60, 79, 80]).baselines(84, u64::MAX),
            [Some(80), Some(79), Some(60)],
            "if nothing is even"
        );
        assert_eq!(of([80]).baselines(84, u64::MAX), [Some(80), None, None]);
        assert_eq!(of([79, 80]).baselines(84, !1), [None; 3], "the newest is not kept any more");
    }

    #[test]
    fn acknowledgements_come_in_any_order_and_ticks_wrap() {
        let ticks = [3, 1, 5, 7].map(|tick: u32| tick.wrapping_sub(4));
        let acked = of(ticks);
        assert_eq!(acked.newest(), Some(3));
        assert_eq!(acked.baselines(5, u64::MAX), [Some(3), Some(1), Some(u32::MAX)]);
        assert_eq!(
            of([0, 500]).baselines(501, u64::MAX),
            [Some(500), None, None],
            "frames that are too old are not baselines"
        );
        assert_eq!(of([500, 0]).newest(), Some(500));
    }
}
