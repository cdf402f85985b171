//! Reads the statements of a module and resolves their names on the way.

mod annotations;

use crate::calls::Arguments;
use crate::resolver::{Resolver, required};
use crate::types::Type;
use nowcast_script::{Token, TokenKind};

/// Maximum nesting of blocks and expressions. Luau accepts less.
const DEPTH_MAX: usize = 1_000;

/// The place of the first token that the parser does not expect.
pub(crate) struct Unreadable(pub(crate) Token);

type Read<T> = Result<T, Unreadable>;

/// The value of an expression.
struct Value {
    ty: Type,
    /// Whether the expression may yield any number of values at the end of a list.
    is_open: bool,
}

const UNKNOWN: Value = Value { ty: Type::Unknown, is_open: false };

/// Reads a module.
pub(crate) fn read(tokens: &[Token], resolver: &mut Resolver<'_>) -> Result<(), Unreadable> {
    let mut parser = Parser { tokens, at: 0, depth: 0, resolver };
    parser.statements()?;
    if parser.peek().kind == TokenKind::End { Ok(()) } else { Err(parser.unexpected()) }
}

struct Parser<'t, 'r, 'a> {
    /// The tokens. The last one is [`TokenKind::End`].
    tokens: &'t [Token],
    at: usize,
    depth: usize,
    resolver: &'r mut Resolver<'a>,
}

impl<'t> Parser<'t, '_, '_> {
    fn peek(&self) -> &'t Token {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> &'t Token {
        &self.tokens[(self.at + by).min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> &'t Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn unexpected(&self) -> Unreadable {
        Unreadable(self.peek().clone())
    }

    /// Whether the next token is this word or sign.
    fn is(&self, text: &str) -> bool {
        self.peek().is(text)
    }

    fn take(&mut self, text: &str) -> bool {
        let is_next = self.is(text);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, text: &str) -> Read<()> {
        if self.take(text) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn name(&mut self) -> Read<&'t Token> {
        if self.peek().kind == TokenKind::Name { Ok(self.next()) } else { Err(self.unexpected()) }
    }

    /// Reads a construct that can contain itself, and limits the nesting.
    fn deeper<R>(&mut self, work: impl FnOnce(&mut Self) -> Read<R>) -> Read<R> {
        if self.depth == DEPTH_MAX {
            return Err(self.unexpected());
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }

    fn scoped<R>(&mut self, work: impl FnOnce(&mut Self) -> Read<R>) -> Read<R> {
        self.resolver.open_scope();
        let result = self.deeper(work);
        self.resolver.close_scope();
        result
    }

    // Statements.

    /// A block in a new scope, up to the keyword that ends it.
    fn block(&mut self) -> Read<()> {
        self.scoped(Self::statements)
    }

    fn statements(&mut self) -> Read<()> {
        while !(self.peek().kind == TokenKind::End
            || ["end", "else", "elseif", "until"].iter().any(|end| self.is(end)))
        {
            self.statement()?;
            while self.take(";") {}
        }
        Ok(())
    }

    fn statement(&mut self) -> Read<()> {
        let word = if self.peek().kind == TokenKind::Name { self.peek().text.as_str() } else { "" };
        match word {
            "local" => self.local(),
            "function" => self.function_statement(),
            "if" => self.choice(),
            "while" => {
                self.next();
                self.expression()?;
                self.body("do")
            }
            "do" => self.body("do"),
            "for" => self.scoped(Self::for_statement),
            "repeat" => self.scoped(|this| {
                this.next();
                this.statements()?;
                this.expect("until")?;
                // The condition is in the scope of the block.
                this.expression().map(drop)
            }),
            "return" => {
                self.next();
                let is_empty = self.peek().kind == TokenKind::End
                    || ["end", "else", "elseif", "until", ";"].iter().any(|end| self.is(end));
                if is_empty { Ok(()) } else { self.expressions().map(drop) }
            }
            "break" => {
                self.next();
                Ok(())
            }
            "continue" if self.begins_a_statement(1) => {
                self.next();
                Ok(())
            }
            "export" if self.ahead(1).text == "type" => {
                self.next();
                self.type_statement()
            }
            "type" if self.ahead(1).kind == TokenKind::Name => self.type_statement(),
            _ if self.is("@") => {
                self.next();
                self.name().map(drop)
            }
            _ => self.assignment_or_call(),
        }
    }

    /// Whether the token this far ahead cannot continue the name before it.
    fn begins_a_statement(&self, ahead: usize) -> bool {
        let token = self.ahead(ahead);
        let goes_on =
            ["=", ".", "[", "(", ":", "{", ","].contains(&token.text.as_str()) || token.text.ends_with('=');
        !(matches!(token.kind, TokenKind::Text | TokenKind::Interpolated(_))
            || token.kind == TokenKind::Sign && goes_on)
    }

    /// `do … end`, with the keyword that begins it.
    fn body(&mut self, begin: &str) -> Read<()> {
        self.expect(begin)?;
        self.block()?;
        self.expect("end")
    }

    fn local(&mut self) -> Read<()> {
        self.next();
        if self.take("function") {
            let name = self.name()?;
            self.resolver.declare(&name.text, Type::Unknown);
            return self.function(&[], None);
        }
        let names = self.typed_names()?;
        let types = if self.take("=") { self.expressions()? } else { Vec::new() };
        for (index, name) in names.iter().enumerate() {
            self.resolver.declare(&name.text, types.get(index).cloned().unwrap_or(Type::Unknown));
        }
        Ok(())
    }

    /// `a, b: T, c`
    fn typed_names(&mut self) -> Read<Vec<&'t Token>> {
        let mut names = Vec::new();
        loop {
            names.push(self.name()?);
            if self.take(":") {
                self.skip_type()?;
            }
            if !self.take(",") {
                return Ok(names);
            }
        }
    }

    /// `function f`, `function t.f`, `function t:f`
    fn function_statement(&mut self) -> Read<()> {
        self.next();
        let first = self.name()?;
        let mut itself = None;
        if self.is(".") || self.is(":") {
            self.resolver.read(first);
            while self.take(".") {
                self.name()?;
            }
            if self.take(":") {
                self.name()?;
                itself = Some("self");
            }
        } else {
            self.resolver.assign(first, "write `local function`");
        }
        self.function(&[], itself)
    }

    fn choice(&mut self) -> Read<()> {
        self.next();
        loop {
            self.expression()?;
            self.expect("then")?;
            self.block()?;
            if self.take("elseif") {
                continue;
            }
            if self.take("else") {
                self.block()?;
            }
            return self.expect("end");
        }
    }

    fn for_statement(&mut self) -> Read<()> {
        self.next();
        let names = self.typed_names()?;
        let types = if self.take("=") {
            self.expressions()?;
            Vec::new()
        } else {
            self.expect("in")?;
            self.expressions()?
        };
        let item = match types.as_slice() {
            [Type::List(item)] => (**item).clone(),
            _ => Type::Unknown,
        };
        for (index, name) in names.iter().enumerate() {
            self.resolver.declare(&name.text, if index == 1 { item.clone() } else { Type::Unknown });
        }
        self.body("do")
    }

    fn assignment_or_call(&mut self) -> Read<()> {
        let is_name_set = self.peek().kind == TokenKind::Name && is_assignment(self.ahead(1));
        let value = if is_name_set {
            let name = self.next();
            self.resolver.assign(name, "write `local` before it");
            UNKNOWN
        } else {
            self.suffixed(true)?
        };
        if self.take(",") {
            return self.assignment_or_call();
        }
        let sign = self.peek();
        if is_assignment(sign) {
            self.next();
            return self.expressions().map(drop);
        }
        // Of all expressions, only a call can be a statement.
        if value.is_open { Ok(()) } else { Err(self.unexpected()) }
    }

    // Functions.

    /// The parameters and the body of a function. `types` are the known types of its parameters.
    fn function(&mut self, types: &[Type], itself: Option<&str>) -> Read<()> {
        self.resolver.functions += 1;
        self.scoped(|this| {
            if this.is("<") {
                this.skip_generics()?;
            }
            this.expect("(")?;
            if let Some(itself) = itself {
                this.resolver.declare(itself, Type::Unknown);
            }
            let mut index = 0;
            while !this.take(")") {
                if !this.take("...") {
                    let name = this.name()?;
                    this.resolver.declare(&name.text, types.get(index).cloned().unwrap_or(Type::Unknown));
                    index += 1;
                }
                if this.take(":") {
                    this.skip_type()?;
                }
                if !this.take(",") && !this.is(")") {
                    return Err(this.unexpected());
                }
            }
            if this.take(":") {
                this.skip_type()?;
            }
            this.statements()?;
            this.expect("end")
        })?;
        self.resolver.functions -= 1;
        Ok(())
    }

    // Expressions.

    fn expressions(&mut self) -> Read<Vec<Type>> {
        let mut types = vec![self.expression()?.ty];
        while self.take(",") {
            types.push(self.expression()?.ty);
        }
        Ok(types)
    }

    fn expression(&mut self) -> Read<Value> {
        self.deeper(|this| {
            let mut value = this.operand()?;
            while BINARY.iter().any(|sign| this.is(sign)) {
                this.next();
                this.operand()?;
                value = UNKNOWN;
            }
            Ok(value)
        })
    }

    /// A value with its unary operators and its cast.
    fn operand(&mut self) -> Read<Value> {
        if ["not", "-", "#"].iter().any(|sign| self.take(sign)) {
            self.deeper(Self::operand)?;
            return Ok(UNKNOWN);
        }
        let mut value = self.simple()?;
        if self.take("::") {
            self.skip_type()?;
            value = UNKNOWN;
        }
        Ok(value)
    }

    fn simple(&mut self) -> Read<Value> {
        let token = self.peek();
        match &token.kind {
            TokenKind::Number | TokenKind::Text => {
                self.next();
                return Ok(UNKNOWN);
            }
            TokenKind::Interpolated(parts) => {
                self.next();
                return self.interpolated(parts).map(|()| UNKNOWN);
            }
            TokenKind::End => return Err(self.unexpected()),
            TokenKind::Name | TokenKind::Sign => {}
        }
        match token.text.as_str() {
            "nil" | "true" | "false" => {
                self.next();
                Ok(UNKNOWN)
            }
            "..." => {
                self.next();
                Ok(Value { ty: Type::Unknown, is_open: true })
            }
            "{" => self.table().map(|()| UNKNOWN),
            "function" => {
                self.next();
                self.function(&[], None).map(|()| UNKNOWN)
            }
            "if" => self.choice_of_values().map(|()| UNKNOWN),
            _ => self.suffixed(false),
        }
    }

    /// The expressions in a text between backticks.
    fn interpolated(&mut self, parts: &[Vec<Token>]) -> Read<()> {
        for part in parts {
            let mut inner = Parser { tokens: part, at: 0, depth: self.depth, resolver: &mut *self.resolver };
            inner.expression()?;
            if inner.peek().kind != TokenKind::End {
                return Err(inner.unexpected());
            }
        }
        Ok(())
    }

    /// `if a then b elseif c then d else e`
    fn choice_of_values(&mut self) -> Read<()> {
        self.next();
        loop {
            self.expression()?;
            self.expect("then")?;
            self.expression()?;
            if self.take("elseif") {
                continue;
            }
            self.expect("else")?;
            return self.expression().map(drop);
        }
    }

    fn table(&mut self) -> Read<()> {
        self.expect("{")?;
        while !self.take("}") {
            if self.take("[") {
                self.expression()?;
                self.expect("]")?;
                self.expect("=")?;
            } else if self.peek().kind == TokenKind::Name
                && self.ahead(1).text == "="
                && self.ahead(1).kind == TokenKind::Sign
            {
                self.next();
                self.next();
            }
            self.expression()?;
            if !(self.take(",") || self.take(";") || self.is("}")) {
                return Err(self.unexpected());
            }
        }
        Ok(())
    }

    /// A value with its suffixes: fields and calls. At the beginning of a statement, the last field of the expression may be
    /// assigned.
    fn suffixed(&mut self, is_statement: bool) -> Read<Value> {
        let first = self.peek();
        let (mut ty, mut global) = if self.take("(") {
            let value = self.expression()?;
            self.expect(")")?;
            (value.ty, None)
        } else if first.kind == TokenKind::Name && !WORDS.contains(&first.text.as_str()) {
            self.next();
            (self.resolver.read(first), Some(first.text.as_str()))
        } else {
            return Err(self.unexpected());
        };
        let mut is_open = false;
        // Whether only fields follow the first name so far. An assignment then changes the value of this name.
        let mut is_part = is_statement && first.is_name();
        let mut place = first;
        loop {
            if self.take(".") {
                place = self.name()?;
                let is_set = is_statement && is_assignment(self.peek());
                ty = self.resolver.field(&ty, place, is_set);
                is_open = false;
            } else if self.take("[") {
                self.expression()?;
                self.expect("]")?;
                ty = match ty {
                    Type::List(item) => *item,
                    _ => Type::Unknown,
                };
                is_open = false;
            } else if self.take(":") {
                let name = self.name()?;
                let method = self.resolver.field(&ty, name, false);
                ty = self.deeper(|this| this.call(&method, name, true, None))?;
                (is_open, is_part) = (true, false);
            } else if self.begins_arguments() {
                ty = self.deeper(|this| this.call(&ty, place, false, global))?;
                (is_open, is_part) = (true, false);
            } else {
                if is_part && is_assignment(self.peek()) {
                    self.resolver.change(first);
                }
                return Ok(Value { ty, is_open });
            }
            global = None;
        }
    }

    fn begins_arguments(&self) -> bool {
        self.is("(")
            || self.is("{")
            || matches!(self.peek().kind, TokenKind::Text | TokenKind::Interpolated(_))
    }

    /// The arguments of a call. Returns the type of its result.
    fn call(&mut self, function: &Type, place: &Token, has_colon: bool, global: Option<&str>) -> Read<Type> {
        let begin = self.peek();
        let (mut word, mut second) = (None, None);
        let mut first = Type::Unknown;
        let mut arguments = Arguments { given: 1, is_open: false, begins: vec![begin.clone()] };
        let tokens = self.tokens;
        self.resolver.far_place(function, &tokens[self.at..]);
        if self.take("(") {
            (arguments.given, arguments.begins) = (0, Vec::new());
            let is_action =
                matches!(function, Type::Function(of, name) if **of == Type::World && name == "action");
            let mut binding = None;
            while !self.take(")") {
                let token = self.peek();
                let is_text =
                    token.kind == TokenKind::Text && [",", ")"].iter().any(|end| self.ahead(1).is(end));
                match arguments.given {
                    0 if is_text => word = Some(token),
                    0 if token.is_name() && changes_its_argument(function) => self.resolver.change(token),
                    1 if is_text => second = Some(token),
                    3 => binding = Some(self.at),
                    _ => {}
                }
                arguments.begins.push(token.clone());
                let value = self.argument(function, word)?;
                if arguments.given == 0 {
                    first = value.ty;
                }
                arguments.given += 1;
                arguments.is_open = value.is_open;
                if !self.take(",") && !self.is(")") {
                    return Err(self.unexpected());
                }
            }
            if let (true, Some(word)) = (is_action, word) {
                let tokens = self.tokens;
                self.resolver.action(word, &word.text, arguments.given, binding.map(|at| &tokens[at..]));
            }
            arguments.given -= usize::from(arguments.is_open);
        } else if begin.kind == TokenKind::Text {
            word = Some(self.next());
        } else {
            self.simple()?;
        }
        self.resolver.count_arguments(function, place, has_colon, &arguments);
        match (function, place.text.as_str()) {
            (_, "require") if global.is_some() => self.resolver.use_name("require", place, word),
            // The value that has the function may be the world, even if the text does not show it.
            (_, name @ ("action" | "kind" | "timer")) => self.resolver.use_name(name, place, word),
            (Type::Function(of, _), name @ ("after" | "every")) if **of == Type::World => {
                self.resolver.use_name(name, place, second);
            }
            _ => {}
        }
        let word = word.map(|word| word.text.as_str());
        Ok(match (function, global) {
            (_, Some("require")) => word.map_or(Type::Unknown, required),
            (_, Some("pairs" | "ipairs")) => first,
            (Type::Function(of, name), _) if **of == Type::World && name == "kind" => {
                self.resolver.kind(word)
            }
            (function, _) => function.returned(&first),
        })
    }

    /// An argument. If it is a function that is passed to the API, the types of its parameters are known.
    fn argument(&mut self, of: &Type, word: Option<&Token>) -> Read<Value> {
        if !self.is("function") {
            return self.expression();
        }
        self.next();
        let types = of.parameters(word.map(|word| word.text.as_str()));
        self.function(&types, None).map(|()| UNKNOWN)
    }
}

/// Whether a function of Luau changes the table that is its first argument.
fn changes_its_argument(function: &Type) -> bool {
    const CHANGING: [&str; 5] = ["insert", "remove", "clear", "sort", "move"];
    let Type::Function(of, name) = function else { return false };
    **of == Type::Library("table".to_owned()) && CHANGING.contains(&name.as_str())
}

/// Keywords of the language, which are not names.
const WORDS: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil",
    "not", "or", "repeat", "return", "then", "true", "until", "while",
];

const BINARY: [&str; 16] =
    ["+", "-", "*", "/", "//", "%", "^", "..", "==", "~=", "<", "<=", ">", ">=", "and", "or"];

/// Whether the token after a place assigns to this place, alone or as one of several.
fn is_assignment(token: &Token) -> bool {
    token.is(",") || token.is_assignment()
}
