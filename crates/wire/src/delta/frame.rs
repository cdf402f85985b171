//! Frames consist of rows of whole numbers, one row for each entity.

use super::DeltaError;

/// The meaning of a frame's columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    columns: Vec<Column>,
    /// The largest value of each column.
    tops: Vec<u32>,
}

/// One property of an entity, quantised to whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// One column with any number. Differences wrap at 32 bits.
    Number,
    /// Four columns for a quaternion x, y, z, w. The first is the index of the largest component. The others are the three other
    /// components, with `bits` (2 to 15) bits each.
    ///
    /// With M = 2^`bits` - 1, a stored s stands for (2 s - M) / (M √2). The largest component is positive.
    Orientation {
        /// The width of the three smaller components.
        bits: u32,
    },
}

/// The meaning of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Number,
    /// The index of the largest component.
    Largest,
    /// One of the three other components. `first` is the column of the index.
    Component {
        bits: u32,
        first: usize,
    },
}

impl Layout {
    /// Maximum number of columns in a layout.
    pub const COLUMNS_MAX: usize = 64;

    /// Creates a layout of these fields, in this order.
    ///
    /// # Errors
    /// [`DeltaError::Layout`] if a width is out of range, if there are no columns, or if there are too many.
    pub fn new(fields: &[Field]) -> Result<Self, DeltaError> {
        let mut columns = Vec::new();
        for &field in fields {
            match field {
                Field::Number => columns.push(Column::Number),
                Field::Orientation { bits: bits @ 2..=15 } => {
                    let first = columns.len();
                    columns.push(Column::Largest);
                    columns.extend([Column::Component { bits, first }; 3]);
                }
                Field::Orientation { .. } => {
                    return Err(DeltaError::Layout { reason: "a field's width is out of range" });
                }
            }
        }
        if columns.is_empty() || columns.len() > Self::COLUMNS_MAX {
            return Err(DeltaError::Layout { reason: "a layout has 1 to 64 columns" });
        }
        let tops = columns.iter().map(|column| column.top()).collect();
        Ok(Self { columns, tops })
    }

    /// How many values a row has.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Whether all values of a row are within the ranges of their columns.
    pub(super) fn check(&self, row: &[i32]) -> Result<(), DeltaError> {
        // The check runs for every frame that serves as a baseline. Therefore it has no branch per column.
        if row.iter().zip(&self.tops).fold(true, |holds, (&value, &top)| holds & (value as u32 <= top)) {
            Ok(())
        } else {
            Err(DeltaError::Frame { reason: "a value is out of its column's range" })
        }
    }

    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }
}

impl Column {
    /// The largest value of this column. If the column allows every value, the largest unsigned number.
    #[inline]
    pub(super) fn top(self) -> u32 {
        match self {
            Self::Number => u32::MAX,
            Self::Largest => 3,
            Self::Component { bits, .. } => (1 << bits) - 1,
        }
    }

    /// Returns the difference between a value and its guess, as it is coded.
    pub(super) fn residual(self, value: i32, guess: i32) -> i32 {
        match self {
            // The other indices are numbered from the guess on, in a circle.
            Self::Largest => value.wrapping_sub(guess) & 3,
            _ => value.wrapping_sub(guess),
        }
    }

    /// Returns the value with this residual.
    pub(super) fn value(self, residual: i32, guess: i32) -> Result<i32, DeltaError> {
        let value = guess.wrapping_add(residual);
        match self {
            Self::Largest => Ok(value & 3),
            _ if value as u32 <= self.top() => Ok(value),
            _ => Err(DeltaError::Range),
        }
    }
}

/// The state of all replicated entities at one tick.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    tick: u32,
    ids: Vec<u32>,
    values: Vec<i32>,
}

impl Frame {
    /// Makes an empty frame.
    pub fn new(tick: u32) -> Self {
        Self { tick, ..Self::default() }
    }

    /// Makes an empty frame with memory for `rows` rows of `width` numbers.
    pub fn with_capacity(tick: u32, rows: usize, width: usize) -> Self {
        Self { tick, ids: Vec::with_capacity(rows), values: Vec::with_capacity(rows * width) }
    }

    pub(super) fn from_parts(tick: u32, ids: Vec<u32>, values: Vec<i32>) -> Self {
        Self { tick, ids, values }
    }

    /// Appends the row of an entity. The id of the entity must be larger than all earlier ids.
    pub fn push(&mut self, id: u32, row: &[i32]) {
        self.ids.push(id);
        self.values.extend_from_slice(row);
    }

    /// The frame's time, in steps of constant length.
    pub fn tick(&self) -> u32 {
        self.tick
    }

    /// The ids of the entities, in rising order.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The rows, one after the other in the order of the ids.
    pub fn values(&self) -> &[i32] {
        &self.values
    }

    /// The number of entities.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no entities.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    #[inline]
    pub(super) fn row(&self, row: usize, width: usize) -> &[i32] {
        &self.values[row * width..][..width]
    }

    /// Checks that the frame fits a codec of this layout.
    pub(super) fn check(&self, layout: &Layout) -> Result<(), DeltaError> {
        self.check_rows(layout)?;
        self.values.chunks_exact(layout.width()).try_for_each(|row| layout.check(row))
    }

    /// Like [`Frame::check_rows`]. `checked` is a frame that has passed this check. Most frames have the ids of the previous
    /// frame.
    pub(super) fn check_rows_beside(&self, checked: &Frame, layout: &Layout) -> Result<(), DeltaError> {
        let is_alike = self.ids == checked.ids && self.values.len() == checked.values.len();
        if is_alike { Ok(()) } else { self.check_rows(layout) }
    }

    /// Like [`Frame::check`], but does not check the values of the rows.
    pub(super) fn check_rows(&self, layout: &Layout) -> Result<(), DeltaError> {
        if self.values.len() != self.ids.len() * layout.width() {
            return Err(DeltaError::Frame { reason: "rows and ids do not match in number" });
        }
        if !self.ids.is_sorted_by(|before, after| before < after) {
            return Err(DeltaError::Frame { reason: "ids do not rise" });
        }
        Ok(())
    }
}
