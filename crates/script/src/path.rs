//! Shortest paths on a grid: A* with steps to eight neighbours. Diagonal steps past the corner of a blocked cell are not
//! allowed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use mlua::{Lua, Table};

use crate::meter::charge;

/// Maximum number of cells of a grid.
const CELLS_MAX: usize = 65_536;
/// Costs of a straight and of a diagonal step, times ten.
const STRAIGHT: u32 = 10;
const DIAGONAL: u32 = 14;
/// Number of blocked cells that can be read for one unit of work.
const BLOCKED_A_UNIT: u64 = 4;

/// `map` is { width =, depth =, blocked = { [cell] = true } }, where a cell is numbered `x + (z - 1) * width` from 1
/// upwards, and `from` and `to` are { x =, z = }. Returns the cells of the path without the first, or nil if there is
/// no path.
pub(crate) fn find(lua: &Lua, map: &Table, from: &Table, to: &Table) -> mlua::Result<Option<Table>> {
    let (width, depth) = measures(map)?;
    let cell = |place: &Table| -> mlua::Result<usize> {
        let (x, z): (usize, usize) = (place.get("x")?, place.get("z")?);
        if (1..=width).contains(&x) && (1..=depth).contains(&z) {
            Ok((z - 1) * width + x - 1)
        } else {
            Err(mlua::Error::runtime(format!("cell {x}, {z} is not in a grid of {width} x {depth}")))
        }
    };
    let is_blocked = blocked_cells(map, width, depth)?;
    let Some(cells) = shortest(width, &is_blocked, cell(from)?, cell(to)?)? else { return Ok(None) };
    charge(cells.len() as u64)?;
    let path = lua.create_table_with_capacity(cells.len(), 0)?;
    for (index, cell) in cells.into_iter().enumerate() {
        let place = lua.create_table_with_capacity(0, 2)?;
        place.raw_set("x", cell % width + 1)?;
        place.raw_set("z", cell / width + 1)?;
        path.raw_set(index + 1, place)?;
    }
    Ok(Some(path))
}

/// Reads the width and the depth of a grid.
pub(crate) fn measures(map: &Table) -> mlua::Result<(usize, usize)> {
    let (width, depth): (usize, usize) = (map.get("width")?, map.get("depth")?);
    if width == 0 || depth == 0 || width.saturating_mul(depth) > CELLS_MAX {
        return Err(mlua::Error::runtime(format!(
            "a grid must have 1 to {CELLS_MAX} cells, not {width} x {depth}"
        )));
    }
    Ok((width, depth))
}

/// Reads which cells of a grid are blocked.
pub(crate) fn blocked_cells(map: &Table, width: usize, depth: usize) -> mlua::Result<Vec<bool>> {
    let blocked: Table = map.get("blocked")?;
    let mut is_blocked = vec![false; width * depth];
    charge(is_blocked.len() as u64 / 64)?;
    let mut seen: u64 = 0;
    blocked.for_each(|cell: usize, blocks: bool| {
        seen += 1;
        if seen.is_multiple_of(BLOCKED_A_UNIT) {
            charge(1)?;
        }
        if let Some(place) = cell.checked_sub(1).and_then(|cell| is_blocked.get_mut(cell)) {
            *place = blocks;
        }
        Ok(())
    })?;
    Ok(is_blocked)
}

/// Returns the cells of the shortest path without the first; `None` if there is no path.
pub(crate) fn shortest(
    width: usize,
    is_blocked: &[bool],
    from: usize,
    to: usize,
) -> mlua::Result<Option<Vec<usize>>> {
    let mut costs = vec![u32::MAX; is_blocked.len()];
    let mut origins = vec![usize::MAX; is_blocked.len()];
    // Of equally good cells, the one with the smaller number comes first, so the path is the same on every machine.
    let mut open = BinaryHeap::from([Reverse((estimate(width, from, to), from))]);
    costs[from] = 0;
    while let Some(Reverse((promise, at))) = open.pop() {
        charge(2)?;
        if at == to {
            return Ok(Some(trace(&origins, from, to)));
        }
        if promise > costs[at] + estimate(width, at, to) {
            continue;
        }
        for (next, step) in neighbours(width, is_blocked, at) {
            let cost = costs[at] + step;
            if cost < costs[next] {
                costs[next] = cost;
                origins[next] = at;
                open.push(Reverse((cost + estimate(width, next, to), next)));
            }
        }
    }
    Ok(None)
}

fn estimate(width: usize, from: usize, to: usize) -> u32 {
    let (x, z) = ((from % width).abs_diff(to % width), (from / width).abs_diff(to / width));
    (x.min(z) as u32) * DIAGONAL + (x.abs_diff(z) as u32) * STRAIGHT
}

fn neighbours(width: usize, is_blocked: &[bool], at: usize) -> impl Iterator<Item = (usize, u32)> {
    const STEPS: [(isize, isize); 8] = [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, -1), (-1, 1), (1, 1)];
    let (x, z) = ((at % width) as isize, (at / width) as isize);
    let depth = (is_blocked.len() / width) as isize;
    let is_free = move |x: isize, z: isize| {
        let is_inside = (0..width as isize).contains(&x) && (0..depth).contains(&z);
        is_inside && !is_blocked[z as usize * width + x as usize]
    };
    STEPS.into_iter().filter_map(move |(dx, dz)| {
        let is_open = is_free(x + dx, z + dz) && is_free(x + dx, z) && is_free(x, z + dz);
        let cost = if dx != 0 && dz != 0 { DIAGONAL } else { STRAIGHT };
        is_open.then(|| ((z + dz) as usize * width + (x + dx) as usize, cost))
    })
}

fn trace(origins: &[usize], from: usize, to: usize) -> Vec<usize> {
    let mut path = Vec::new();
    let mut at = to;
    while at != from {
        path.push(at);
        at = origins[at];
    }
    path.reverse();
    path
}
