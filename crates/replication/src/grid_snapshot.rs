//! The sections of a world and their entities at one step: immutable, shared by all readers.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::section::{Layer, Section, SectionId, cell_of, leave_metres};
use crate::snapshot_pool::ApplyDelta;

/// All sections of a world with their entities at one step; see [`crate::InterestGrid::grid_snapshot`].
#[derive(Clone, Debug, Default)]
pub struct GridSnapshot {
    sections: BTreeMap<SectionId, Arc<Section>>,
    layers: Vec<Layer>,
    /// A number that changes whenever a section is added.
    version: u32,
}

/// The sections that changed since the step before; `None` for removed sections.
#[derive(Debug)]
pub struct GridDelta {
    pub(crate) version: u32,
    pub(crate) sections: Vec<(SectionId, Option<Arc<Section>>)>,
}

impl ApplyDelta for GridSnapshot {
    type Change = GridDelta;

    fn apply(&mut self, delta: &GridDelta) {
        self.version = delta.version;
        for (id, section) in &delta.sections {
            match section {
                Some(section) => self.draw(*id, section),
                None => self.erase(*id),
            }
        }
    }
}

impl GridSnapshot {
    fn draw(&mut self, id: SectionId, section: &Arc<Section>) {
        if self.sections.insert(id, Arc::clone(section)).is_some() {
            return;
        }
        let at = self.layers.iter().position(|layer| layer.policy == section.policy).unwrap_or_else(|| {
            self.layers.push(Layer::new(section.policy));
            self.layers.len() - 1
        });
        self.layers[at].by_cell.insert(section.cell, id);
    }

    fn erase(&mut self, id: SectionId) {
        let Some(section) = self.sections.remove(&id) else { return };
        for layer in self.layers.iter_mut().filter(|layer| layer.policy == section.policy) {
            // Another section may already use this cell.
            if layer.by_cell.get(&section.cell) == Some(&id) {
                layer.by_cell.remove(&section.cell);
            }
        }
        self.layers.retain(|layer| !layer.by_cell.is_empty());
    }

    /// The entities in a section, ordered by id.
    pub fn members(&self, section: SectionId) -> &[u32] {
        self.sections.get(&section).map_or(&[], |section| &section.members)
    }

    pub(crate) fn section(&self, id: SectionId) -> Option<&Section> {
        self.sections.get(&id).map(Arc::as_ref)
    }

    pub(crate) fn sections(&self) -> impl Iterator<Item = (SectionId, &Section)> {
        self.sections.iter().map(|(id, section)| (*id, section.as_ref()))
    }

    /// A number that changes whenever a section is added.
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// Calls `visit` for every section that `eye` may see, and possibly for some sections that it cannot see.
    pub(crate) fn visit_near(&self, eye: [f32; 3], mut visit: impl FnMut(SectionId, &Section)) {
        for layer in &self.layers {
            let Some((side, radius)) = layer.side.zip(layer.policy.radius()) else {
                layer.by_cell.values().for_each(|id| visit(*id, &self.sections[id]));
                continue;
            };
            let reach = leave_metres(radius) + side;
            let [low, high] = [-reach, reach].map(|by| cell_of(eye.map(|at| at + by), side));
            let columns = (0..2).map(|axis| i64::from(high[axis]) - i64::from(low[axis]) + 1);
            if columns.product::<i64>() > layer.by_cell.len() as i64 {
                layer.by_cell.values().for_each(|id| visit(*id, &self.sections[id]));
                continue;
            }
            for x in low[0]..=high[0] {
                for y in low[1]..=high[1] {
                    let column = layer.by_cell.range([x, y, low[2]]..=[x, y, high[2]]);
                    column.for_each(|(_, id)| visit(*id, &self.sections[id]));
                }
            }
        }
    }
}
