//! Frames consist of rows of whole numbers, one row for each entity.

use super::DeltaError;

/// The meaning of the columns of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    fields: Vec<Field>,
    columns: Vec<Column>,
    /// The largest value of each column.
    tops: Vec<u32>,
    groups: Vec<usize>,
}

/// One property of an entity, quantised to whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// One column with any number. Differences wrap at 32 bits.
    Number,
    /// One column with an angle: 2^`bits` steps make a full turn. 1 to 16 bits.
    Angle {
        /// The width of the column.
        bits: u32,
    },
    /// One column with 0 or 1.
    Flag,
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
    Angle {
        bits: u32,
    },
    Flag,
    /// The index of the largest component.
    Largest {
        bits: u32,
    },
    /// One of the three other components.
    Component {
        bits: u32,
        first: usize,
    },
}

impl Layout {
    /// Maximum number of columns of a layout.
    pub const COLUMNS_MAX: usize = 64;

    /// Creates a layout of these fields, in this order.
    ///
    /// # Errors
    /// [`DeltaError::Layout`] if a width is out of range, if there are no columns, or if there are too many.
    pub fn new(fields: &[Field]) -> Result<Self, DeltaError> {
        let mut columns = Vec::new();
        for &field in fields {
            let allowed = match field {
                Field::Number | Field::Flag => true,
                Field::Angle { bits } => (1..=16).contains(&bits),
                Field::Orientation { bits } => (2..=15).contains(&bits),
            };
            if !allowed {
                return Err(DeltaError::Layout { reason: "a field's width is out of range" });
            }
            match field {
                Field::Number => columns.push(Column::Number),
                Field::Angle { bits } => columns.push(Column::Angle { bits }),
                Field::Flag => columns.push(Column::Flag),
                Field::Orientation { bits } => {
                    let first = columns.len();
                    columns.push(Column::Largest { bits });
                    columns.extend([Column::Component { bits, first }; 3]);
                }
            }
        }
        if columns.is_empty() || columns.len() > Self::COLUMNS_MAX {
            return Err(DeltaError::Layout { reason: "a layout has 1 to 64 columns" });
        }
        let tops = columns.iter().map(|column| column.top()).collect();
        let groups = groups(&columns);
        Ok(Self { fields: fields.to_vec(), columns, tops, groups })
    }

    /// The fields.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The number of values of a row.
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

    /// Returns the number of the group of each column. Neighbouring columns of one kind, such as x, y and z, share a model
    /// because they are similar.
    pub(super) fn groups(&self) -> &[usize] {
        &self.groups
    }
}

fn groups(columns: &[Column]) -> Vec<usize> {
    let mut group = 0;
    (0..columns.len())
        .map(|at| {
            if at > 0 && columns[at] != columns[at - 1] {
                group += 1;
            }
            group
        })
        .collect()
}

impl Column {
    /// Whether a value is within the range of this column.
    #[inline]
    pub(super) fn holds(self, value: i32) -> bool {
        value as u32 <= self.top()
    }

    /// The largest value of this column. If the column allows every value, the largest unsigned number.
    #[inline]
    fn top(self) -> u32 {
        match self {
            Self::Number => u32::MAX,
            Self::Angle { bits } | Self::Component { bits, .. } => (1 << bits) - 1,
            Self::Flag => 1,
            Self::Largest { .. } => 3,
        }
    }

    /// Returns `to` - `from`. If the column is a circle, takes the shorter way around.
    pub(super) fn difference(self, to: i32, from: i32) -> i32 {
        match self {
            Self::Angle { bits } => to.wrapping_sub(from) << (32 - bits) >> (32 - bits),
            _ => to.wrapping_sub(from),
        }
    }

    /// The inverse of [`Column::difference`].
    pub(super) fn sum(self, from: i32, difference: i32) -> i32 {
        match self {
            Self::Angle { bits } => from.wrapping_add(difference) & ((1 << bits) - 1),
            _ => from.wrapping_add(difference),
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

    /// Creates a frame of rows that are already in one array.
    ///
    /// # Errors
    /// [`DeltaError::Frame`] if the ids do not rise, or if the rows do not fit `layout`.
    pub fn from_rows(
        tick: u32,
        layout: &Layout,
        ids: Vec<u32>,
        values: Vec<i32>,
    ) -> Result<Self, DeltaError> {
        let frame = Self { tick, ids, values };
        frame.check(layout)?;
        Ok(frame)
    }

    pub(super) fn from_parts(tick: u32, ids: Vec<u32>, values: Vec<i32>) -> Self {
        Self { tick, ids, values }
    }

    /// Appends the row of an entity. The id of the entity must be larger than all earlier ids.
    pub fn push(&mut self, id: u32, row: &[i32]) {
        self.ids.push(id);
        self.values.extend_from_slice(row);
    }

    /// The time of the frame, in steps of a constant length.
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
