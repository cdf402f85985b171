//! Options. They are written as presence bits, and a block of the present values.

use crate::column::{read_bools, write_bools};
use crate::error::Result;
use crate::input::Input;
use crate::output::Writer;
use crate::plan::{Node, Plan};
use crate::shape::{ShapeBuilder, Type};
use crate::wire::{Column, Read, Rows, Wire};

/// The rank of an absent row.
pub(crate) const NONE: u32 = u32::MAX;

/// Returns the index of each row among the present rows, and the number of present rows.
pub(crate) fn ranks(present: &[bool]) -> (Vec<u32>, usize) {
    let mut count = 0u32;
    let rank = |present: &bool| {
        if !present {
            return NONE;
        }
        count += 1;
        count - 1
    };
    let ranks = present.iter().map(rank).collect();
    (ranks, count as usize)
}

/// Reads the writer's option as the reader's plain type. An absent value becomes the empty value.
pub(super) fn or_empty<T: Default + Copy>(
    bits: usize,
    rows: usize,
    input: &mut Input<'_>,
    read: impl FnOnce(usize, &mut Input<'_>) -> Result<Vec<T>>,
) -> Result<Vec<T>> {
    let (ranks, count) = ranks(&read_bools(rows, input)?);
    let present = if count == 0 {
        Vec::new()
    } else {
        input.block(count, bits, size_of::<T>(), |input| read(count, input))?
    };
    Ok(ranks.iter().map(|rank| present.get(*rank as usize).copied().unwrap_or_default()).collect())
}

impl<T: Wire> Wire for Option<T> {
    const BITS: usize = 1;
    const TEXTS: usize = 0;
    const FLAT: bool = false;

    fn describe(shape: &mut ShapeBuilder) -> Type {
        Type::Option(Box::new(T::describe(shape)))
    }

    fn write<'a, I: Rows<'a, Self>>(rows: I, writer: &mut Writer<'_>)
    where
        Self: 'a,
    {
        if rows.len() == 1 && writer.is_plain() {
            let present: &[T] =
                rows.clone().next().and_then(Option::as_ref).map_or(&[], std::slice::from_ref);
            writer.put_bit(!present.is_empty());
            writer.block(present.len(), T::BITS, |writer| T::write(present.iter(), writer));
            return;
        }
        let bools: Vec<bool> = rows.clone().map(Option::is_some).collect();
        write_bools(&bools, writer);
        let present: Vec<&T> = rows.filter_map(Option::as_ref).collect();
        writer.block(present.len(), T::BITS, |writer| T::write(present.iter().copied(), writer));
    }
}

impl<'de, T: Read<'de>> Read<'de> for Option<T> {
    type Column = OptionColumn<T::Column>;
}

/// Opened options.
pub struct OptionColumn<C> {
    presence: Presence,
    inner: Option<Box<C>>,
}

enum Presence {
    /// No value is present.
    None,
    /// All values are present, so the index of a row is its rank.
    All,
    Some(Vec<u32>),
}

impl<'de, C> Column<'de> for OptionColumn<C>
where
    C: Column<'de>,
    C::Item: Wire,
{
    type Item = Option<C::Item>;

    fn absent(_: usize) -> Self {
        Self { presence: Presence::None, inner: None }
    }

    fn open(plan: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self> {
        let child = match plan.map(|plan| (plan, plan.node())) {
            Some((plan, Node::Always(child))) => {
                let inner = C::open(plan.child(*child), rows, input)?;
                return Ok(Self { presence: Presence::All, inner: Some(Box::new(inner)) });
            }
            Some((plan, Node::Option(child))) => plan.child(*child),
            _ => None,
        };
        let (presence, count) = if rows == 1 && input.is_plain() {
            if input.next_bit() { (Presence::All, 1) } else { (Presence::None, 0) }
        } else {
            let (ranks, count) = ranks(&read_bools(rows, input)?);
            (if count == rows { Presence::All } else { Presence::Some(ranks) }, count)
        };
        Ok(Self { presence, inner: open_block(child, count, input)? })
    }

    #[inline]
    fn get(&self, row: usize, text: &'de str) -> Self::Item {
        let inner = self.inner.as_ref()?;
        match &self.presence {
            Presence::None => None,
            Presence::All => Some(inner.get(row, text)),
            Presence::Some(ranks) => match ranks.get(row) {
                Some(&rank) if rank != NONE => Some(inner.get(rank as usize, text)),
                _ => None,
            },
        }
    }
}

/// Opens a nested block, if it has rows. At an empty block, types that contain themselves end.
pub(super) fn open_block<'de, C>(
    plan: Option<Plan<'_>>,
    rows: usize,
    input: &mut Input<'de>,
) -> Result<Option<Box<C>>>
where
    C: Column<'de>,
    C::Item: Wire,
{
    if rows == 0 {
        return Ok(None);
    }
    let bits = plan.map_or(C::Item::BITS, Plan::bits);
    input.block(rows, bits, size_of::<C::Item>(), |input| C::open(plan, rows, input)).map(Box::new).map(Some)
}
