//! Assigns entities to sections: entities that are near each other and have the same interest policy share a section.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::grid_snapshot::{GridDelta, GridSnapshot};
use crate::row::Quantization;
use crate::section::{Layer, NewSection, Policy, Reach, Section, SectionId, cell_of};
use crate::snapshot_pool::SnapshotPool;
use crate::update_rates::RatesId;

/// Steps for which an empty section is kept, because entities often return.
const EMPTY_STEPS_MAX: u32 = 600;

/// Maximum number of empty sections.
const EMPTY_MAX: usize = 4_096;

/// An entity, as input of [`InterestGrid::update`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Placed {
    /// The entity's id.
    pub id: u32,
    /// The position of the entity's centre, in metres.
    pub position: [f32; 3],
    /// The clients that receive the entity.
    pub reach: Reach,
    /// The extent of the entity from its centre, in metres.
    pub size: f32,
    /// The quantization of the entity's transform.
    pub quantization: Quantization,
    /// The update rates of the entity.
    pub rates: RatesId,
}

/// An entity that moved to another section. Entities that do not exist, or that no client receives, are in no section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Relocation {
    /// The entity's id.
    pub id: u32,
    /// The former section.
    pub from: Option<SectionId>,
    /// The present section.
    pub to: Option<SectionId>,
}

/// All sections of a world and the section of each entity. Each world has one grid; clients read its [`GridSnapshot`].
#[derive(Debug, Default)]
pub struct InterestGrid {
    /// Ordered by id.
    entities: Vec<Known>,
    sections: BTreeMap<SectionId, Arc<Section>>,
    layers: BTreeMap<Policy, Layer>,
    /// Empty sections with the tick at which they became empty, oldest first.
    emptied: VecDeque<(u32, SectionId)>,
    /// Sections that the newest update added.
    created: Vec<SectionId>,
    /// Sections that the newest update added, changed or removed.
    touched: BTreeSet<SectionId>,
    relocations: Vec<Relocation>,
    last_section: u32,
    snapshots: SnapshotPool<GridSnapshot>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    placed: Placed,
    section: Option<SectionId>,
}

impl InterestGrid {
    /// Records all positions at step `tick` of the world, modulo 2^32. `placed` is ordered by id. Returns the entities that
    /// changed their section. The result stays available until the next call.
    pub fn update(&mut self, tick: u32, placed: impl Iterator<Item = Placed>) -> &[Relocation] {
        self.end_step();
        let mut placed = placed.peekable();
        let mut entities = std::mem::take(&mut self.entities);
        // In most steps no entity comes or goes. Then each known entity is updated in its place.
        let mut stayed = 0;
        while let Some(known) = entities.get_mut(stayed)
            && let Some(placed) = placed.next_if(|placed| placed.id == known.placed.id)
        {
            if known.placed != placed {
                known.section = self.follow(tick, &placed, known.section);
                known.placed = placed;
            }
            stayed += 1;
        }
        let mut before = entities.split_off(stayed).into_iter().peekable();
        for placed in placed {
            while let Some(gone) = before.next_if(|known| known.placed.id < placed.id) {
                self.relocate(tick, gone.placed.id, gone.section, None);
            }
            let known = before.next_if(|known| known.placed.id == placed.id);
            if let Some(known) = known.filter(|known| known.placed == placed) {
                entities.push(known);
                continue;
            }
            let section = self.follow(tick, &placed, known.and_then(|known| known.section));
            entities.push(Known { placed, section });
        }
        for gone in before {
            self.relocate(tick, gone.placed.id, gone.section, None);
        }
        self.entities = entities;
        self.sweep(tick);
        self.publish();
        &self.relocations
    }

    /// Ends the step of the newest update. Afterwards nothing counts as created or relocated until the next update.
    pub fn end_step(&mut self) {
        self.created.clear();
        self.relocations.clear();
    }

    /// Returns the section of an entity that was in the section `from`, and moves the entity there.
    fn follow(&mut self, tick: u32, placed: &Placed, from: Option<SectionId>) -> Option<SectionId> {
        let section = self.section_for(placed, from);
        if section != from {
            self.relocate(tick, placed.id, from, section);
        }
        section
    }

    /// Publishes a new snapshot if anything changed.
    fn publish(&mut self) {
        if self.touched.is_empty() {
            return;
        }
        let touched = std::mem::take(&mut self.touched).into_iter();
        let sections = touched.map(|id| (id, self.sections.get(&id).cloned())).collect();
        self.snapshots.publish(GridDelta { version: self.last_section, sections });
    }

    /// Returns the immutable snapshot of all sections that clients read.
    pub fn grid_snapshot(&self) -> &Arc<GridSnapshot> {
        self.snapshots.newest()
    }

    /// Returns the result of the newest [`InterestGrid::update`].
    pub fn relocations(&self) -> &[Relocation] {
        &self.relocations
    }

    /// Returns all entities with their sections, ordered by id.
    pub fn entities(&self) -> impl Iterator<Item = (&Placed, Option<SectionId>)> {
        self.entities.iter().map(|known| (&known.placed, known.section))
    }

    /// Returns the section of an entity.
    pub fn section_of(&self, id: u32) -> Option<SectionId> {
        let at = self.entities.binary_search_by_key(&id, |known| known.placed.id).ok()?;
        self.entities[at].section
    }

    /// The entities in a section, ordered by id.
    pub fn members(&self, section: SectionId) -> &[u32] {
        self.sections.get(&section).map_or(&[], |section| &section.members)
    }

    /// Returns the sections that the newest update added; see [`crate::InterestSet::add_created`].
    pub fn created(&self) -> Vec<NewSection> {
        let section = |id: &SectionId| Some(NewSection { id: *id, section: self.sections.get(id)?.clone() });
        self.created.iter().filter_map(section).collect()
    }

    /// Returns the section for a position. An entity keeps its section until its position is clearly outside of the section.
    fn section_for(&mut self, placed: &Placed, before: Option<SectionId>) -> Option<SectionId> {
        let policy = placed.reach.policy()?;
        let stays = before.filter(|id| {
            let section = &self.sections[id];
            section.policy == policy && section.nearly_holds(placed.position)
        });
        stays.or_else(|| Some(self.section_at(policy, placed.position)))
    }

    fn section_at(&mut self, policy: Policy, position: [f32; 3]) -> SectionId {
        let layer = self.layers.entry(policy).or_insert_with(|| Layer::new(policy));
        let cell = layer.side.map_or([0; 3], |side| cell_of(position, side));
        if let Some(known) = layer.by_cell.get(&cell) {
            return *known;
        }
        self.last_section += 1;
        let id = SectionId(self.last_section);
        layer.by_cell.insert(cell, id);
        let bounds = layer.bounds(cell);
        let section = Section { policy, cell, bounds, members: Vec::new(), emptied_tick: 0 };
        self.sections.insert(id, Arc::new(section));
        self.touched.insert(id);
        self.created.push(id);
        id
    }

    fn relocate(&mut self, tick: u32, id: u32, from: Option<SectionId>, to: Option<SectionId>) {
        if let Some(from) = from {
            self.touched.insert(from);
            let section = self.sections.get_mut(&from).expect("a section exists while it has an entity");
            let section = Arc::make_mut(section);
            if let Ok(place) = section.members.binary_search(&id) {
                section.members.remove(place);
            }
            if section.members.is_empty() {
                section.emptied_tick = tick;
                self.emptied.push_back((tick, from));
            }
        }
        if let Some(to) = to {
            self.touched.insert(to);
            let section = self.sections.get_mut(&to).expect("the section was just found");
            let members = &mut Arc::make_mut(section).members;
            let place = members.partition_point(|member| *member < id);
            members.insert(place, id);
        }
        if from != to {
            self.relocations.push(Relocation { id, from, to });
        }
    }

    /// Removes sections that have been empty for a long time, and the oldest empty sections beyond the limit.
    fn sweep(&mut self, tick: u32) {
        while let Some(&(since, id)) = self.emptied.front() {
            if self.emptied.len() <= EMPTY_MAX && tick.wrapping_sub(since) < EMPTY_STEPS_MAX {
                return;
            }
            self.emptied.pop_front();
            let is_unused =
                |section: &Arc<Section>| section.members.is_empty() && section.emptied_tick == since;
            if !self.sections.get(&id).is_some_and(is_unused) {
                continue;
            }
            if let Some(section) = self.sections.remove(&id) {
                self.touched.insert(id);
                if let Some(layer) = self.layers.get_mut(&section.policy) {
                    layer.by_cell.remove(&section.cell);
                    if layer.by_cell.is_empty() {
                        self.layers.remove(&section.policy);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(id: u32, x: f32) -> Placed {
        Placed {
            id,
            position: [x, 0.0, 0.0],
            reach: Reach::Within(40.0),
            size: 0.0,
            quantization: Quantization::default(),
            rates: RatesId::default(),
        }
    }

    #[test]
    fn an_entity_that_walks_along_a_border_stays_in_its_section() {
        let mut interest_grid = InterestGrid::default();
        interest_grid.update(0, [at(1, 4.0), at(2, 16.0)].into_iter());
        let [here, there] = [1, 2].map(|id| interest_grid.section_of(id).unwrap());
        assert_ne!(here, there, "cells of 10 m");
        for (tick, x) in [5.5, 4.5, 7.0, 3.0, 7.4].into_iter().enumerate() {
            assert_eq!(interest_grid.update(tick as u32, [at(1, x), at(2, 16.0)].into_iter()), []);
        }
        let moved = Relocation { id: 1, from: Some(here), to: Some(interest_grid.section_of(1).unwrap()) };
        let now = interest_grid.update(9, [at(1, 7.6), at(2, 16.0)].into_iter());
        assert_eq!(now.len(), 1);
        assert_eq!((now[0].from, now[0].to.is_some()), (moved.from, true));
        assert_eq!(
            interest_grid.update(10, [at(1, 5.0), at(2, 16.0)].into_iter()),
            [],
            "nor does it flap back"
        );
        assert_eq!(interest_grid.update(11, [at(2, 16.0)].into_iter())[0].to, None, "it is gone");
    }

    #[test]
    fn empty_sections_are_kept_for_a_while_and_not_for_ever() {
        let mut interest_grid = InterestGrid::default();
        for tick in 0..3_000 {
            interest_grid.update(tick, [at(1, tick as f32 * 20.0)].into_iter());
            assert!(interest_grid.sections.len() <= EMPTY_STEPS_MAX as usize + 2);
        }
        assert_eq!(interest_grid.members(interest_grid.section_of(1).unwrap()), [1]);
        interest_grid.update(4_000, std::iter::empty());
        interest_grid.update(5_000, std::iter::empty());
        assert_eq!(
            (interest_grid.sections.len(), interest_grid.layers.len(), interest_grid.emptied.len()),
            (0, 0, 0)
        );
    }

    #[test]
    fn positions_beyond_all_sections_map_to_a_section() {
        let mut interest_grid = InterestGrid::default();
        let far = Placed { position: [f32::MAX, f32::MIN, f32::NAN], ..at(1, 0.0) };
        interest_grid.update(0, [far].into_iter());
        interest_grid.update(1, [far].into_iter());
        assert_eq!(interest_grid.entities().count(), 1);
    }
}
