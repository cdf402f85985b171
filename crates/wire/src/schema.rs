//! The text notation of types, for schema files and for the attributes of a kind.
//!
//! ```
//! use nowcast_wire::schema;
//!
//! let types = schema::parse(
//!     "struct Chat { from: u32, text: text }   // a line of chat
//!      enum Action { Wave, Throw { power: f32, at: [f64; 3] } }",
//! )?;
//! assert_eq!(types[0].to_string(), "Chat { from: u32, text: text }");
//! assert_eq!(types[1].to_string(), "Wave | Throw { power: f32, at: [f64; 3] }");
//!
//! let heated = schema::parse_fields("Heated", "heat: range(0, 1, 0.01), carrier: u32?")?;
//! assert_eq!(heated.to_string(), "Heated { heat: range(0, 1, 0.01), carrier: u32? }");
//! # Ok::<(), schema::SchemaError>(())
//! ```
//!
//! | written | means |
//! | --- | --- |
//! | `bool` `u8` … `i64` `f32` `f64` `uvar` `ivar` `text` `bytes` `any` `unit` | these types |
//! | `T?` `[T]` `[T; 3]` `{K: V}` `(A, B)` | option, list, array, map, tuple |
//! | `range(0, 100, 0.5)` `quat(10)` `angle(16)` | quantisers |
//! | `enum E { A, B(u8), C { at: f32 } }` | variants without a payload, with values by position, with named fields |
//! | `Name` | a struct or enum of the same file, in any order |

use std::iter::Peekable;
use std::str::CharIndices;

use crate::Shape;
use crate::limits::DEFINITIONS_MAX;
use crate::shape::{Definition, DefinitionKind, Field, NumberType, Range, Type, Variant};

/// Maximum nesting of types.
const DEPTH_MAX: usize = 64;
/// Maximum length of a chain of named types that refer to each other.
const CHAIN_MAX: usize = 128;

/// A mistake in a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct SchemaError {
    /// The number of the line, counted from 1.
    pub line: usize,
    /// The problem.
    pub problem: String,
}

/// Returns the shapes of a schema's structs and enums, in the schema's order.
///
/// # Errors
/// Returns the first mistake in the schema, with its line.
pub fn parse(text: &str) -> Result<Vec<Shape>, SchemaError> {
    let mut parser = Parser::new(text);
    let mut named = Vec::new();
    while let Some(definition) = parser.definition()? {
        if named.iter().any(|known: &Named| known.name == definition.name) {
            return Err(parser.error(format!("two types are called {}", definition.name)));
        }
        named.push(definition);
    }
    named.iter().map(|root| shape_of(root, &named)).collect()
}

/// Returns the shape of a struct called `name`. `fields` is the text of its fields, separated by commas. The types of the fields
/// cannot refer to named types.
///
/// # Errors
/// Returns the first mistake, with its line.
pub fn parse_fields(name: &str, fields: &str) -> Result<Shape, SchemaError> {
    let mut parser = Parser::new(fields);
    let fields = parser.items(None, Parser::field)?;
    let mut resolver = Resolver::new(&[]);
    let at_line = |problem| SchemaError { line: parser.line, problem };
    let root = resolver.take_place("", name).map_err(at_line)?;
    resolver.definitions[root].kind = DefinitionKind::Struct(resolver.fields(&fields).map_err(at_line)?);
    resolver.shape(Type::Ref(root as u32)).map_err(at_line)
}

/// A type in the source. It refers to other types by their names.
#[derive(Clone)]
enum Written {
    Plain(Type),
    Option(Box<Written>),
    List(Box<Written>),
    Array(u32, Box<Written>),
    Map(Box<Written>, Box<Written>),
    Tuple(Vec<Written>),
    Name(String),
}

struct Named {
    name: String,
    line: usize,
    kind: NamedKind,
}

type WrittenFields = Vec<(String, Written)>;

enum NamedKind {
    Struct(WrittenFields),
    Enum(Vec<(String, WrittenFields)>),
}

/// Collects the definitions that a root needs, in the order of a walk.
struct Resolver<'a> {
    named: &'a [Named],
    met: Vec<&'a str>,
    definitions: Vec<Definition>,
    /// The number of named types that enclose the one that is being resolved.
    depth: usize,
}

fn shape_of(root: &Named, named: &[Named]) -> Result<Shape, SchemaError> {
    let mut resolver = Resolver::new(named);
    let at_line = |problem| SchemaError { line: root.line, problem };
    let ty = resolver.reference(&root.name).map_err(at_line)?;
    resolver.shape(ty).map_err(|problem| at_line(format!("{}: {problem}", root.name)))
}

impl<'a> Resolver<'a> {
    fn new(named: &'a [Named]) -> Self {
        Resolver { named, met: Vec::new(), definitions: Vec::new(), depth: 0 }
    }

    /// Reading the shape's bytes back checks all other rules.
    fn shape(self, root: Type) -> Result<Shape, String> {
        let shape = Shape { root, definitions: self.definitions };
        Shape::from_bytes(&shape.to_bytes()).map_err(|error| error.to_string())
    }

    fn reference(&mut self, name: &str) -> Result<Type, String> {
        // A tuple is a separate definition each time, with an empty name.
        if let Some(index) = self.met.iter().position(|met| *met == name) {
            return Ok(Type::Ref(index as u32));
        }
        let named = self
            .named
            .iter()
            .find(|named| named.name == name)
            .ok_or_else(|| format!("no type is called {name}"))?;
        if self.depth == CHAIN_MAX {
            return Err(format!("types refer to others at most {CHAIN_MAX} deep"));
        }
        self.depth += 1;
        let index = self.take_place(&named.name, &named.name)?;
        self.definitions[index].kind = match &named.kind {
            NamedKind::Struct(fields) => DefinitionKind::Struct(self.fields(fields)?),
            NamedKind::Enum(variants) => {
                let variants =
                    variants.iter().map(|(name, fields)| Ok(Variant::new(name, self.fields(fields)?)));
                DefinitionKind::Enum(variants.collect::<Result<_, String>>()?)
            }
        };
        self.depth -= 1;
        Ok(Type::Ref(index as u32))
    }

    /// Adds a definition. Types refer to it by `reference`; an empty `reference` means that no type refers to it.
    fn take_place(&mut self, reference: &'a str, name: &str) -> Result<usize, String> {
        if self.definitions.len() == DEFINITIONS_MAX {
            return Err(format!("a type refers to at most {DEFINITIONS_MAX} others"));
        }
        self.met.push(reference);
        self.definitions.push(Definition { name: name.to_owned(), kind: DefinitionKind::Struct(Vec::new()) });
        Ok(self.definitions.len() - 1)
    }

    fn fields(&mut self, fields: &'a WrittenFields) -> Result<Vec<Field>, String> {
        fields.iter().map(|(name, written)| Ok(Field::new(name, self.resolve(written)?))).collect()
    }

    fn resolve(&mut self, written: &'a Written) -> Result<Type, String> {
        Ok(match written {
            Written::Plain(ty) => ty.clone(),
            Written::Option(item) => Type::Option(Box::new(self.resolve(item)?)),
            Written::List(item) => Type::List(Box::new(self.resolve(item)?)),
            Written::Array(count, item) => Type::Array(*count, Box::new(self.resolve(item)?)),
            Written::Map(key, value) => {
                let key = Box::new(self.resolve(key)?);
                Type::Map(key, Box::new(self.resolve(value)?))
            }
            Written::Tuple(items) => {
                let index = self.take_place("", "")?;
                let fields = items.iter().enumerate();
                let fields = fields.map(|(i, item)| Ok(Field::new(&i.to_string(), self.resolve(item)?)));
                self.definitions[index].kind = DefinitionKind::Struct(fields.collect::<Result<_, String>>()?);
                Type::Ref(index as u32)
            }
            Written::Name(name) => self.reference(name)?,
        })
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Peekable<CharIndices<'a>>,
    line: usize,
    /// The number of types that enclose the one that is being read.
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        Parser { text, tokens: text.char_indices().peekable(), line: 1, depth: 0 }
    }

    fn error(&self, problem: String) -> SchemaError {
        SchemaError { line: self.line, problem }
    }

    /// Skips white space and comments, and returns the next character.
    fn peek(&mut self) -> Option<char> {
        while let Some(&(at, c)) = self.tokens.peek() {
            if c == '\n' {
                self.line += 1;
            }
            if self.text[at..].starts_with("//") {
                while self.tokens.next_if(|(_, c)| *c != '\n').is_some() {}
            } else if c.is_whitespace() {
                self.tokens.next();
            } else {
                return Some(c);
            }
        }
        None
    }

    fn next_is(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.tokens.next();
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), SchemaError> {
        if self.next_is(wanted) {
            return Ok(());
        }
        Err(self.expected(&format!("`{wanted}`")))
    }

    fn expected(&mut self, wanted: &str) -> SchemaError {
        let found = self.peek().map_or_else(|| "the end of the text".to_owned(), |c| format!("`{c}`"));
        self.error(format!("{wanted} is expected, not {found}"))
    }

    /// Reads a run of characters that `belongs` accepts.
    fn word(&mut self, what: &str, belongs: impl Fn(char) -> bool) -> Result<&'a str, SchemaError> {
        self.peek();
        let start = self.tokens.peek().map_or(self.text.len(), |(at, _)| *at);
        while self.tokens.next_if(|(_, c)| belongs(*c)).is_some() {}
        let end = self.tokens.peek().map_or(self.text.len(), |(at, _)| *at);
        if start == end {
            return Err(self.error(format!("{what} is expected")));
        }
        Ok(&self.text[start..end])
    }

    fn name(&mut self) -> Result<&'a str, SchemaError> {
        self.word("a name", |c| c.is_alphanumeric() || c == '_')
    }

    fn number(&mut self) -> Result<f64, SchemaError> {
        let word = self.word("a number", |c| c.is_ascii_alphanumeric() || "+-.".contains(c))?;
        word.parse().map_err(|_| self.error(format!("`{word}` is not a number")))
    }

    fn whole<T: TryFrom<u64>>(&mut self) -> Result<T, SchemaError> {
        let word = self.word("a whole number", |c| c.is_ascii_digit())?;
        let number = word.parse::<u64>().ok().and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| self.error(format!("{word} is too large")))
    }

    fn definition(&mut self) -> Result<Option<Named>, SchemaError> {
        if self.peek().is_none() {
            return Ok(None);
        }
        let line = self.line;
        let keyword = self.name()?;
        let name = self.name()?.to_owned();
        let kind = match keyword {
            "struct" => NamedKind::Struct(self.fields()?),
            "enum" => NamedKind::Enum(self.list('{', '}', |parser| {
                let name = parser.name()?.to_owned();
                let fields = match parser.peek() {
                    Some('{') => parser.fields()?,
                    Some('(') => {
                        let items = parser.list('(', ')', Self::ty)?.into_iter().enumerate();
                        items.map(|(index, item)| (index.to_string(), item)).collect()
                    }
                    _ => Vec::new(),
                };
                Ok((name, fields))
            })?),
            other => return Err(self.error(format!("`struct` or `enum` is expected, not `{other}`"))),
        };
        Ok(Some(Named { name, line, kind }))
    }

    fn fields(&mut self) -> Result<WrittenFields, SchemaError> {
        self.list('{', '}', Self::field)
    }

    fn field(&mut self) -> Result<(String, Written), SchemaError> {
        let name = self.name()?.to_owned();
        self.expect(':')?;
        Ok((name, self.ty()?))
    }

    /// Reads items between brackets, separated by commas. A comma after the last item is allowed.
    fn list<T>(
        &mut self,
        open: char,
        close: char,
        item: impl FnMut(&mut Self) -> Result<T, SchemaError>,
    ) -> Result<Vec<T>, SchemaError> {
        self.expect(open)?;
        self.items(Some(close), item)
    }

    /// Reads items up to a bracket, or to the end of the text if there is no bracket.
    fn items<T>(
        &mut self,
        close: Option<char>,
        mut item: impl FnMut(&mut Self) -> Result<T, SchemaError>,
    ) -> Result<Vec<T>, SchemaError> {
        let mut items = Vec::new();
        while self.peek() != close {
            items.push(item(self)?);
            if self.peek() != close && !self.next_is(',') {
                let wanted = close.map_or_else(|| "a comma".to_owned(), |close| format!("`{close}`"));
                return Err(self.expected(&wanted));
            }
        }
        self.tokens.next();
        Ok(items)
    }

    fn ty(&mut self) -> Result<Written, SchemaError> {
        if self.depth == DEPTH_MAX {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let ty = self.nested_type();
        self.depth -= 1;
        ty
    }

    fn too_deep(&self) -> SchemaError {
        self.error(format!("a type is at most {DEPTH_MAX} deep"))
    }

    fn nested_type(&mut self) -> Result<Written, SchemaError> {
        let mut ty = match self.peek() {
            Some('[') => self.list_or_array()?,
            Some('{') => {
                self.expect('{')?;
                let key = self.ty()?;
                self.expect(':')?;
                let value = self.ty()?;
                self.expect('}')?;
                Written::Map(Box::new(key), Box::new(value))
            }
            Some('(') => Written::Tuple(self.list('(', ')', Self::ty)?),
            _ => self.named_type()?,
        };
        let mut options = self.depth;
        while self.next_is('?') {
            if options == DEPTH_MAX {
                return Err(self.too_deep());
            }
            options += 1;
            ty = Written::Option(Box::new(ty));
        }
        Ok(ty)
    }

    fn list_or_array(&mut self) -> Result<Written, SchemaError> {
        self.expect('[')?;
        let item = Box::new(self.ty()?);
        let written =
            if self.next_is(';') { Written::Array(self.whole()?, item) } else { Written::List(item) };
        self.expect(']')?;
        Ok(written)
    }

    fn named_type(&mut self) -> Result<Written, SchemaError> {
        let plain = match self.name()? {
            "unit" => Type::Unit,
            "bool" => Type::Bool,
            "u8" => Type::Number(NumberType::U8),
            "u16" => Type::Number(NumberType::U16),
            "u32" => Type::Number(NumberType::U32),
            "u64" => Type::Number(NumberType::U64),
            "i8" => Type::Number(NumberType::I8),
            "i16" => Type::Number(NumberType::I16),
            "i32" => Type::Number(NumberType::I32),
            "i64" => Type::Number(NumberType::I64),
            "f32" => Type::Number(NumberType::F32),
            "f64" => Type::Number(NumberType::F64),
            "uvar" => Type::Uvar,
            "ivar" => Type::Ivar,
            "text" => Type::Text,
            "bytes" => Type::Bytes,
            "any" => Type::Any,
            "quat" => Type::Quat(self.bits()?),
            "angle" => Type::Angle(self.bits()?),
            "range" => {
                let numbers = self.list('(', ')', Self::number)?;
                let [low, high, step] = numbers[..] else {
                    return Err(self.error("a range has low, high and step".to_owned()));
                };
                Type::Range(Range { low, high, step })
            }
            name => return Ok(Written::Name(name.to_owned())),
        };
        Ok(Written::Plain(plain))
    }

    fn bits(&mut self) -> Result<u8, SchemaError> {
        self.expect('(')?;
        let bits = self.whole()?;
        self.expect(')')?;
        Ok(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_in_any_order_and_may_contain_themselves() {
        let shapes = parse(
            "struct Scene { root: Node, pose: (f64, f64), size: [f32; 3]? }
             struct Node { name: text, children: [Node], tags: {text: any} }",
        )
        .unwrap();
        assert_eq!(shapes.len(), 2);
        assert_eq!(shapes[0].definitions.len(), 3);
        assert_eq!(shapes[1].definitions.len(), 1);
    }

    #[test]
    fn payloads_may_be_positional() {
        let shapes = parse("enum Mood { Calm, Angry(u8), Torn(u8, text) }").unwrap();
        let spelt = parse("enum Mood { Calm, Angry { 0: u8 }, Torn { 0: u8, 1: text } }").unwrap();
        assert_eq!(shapes, spelt);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let mistakes = [
            ("struct A { x: }", "line 1: a name is expected"),
            ("struct A { x: u8\n y: u8 }", "line 2: `}` is expected, not `y`"),
            ("struct A { x: B }", "line 1: no type is called B"),
            ("struct A {}\nstruct A {}", "line 2: two types are called A"),
            ("table A {}", "line 1: `struct` or `enum` is expected, not `table`"),
            ("struct A { x: range(1, 2) }", "line 1: a range has low, high and step"),
            ("struct A { x: quat(300) }", "line 1: 300 is too large"),
        ];
        for (schema, message) in mistakes {
            assert_eq!(parse(schema).unwrap_err().to_string(), message, "{schema}");
        }
        let mistakes = [
            ("heat: warm", "line 1: no type is called warm"),
            ("heat u8", "line 1: `:` is expected, not `u`"),
            ("a: u8 b: u8", "line 1: a comma is expected, not `b`"),
            ("a: range(0, x, 1)", "line 1: `x` is not a number"),
            ("a: [Heated]", "line 1: no type is called Heated"),
        ];
        for (fields, message) in mistakes {
            assert_eq!(parse_fields("Heated", fields).unwrap_err().to_string(), message, "{fields}");
        }
        assert!(parse_fields("Heated", "a: u8, a: u8").is_err());
        assert!(parse("struct A { a: A }").is_err());
        assert!(parse("struct A { x: quat(3) }").is_err());
    }
    #[test]
    fn deep_types_and_long_chains_are_refused() {
        let deep = "[".repeat(100_000);
        assert_eq!(
            parse_fields("A", &format!("a: {deep}")).unwrap_err().problem,
            "a type is at most 64 deep"
        );
        let options = format!("a: u8{}", "?".repeat(100_000));
        assert_eq!(parse_fields("A", &options).unwrap_err().problem, "a type is at most 64 deep");
        let chain: String = (0..5_000).map(|n| format!("struct S{n} {{ next: S{} }}\n", n + 1)).collect();
        let problem = parse(&chain).unwrap_err().problem;
        assert_eq!(problem, "types refer to others at most 128 deep");
        let many: String = (0..1_024).map(|n| format!("struct S{n} {{}} ")).collect();
        let fields: String = (0..1_024).map(|n| format!("f{n}: S{n}, ")).collect();
        let problem = parse(&format!("struct Root {{ {fields} }} {many}")).unwrap_err().problem;
        assert_eq!(problem, "a type refers to at most 1024 others");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a-zA-Z0-9:,?\\[\\]{}();. \n]{0,80}") {
            let _ = parse(&text);
            let _ = parse_fields("A", &text);
        }
    }
}
