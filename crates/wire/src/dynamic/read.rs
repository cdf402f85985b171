//! Reads rows of any shape into dynamic values.

use crate::any::{Value, read_values};
use crate::column::{read_bools, read_texts};
use crate::error::{Error, ErrorKind, Result};
use crate::input::{Input, TO_THE_END};
use crate::limits::Limits;
use crate::plan::Layout;
use crate::shape::{DefinitionKind, Field, Shape, Type};
use crate::types::{NONE, Numbers, Spans, ranks, read_bytes, read_indices, read_leaf, read_quats};

/// Reads a body of a shape.
///
/// ```
/// use nowcast_wire::{Shape, Wire, decode_value, encode_to_vec};
///
/// #[derive(Wire)]
/// struct Chat { text: String, num: u8 }
///
/// let body = encode_to_vec(&Chat { text: "hello".into(), num: 7 });
/// let value = decode_value(&Shape::of::<Chat>(), &body)?;
/// assert_eq!(value.get("num"), Some(&7.into()));
/// # Ok::<(), nowcast_wire::Error>(())
/// ```
///
/// # Errors
/// Fails if the body is not a body of this shape, if bytes follow it, or if it exceeds the default limits.
pub fn decode_value(shape: &Shape, body: &[u8]) -> Result<Value> {
    decode_value_with(shape, body, &Limits::MESSAGE)
}

/// Reads a body of a shape within given limits.
///
/// # Errors
/// Fails if the body is not a body of this shape, if bytes follow it, or if it exceeds the limits.
pub fn decode_value_with(shape: &Shape, body: &[u8], limits: &Limits) -> Result<Value> {
    let layout = Layout::new(shape.clone());
    decode_in(&layout, body, 0, limits)
}

/// Reads a body whose first byte is at `origin` of the message.
pub(crate) fn decode_in(layout: &Layout, body: &[u8], origin: usize, limits: &Limits) -> Result<Value> {
    let mut input = Input::new(body, origin, limits);
    let root = &layout.shape.root;
    let census = layout.census(root);
    if census.flat {
        input.begin_flat(census.texts);
        let column = open_block(layout, root, 1, &mut input)?;
        let text = input.end_flat(census.texts)?;
        return Ok(column.get(0, text));
    }
    let text = input.begin_body()?;
    let column = open_block(layout, root, 1, &mut input)?;
    input.end()?;
    Ok(column.get(0, text))
}

/// Reads a chunk, which consists of rows and a text area.
pub(crate) fn open_rows(layout: &Layout, rows: usize, raw: &[u8], limits: &Limits) -> Result<Vec<Value>> {
    let mut input = Input::new(raw, 0, limits);
    let text = input.begin_body()?;
    let column = open_block(layout, &layout.shape.root, rows, &mut input)?;
    input.end()?;
    Ok((0..rows).map(|row| column.get(row, text)).collect())
}

/// Opened columns of any type.
pub(crate) enum DynamicColumn<'de> {
    Unit,
    Bools(Vec<bool>),
    Numbers(Numbers),
    Quats(Vec<[f64; 4]>),
    Texts(Vec<(u32, u32)>),
    Bytes(Vec<&'de [u8]>),
    Values(Vec<Value>),
    Option(Vec<u32>, Option<Box<DynamicColumn<'de>>>),
    List(Spans, Option<Box<DynamicColumn<'de>>>),
    Map(Spans, Option<Box<(DynamicColumn<'de>, DynamicColumn<'de>)>>),
    Struct(Vec<(String, DynamicColumn<'de>)>),
    Tuple(Vec<DynamicColumn<'de>>),
    Enum { tags: Vec<u16>, ranks: Vec<u32>, variants: Vec<(String, Option<DynamicColumn<'de>>)> },
}

fn open_block<'de>(
    layout: &Layout,
    ty: &Type,
    rows: usize,
    input: &mut Input<'de>,
) -> Result<DynamicColumn<'de>> {
    input.block(rows, layout.bits(ty), size_of::<Value>(), |input| open(layout, ty, rows, input))
}

fn nested<'de>(
    layout: &Layout,
    ty: &Type,
    rows: usize,
    input: &mut Input<'de>,
) -> Result<Option<Box<DynamicColumn<'de>>>> {
    if rows == 0 { Ok(None) } else { open_block(layout, ty, rows, input).map(Box::new).map(Some) }
}

pub(super) fn open<'de>(
    layout: &Layout,
    ty: &Type,
    rows: usize,
    input: &mut Input<'de>,
) -> Result<DynamicColumn<'de>> {
    use DynamicColumn as C;
    Ok(match ty {
        Type::Unit => C::Unit,
        Type::Bool => C::Bools(read_bools(rows, input)?),
        Type::Number(_) | Type::Uvar | Type::Ivar | Type::Range(_) | Type::Angle(_) => {
            C::Numbers(read_leaf(ty, rows, input)?)
        }
        Type::Quat(bits) => C::Quats(read_quats(*bits, rows, input)?),
        Type::Text => C::Texts(read_texts(rows, input)?),
        Type::Bytes => C::Bytes(read_bytes(rows, input)?),
        Type::Any => C::Values(read_values(rows, input)?),
        Type::Option(ty) => {
            let (ranks, count) = ranks(&read_bools(rows, input)?);
            input.charge(rows, 4)?;
            C::Option(ranks, nested(layout, ty, count, input)?)
        }
        Type::List(ty) => {
            let (spans, count) = Spans::open(rows, input)?;
            C::List(spans, nested(layout, ty, count, input)?)
        }
        Type::Array(count, ty) => {
            let count = *count as usize;
            C::List(Spans::Each(count), nested(layout, ty, rows.saturating_mul(count), input)?)
        }
        Type::Map(key, value) => {
            let (spans, count) = Spans::open(rows, input)?;
            let keys = nested(layout, key, count, input)?;
            let values = nested(layout, value, count, input)?;
            C::Map(spans, keys.zip(values).map(|(keys, values)| Box::new((*keys, *values))))
        }
        Type::Ref(index) => open_definition(layout, *index, rows, input)?,
    })
}

fn open_definition<'de>(
    layout: &Layout,
    index: u32,
    rows: usize,
    input: &mut Input<'de>,
) -> Result<DynamicColumn<'de>> {
    let definition = layout.shape.definition(index);
    match &definition.kind {
        DefinitionKind::Struct(fields) => {
            let columns = input.nested(|input| open_fields(layout, fields, rows, input))?;
            Ok(if definition.name.is_empty() {
                DynamicColumn::Tuple(columns.into_iter().map(|(_, column)| column).collect())
            } else {
                DynamicColumn::Struct(columns)
            })
        }
        DefinitionKind::Enum(declared) => {
            let tags = read_indices(declared.len(), rows, input)?;
            input.charge(rows, 8)?;
            let mut counts = vec![0u32; declared.len()];
            let mut ranks = Vec::with_capacity(rows);
            for tag in &tags {
                match counts.get_mut(usize::from(*tag)) {
                    Some(count) => {
                        ranks.push(*count);
                        *count += 1;
                    }
                    None => {
                        let kind = ErrorKind::VariantIndex { index: u64::from(*tag), count: declared.len() };
                        return Err(input.error(kind));
                    }
                }
            }
            let mut variants = Vec::with_capacity(declared.len());
            for (variant, count) in declared.iter().zip(counts) {
                let payload = open_payload(layout, &variant.fields, count as usize, input)
                    .map_err(|error| error.inside(&variant.name))?;
                variants.push((variant.name.clone(), payload));
            }
            Ok(DynamicColumn::Enum { tags, ranks, variants })
        }
    }
}

fn open_payload<'de>(
    layout: &Layout,
    fields: &[Field],
    rows: usize,
    input: &mut Input<'de>,
) -> Result<Option<DynamicColumn<'de>>> {
    if rows == 0 || fields.is_empty() {
        return Ok(None);
    }
    let bits = layout.fields_bits(fields);
    let mut columns =
        input.block(rows, bits, size_of::<Value>(), |input| open_fields(layout, fields, rows, input))?;
    Ok(Some(if !crate::shape::is_tuple(fields) {
        DynamicColumn::Struct(columns)
    } else if columns.len() == 1 {
        columns.remove(0).1
    } else {
        DynamicColumn::Tuple(columns.into_iter().map(|(_, column)| column).collect())
    }))
}

fn open_fields<'de>(
    layout: &Layout,
    fields: &[Field],
    rows: usize,
    input: &mut Input<'de>,
) -> Result<Vec<(String, DynamicColumn<'de>)>> {
    let mut columns = Vec::with_capacity(fields.len());
    open_fields_with(fields, |field| {
        input.charge(rows, size_of::<Value>() + field.name.len())?;
        columns.push((field.name.clone(), open(layout, &field.ty, rows, input)?));
        Ok(())
    })?;
    Ok(columns)
}

/// Opens fields in order. An error names the field.
pub(super) fn open_fields_with(fields: &[Field], mut open: impl FnMut(&Field) -> Result<()>) -> Result<()> {
    fields.iter().try_for_each(|field| open(field).map_err(|error: Error| error.inside(&field.name)))
}

impl DynamicColumn<'_> {
    /// An absent option of an option is a missing key. A key whose value is nil is different.
    fn is_left_out(&self, row: usize) -> bool {
        matches!(self, Self::Option(ranks, inner)
            if ranks[row] == NONE && inner.as_deref().is_some_and(|inner| matches!(inner, Self::Option(..))))
    }

    pub(crate) fn get(&self, row: usize, text: &str) -> Value {
        match self {
            Self::Unit => Value::Nil,
            Self::Bools(values) => Value::Bool(values[row]),
            Self::Numbers(Numbers::Unsigned(values)) => values[row].into(),
            Self::Numbers(Numbers::Signed(values)) => values[row].into(),
            Self::Numbers(Numbers::Single(values)) => values[row].into(),
            Self::Numbers(Numbers::Double(values)) => values[row].into(),
            Self::Quats(values) => Value::List(values[row].iter().map(|value| Value::F64(*value)).collect()),
            Self::Texts(spans) => {
                let (start, end) = spans[row];
                let end = if end == TO_THE_END { text.len() } else { end as usize };
                text.get(start as usize..end).unwrap_or_default().into()
            }
            Self::Bytes(values) => Value::Bytes(values[row].to_vec()),
            Self::Values(values) => values[row].clone(),
            Self::Option(ranks, inner) => match (ranks[row], inner) {
                (NONE, _) | (_, None) => Value::Nil,
                (rank, Some(inner)) => inner.get(rank as usize, text),
            },
            Self::List(spans, inner) => Value::List(match inner {
                Some(inner) => spans.get(row).map(|index| inner.get(index, text)).collect(),
                None => Vec::new(),
            }),
            Self::Map(spans, inner) => Value::Map(match inner.as_deref() {
                Some((keys, values)) => {
                    spans.get(row).map(|index| (keys.get(index, text), values.get(index, text))).collect()
                }
                None => Vec::new(),
            }),
            Self::Struct(fields) => {
                let present = fields.iter().filter(|(_, field)| !field.is_left_out(row));
                Value::Map(
                    present.map(|(name, field)| (name.as_str().into(), field.get(row, text))).collect(),
                )
            }
            Self::Tuple(fields) => Value::List(fields.iter().map(|field| field.get(row, text)).collect()),
            Self::Enum { tags, ranks, variants } => {
                let (name, payload) = &variants[usize::from(tags[row])];
                match payload {
                    None => name.as_str().into(),
                    Some(payload) => {
                        Value::Map(vec![(name.as_str().into(), payload.get(ranks[row] as usize, text))])
                    }
                }
            }
        }
    }
}
