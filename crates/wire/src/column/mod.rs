//! Columns. A column holds all values of one leaf, in a suitable coding.

mod number;
mod pack;
mod read;
mod short;
mod text;
mod write;

pub(crate) use number::{Number, U24};
pub(crate) use pack::{pack, pack_steps, packed_len, sum_steps, unpack, width_for};
pub(crate) use read::{read_bools, read_cells, read_lengths, read_numbers};
pub(crate) use text::{read_plain as read_plain_text, read_texts, write_texts};
pub(crate) use write::{write_bools, write_lengths, write_number_rows, write_numbers};

/// Coding bytes of columns, as in section 5 of the specification.
pub(crate) mod coding {
    pub(crate) const RAW: u8 = 0x00;
    pub(crate) const SAME: u8 = 0x01;
    pub(crate) const DICTIONARY: u8 = 0x02;
    pub(crate) const SPARSE: u8 = 0x03;
    pub(crate) const DECIMAL: u8 = 0x04;
    pub(crate) const SINGLE: u8 = 0x05;
    pub(crate) const PLANES: u8 = 0x06;
    pub(crate) const SHORT: u8 = 0x07;
    /// Added to a width index.
    pub(crate) const PACKED: u8 = 0x10;
    /// Added to a width index.
    pub(crate) const DELTA: u8 = 0x20;

    pub(crate) const ALL_FALSE: u8 = 0x00;
    pub(crate) const ALL_TRUE: u8 = 0x01;
    pub(crate) const BITS: u8 = 0x02;
}
