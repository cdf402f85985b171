//! Generates the types that a TypeScript program uses.

use std::collections::HashMap;

use super::{is_identifier, key, quoted};
use nowcast_wire::Shape;
use nowcast_wire::shape::{Definition, DefinitionKind, Field, NumberType, Type, Variant};

/// Maximum length of an array that is written as a tuple.
const TUPLE_MAX: u32 = 4;

/// The names that a module has assigned so far. Shapes of one module may share definitions.
#[derive(Default)]
pub(super) struct Names {
    taken: HashMap<String, Definition>,
}

/// The names of one shape's definitions, by index; tuples have none.
struct Scope<'s> {
    shape: &'s Shape,
    names: Vec<String>,
}

impl Names {
    /// Declares all named types of a shape that are not declared yet. Returns the name of the root.
    pub(super) fn declare(&mut self, shape: &Shape, body: &mut String) -> String {
        let mut fresh = Vec::new();
        let mut names = Vec::new();
        for (index, definition) in shape.definitions.iter().enumerate() {
            let (name, is_fresh) = self.name(definition);
            if is_fresh && !definition.name.is_empty() {
                fresh.push(index);
            }
            names.push(name);
        }
        let scope = Scope { shape, names };
        for index in fresh {
            body.push_str(&scope.declaration(index));
        }
        match shape.root {
            Type::Ref(index) if !scope.names[index as usize].is_empty() => {
                scope.names[index as usize].clone()
            }
            _ => {
                let name = format!("Value{}", self.taken.len());
                body.push_str(&format!("export type {name} = {};\n\n", scope.ty(&shape.root)));
                self.taken.insert(
                    name.clone(),
                    Definition { name: String::new(), kind: DefinitionKind::Struct(Vec::new()) },
                );
                name
            }
        }
    }

    /// Returns the name of a definition, and whether the name is new. If definitions differ but have the same name, they are
    /// numbered.
    fn name(&mut self, definition: &Definition) -> (String, bool) {
        if definition.name.is_empty() {
            return (String::new(), false);
        }
        let wanted = if is_identifier(&definition.name) { definition.name.as_str() } else { "Type" };
        for number in 1.. {
            let name = if number == 1 { wanted.to_owned() } else { format!("{wanted}{number}") };
            match self.taken.get(&name) {
                None => {
                    self.taken.insert(name.clone(), definition.clone());
                    return (name, true);
                }
                // The fields have the same names and types. The definitions that they refer to are compared by their own names.
                Some(known) if same(known, definition) => return (name, false),
                Some(_) => {}
            }
        }
        unreachable!("numbers do not end")
    }
}

/// Whether two definitions are equal. The indices of other definitions differ between shapes, so the names are compared.
fn same(a: &Definition, b: &Definition) -> bool {
    let fields =
        |a: &[Field], b: &[Field]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name == b.name);
    match (&a.kind, &b.kind) {
        (DefinitionKind::Struct(a), DefinitionKind::Struct(b)) => fields(a, b),
        (DefinitionKind::Enum(a), DefinitionKind::Enum(b)) => {
            a.len() == b.len()
                && a.iter().zip(b).all(|(a, b)| a.name == b.name && fields(&a.fields, &b.fields))
        }
        _ => false,
    }
}

/// Returns the fields of a root struct, on one line.
pub(super) fn members(shape: &Shape) -> String {
    let names = shape.definitions.iter().map(|definition| definition.name.clone()).collect();
    let scope = Scope { shape, names };
    let fields: Vec<_> = shape.fields().unwrap_or_default().iter().map(|field| scope.field(field)).collect();
    if fields.is_empty() {
        "Record<string, never>".to_owned()
    } else {
        format!("{{ {} }}", fields.join("; "))
    }
}

impl Scope<'_> {
    fn declaration(&self, index: usize) -> String {
        let name = &self.names[index];
        match &self.shape.definitions[index].kind {
            DefinitionKind::Struct(fields) => {
                let lines: String =
                    fields.iter().map(|field| format!("  {};\n", self.field(field))).collect();
                format!("export interface {name} {{\n{lines}}}\n\n")
            }
            DefinitionKind::Enum(variants) => {
                let arms: String =
                    variants.iter().map(|variant| format!("\n  | {}", self.variant(variant))).collect();
                format!("export type {name} ={arms};\n\n")
            }
        }
    }

    fn field(&self, field: &Field) -> String {
        match &field.ty {
            Type::Option(item) if matches!(**item, Type::Option(_)) => {
                format!("{}?: {}", key(&field.name), self.ty(item))
            }
            ty => format!("{}: {}", key(&field.name), self.ty(ty)),
        }
    }

    fn variant(&self, variant: &Variant) -> String {
        if variant.fields.is_empty() {
            return quoted(&variant.name);
        }
        let positional = variant.fields.iter().enumerate().all(|(i, field)| field.name == i.to_string());
        let payload = match &variant.fields[..] {
            [field] if positional => self.ty(&field.ty),
            fields if positional => self.tuple(fields),
            fields => {
                let fields: Vec<_> = fields.iter().map(|field| self.field(field)).collect();
                format!("{{ {} }}", fields.join("; "))
            }
        };
        format!("{{ {}: {payload} }}", key(&variant.name))
    }

    fn tuple(&self, fields: &[Field]) -> String {
        let items: Vec<_> = fields.iter().map(|field| self.ty(&field.ty)).collect();
        format!("[{}]", items.join(", "))
    }

    fn ty(&self, ty: &Type) -> String {
        match ty {
            Type::Unit => "null".to_owned(),
            Type::Bool => "boolean".to_owned(),
            Type::Number(NumberType::U64 | NumberType::I64) | Type::Uvar | Type::Ivar => {
                "number | bigint".to_owned()
            }
            Type::Number(_) | Type::Range(_) | Type::Angle(_) => "number".to_owned(),
            Type::Text => "string".to_owned(),
            Type::Bytes => "Uint8Array".to_owned(),
            Type::Any => "WireValue".to_owned(),
            Type::Option(item) => format!("{} | null", self.ty(item)),
            Type::List(item) => format!("Array<{}>", self.ty(item)),
            Type::Array(count, item) if *count <= TUPLE_MAX => {
                format!("[{}]", vec![self.ty(item); *count as usize].join(", "))
            }
            Type::Array(_, item) => format!("Array<{}>", self.ty(item)),
            Type::Map(key, value) => format!("Map<{}, {}>", self.ty(key), self.ty(value)),
            Type::Quat(_) => "[number, number, number, number]".to_owned(),
            Type::Ref(index) => match &self.shape.definitions[*index as usize] {
                Definition { name, kind: DefinitionKind::Struct(fields) } if name.is_empty() => {
                    self.tuple(fields)
                }
                _ => self.names[*index as usize].clone(),
            },
        }
    }
}
