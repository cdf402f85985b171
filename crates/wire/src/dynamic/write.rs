//! Writes dynamic values as rows of a shape.

use crate::any::{self, Value};
use crate::column::{U24, write_bools, write_lengths, write_numbers, write_texts};
use crate::error::{Error, ErrorKind, Result};
use crate::output::{Effort, Writer};
use crate::plan::Layout;
use crate::quantise::{SmallestThree, quantise_angle};
use crate::shape::{DefinitionKind, Field, NumberType, Range, Shape, Type, Variant};
use crate::types::{Variants, write_bytes, write_quats};

/// Appends the body of a value. The value must fit the shape.
///
/// # Errors
/// Fails if a field's value does not fit, and names the field.
pub fn encode_value(shape: &Shape, value: &Value, effort: Effort, out: &mut Vec<u8>) -> Result<()> {
    let layout = Layout::new(shape.clone());
    let census = layout.census(&shape.root);
    let start = out.len();
    let mut result = Ok(());
    Writer::new(out, effort).body(
        census.flat.then_some(census.texts),
        1,
        layout.bits(&shape.root),
        |writer| {
            result = leaf(&layout, &shape.root, &[value], writer);
        },
    );
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Appends a chunk, which consists of rows and a text area.
pub(crate) fn write_rows(layout: &Layout, rows: &[&Value], effort: Effort, out: &mut Vec<u8>) -> Result<()> {
    let root = &layout.shape.root;
    let mut result = Ok(());
    Writer::new(out, effort)
        .body(None, rows.len(), layout.bits(root), |writer| result = leaf(layout, root, rows, writer));
    result
}

static NIL: Value = Value::Nil;

fn misfit(shape: &Shape, value: &Value, ty: &Type) -> Error {
    Error::new(ErrorKind::TypeMismatch { writer: value.kind().to_owned(), reader: shape.type_name(ty) })
}

fn each<'v, T>(
    layout: &Layout,
    ty: &Type,
    rows: &[&'v Value],
    convert: impl Fn(&'v Value) -> Option<T>,
) -> Result<Vec<T>> {
    rows.iter().map(|value| convert(value).ok_or_else(|| misfit(&layout.shape, value, ty))).collect()
}

fn block(layout: &Layout, ty: &Type, rows: &[&Value], writer: &mut Writer<'_>) -> Result<()> {
    let mut result = Ok(());
    writer.block(rows.len(), layout.bits(ty), |writer| result = leaf(layout, ty, rows, writer));
    result
}

fn leaf(layout: &Layout, ty: &Type, rows: &[&Value], writer: &mut Writer<'_>) -> Result<()> {
    match ty {
        Type::Unit => each(layout, ty, rows, |value| matches!(value, Value::Nil).then_some(())).map(drop)?,
        Type::Bool => write_bools(
            &each(layout, ty, rows, |value| match value {
                Value::Bool(value) => Some(*value),
                _ => None,
            })?,
            writer,
        ),
        Type::Number(_) | Type::Uvar | Type::Ivar | Type::Range(_) | Type::Angle(_) => {
            numbers(layout, ty, rows, writer)?;
        }
        Type::Quat(bits) => {
            let quats = each(layout, ty, rows, |value| Some(SmallestThree::from_quat(four(value)?, *bits)))?;
            write_quats(&quats, *bits, writer);
        }
        Type::Text => write_texts(each(layout, ty, rows, Value::as_text)?.into_iter(), writer),
        Type::Bytes => {
            let bytes = each(layout, ty, rows, |value| match value {
                Value::Bytes(bytes) => Some(bytes.as_slice()),
                _ => None,
            })?;
            write_bytes(bytes.into_iter(), writer);
        }
        Type::Any => {
            let encoded: Vec<Vec<u8>> = rows.iter().map(|value| any::to_vec(value)).collect();
            write_bytes(encoded.iter().map(Vec::as_slice), writer);
        }
        Type::Option(inner) => {
            let present: Vec<bool> = rows.iter().map(|value| !matches!(value, Value::Nil)).collect();
            write_bools(&present, writer);
            let present: Vec<&Value> =
                rows.iter().copied().filter(|value| !matches!(value, Value::Nil)).collect();
            block(layout, inner, &present, writer)?;
        }
        Type::List(inner) => {
            let lists = each(layout, ty, rows, items)?;
            write_lengths(&lists.iter().map(|list| list.len() as u32).collect::<Vec<_>>(), writer);
            let elements: Vec<&Value> = lists.into_iter().flatten().collect();
            block(layout, inner, &elements, writer)?;
        }
        Type::Array(count, inner) => {
            let arrays =
                each(layout, ty, rows, |value| items(value).filter(|items| items.len() == *count as usize))?;
            let elements: Vec<&Value> = arrays.into_iter().flatten().collect();
            block(layout, inner, &elements, writer)?;
        }
        Type::Map(key, value) => {
            let maps = each(layout, ty, rows, pairs)?;
            write_lengths(&maps.iter().map(|map| map.len() as u32).collect::<Vec<_>>(), writer);
            let keys: Vec<&Value> = maps.iter().flat_map(|map| map.iter().map(|pair| &pair.0)).collect();
            let values: Vec<&Value> = maps.iter().flat_map(|map| map.iter().map(|pair| &pair.1)).collect();
            block(layout, key, &keys, writer)?;
            block(layout, value, &values, writer)?;
        }
        Type::Ref(index) => {
            let definition = layout.shape.definition(*index);
            match &definition.kind {
                DefinitionKind::Struct(declared) => {
                    let mut result = Ok(());
                    writer.nested(|writer| result = fields(layout, ty, declared, rows, writer));
                    result?;
                }
                DefinitionKind::Enum(declared) => variants(layout, ty, declared, rows, writer)?,
            }
        }
    }
    Ok(())
}

fn items(value: &Value) -> Option<&Vec<Value>> {
    match value {
        Value::List(items) => Some(items),
        _ => None,
    }
}

fn pairs(value: &Value) -> Option<&Vec<(Value, Value)>> {
    match value {
        Value::Map(pairs) => Some(pairs),
        _ => None,
    }
}

fn four(value: &Value) -> Option<[f64; 4]> {
    match items(value)?.as_slice() {
        [x, y, z, w] => Some([x.as_f64()?, y.as_f64()?, z.as_f64()?, w.as_f64()?]),
        _ => None,
    }
}

fn fields(
    layout: &Layout,
    ty: &Type,
    declared: &[Field],
    rows: &[&Value],
    writer: &mut Writer<'_>,
) -> Result<()> {
    for (index, field) in declared.iter().enumerate() {
        let optional = matches!(&field.ty, Type::Option(_));
        // An option of an option is a field that may be left out. If its key exists with nil, the field is present.
        let omissible = matches!(&field.ty, Type::Option(inner) if matches!(**inner, Type::Option(_)));
        let mut column = Vec::with_capacity(rows.len());
        for row in rows {
            column.push(match find(row, index, &field.name) {
                Some(value) => Some(value),
                None if optional => None,
                None => return Err(misfit(&layout.shape, row, ty).inside(&field.name)),
            });
        }
        let result = match &field.ty {
            Type::Option(inner) if omissible => {
                let present: Vec<bool> = column.iter().map(Option::is_some).collect();
                write_bools(&present, writer);
                let present: Vec<&Value> = column.into_iter().flatten().collect();
                block(layout, inner, &present, writer)
            }
            ty => {
                let column: Vec<&Value> = column.into_iter().map(|value| value.unwrap_or(&NIL)).collect();
                leaf(layout, ty, &column, writer)
            }
        };
        result.map_err(|error| error.inside(&field.name))?;
    }
    Ok(())
}

/// Finds the value of a field. The field is usually at the same index as in the shape.
fn find<'v>(row: &'v Value, index: usize, name: &str) -> Option<&'v Value> {
    match row {
        Value::Map(pairs) => match pairs.get(index) {
            Some((Value::Text(key), value)) if key == name => Some(value),
            _ => row.get(name),
        },
        Value::List(items) => items.get(index).filter(|_| index.to_string() == name),
        _ => None,
    }
}

fn variants(
    layout: &Layout,
    ty: &Type,
    declared: &[Variant],
    rows: &[&Value],
    writer: &mut Writer<'_>,
) -> Result<()> {
    let mut tags = Vec::with_capacity(rows.len());
    let mut payloads: Vec<Vec<&Value>> = vec![Vec::new(); declared.len()];
    for row in rows {
        let (name, payload) = match row {
            Value::Text(name) => (name.as_str(), None),
            Value::Map(pairs) => match pairs.as_slice() {
                [(Value::Text(name), payload)] => (name.as_str(), Some(payload)),
                _ => return Err(misfit(&layout.shape, row, ty)),
            },
            _ => return Err(misfit(&layout.shape, row, ty)),
        };
        let index = declared.iter().position(|variant| variant.name == name);
        let Some(index) = index.filter(|index| declared[*index].fields.is_empty() == payload.is_none())
        else {
            return Err(misfit(&layout.shape, row, ty).inside(name));
        };
        tags.push(index as u16);
        payloads[index].extend(payload);
    }
    Variants::write(declared.len(), tags.into_iter(), writer);
    for (variant, payload) in declared.iter().zip(payloads) {
        let mut result = Ok(());
        writer.block(payload.len(), layout.fields_bits(&variant.fields), |writer| {
            result = match &variant.fields[..] {
                [only] if only.name == "0" => leaf(layout, &only.ty, &payload, writer),
                all => fields(layout, ty, all, &payload, writer),
            };
        });
        result.map_err(|error| error.inside(&variant.name))?;
    }
    Ok(())
}

fn integer<T: TryFrom<i64> + TryFrom<u64>>(value: &Value) -> Option<T> {
    match value {
        Value::Int(value) => T::try_from(*value).ok(),
        Value::Uint(value) => T::try_from(*value).ok(),
        _ => None,
    }
}

/// Returns a float. Also accepts an integer that a float can represent exactly.
fn double(value: &Value) -> Option<f64> {
    match value {
        Value::Int(value) if value.unsigned_abs() <= 1 << 53 => Some(*value as f64),
        Value::Int(_) | Value::Uint(_) => None,
        value => value.as_f64(),
    }
}

fn single(value: &Value) -> Option<f32> {
    match value {
        Value::F32(value) => Some(*value),
        value => {
            let wide = double(value)?;
            (f64::from(wide as f32).to_bits() == wide.to_bits()).then_some(wide as f32)
        }
    }
}

fn numbers(layout: &Layout, ty: &Type, rows: &[&Value], writer: &mut Writer<'_>) -> Result<()> {
    use NumberType as N;
    macro_rules! put {
        ($convert:expr) => {
            write_numbers(&each(layout, ty, rows, $convert)?, writer)
        };
    }
    match ty {
        Type::Number(N::U8) => put!(integer::<u8>),
        Type::Number(N::U16) => put!(integer::<u16>),
        Type::Number(N::U32) => put!(integer::<u32>),
        Type::Number(N::U64) => put!(integer::<u64>),
        Type::Number(N::I8) => put!(integer::<i8>),
        Type::Number(N::I16) => put!(integer::<i16>),
        Type::Number(N::I32) => put!(integer::<i32>),
        Type::Number(N::I64) => put!(integer::<i64>),
        Type::Number(N::F32) => put!(single),
        Type::Number(N::F64) => put!(double),
        Type::Uvar if writer.is_plain() => {
            each(layout, ty, rows, integer::<u64>)?.into_iter().for_each(|value| writer.put_varint(value));
        }
        Type::Ivar if writer.is_plain() => {
            each(layout, ty, rows, integer::<i64>)?.into_iter().for_each(|value| writer.put_zigzag(value));
        }
        Type::Uvar => put!(integer::<u64>),
        Type::Ivar => put!(integer::<i64>),
        Type::Range(range) => put_range(range, &each(layout, ty, rows, Value::as_f64)?, writer),
        Type::Angle(8) => put!(|value| Some(quantise_angle(value.as_f64()?, 8) as u8)),
        Type::Angle(_) => put!(|value| Some(quantise_angle(value.as_f64()?, 16))),
        _ => {}
    }
    Ok(())
}

fn put_range(range: &Range, values: &[f64], writer: &mut Writer<'_>) {
    let steps = values.iter().map(|value| range.quantise(*value));
    match range.width() {
        1 => write_numbers(&steps.map(|q| q as u8).collect::<Vec<_>>(), writer),
        2 => write_numbers(&steps.map(|q| q as u16).collect::<Vec<_>>(), writer),
        3 => write_numbers(&steps.map(U24).collect::<Vec<_>>(), writer),
        _ => write_numbers(&steps.collect::<Vec<_>>(), writer),
    }
}
