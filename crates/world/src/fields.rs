//! Fields in the notation of authors: `heat: range(0, 1, 0.01), last: u32?`.

use nowcast_wire::Shape;
use nowcast_wire::shape::{Definition, DefinitionKind, Field, NumberType, Range, Type};

use crate::limits::VALUE_DEPTH_MAX;

/// Parses the shape of a struct with these fields. The error names the fault and its place.
pub(crate) fn parse(text: &str) -> Result<Shape, String> {
    let mut parser = Parser { rest: text.trim() };
    let mut fields: Vec<Field> = Vec::new();
    while !parser.rest.is_empty() {
        let name = parser.word()?.to_owned();
        parser.expect(":")?;
        let ty = parser.ty(0)?;
        if fields.iter().any(|field| field.name == name) {
            return Err(format!("two fields are called {name}"));
        }
        fields.push(Field::new(&name, ty));
        if !parser.takes(",") && !parser.rest.is_empty() {
            return Err(format!("a comma is expected before {:?}", parser.rest));
        }
    }
    let definition = Definition { name: "Attributes".to_owned(), kind: DefinitionKind::Struct(fields) };
    let shape = Shape { root: Type::Ref(0), definitions: vec![definition] };
    // The reader of shapes checks all other rules.
    Shape::from_bytes(&shape.to_bytes()).map_err(|error| error.to_string())
}

struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn takes(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token).map(str::trim_start);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.takes(token) { Ok(()) } else { Err(format!("{token:?} is expected before {:?}", self.rest)) }
    }

    fn word(&mut self) -> Result<&'t str, String> {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        self.cut(end).ok_or_else(|| format!("a name is expected before {:?}", self.rest))
    }

    fn number(&mut self) -> Result<f64, String> {
        let end = self.rest.find([',', ')', ']']).unwrap_or(self.rest.len());
        let word = self.cut(end).unwrap_or_default();
        word.trim().parse().map_err(|_| format!("{word:?} is no number"))
    }

    fn cut(&mut self, end: usize) -> Option<&'t str> {
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        (!word.is_empty()).then_some(word)
    }

    fn ty(&mut self, depth: usize) -> Result<Type, String> {
        if depth > VALUE_DEPTH_MAX {
            return Err(format!("a type is at most {VALUE_DEPTH_MAX} deep"));
        }
        let mut ty = if self.takes("[") {
            let inner = Box::new(self.ty(depth + 1)?);
            let ty =
                if self.takes(";") { Type::Array(self.number()? as u32, inner) } else { Type::List(inner) };
            self.expect("]")?;
            ty
        } else {
            self.plain()?
        };
        if self.takes("?") {
            ty = Type::Option(Box::new(ty));
        }
        Ok(ty)
    }

    fn plain(&mut self) -> Result<Type, String> {
        use NumberType::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let word = self.word()?;
        let numbers = [U8, U16, U32, U64, I8, I16, I32, I64, F32, F64];
        if let Some(number) = numbers.into_iter().find(|number| number.name() == word) {
            return Ok(Type::Number(number));
        }
        Ok(match word {
            "bool" => Type::Bool,
            "uvar" => Type::Uvar,
            "ivar" => Type::Ivar,
            "text" => Type::Text,
            "bytes" => Type::Bytes,
            "any" => Type::Any,
            "range" => match self.numbers()?.as_slice() {
                [low, high, step] => Type::Range(Range { low: *low, high: *high, step: *step }),
                _ => return Err("a range has a least, a greatest value and a step".to_owned()),
            },
            "quat" => Type::Quat(self.bits()?),
            "angle" => Type::Angle(self.bits()?),
            _ => return Err(format!("no type is called {word}")),
        })
    }

    fn bits(&mut self) -> Result<u8, String> {
        match self.numbers()?.as_slice() {
            [bits] => Ok(*bits as u8),
            _ => Err("a number of bits is expected".to_owned()),
        }
    }

    fn numbers(&mut self) -> Result<Vec<f64>, String> {
        self.expect("(")?;
        let mut numbers = vec![self.number()?];
        while self.takes(",") {
            numbers.push(self.number()?);
        }
        self.expect(")")?;
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_printed_fields_equal_the_shape() {
        let text =
            "heat: range(0, 1, 0.5), last: u32?, at: [f32; 3], names: [text], turn: quat(10), yaw: angle(16)";
        assert_eq!(parse(text).unwrap().to_string(), format!("Attributes {{ {text} }}"));
        assert_eq!(parse(" ").unwrap().fields().map(<[Field]>::len), Some(0));
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |text: &str| parse(text).unwrap_err();
        assert_eq!(wrong("heat: warm"), "no type is called warm");
        assert_eq!(wrong("heat u8"), "\":\" is expected before \"u8\"");
        assert_eq!(wrong("a: u8 b: u8"), "a comma is expected before \"b: u8\"");
        assert_eq!(wrong("a: u8, a: u8"), "two fields are called a");
        assert_eq!(wrong("a: range(0, x, 1)"), "\"x\" is no number");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a-z0-9:,?\\[\\]();. ]{0,60}") {
            let _ = parse(&text);
        }
    }
}
