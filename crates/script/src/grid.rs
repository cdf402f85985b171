//! Grids over the ground of a world: which cells somebody can walk on, and paths between places.

use mlua::{Lua, Table, Value as Luau, Vector};
use nowcast_world::{ColliderShape, Filter, Motion, Pose, Scene};

use crate::fields::{Declared, Fields, array};
use crate::handle::{refused, with_scene};
use crate::meter::charge;
use crate::path;

/// Maximum number of cells of a survey.
const CELLS_MAX: usize = 16_384;
/// Work units for one survey cell.
const UNITS_A_CELL: u64 = 8;
/// Body parts that a survey's queries examine for one work unit.
const LOOKED_AT_A_UNIT: u64 = 4;
/// The steepest walkable ground, as the cosine of its slope (56°), which is the limit of walkers.
const WALKABLE_COSINE: f32 = 0.555;
/// A floor exactly at the bottom of the area belongs to the area: this many metres below it are searched, too.
const FLOOR_MARGIN: f32 = 0.01;
/// Maximum distance in cells between the end of a path and the free cell that stands for it.
const SNAP_MAX: isize = 2;

/// The ground in the middle of a cell.
#[derive(Clone, Copy)]
struct Ground {
    /// In metres.
    height: f32,
    /// The tangent of its slope.
    slope: f32,
}

/// The survey of one cell.
#[derive(Clone, Copy)]
struct Place {
    /// The walkable ground; `None` if there is none.
    ground: Option<Ground>,
    has_room: bool,
}

/// The area of a survey.
struct Area {
    /// The corner at which x, y and z are least, in metres.
    low: [f32; 3],
    /// The height of the area, in metres.
    height: f32,
    cell: f32,
    width: usize,
    depth: usize,
    person: ColliderShape,
    person_height: f32,
    climb: f32,
}

/// Surveys the fixed bodies of an area: `world.grid`.
pub(crate) fn survey(lua: &Lua, fields: &Table) -> mlua::Result<Table> {
    let area = Area::read(&Fields::of(fields, "grid")).map_err(mlua::Error::runtime)?;
    charge((area.width * area.depth) as u64 * UNITS_A_CELL)?;
    let places = with_scene(|scene| area.places(scene))?;
    let blocked = lua.create_table()?;
    for cell in 0..places.len() {
        if area.is_blocked(&places, cell) {
            blocked.raw_set(cell + 1, true)?;
        }
    }
    let grid = lua.create_table_with_capacity(0, 5)?;
    grid.raw_set("width", area.width)?;
    grid.raw_set("depth", area.depth)?;
    grid.raw_set("blocked", blocked)?;
    let [x, y, z] = area.low;
    grid.raw_set("at", Luau::Vector(Vector::new(x, y, z)))?;
    grid.raw_set("cell", area.cell)?;
    Ok(grid)
}

impl Area {
    fn read(fields: &Fields<'_>) -> Declared<Area> {
        fields.nothing_else(&["at", "size", "cell", "radius", "height", "climb"])?;
        let needed = |name: &str| {
            fields.vector(name)?.ok_or_else(|| format!("grid.{name} is missing: a vector is expected"))
        };
        let (at, size) = (needed("at")?, needed("size")?);
        let number = |name: &str, otherwise: f32, least: f32, most: f32| {
            let value = fields.number(name)?.unwrap_or(otherwise);
            let is_within = (least..=most).contains(&value);
            is_within
                .then_some(value)
                .ok_or_else(|| format!("grid.{name} is {value}: {least} to {most} is expected"))
        };
        let cell = number("cell", 0.5, 0.1, 10.0)?;
        let radius = number("radius", 0.35, 0.05, 5.0)?;
        let person_height = number("height", 1.8, 2.0 * radius, 20.0)?;
        let climb = number("climb", 0.3, 0.0, 5.0)?;
        let are_sizes = size.iter().all(|edge| *edge > 0.0 && edge.is_finite());
        let [width, depth] = [size[0], size[2]].map(|edge| (edge / cell).ceil() as usize);
        if !are_sizes || width.saturating_mul(depth) > CELLS_MAX {
            return Err(format!(
                "grid.size: {} x {} m in cells of {cell} m are {width} x {depth} cells, and a grid has 1 to {CELLS_MAX}: take larger cells or a smaller area",
                size[0], size[2]
            ));
        }
        let low = [0, 1, 2].map(|axis| at[axis] - size[axis] * 0.5);
        // The steps that a walker climbs are below the tested shape.
        let tested = (person_height - climb).max(2.0 * radius);
        let person = ColliderShape::Capsule { radius, height: tested };
        Ok(Area { low, height: size[1], cell, width, depth, person, person_height: tested, climb })
    }

    fn places(&self, scene: &mut Scene) -> mlua::Result<Vec<Place>> {
        let filter = Filter { motion: Some(Motion::Fixed), ..Filter::default() };
        let mut places = Vec::with_capacity(self.width * self.depth);
        for number in 0..self.width * self.depth {
            let [x, z] = middle(self.low, self.cell, self.width, number);
            let top = [x, self.low[1] + self.height, z];
            let reach = self.height + FLOOR_MARGIN;
            let hit = scene.cast_ray(top, [0.0, -1.0, 0.0], reach, filter).map_err(refused)?;
            let ground =
                hit.filter(|hit| hit.distance > 0.0 && hit.normal[1] >= WALKABLE_COSINE).map(|hit| {
                    let cosine = hit.normal[1].min(1.0);
                    Ground { height: hit.point[1], slope: (1.0 - cosine * cosine).sqrt() / cosine }
                });
            let has_room = match ground {
                None => false,
                Some(Ground { height, .. }) => {
                    let position = [x, height + self.climb + self.person_height * 0.5, z];
                    let pose = Pose { position, ..Pose::IDENTITY };
                    scene.overlaps(&self.person, pose, filter).map_err(refused)?.is_empty()
                }
            };
            charge(scene.take_query_cost() / LOOKED_AT_A_UNIT)?;
            places.push(Place { ground, has_room });
        }
        Ok(places)
    }

    /// Whether nobody can stand in a cell, or the ground falls off beside it.
    fn is_blocked(&self, places: &[Place], cell: usize) -> bool {
        let Place { ground: Some(ground), has_room: true } = places[cell] else { return true };
        let (x, z) = ((cell % self.width) as isize, (cell / self.width) as isize);
        [(-1, 0), (1, 0), (0, -1), (0, 1)].into_iter().any(|(dx, dz)| {
            let beside = inside(self.width, self.depth, x + dx, z + dz);
            beside.and_then(|beside| places[beside].ground).is_some_and(|beside| {
                let rise = self.climb + self.cell * ground.slope.max(beside.slope);
                ground.height - beside.height > rise
            })
        })
    }
}

/// The middle of a cell: x and z, in metres.
fn middle(low: [f32; 3], cell: f32, width: usize, number: usize) -> [f32; 2] {
    let (x, z) = ((number % width) as f32, (number / width) as f32);
    [low[0] + (x + 0.5) * cell, low[2] + (z + 0.5) * cell]
}

fn inside(width: usize, depth: usize, x: isize, z: isize) -> Option<usize> {
    let is_inside = (0..width as isize).contains(&x) && (0..depth as isize).contains(&z);
    is_inside.then(|| z as usize * width + x as usize)
}

/// A surveyed grid, as `world.path` reads it.
struct Grid {
    low: [f32; 3],
    cell: f32,
    width: usize,
    depth: usize,
    is_blocked: Vec<bool>,
}

/// Returns the corners of the shortest path between two places, or nil: `world.path`.
pub(crate) fn find(lua: &Lua, map: &Table, from: Vector, to: Vector) -> mlua::Result<Option<Table>> {
    let (width, depth) = path::measures(map)?;
    let (at, cell): (Option<Vector>, Option<f32>) = (map.get("at")?, map.get("cell")?);
    let (Some(at), Some(cell)) = (at, cell.filter(|cell| *cell > 0.0)) else {
        return Err(mlua::Error::runtime(
            "a path between vectors needs a grid of world.grid, with `at` and `cell`",
        ));
    };
    let is_blocked = path::blocked_cells(map, width, depth)?;
    let grid = Grid { low: array(at), cell, width, depth, is_blocked };
    let (Some(first), Some(last)) = (grid.free_cell(array(from)), grid.free_cell(array(to))) else {
        return Ok(None);
    };
    let Some(cells) = path::shortest(width, &grid.is_blocked, first, last)? else { return Ok(None) };
    let corners = grid.corners(first, &cells)?;
    let places = lua.create_table_with_capacity(corners.len(), 0)?;
    for (index, cell) in corners.iter().enumerate() {
        let [x, z] = middle(grid.low, grid.cell, width, *cell);
        places.raw_set(index + 1, Luau::Vector(Vector::new(x, grid.low[1], z)))?;
    }
    // The path ends at the place itself, unless that place is blocked.
    if grid.cell_of(array(to)).is_some_and(|cell| !grid.is_blocked[cell]) {
        places.raw_set(corners.len(), Luau::Vector(to))?;
    }
    Ok(Some(places))
}

impl Grid {
    fn column(&self, place: [f32; 3]) -> (isize, isize) {
        let along = |axis: usize| ((place[axis] - self.low[axis]) / self.cell).floor() as isize;
        (along(0), along(2))
    }

    fn cell_of(&self, place: [f32; 3]) -> Option<usize> {
        let (x, z) = self.column(place);
        inside(self.width, self.depth, x, z)
    }

    /// Returns the free cell that is nearest to a place. Of equally near cells, the one with the smaller number wins.
    fn free_cell(&self, place: [f32; 3]) -> Option<usize> {
        let (x, z) = self.column(place);
        let span = -SNAP_MAX..=SNAP_MAX;
        let near = span.clone().flat_map(|dz| span.clone().map(move |dx| (dx, dz)));
        let free = near.filter_map(|(dx, dz)| {
            let cell = inside(self.width, self.depth, x.saturating_add(dx), z.saturating_add(dz))?;
            (!self.is_blocked[cell]).then_some((dx * dx + dz * dz, cell))
        });
        free.min().map(|(_, cell)| cell)
    }

    /// Returns the cells at which a path turns, and its last cell, which is the first one if the path leads to no other cell. A
    /// person walks straight between two of them.
    fn corners(&self, first: usize, cells: &[usize]) -> mlua::Result<Vec<usize>> {
        let mut corners = Vec::new();
        let mut from = first;
        let mut before = first;
        for &cell in cells {
            if !self.is_straight(from, cell)? {
                corners.push(before);
                from = before;
            }
            before = cell;
        }
        if before != first || corners.is_empty() {
            corners.push(before);
        }
        Ok(corners)
    }

    /// Whether all cells that the line between the middles of two cells touches are free.
    fn is_straight(&self, from: usize, to: usize) -> mlua::Result<bool> {
        let column = |cell: usize| ((cell % self.width) as isize, (cell / self.width) as isize);
        let ((mut x, mut z), (end_x, end_z)) = (column(from), column(to));
        let (across, along) = ((end_x - x).abs(), (end_z - z).abs());
        let (dx, dz) = ((end_x - x).signum(), (end_z - z).signum());
        charge((across + along) as u64 / 4)?;
        let is_free = |x: isize, z: isize| !self.is_blocked[z as usize * self.width + x as usize];
        // Twice the area between the line and the corner that the next step passes, in cells.
        let mut side = across - along;
        while (x, z) != (end_x, end_z) {
            // The line passes exactly through a corner, so it touches both cells beside the corner.
            if side == 0 && !(is_free(x + dx, z) && is_free(x, z + dz)) {
                return Ok(false);
            }
            let (goes_x, goes_z) = (side >= 0, side <= 0);
            if goes_x {
                x += dx;
                side -= 2 * along;
            }
            if goes_z {
                z += dz;
                side += 2 * across;
            }
            if !is_free(x, z) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
