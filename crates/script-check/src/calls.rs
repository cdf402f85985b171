//! Checks API calls: the number of arguments, and actions' bindings.

use crate::resolver::Resolver;
use crate::types::Type;
use nowcast_script::{Token, TokenKind};
use nowcast_world::Motion;
use nowcast_world::limits::PRECISE_POSITION_MAX;

/// The arguments of a call.
pub(crate) struct Arguments {
    /// The number of arguments that are certainly given.
    pub(crate) given: usize,
    /// Whether the last expression may yield any number of values.
    pub(crate) is_open: bool,
    /// The first token of each argument.
    pub(crate) begins: Vec<Token>,
}

/// The type of a value that its first token shows: a table, a function, a text or a number.
fn literal(token: &Token) -> Option<&'static str> {
    match token.kind {
        TokenKind::Sign if token.text == "{" => Some("a table"),
        TokenKind::Name if token.text == "function" => Some("a function"),
        TokenKind::Text | TokenKind::Interpolated(_) => Some("a text"),
        TokenKind::Number => Some("a number"),
        _ => None,
    }
}

impl Resolver<'_> {
    /// Compares the number of arguments of a call with the function's type. Missing arguments raise an error when the line runs;
    /// arguments beyond the last parameter are ignored.
    pub(crate) fn count_arguments(
        &mut self,
        function: &Type,
        place: &Token,
        has_colon: bool,
        arguments: &Arguments,
    ) {
        let Type::Function(subject, name) = function else { return };
        let Some(of) = subject.api_name() else { return };
        let Some(arity) = nowcast_script::arguments_of(of, name) else { return };
        if has_colon && !arity.is_method {
            let module = of.to_lowercase();
            let message = format!("`{name}` is called with a dot, not with a colon: {module}.{name}(…)");
            return self.find(place, true, message);
        }
        if arity.is_method && !has_colon && arguments.begins.first().is_some_and(|one| literal(one).is_some())
        {
            let message = format!("`{name}` is called with a colon, not with a dot: write :{name}(…)");
            return self.find(place, true, message);
        }
        let subject_count = usize::from(arity.is_method && !has_colon);
        let types = nowcast_script::parameter_types(of, name);
        for (ty, begin) in types.iter().zip(arguments.begins.iter().skip(subject_count)) {
            if let Some(message) = misfit(name, ty, begin) {
                self.find(begin, true, message);
            }
        }
        // `Kind.spawn(kind, …)` passes the subject as the first argument.
        let (least, greatest) = (arity.least + subject_count, arity.greatest.saturating_add(subject_count));
        let Arguments { given, is_open, .. } = *arguments;
        let are =
            |count: usize| if count == 1 { "1 argument".to_owned() } else { format!("{count} arguments") };
        if given < least && !is_open {
            let more = if greatest == least { "" } else { "at least " };
            let message = format!("`{name}` takes {more}{}, and {given} are given", are(least));
            self.find(place, true, message);
        } else if given > greatest {
            let most = if greatest == least { "" } else { "at most " };
            let message =
                format!("`{name}` takes {most}{}, and {given} are given; the rest is ignored", are(greatest));
            self.find(place, self.is_strict, message);
        }
    }

    /// Warns of a call that puts a body that forces move far from the origin. `tokens` begin with the arguments.
    pub(crate) fn far_place(&mut self, function: &Type, tokens: &[Token]) {
        let kinds = &self.version.definition.kinds;
        let Type::Function(of, name) = function else { return };
        let is_forced = match (of.as_ref(), name.as_str()) {
            (Type::Kind(Some(kind)), "spawn") => {
                kinds[*kind].body.as_ref().is_some_and(|body| body.motion == Motion::Dynamic)
            }
            (Type::Player, "spawn_avatar") => true,
            _ => false,
        };
        if let Some(coordinate) = far_coordinate(tokens).filter(|_| is_forced) {
            let message = format!(
                "forces and walkers are exact within {PRECISE_POSITION_MAX} m of the origin; build the world around the origin"
            );
            self.find(coordinate, false, message);
        }
    }

    /// Checks that pages can offer an action. They offer it by its key or mouse button, or by the button that touch screens
    /// show for it. `tokens` begin with the fourth argument. Without a fourth argument, `arguments` is 3.
    pub(crate) fn action(&mut self, place: &Token, name: &str, arguments: usize, binding: Option<&[Token]>) {
        let problem = match binding.map(fields_of) {
            None if arguments == 3 => format!(
                "action `{name}` has no binding, so no page offers it; add {{ key = \"f\", label = \"{name}\" }} as its last \
                 argument, or {{}} if only programs do it"
            ),
            Some(Some(fields))
                if !["key", nowcast_script::BACK_END].iter().any(|field| fields.contains(field))
                    && !fields.is_empty() =>
            {
                format!(
                    "action `{name}` has no `key`, so no page offers it; add key = \"f\", or another letter"
                )
            }
            _ => return,
        };
        self.find(place, false, problem);
    }
}

/// Returns the mistake if an argument that begins with this token cannot have the type of its parameter.
fn misfit(function: &str, ty: &str, begin: &Token) -> Option<String> {
    let found = literal(begin)?;
    let ty = ty.trim_end_matches('?');
    let expected = match ty {
        "string" => "a text",
        "number" => "a number",
        _ if ty.starts_with('(') && ty.contains("->") => "a function",
        _ => return None,
    };
    // A number is accepted as a text, and a text may hold a number.
    let is_plain = |what| matches!(what, "a text" | "a number");
    if expected == found || is_plain(expected) && is_plain(found) {
        return None;
    }
    if matches!(function, "after" | "every") && found == "a function" {
        return Some(format!(
            "`{function}` takes the name of a timer, not a function: world.timer(\"name\", function(data) … end) declares one, and \
             world.{function}(1, \"name\") sets it"
        ));
    }
    Some(format!("`{function}` takes {expected} here, not {found}"))
}

/// Returns the coordinate in `at = vector.create(…)` of a table that is too far from the origin for exact physics, with its place.
fn far_coordinate(tokens: &[Token]) -> Option<&Token> {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate() {
        let is_sign = token.kind == TokenKind::Sign;
        match token.text.as_str() {
            "{" | "(" | "[" if is_sign => depth += 1,
            "}" | ")" | "]" if is_sign => depth -= 1,
            "at" if token.kind == TokenKind::Name => {
                let begins = ["=", "vector", ".", "create", "("];
                let rest = &tokens[index + 1..];
                if rest.len() > 5 && rest.iter().zip(begins).all(|(token, text)| token.text == text) {
                    let arguments = rest[5..].iter().take_while(|token| token.text != ")");
                    let is_far = |token: &&Token| {
                        let value = token.text.replace('_', "").parse::<f32>();
                        token.kind == TokenKind::Number
                            && value.is_ok_and(|value| value > PRECISE_POSITION_MAX)
                    };
                    // Only plain numbers, because an operator may make a number small.
                    let is_plain = |token: &Token| {
                        token.kind == TokenKind::Number || [",", "-"].contains(&token.text.as_str())
                    };
                    if arguments.clone().all(is_plain) {
                        return arguments.into_iter().find(is_far);
                    }
                }
            }
            _ => {}
        }
        if depth <= 0 {
            break;
        }
    }
    None
}

/// Returns the field names of the table with which the tokens begin.
fn fields_of(tokens: &[Token]) -> Option<Vec<&str>> {
    if tokens.first()?.text != "{" {
        return None;
    }
    let (mut depth, mut fields) = (0, Vec::new());
    for pair in tokens.windows(2) {
        let is_sign = pair[0].kind == TokenKind::Sign;
        match pair[0].text.as_str() {
            "{" | "(" | "[" if is_sign => depth += 1,
            "}" | ")" | "]" if is_sign => depth -= 1,
            name if depth == 1 && pair[0].kind == TokenKind::Name && pair[1].text == "=" => fields.push(name),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    Some(fields)
}
