//! The sections of a [`GridSnapshot`] that one client sees.

use crate::grid_snapshot::GridSnapshot;
use crate::interest_edge::{InterestEdge, OnEdge};
use crate::section::{NewSection, Policy, Ranges, Section, SectionId, enter_metres};

/// The sections that one client sees, and therefore receives. [`InterestSet::refresh`] returns the sections that
/// entered and left.
#[derive(Clone, Debug)]
pub struct InterestSet {
    /// The player of the client.
    player: u32,
    /// In order.
    seen: Vec<SectionId>,
    /// The eye position of the last refresh.
    eye: Option<[f32; 3]>,
    looked: Option<Looked>,
    /// Whether some sections in range are not added yet, because of the limit of entities for each refresh.
    is_behind: bool,
    /// The sections that may enter or leave while the eye is near the position of the last complete search.
    edge: InterestEdge,
    /// Memory of the last complete search, for reuse.
    near: Vec<Near>,
}

/// A section near the eye.
#[derive(Clone, Copy, Debug)]
struct Near {
    id: SectionId,
    /// Its distance from the eye, in metres.
    away: f32,
    /// Number of entities.
    len: u32,
    /// Whether it is so near that it comes into sight.
    enters: bool,
    /// Whether it is so near that it stays in sight.
    stays: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Looked {
    version: u32,
    from: Option<[f32; 3]>,
}

/// The sections that one call of [`InterestSet::refresh`] added and removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterestChange {
    /// Added sections, the nearest first.
    pub entered: Vec<SectionId>,
    /// Removed sections, in order.
    pub left: Vec<SectionId>,
}

impl InterestSet {
    /// Makes the interest set of a player, which is empty at first.
    pub fn new(player: u32) -> Self {
        let (seen, edge, near) = Default::default();
        Self { player, seen, eye: None, looked: None, is_behind: false, edge, near }
    }

    /// Memory of the set on the heap, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.seen.capacity() * size_of::<SectionId>()
            + self.near.capacity() * size_of::<Near>()
            + self.edge.heap_bytes()
    }

    /// Whether a section is in sight.
    pub fn sees(&self, section: SectionId) -> bool {
        self.seen.binary_search(&section).is_ok()
    }

    /// The sections in sight, in order.
    pub fn sections(&self) -> &[SectionId] {
        &self.seen
    }

    /// Adds the new sections of a grid update, if they are in range. Call it for each update, before the relocations of the
    /// update are handled. Otherwise an entity that moves into a new section would be out of sight for a moment. A new
    /// section contains only entities that moved there in that update.
    pub fn add_created(&mut self, created: &[NewSection]) {
        if self.looked.is_none() {
            return;
        }
        for NewSection { id, section } in created {
            if self.can_see(section) {
                self.add(*id);
            }
        }
    }

    /// Updates the set for `eye`, in metres. Without an eye it uses the last eye position; if there never was one,
    /// everything is in range. About `entities_max` entities enter in one call, the nearest first; later calls add the
    /// others.
    pub fn refresh(
        &mut self,
        grid_snapshot: &GridSnapshot,
        eye: Option<[f32; 3]>,
        entities_max: usize,
    ) -> InterestChange {
        self.eye = eye.or(self.eye);
        let looked = Looked { version: grid_snapshot.version(), from: self.eye };
        let stir = grid_snapshot.stir_metres();
        if !self.is_behind && self.looked.is_some_and(|before| before.is_like(&looked, stir)) {
            return InterestChange::default();
        }
        self.looked = Some(looked);
        // Most refreshes end here. A complete search remembers the sections near a border of sight, and until the eye has walked
        // as far as the memory reaches, only these can enter or leave.
        if !self.is_behind && self.extend_edge(grid_snapshot) {
            return self.refresh_edge(grid_snapshot, entities_max);
        }
        let (mut near, mut edge) = (std::mem::take(&mut self.near), std::mem::take(&mut self.edge));
        near.clear();
        edge.restart(looked.version, self.eye, stir);
        grid_snapshot.visit_near(self.player, self.eye, |id, section, ranges| {
            let found = self.near(id, section, ranges);
            near.extend(Some(found).filter(|near| near.stays));
            if let Some(ranges) = ranges {
                edge.add(OnEdge { id, bounds: section.bounds, ranges, is_seen: false }, found.away);
            }
        });
        near.sort_unstable_by_key(|near| near.id);
        let left = self.remove_out_of_range(grid_snapshot, &near);
        let entered = self.add_in_range(&mut near, entities_max);
        edge.finish(|id| self.sees(id));
        (self.near, self.edge) = (near, edge);
        InterestChange { entered, left }
    }

    /// Adds new sections to the edge, if it holds for the eye. Returns whether only sections of the edge can have entered or left.
    fn extend_edge(&mut self, grid_snapshot: &GridSnapshot) -> bool {
        let Some(version) = self.edge.version_for(self.eye) else { return false };
        if version == grid_snapshot.version() {
            return true;
        }
        let Some(created) = grid_snapshot.created_since(version) else { return false };
        let mut has_unlimited = false;
        let Self { player, seen, edge, .. } = self;
        let created = created.filter_map(|(id, section)| {
            let Some(radius) = section.policy.radius() else {
                // Only a complete search finds sections without a radius.
                has_unlimited |= section.policy == Policy::Always || section.policy == Policy::Owner(*player);
                return None;
            };
            let is_seen = seen.binary_search(&id).is_ok();
            Some(OnEdge { id, bounds: section.bounds, ranges: Ranges::of(radius), is_seen })
        });
        let is_extended = edge.extend(grid_snapshot.version(), created);
        is_extended && !has_unlimited
    }

    /// Updates the set from the sections of its edge, because no other section can have entered or left.
    fn refresh_edge(&mut self, grid_snapshot: &GridSnapshot, entities_max: usize) -> InterestChange {
        let Some(eye) = self.eye else { return InterestChange::default() };
        let (mut near, mut edge) = (std::mem::take(&mut self.near), std::mem::take(&mut self.edge));
        near.clear();
        let mut left = Vec::new();
        for on_edge in edge.sections_mut() {
            let away = on_edge.distance(eye);
            if on_edge.is_seen && away > on_edge.ranges.leave_metres {
                on_edge.is_seen = false;
                left.push(on_edge.id);
            } else if !on_edge.is_seen
                && away <= on_edge.ranges.enter_metres
                && let Some(section) = grid_snapshot.section(on_edge.id)
            {
                // If `entities_max` leaves this section out, `is_behind` makes the next refresh a complete search, which sets all
                // marks again.
                on_edge.is_seen = true;
                let len = section.len() as u32;
                near.push(Near { id: on_edge.id, away, len, enters: true, stays: true });
            }
        }
        left.sort_unstable();
        for id in &left {
            if let Ok(place) = self.seen.binary_search(id) {
                self.seen.remove(place);
            }
        }
        // A section that no longer exists was empty when it was removed.
        left.retain(|id| grid_snapshot.section(*id).is_some());
        let entered = self.add_in_range(&mut near, entities_max);
        (self.near, self.edge) = (near, edge);
        InterestChange { entered, left }
    }

    /// Compares the distance of a section with its ranges.
    fn near(&self, id: SectionId, section: &Section, ranges: Option<Ranges>) -> Near {
        let away = self.eye.map_or(0.0, |eye| section.distance(eye));
        let enters = ranges.is_none_or(|ranges| away <= ranges.enter_metres);
        let stays = enters || ranges.is_none_or(|ranges| away <= ranges.leave_metres);
        Near { id, away, len: section.len() as u32, enters, stays }
    }

    /// Removes the sections that are not among `near`, which is in the order of the ids.
    fn remove_out_of_range(&mut self, grid_snapshot: &GridSnapshot, near: &[Near]) -> Vec<SectionId> {
        let mut left = Vec::new();
        let mut near = near.iter().peekable();
        self.seen.retain(|id| {
            while near.next_if(|near| near.id < *id).is_some() {}
            let stays = near.peek().is_some_and(|near| near.id == *id);
            // A section that no longer exists was empty when it was removed.
            if !stays && grid_snapshot.section(*id).is_some() {
                left.push(*id);
            }
            stays
        });
        left
    }

    /// Adds sections that are in range now.
    fn add_in_range(&mut self, near: &mut Vec<Near>, entities_max: usize) -> Vec<SectionId> {
        // A complete search passes sections in the order of their ids, so one pass over `seen` finds those in sight. The edge
        // passes only sections that are out of sight.
        let mut seen = self.seen.iter().peekable();
        near.retain(|near| {
            while seen.next_if(|seen| **seen < near.id).is_some() {}
            near.enters && seen.peek().is_none_or(|seen| **seen != near.id)
        });
        near.sort_unstable_by(|a, b| a.away.total_cmp(&b.away).then(a.id.cmp(&b.id)));
        let mut count = 0;
        let mut entered = Vec::new();
        self.is_behind = false;
        for Near { id, len, .. } in near {
            // A section larger than the maximum of one step is added alone.
            let len = *len as usize;
            if count > 0 && count + len > entities_max {
                self.is_behind = true;
                break;
            }
            count += len;
            self.add(*id);
            entered.push(*id);
        }
        entered
    }

    /// Whether a section comes into sight.
    fn can_see(&self, section: &Section) -> bool {
        match section.policy {
            Policy::Always => true,
            Policy::Owner(player) => player == self.player,
            Policy::Within { .. } => {
                let radius = section.policy.radius().unwrap_or_default();
                self.eye.is_none_or(|eye| section.distance(eye) <= enter_metres(radius))
            }
        }
    }

    fn add(&mut self, id: SectionId) {
        if let Err(place) = self.seen.binary_search(&id) {
            self.seen.insert(place, id);
        }
    }
}

impl Looked {
    fn is_like(&self, now: &Self, stir: f32) -> bool {
        let is_near = match (self.from, now.from) {
            (Some(a), Some(b)) => (0..3).all(|axis| (a[axis] - b[axis]).abs() < stir),
            (a, b) => a.is_none() && b.is_none(),
        };
        self.version == now.version && is_near
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interest_grid::{InterestGrid, Placed};
    use crate::row::Quantization;
    use crate::section::Reach;
    use crate::update_rates::RatesId;

    fn row(reach: Reach) -> impl Iterator<Item = Placed> {
        let at = |id| [id as f32 * 10.0, 0.0, 0.0];
        (1..=100).map(move |id| Placed {
            id,
            position: at(id),
            reach,
            size: 0.0,
            quantization: Quantization::default(),
            rates: RatesId::default(),
        })
    }

    fn seen(interest_set: &InterestSet, interest_grid: &InterestGrid) -> Vec<u32> {
        let mut ids: Vec<u32> = interest_set
            .sections()
            .iter()
            .flat_map(|section| interest_grid.members(*section))
            .copied()
            .collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn entities_within_the_radius_are_visible_and_few_beyond_it() {
        let mut interest_grid = InterestGrid::default();
        interest_grid.update(0, row(Reach::Within(60.0)));
        let mut interest_set = InterestSet::new(1);
        for step in 0..900 {
            let x = 500.0 - (step as f32 - 450.0).abs();
            interest_set.refresh(interest_grid.grid_snapshot(), Some([x, 0.0, 0.0]), usize::MAX);
            let seen = seen(&interest_set, &interest_grid);
            for id in 1..=100 {
                let away = (id as f32 * 10.0 - x).abs();
                assert!(away > 60.0 || seen.contains(&id), "{id} is near to {x}");
                assert!(away < 100.0 || !seen.contains(&id), "{id} is far from {x}");
            }
        }
    }

    #[test]
    fn walking_to_and_fro_at_a_border_changes_nothing() {
        let mut interest_grid = InterestGrid::default();
        interest_grid.update(0, row(Reach::Within(60.0)));
        let mut interest_set = InterestSet::new(1);
        for x in [300.0, 306.0, 300.0] {
            interest_set.refresh(interest_grid.grid_snapshot(), Some([x, 0.0, 0.0]), usize::MAX);
        }
        for x in [306.0, 300.0, 306.0, 300.0] {
            assert_eq!(
                interest_set.refresh(interest_grid.grid_snapshot(), Some([x, 0.0, 0.0]), usize::MAX),
                InterestChange::default()
            );
        }
    }

    #[test]
    fn a_walk_along_the_edge_sees_the_sections_of_complete_searches() {
        let mut interest_grid = InterestGrid::default();
        let field = (0..1_600).map(|at| Placed {
            id: at + 1,
            position: [(at % 40) as f32 * 4.0, 0.0, (at / 40) as f32 * 4.0],
            reach: if at % 3 == 0 { Reach::Within(20.0) } else { Reach::Within(29.0) },
            size: 0.0,
            quantization: Quantization::default(),
            rates: RatesId::default(),
        });
        interest_grid.update(0, field);
        let snapshot = interest_grid.grid_snapshot();
        let (mut walker, mut searcher) = (InterestSet::new(1), InterestSet::new(1));
        let mut changes = 0;
        for step in 0..4_000 {
            // A curve with loops, sharp turns and rests.
            let along = (step - step % 7) as f32 * 0.013;
            let eye = [80.0 + 50.0 * libm::sinf(along), 0.0, 80.0 + 40.0 * libm::sinf(along * 1.7)];
            let change = walker.refresh(snapshot, Some(eye), 60);
            searcher.edge = InterestEdge::default();
            assert_eq!(change, searcher.refresh(snapshot, Some(eye), 60), "step {step}");
            assert_eq!(walker.sections(), searcher.sections(), "step {step}");
            changes += change.entered.len() + change.left.len();
        }
        assert!(changes > 1_000, "{changes} changes");
    }

    #[test]
    fn new_sections_enter_like_those_of_complete_searches() {
        let mut interest_grid = InterestGrid::default();
        let (mut walker, mut searcher) = (InterestSet::new(1), InterestSet::new(1));
        let (mut extended, mut entered) = (0, 0);
        for step in 0..2_500u32 {
            // Every third step one entity appears at another place, and the oldest one goes. Empty places are removed later.
            let placed = (step / 3 + 1..step / 3 + 60).map(|id| Placed {
                id,
                position: [(id * 37 % 101) as f32, 0.0, (id * 61 % 97) as f32],
                reach: if id % 500 == 0 { Reach::Owner(1) } else { Reach::Within(20.0) },
                size: 0.0,
                quantization: Quantization::default(),
                rates: RatesId::default(),
            });
            interest_grid.update(step, placed);
            let snapshot = interest_grid.grid_snapshot();
            let along = (step - step % 5) as f32 * 0.011;
            let eye = [50.0 + 30.0 * libm::sinf(along), 0.0, 50.0 + 25.0 * libm::sinf(along * 1.3)];
            let change = walker.refresh(snapshot, Some(eye), 60);
            searcher.edge = InterestEdge::default();
            assert_eq!(change, searcher.refresh(snapshot, Some(eye), 60), "step {step}");
            let existing = |set: &InterestSet| -> Vec<SectionId> {
                set.sections().iter().copied().filter(|id| snapshot.section(*id).is_some()).collect()
            };
            assert_eq!(existing(&walker), existing(&searcher), "step {step}");
            extended += usize::from(walker.edge.is_extended());
            entered += change.entered.len();
        }
        assert!(extended > 100 && entered > 200, "{extended} steps, {entered} sections");
    }

    #[test]
    fn policies_select_the_clients_that_see_an_entity() {
        let mut interest_grid = InterestGrid::default();
        let reaches = [Reach::Always, Reach::Owner(1), Reach::Owner(2), Reach::Never, Reach::Within(10.0)];
        let far = |(at, reach)| Placed {
            id: at as u32 + 1,
            position: [900.0, 0.0, 0.0],
            reach,
            size: 0.0,
            quantization: Quantization::default(),
            rates: RatesId::default(),
        };
        interest_grid.update(0, reaches.into_iter().enumerate().map(far));
        let mut interest_set = InterestSet::new(1);
        interest_set.refresh(interest_grid.grid_snapshot(), Some([0.0; 3]), usize::MAX);
        assert_eq!(seen(&interest_set, &interest_grid), [1, 2]);
        let mut spectator = InterestSet::new(2);
        spectator.refresh(interest_grid.grid_snapshot(), None, usize::MAX);
        assert_eq!(
            seen(&spectator, &interest_grid),
            [1, 3, 5],
            "without an eye a client sees public entities"
        );
    }

    #[test]
    fn sections_over_the_limit_enter_nearest_first() {
        let mut interest_grid = InterestGrid::default();
        interest_grid.update(0, row(Reach::Within(400.0)));
        let mut interest_set = InterestSet::new(1);
        let mut looks = 0;
        let mut before = 0;
        loop {
            let change = interest_set.refresh(interest_grid.grid_snapshot(), Some([10.0, 0.0, 0.0]), 10);
            if change.entered.is_empty() {
                break;
            }
            looks += 1;
            let seen = seen(&interest_set, &interest_grid);
            assert!(seen.len() > before && seen == (1..=seen.len() as u32).collect::<Vec<_>>(), "{seen:?}");
            before = seen.len();
        }
        assert!(looks > 3 && before >= 40, "{looks} looks, {before} seen");
    }
}
