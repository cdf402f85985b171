//! Checks calls of the API: the number of arguments, and the bindings of actions.

use crate::resolver::Resolver;
use crate::types::Type;
use nowcast_script::{Token, TokenKind};

/// The arguments of a call.
pub(crate) struct Arguments {
    /// The number of arguments that are certainly given.
    pub(crate) given: usize,
    /// Whether the last expression may yield any number of values.
    pub(crate) is_open: bool,
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
        // `Kind.spawn(kind, …)` passes the subject as the first argument.
        let subjects = usize::from(arity.is_method && !has_colon);
        let (least, greatest) = (arity.least + subjects, arity.greatest.saturating_add(subjects));
        let Arguments { given, is_open } = *arguments;
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

    /// Checks that pages can offer an action. They offer it by its key or mouse button, or by the button that touch screens
    /// show for it. `tokens` begin with the fourth argument. Without a fourth argument, `arguments` is 3.
    pub(crate) fn action(&mut self, place: &Token, name: &str, arguments: usize, binding: Option<&[Token]>) {
        let problem = match binding.map(fields_of) {
            None if arguments == 3 => format!(
                "action `{name}` has no binding, so no page offers it; add {{ key = \"f\", label = \"{name}\" }} as its last \
                 argument, or {{}} if only programs do it"
            ),
            Some(Some(fields)) if !fields.is_empty() && !fields.contains(&"key") => {
                format!(
                    "action `{name}` has no `key`, so no page offers it; add key = \"f\", or another letter"
                )
            }
            _ => return,
        };
        self.find(place, false, problem);
    }
}

/// Returns the names of the fields of the table at the beginning of the tokens.
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
