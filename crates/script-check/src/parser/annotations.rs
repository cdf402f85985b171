//! Skips type annotations, which editors check.

use super::{Parser, Read};
use nowcast_script::TokenKind;

impl Parser<'_, '_, '_> {
    /// `type Name<T> = …`
    pub(super) fn type_statement(&mut self) -> Read<()> {
        self.next();
        if self.take("function") {
            self.name()?;
            return self.function(&[], None);
        }
        self.name()?;
        if self.is("<") {
            self.skip_generics()?;
        }
        self.expect("=")?;
        self.skip_type()
    }

    pub(super) fn skip_type(&mut self) -> Read<()> {
        self.deeper(|this| {
            let _ = this.take("|") || this.take("&");
            loop {
                this.skip_simple_type()?;
                while this.take("?") {}
                if !(this.take("|") || this.take("&")) {
                    return Ok(());
                }
            }
        })
    }

    fn skip_simple_type(&mut self) -> Read<()> {
        if self.is("<") {
            self.skip_generics()?;
        }
        if self.take("...") {
            return self.skip_type();
        }
        if self.is("{") {
            return self.skip_brackets();
        }
        if self.is("(") {
            self.skip_brackets()?;
            return if self.take("->") { self.skip_type() } else { Ok(()) };
        }
        if self.peek().kind == TokenKind::Text {
            self.next();
            return Ok(());
        }
        let name = self.name()?;
        if name.text == "typeof" && self.is("(") {
            return self.skip_brackets();
        }
        while self.take(".") {
            self.name()?;
        }
        if self.is("<") {
            self.skip_generics()?;
        }
        let _ = self.take("...");
        Ok(())
    }

    /// `<A, B = C<D>>`
    pub(super) fn skip_generics(&mut self) -> Read<()> {
        self.expect("<")?;
        while !self.take(">") {
            self.skip_type()?;
            if self.take("=") {
                self.skip_type()?;
            }
            if !self.take(",") && !self.is(">") {
                return Err(self.unexpected());
            }
        }
        Ok(())
    }

    /// Skips from a bracket to its closing bracket.
    fn skip_brackets(&mut self) -> Read<()> {
        let mut depth = 0;
        loop {
            let token = self.peek();
            if token.kind == TokenKind::End {
                return Err(self.unexpected());
            }
            if token.kind == TokenKind::Sign {
                depth += i32::from(["(", "{", "["].contains(&token.text.as_str()));
                depth -= i32::from([")", "}", "]"].contains(&token.text.as_str()));
            }
            self.next();
            if depth == 0 {
                return Ok(());
            }
        }
    }
}
