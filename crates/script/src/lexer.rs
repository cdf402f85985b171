//! Splits the text of a module into tokens.

/// The kind of a token.
#[derive(Clone, PartialEq, Debug)]
pub enum TokenKind {
    /// A name or a keyword of the language.
    Name,
    /// A number, as written.
    Number,
    /// A text between quotes or long brackets.
    Text,
    /// A text between backticks, with the tokens of each expression in it.
    Interpolated(Vec<Vec<Token>>),
    /// An operator, a bracket or a separator.
    Sign,
    /// The end of the text.
    End,
}

/// A token and its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Token {
    /// Name, number, text or sign.
    pub kind: TokenKind,
    /// The text in the source; a text literal without its quotes.
    pub text: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl Token {
    /// Whether the token is this word or sign.
    pub fn is(&self, text: &str) -> bool {
        matches!(self.kind, TokenKind::Name | TokenKind::Sign) && self.text == text
    }

    /// Whether the token assigns a value to the place before it.
    pub fn is_assignment(&self) -> bool {
        const SIGNS: [&str; 9] = ["=", "+=", "-=", "*=", "/=", "//=", "%=", "^=", "..="];
        SIGNS.iter().any(|sign| self.is(sign))
    }

    /// Whether the token is a name or a keyword.
    pub fn is_name(&self) -> bool {
        self.kind == TokenKind::Name
    }
}

/// Signs of more than one character, the longest first.
const SIGNS: [&str; 18] = [
    "...", "..=", "//=", "::", "->", "==", "~=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "^=", "..", "//",
    "@",
];

/// Maximum nesting of interpolated texts, each within an expression of another one.
const NESTING_MAX: usize = 64;

/// Returns the tokens of a text that Luau loads. For any other text, the tokens end where the lexer stops.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { rest: text, line: 1, column: 1 };
    let mut found = lexer.until_brace(0);
    found.push(lexer.token(TokenKind::End, String::new()));
    found
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
    column: u32,
}

impl Lexer<'_> {
    fn token(&self, kind: TokenKind, text: String) -> Token {
        Token { kind, text, line: self.line, column: self.column }
    }

    /// Skips `bytes` bytes, which end between two characters.
    fn skip(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        for letter in passed.chars() {
            self.column += 1;
            if letter == '\n' {
                self.line += 1;
                self.column = 1;
            }
        }
        self.rest = rest;
    }

    /// Reads tokens up to the end of the text. In an expression within backticks (`nesting` above 0), reads up to the brace
    /// that ends the expression.
    fn until_brace(&mut self, nesting: usize) -> Vec<Token> {
        let mut found = Vec::new();
        let mut braces = 0;
        loop {
            self.skip_space();
            let Some(letter) = self.rest.chars().next() else { return found };
            match letter {
                '{' => braces += 1,
                '}' if braces == 0 && nesting > 0 => return found,
                '}' => braces -= 1,
                _ => {}
            }
            let Some(token) = self.next(letter, nesting) else { return found };
            found.push(token);
        }
    }

    /// Skips white space and comments.
    fn skip_space(&mut self) {
        loop {
            let space = self.rest.len() - self.rest.trim_start().len();
            self.skip(space);
            let Some(comment) = self.rest.strip_prefix("--") else { return };
            let length = match long_bracket(comment) {
                Some((_, length)) => 2 + length,
                None => self.rest.find('\n').unwrap_or(self.rest.len()),
            };
            self.skip(length);
        }
    }

    fn next(&mut self, letter: char, nesting: usize) -> Option<Token> {
        let (kind, text, length) = match letter {
            '"' | '\'' => {
                let length = quoted_length(self.rest, letter)?;
                (TokenKind::Text, self.rest[1..length - 1].to_owned(), length)
            }
            '`' => return self.interpolated(nesting),
            '[' if long_bracket(self.rest).is_some() => {
                let (inner, length) = long_bracket(self.rest)?;
                (TokenKind::Text, inner.to_owned(), length)
            }
            letter if letter.is_ascii_digit() => number(self.rest),
            '.' if self.rest[1..].starts_with(|next: char| next.is_ascii_digit()) => number(self.rest),
            letter if is_of_name(letter) => {
                let length = self.rest.find(|next| !is_of_name(next)).unwrap_or(self.rest.len());
                (TokenKind::Name, self.rest[..length].to_owned(), length)
            }
            letter => {
                let sign = SIGNS.iter().find(|sign| self.rest.starts_with(**sign));
                let length = sign.map_or(letter.len_utf8(), |sign| sign.len());
                (TokenKind::Sign, self.rest[..length].to_owned(), length)
            }
        };
        let token = self.token(kind, text);
        self.skip(length);
        Some(token)
    }

    /// A text between backticks.
    fn interpolated(&mut self, nesting: usize) -> Option<Token> {
        if nesting == NESTING_MAX {
            return None;
        }
        let mut token = self.token(TokenKind::Name, String::new());
        let quoted = self.rest;
        self.skip(1);
        let mut parts = Vec::new();
        loop {
            let at = self.rest.find(['`', '\\', '{'])?;
            let letter = self.rest[at..].chars().next()?;
            self.skip(at + 1);
            match letter {
                '`' => break,
                '{' => {
                    let mut part = self.until_brace(nesting + 1);
                    part.push(self.token(TokenKind::End, String::new()));
                    parts.push(part);
                    if !self.rest.starts_with('}') {
                        return None;
                    }
                    self.skip(1);
                }
                _ => {
                    let escaped = self.rest.chars().next()?;
                    self.skip(escaped.len_utf8());
                }
            }
        }
        token.text = quoted[1..quoted.len() - self.rest.len() - 1].to_owned();
        token.kind = TokenKind::Interpolated(parts);
        Some(token)
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// The length of a quoted text with its quotes.
fn quoted_length(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        if is_escaped {
            is_escaped = false;
        } else if letter == '\\' {
            is_escaped = true;
        } else if letter == quote {
            return Some(at + 1);
        }
    }
    None
}

/// Reads `[[…]]` or `[=[…]=]` at the beginning of a text. Returns the content, and the whole length.
fn long_bracket(text: &str) -> Option<(&str, usize)> {
    let inside = text.strip_prefix('[')?;
    let level = inside.len() - inside.trim_start_matches('=').len();
    let inner = inside[level..].strip_prefix('[')?;
    let end = format!("]{}]", "=".repeat(level));
    let length = inner.find(&end)?;
    Some((&inner[..length], level + 2 + length + end.len()))
}

fn number(text: &str) -> (TokenKind, String, usize) {
    let is_plain = !text.starts_with("0x") && !text.starts_with("0X");
    let mut before = ' ';
    let length = text.find(|letter: char| {
        let is_sign = matches!(letter, '+' | '-') && is_plain && matches!(before, 'e' | 'E');
        before = letter;
        !(is_of_name(letter) || letter == '.' || is_sign)
    });
    let mut length = length.unwrap_or(text.len());
    // `1..2` concatenates two numbers.
    if let Some(dots) = text[..length].find("..") {
        length = dots;
    }
    (TokenKind::Number, text[..length].to_owned(), length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        tokens(text).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn tokens_are_those_of_luau() {
        assert_eq!(texts("a.b ..= 'x\\'y' -- end\n"), ["a", ".", "b", "..=", "x\\'y", ""]);
        assert_eq!(texts("x=1..2e-3"), ["x", "=", "1", "..", "2e-3", ""]);
        assert_eq!(texts("[==[ ]] ]==] --[[ a\nb ]] c"), [" ]] ", "c", ""]);
        let found = tokens("\n  ä = `a {b + `{c}`} \\` {{ }`");
        assert_eq!((found[0].line, found[0].column, found[1].column), (2, 3, 5));
    }

    #[test]
    fn expressions_in_texts_keep_their_place() {
        let found = tokens("print(`one {two} {three.x}`)");
        let TokenKind::Interpolated(parts) = &found[2].kind else { panic!("{found:?}") };
        let names: Vec<_> = parts.iter().map(|part| (part[0].text.as_str(), part[0].column)).collect();
        assert_eq!(names, [("two", 13), ("three", 19)]);
    }

    #[test]
    fn a_text_that_does_not_end_ends_the_tokens() {
        for text in ["a 'b", "a `b", "a `{b", "a `{b`", "a [[b", "a \"\\"] {
            assert_eq!(tokens(text)[0].text, "a", "{text}");
        }
    }
}
