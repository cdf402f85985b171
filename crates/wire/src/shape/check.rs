//! Checks rules of shapes that the syntax does not express, and flattens shapes.

use std::collections::BTreeSet;

use super::{Census, DefinitionKind, Field, Shape, Type};
use crate::error::ErrorKind;
use crate::limits::{DEPTH_MAX, FIELDS_MAX};

/// Maximum nesting of types and definitions in a walk over a shape.
const NESTING_MAX: usize = 4 * DEPTH_MAX;

/// Checks every rule of section 3 that the syntax does not enforce.
pub(super) fn check(shape: &Shape) -> Result<(), ErrorKind> {
    let mut walk = Walk { shape, met: 0, depth: 0 };
    walk.ty(&shape.root)?;
    if walk.met != shape.definitions.len() {
        return Err(ErrorKind::Shape("a definition that nothing refers to"));
    }
    let mut flatten = Flatten { shape, state: vec![State::New; shape.definitions.len()] };
    flatten.ty(&shape.root)?;
    for definition in &shape.definitions {
        match &definition.kind {
            DefinitionKind::Struct(fields) => {
                flatten.fields(fields)?;
            }
            DefinitionKind::Enum(variants) => {
                for variant in variants {
                    flatten.fields(&variant.fields)?;
                }
            }
        }
    }
    Ok(())
}

/// Returns the census of a type in a checked shape.
pub(super) fn census(shape: &Shape, ty: &Type) -> Census {
    let mut flatten = Flatten { shape, state: vec![State::New; shape.definitions.len()] };
    flatten.ty(ty).unwrap_or_default()
}

/// The depth-first walk that numbers definitions.
struct Walk<'s> {
    shape: &'s Shape,
    met: usize,
    depth: usize,
}

impl Walk<'_> {
    fn ty(&mut self, ty: &Type) -> Result<(), ErrorKind> {
        if self.depth == NESTING_MAX {
            return Err(ErrorKind::Depth { max: NESTING_MAX });
        }
        self.depth += 1;
        let result = self.nested(ty);
        self.depth -= 1;
        result
    }

    fn nested(&mut self, ty: &Type) -> Result<(), ErrorKind> {
        match ty {
            Type::Option(ty) | Type::List(ty) => self.ty(ty),
            Type::Array(0, _) => Err(ErrorKind::Shape("an array of no elements")),
            Type::Array(_, ty) => self.ty(ty),
            Type::Map(key, value) => {
                self.ty(key)?;
                self.ty(value)
            }
            Type::Range(range) if range.max().is_none() => {
                Err(ErrorKind::Shape("a range without sensible bounds"))
            }
            Type::Quat(bits) if !(4..=16).contains(bits) => Err(ErrorKind::Shape("a quat has 4 to 16 bits")),
            Type::Angle(bits) if ![8, 16].contains(bits) => {
                Err(ErrorKind::Shape("an angle has 8 or 16 bits"))
            }
            Type::Ref(index) => self.definition(*index as usize),
            _ => Ok(()),
        }
    }

    fn definition(&mut self, index: usize) -> Result<(), ErrorKind> {
        if index < self.met {
            return Ok(());
        }
        if index > self.met || index >= self.shape.definitions.len() {
            return Err(ErrorKind::Shape("a reference out of order"));
        }
        self.met += 1;
        let shape = self.shape;
        match &shape.definitions[index].kind {
            DefinitionKind::Struct(fields)
                if shape.definitions[index].name.is_empty() && !is_tuple(fields) =>
            {
                Err(ErrorKind::Shape("a struct without a name whose fields are not 0, 1, …"))
            }
            DefinitionKind::Struct(fields) => self.fields(fields),
            DefinitionKind::Enum(variants) => {
                unique(variants.iter().map(|variant| variant.name.as_str()))?;
                variants.iter().try_for_each(|variant| self.fields(&variant.fields))
            }
        }
    }

    fn fields(&mut self, fields: &[Field]) -> Result<(), ErrorKind> {
        unique(fields.iter().map(|field| field.name.as_str()))?;
        fields.iter().try_for_each(|field| self.ty(&field.ty))
    }
}

/// Whether fields are named 0, 1, …
pub(crate) fn is_tuple(fields: &[Field]) -> bool {
    fields.iter().enumerate().all(|(index, field)| field.name == index.to_string())
}

fn unique<'a>(mut names: impl Iterator<Item = &'a str>) -> Result<(), ErrorKind> {
    let mut known = BTreeSet::new();
    match names.all(|name| known.insert(name)) {
        true => Ok(()),
        false => Err(ErrorKind::Shape("two fields or variants have one name")),
    }
}

#[derive(Clone, Copy)]
enum State {
    New,
    Open,
    Done(Census),
}

/// Flattens a shape and remembers the results. So a small shape with exponentially many leaves is refused in linear time.
struct Flatten<'s> {
    shape: &'s Shape,
    state: Vec<State>,
}

impl Flatten<'_> {
    fn ty(&mut self, ty: &Type) -> Result<Census, ErrorKind> {
        let leaf = Census { leaves: 1, bits: 0, texts: 0, flat: true };
        Ok(match ty {
            Type::Unit => Census { leaves: 0, ..leaf },
            Type::Bool => Census { bits: 1, ..leaf },
            Type::Option(_) => Census { bits: 1, flat: false, ..leaf },
            Type::Text => Census { texts: 1, ..leaf },
            Type::Bytes | Type::Any | Type::List(_) | Type::Map(..) => Census { flat: false, ..leaf },
            Type::Array(_, ty) => {
                let inner = self.ty(ty)?;
                Census { flat: inner.flat && inner.texts == 0, ..leaf }
            }
            Type::Ref(index) => self.definition(*index as usize)?,
            _ => leaf,
        })
    }

    fn definition(&mut self, index: usize) -> Result<Census, ErrorKind> {
        match self.state[index] {
            State::Done(census) => return Ok(census),
            State::Open => return Err(ErrorKind::Shape("a struct that contains itself without end")),
            State::New => {}
        }
        self.state[index] = State::Open;
        let shape = self.shape;
        let census = match &shape.definitions[index].kind {
            DefinitionKind::Struct(fields) => self.fields(fields)?,
            DefinitionKind::Enum(variants) => {
                let flat = variants.iter().all(|variant| variant.fields.is_empty());
                Census { leaves: 1, bits: 0, texts: 0, flat }
            }
        };
        self.state[index] = State::Done(census);
        Ok(census)
    }

    fn fields(&mut self, fields: &[Field]) -> Result<Census, ErrorKind> {
        let mut sum = Census { flat: true, ..Census::default() };
        for field in fields {
            let census = self.ty(&field.ty)?;
            sum.leaves += census.leaves;
            sum.bits += census.bits;
            sum.texts += census.texts;
            sum.flat &= census.flat;
            if sum.leaves > FIELDS_MAX {
                return Err(ErrorKind::TooMany { what: "leaves in a struct", max: FIELDS_MAX });
            }
        }
        Ok(sum)
    }
}
