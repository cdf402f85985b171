//! Reads the types of the reference, which are in Luau's notation.

/// A type.
pub(super) enum Ty {
    /// `()`
    Nothing,
    Name(String),
    /// `T?`
    Optional(Box<Ty>),
    /// `{ T }`
    List(Box<Ty>),
    /// `{ name: T }`
    Table(Vec<Member>),
    /// `(name: T) -> R`
    Function(Vec<Parameter>, Box<Ty>),
    /// `A | B`
    Union(Vec<Ty>),
    /// `A & B`
    Both(Vec<Ty>),
}

/// A field of a table. The name of a field by key is `[string]` or `[number]`.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) ty: Ty,
}

/// A parameter of a function. Its name is empty if it has none, and `...` for all further arguments.
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) ty: Ty,
}

/// Reads a type.
///
/// # Panics
/// Panics if the text is not a type. The texts are constants, and a test reads all of them.
pub(super) fn read(text: &str) -> Ty {
    let mut reader = Reader { rest: text };
    let ty = reader.union();
    assert!(reader.rest.trim().is_empty(), "the type {text:?} ends before {:?}", reader.rest);
    ty
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn union(&mut self) -> Ty {
        let mut types = vec![self.both()];
        while self.take("|") {
            types.push(self.both());
        }
        one_or(types, Ty::Union)
    }

    fn both(&mut self) -> Ty {
        let mut types = vec![self.optional()];
        while self.take("&") {
            types.push(self.optional());
        }
        one_or(types, Ty::Both)
    }

    fn optional(&mut self) -> Ty {
        let mut ty = self.single();
        while self.take("?") {
            ty = Ty::Optional(Box::new(ty));
        }
        ty
    }

    fn single(&mut self) -> Ty {
        if self.take("(") {
            return self.function_or_brackets();
        }
        if self.take("{") {
            return self.table();
        }
        if self.take("...") {
            return self.single();
        }
        Ty::Name(self.word().to_owned())
    }

    /// Reads on after the first parenthesis.
    fn function_or_brackets(&mut self) -> Ty {
        let mut parameters = Vec::new();
        while !self.take(")") {
            parameters.push(self.parameter());
            self.take(",");
        }
        if self.take("->") {
            return Ty::Function(parameters, Box::new(self.optional()));
        }
        parameters.pop().map_or(Ty::Nothing, |parameter| parameter.ty)
    }

    fn parameter(&mut self) -> Parameter {
        if self.take("...") {
            return Parameter { name: "...".to_owned(), ty: self.union() };
        }
        let name = self.field_name().unwrap_or_default();
        Parameter { name, ty: self.union() }
    }

    /// Reads on after the first brace.
    fn table(&mut self) -> Ty {
        let mut members = Vec::new();
        while !self.take("}") {
            if self.take("[") {
                let key = self.word();
                assert!(self.take("]") && self.take(":"), "a key is in brackets");
                members.push(Member { name: format!("[{key}]"), ty: self.union() });
            } else if let Some(name) = self.field_name() {
                members.push(Member { name, ty: self.union() });
            } else {
                let item = self.union();
                assert!(self.take("}"), "a list has one type");
                return Ty::List(Box::new(item));
            }
            self.take(",");
        }
        Ty::Table(members)
    }

    /// Takes `name:`.
    fn field_name(&mut self) -> Option<String> {
        let text = self.rest.trim_start();
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|end| *end > 0)?;
        self.rest = text[end..].trim_start().strip_prefix(':')?;
        Some(text[..end].to_owned())
    }

    fn word(&mut self) -> &'a str {
        let text = self.rest.trim_start();
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
        assert!(end > 0, "a type has a name before {text:?}");
        self.rest = &text[end..];
        &text[..end]
    }

    fn take(&mut self, sign: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

fn one_or(mut types: Vec<Ty>, several: impl Fn(Vec<Ty>) -> Ty) -> Ty {
    if types.len() > 1 { several(types) } else { types.pop().expect("one type was read") }
}
