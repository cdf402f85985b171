//! Builds a shape while walking over Rust types.

use std::any::TypeId;

use super::{Definition, DefinitionKind, Field, Shape, Type, Variant};

/// Collects the definitions that a type refers to.
#[derive(Debug, Default)]
pub struct ShapeBuilder {
    /// The types of the definitions. Different types may have the same name, because two functions, or two versions of a crate,
    /// may each define one.
    keys: Vec<TypeId>,
    definitions: Vec<Definition>,
}

impl ShapeBuilder {
    /// Defines a struct. `fields` is called when the type occurs for the first time, and describes its fields.
    pub fn define_struct<T: ?Sized>(
        &mut self,
        name: &str,
        fields: impl FnOnce(&mut Self) -> Vec<Field>,
    ) -> Type {
        self.define(typeid::of::<T>(), name, |builder| DefinitionKind::Struct(fields(builder)))
    }

    /// Defines an enum. `variants` is called when the type occurs for the first time, and describes its variants.
    pub fn define_enum<T: ?Sized>(
        &mut self,
        name: &str,
        variants: impl FnOnce(&mut Self) -> Vec<Variant>,
    ) -> Type {
        self.define(typeid::of::<T>(), name, |builder| DefinitionKind::Enum(variants(builder)))
    }

    fn define(&mut self, key: TypeId, name: &str, kind: impl FnOnce(&mut Self) -> DefinitionKind) -> Type {
        if let Some(index) = self.keys.iter().position(|known| *known == key) {
            return Type::Ref(index as u32);
        }
        let index = self.keys.len();
        self.keys.push(key);
        // The definition gets its index before the fields are visited, so that a type may contain itself.
        self.definitions.push(Definition { name: name.to_owned(), kind: DefinitionKind::Struct(Vec::new()) });
        self.definitions[index].kind = kind(self);
        Type::Ref(index as u32)
    }

    pub(crate) fn finish(self, root: Type) -> Shape {
        Shape { root, definitions: self.definitions }
    }
}

impl Field {
    /// Makes a field without a stated default.
    pub fn new(name: &str, ty: Type) -> Self {
        Self { name: name.to_owned(), ty, default: None, was: Vec::new() }
    }

    /// Sets the default that generated readers use if the field is missing.
    #[must_use]
    pub fn or(mut self, default: impl Into<crate::any::Value>) -> Self {
        self.default = Some(default.into());
        self
    }

    /// Adds a former name of the field.
    #[must_use]
    pub fn was(mut self, name: &str) -> Self {
        self.was.push(name.to_owned());
        self
    }
}

impl Variant {
    /// Makes a variant. A variant without fields is a plain name.
    pub fn new(name: &str, fields: Vec<Field>) -> Self {
        Self { name: name.to_owned(), fields }
    }
}
