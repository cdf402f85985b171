//! The sections of a world and their entities at one step: immutable, shared by all readers.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use crate::section::{Cell, IdHash, Policy, Ranges, Section, SectionId, cell_of, stir_metres};
use crate::snapshot_pool::ApplyDelta;

/// Maximum number of new sections that are remembered: those of many rounds, because avatars rarely come to places where nobody was.
const CREATED_MAX: usize = 128;

/// All sections of a world with their entities at one step; see [`crate::InterestGrid::grid_snapshot`].
#[derive(Clone, Debug, Default)]
pub struct GridSnapshot {
    sections: HashMap<SectionId, Arc<Section>, IdHash>,
    /// The sections of all policies with cells.
    layers: Vec<Layer>,
    /// The sections that one player sees, by player.
    owned: BTreeMap<u32, Cells>,
    /// A number that changes whenever a section is added: the greatest id of all sections so far.
    version: u32,
    /// The sections that were added last, in the order of their ids.
    created: VecDeque<SectionId>,
    /// The greatest id that was removed from this list.
    forgotten: u32,
}

/// The sections of one policy.
#[derive(Clone, Debug)]
struct Layer {
    policy: Policy,
    /// The side of its cells, in metres.
    side: f32,
    cells: Cells,
}

/// Sections by their cells. Worlds are wider than high, so the height comes last in a key: then a row of cells along one axis
/// is one range of keys.
type Cells = BTreeMap<Cell, (SectionId, Arc<Section>)>;

fn key(cell: Cell) -> Cell {
    [cell[0], cell[2], cell[1]]
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
        let before = std::mem::replace(&mut self.version, delta.version);
        for (id, section) in &delta.sections {
            if id.0 > before {
                self.note_created(*id);
            }
            match section {
                Some(section) => self.draw(*id, section),
                None => self.erase(*id),
            }
        }
    }
}

impl GridSnapshot {
    fn note_created(&mut self, id: SectionId) {
        if self.created.len() == CREATED_MAX {
            self.forgotten = self.created.pop_front().map_or(0, |oldest| oldest.0);
        }
        self.created.push_back(id);
    }

    /// Returns the sections that were added after a version. Returns `None` if they are not known any more.
    pub(crate) fn created_since(&self, version: u32) -> Option<impl Iterator<Item = (SectionId, &Section)>> {
        let newer = self.created.iter().rev().take_while(move |id| id.0 > version);
        let found = newer.filter_map(|id| Some((*id, self.section(*id)?)));
        (version >= self.forgotten).then_some(found)
    }

    fn draw(&mut self, id: SectionId, section: &Arc<Section>) {
        self.sections.insert(id, Arc::clone(section));
        let cells = match (section.policy, section.policy.side()) {
            (Policy::Owner(player), _) => self.owned.entry(player).or_default(),
            (policy, side) => {
                let at = self.layers.iter().position(|layer| layer.policy == policy).unwrap_or_else(|| {
                    let side = side.unwrap_or(f32::MAX);
                    self.layers.push(Layer { policy, side, cells: Cells::new() });
                    self.layers.len() - 1
                });
                &mut self.layers[at].cells
            }
        };
        cells.insert(key(section.cell), (id, Arc::clone(section)));
    }

    fn erase(&mut self, id: SectionId) {
        let Some(section) = self.sections.remove(&id) else { return };
        let erase_from = |cells: &mut Cells| {
            // Another section may already use this cell.
            if cells.get(&key(section.cell)).is_some_and(|(other, _)| *other == id) {
                cells.remove(&key(section.cell));
            }
        };
        if let Policy::Owner(player) = section.policy {
            if let Some(cells) = self.owned.get_mut(&player) {
                erase_from(cells);
            }
            return self.owned.retain(|_, cells| !cells.is_empty());
        }
        let layers = self.layers.iter_mut().filter(|layer| layer.policy == section.policy);
        layers.for_each(|layer| erase_from(&mut layer.cells));
        self.layers.retain(|layer| !layer.cells.is_empty());
    }

    /// The entities in a section, ordered by id.
    pub fn members(&self, section: SectionId) -> &[u32] {
        self.sections.get(&section).map_or(&[], |section| &section.members)
    }

    pub(crate) fn section(&self, id: SectionId) -> Option<&Section> {
        self.sections.get(&id).map(Arc::as_ref)
    }

    /// A number that changes whenever a section is added.
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// An eye that moved less than this on each axis has the same sections in range, in metres.
    pub(crate) fn stir_metres(&self) -> f32 {
        let radii = self.layers.iter().filter_map(|layer| layer.policy.radius());
        radii.map(stir_metres).fold(f32::MAX, f32::min)
    }

    /// Calls `visit`, with the section's ranges, for every section that `player` may see from this eye, and possibly for some
    /// other sections. Without an eye, distance hides nothing, and there are no ranges.
    pub(crate) fn visit_near(
        &self,
        player: u32,
        eye: Option<[f32; 3]>,
        mut visit: impl FnMut(SectionId, &Section, Option<Ranges>),
    ) {
        let owned = self.owned.get(&player).into_iter().flat_map(BTreeMap::values);
        owned.for_each(|(id, section)| visit(*id, section, None));
        for Layer { policy, side, cells } in &self.layers {
            let Some((eye, radius)) = eye.zip(policy.radius()) else {
                cells.values().for_each(|(id, section)| visit(*id, section, None));
                continue;
            };
            let ranges = Ranges::of(radius);
            let reach = ranges.leave_metres + side;
            let [low, high] = [-reach, reach].map(|by| key(cell_of(eye.map(|at| at + by), *side)));
            if i64::from(high[0]) - i64::from(low[0]) >= cells.len() as i64 {
                cells.values().for_each(|(id, section)| visit(*id, section, Some(ranges)));
                continue;
            }
            for x in low[0]..=high[0] {
                let row = cells.range([x, low[1], low[2]]..=[x, high[1], high[2]]);
                for (cell, (id, section)) in row {
                    if (low[2]..=high[2]).contains(&cell[2]) {
                        visit(*id, section, Some(ranges));
                    }
                }
            }
        }
    }
}
