//! The sections at the edge of an interest set: those that may enter or leave it while the eye stays near one position.

use crate::section::{Ranges, SectionId, distance};

/// An edge holds until the eye has moved by this many times the distance that causes a refresh. Wider edges have more sections,
/// narrower ones are collected more often.
const STIRS: f32 = 10.0;

/// Maximum number of new sections that extend an edge. Then the next search removes the sections that no longer exist.
const EXTENDED_MAX: usize = 64;

/// The part of the distance that is used. The rest is for rounding.
const USED: f32 = 0.98;

/// The sections that may enter or leave an interest set while the eye stays near one position. All other sections are so far
/// inside or outside of the set that this movement cannot change them.
#[derive(Clone, Debug, Default)]
pub(crate) struct InterestEdge {
    /// The version of the grid and the eye for which the sections were collected; `None` if an edge must be collected.
    of: Option<(u32, [f32; 3])>,
    /// The distance from this eye up to which the edge holds, in metres.
    metres: f32,
    sections: Vec<OnEdge>,
    /// Number of sections that were added after the edge was collected.
    extended: usize,
}

/// A section at the edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnEdge {
    pub(crate) id: SectionId,
    /// Two opposite corners of its cell, in metres.
    pub(crate) bounds: [[f32; 3]; 2],
    pub(crate) ranges: Ranges,
    /// Whether it is in the interest set.
    pub(crate) is_seen: bool,
}

impl OnEdge {
    /// Distance from the eye to the section, in metres.
    pub(crate) fn distance(&self, eye: [f32; 3]) -> f32 {
        distance(self.bounds, eye)
    }
}

impl InterestEdge {
    /// Memory of the edge on the heap, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.sections.capacity() * size_of::<OnEdge>()
    }

    /// Returns the grid version since which only sections of this edge can have entered or left, as seen from this eye; `None` if
    /// a new edge must be collected.
    pub(crate) fn version_for(&self, eye: Option<[f32; 3]>) -> Option<u32> {
        let ((version, from), eye) = self.of.zip(eye)?;
        (distance([from; 2], eye) <= USED * self.metres).then_some(version)
    }

    /// Adds sections that were created since the edge was collected, up to this version. Returns whether all of them could be
    /// added; if not, a new edge must be collected.
    pub(crate) fn extend(&mut self, version: u32, created: impl Iterator<Item = OnEdge>) -> bool {
        let Some((of, from)) = &mut self.of else { return false };
        for section in created {
            // A section further inside may enter, too, because it was in no earlier search.
            if section.distance(*from) > section.ranges.leave_metres + self.metres {
                continue;
            }
            if self.extended == EXTENDED_MAX {
                return false;
            }
            self.extended += 1;
            self.sections.push(section);
        }
        *of = version;
        true
    }

    /// Begins a new edge for an eye. An eye that moves less than `stir` metres on each axis causes no refresh.
    pub(crate) fn restart(&mut self, version: u32, eye: Option<[f32; 3]>, stir: f32) {
        self.of = eye.map(|eye| (version, eye));
        self.metres = STIRS * stir;
        self.extended = 0;
        self.sections.clear();
    }

    /// Adds a section at this distance from the eye, if it may enter or leave.
    pub(crate) fn add(&mut self, section: OnEdge, away: f32) {
        let Ranges { enter_metres, leave_metres } = section.ranges;
        let may_enter = away > enter_metres && away <= enter_metres + self.metres;
        let may_leave = away > leave_metres - self.metres && away <= leave_metres;
        if may_enter || may_leave {
            self.sections.push(section);
        }
    }

    /// Completes the edge after the interest set has changed.
    pub(crate) fn finish(&mut self, sees: impl Fn(SectionId) -> bool) {
        let metres = self.metres;
        let Some((_, eye)) = self.of else { return };
        self.sections.retain_mut(|section| {
            section.is_seen = sees(section.id);
            let away = section.distance(eye);
            let Ranges { enter_metres, leave_metres } = section.ranges;
            match section.is_seen {
                true => away > leave_metres - metres,
                false => away <= enter_metres + metres,
            }
        });
    }

    /// Whether new sections extend the edge.
    #[cfg(test)]
    pub(crate) fn is_extended(&self) -> bool {
        self.extended > 0
    }

    /// The sections of the edge.
    pub(crate) fn sections_mut(&mut self) -> impl Iterator<Item = &mut OnEdge> {
        self.sections.iter_mut()
    }
}
