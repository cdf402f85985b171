//! Finds the paths that a Rust file names, without a compiler. The result is exact enough to see which file uses which other
//! file.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The modules that a file names.
#[derive(Default)]
pub(super) struct Scanned {
    /// All paths with at least two parts, as written. Paths of a group are listed separately: `crate::a::B`.
    pub(super) paths: Vec<Vec<String>>,
    /// Names that `pub use` makes available in this module, and the paths from which they come.
    pub(super) handed_on: BTreeMap<String, Vec<String>>,
    /// Modules that are separate files: `mod x;`.
    pub(super) submodules: BTreeSet<String>,
    /// The submodules that are declared under `#[cfg(test)]`.
    pub(super) test_modules: BTreeSet<String>,
}

/// Reads a file. Skips code under `#[cfg(test)]`.
///
/// # Errors
/// Fails if the text is not Rust.
pub(super) fn scan(text: &str) -> anyhow::Result<Scanned> {
    let mut tokens = Vec::new();
    append_tokens(text.parse().map_err(|error| anyhow::anyhow!("{error}"))?, &mut tokens);
    let mut scanned = Scanned::default();
    let mut at = 0;
    let mut is_test = false;
    // The depths of braces at which modules inside the file begin. In such a module, `super` can mean the file itself.
    let mut depth = 0_usize;
    let mut inner_modules: Vec<usize> = Vec::new();
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            "#" if matches_at(&tokens, at, &["#", "[", "cfg", "(", "test", ")", "]"]) => {
                is_test = true;
                at += 7;
                continue;
            }
            "mod" => {
                let name = tokens.get(at + 1).cloned().unwrap_or_default();
                match tokens.get(at + 2).map(String::as_str) {
                    Some(";") => {
                        if std::mem::take(&mut is_test) {
                            scanned.test_modules.insert(name);
                        } else {
                            scanned.submodules.insert(name);
                        }
                    }
                    Some("{") if !is_test => inner_modules.push(depth),
                    _ => {}
                }
                at += 2;
                continue;
            }
            "{" if std::mem::take(&mut is_test) => {
                at = after_block(&tokens, at);
                continue;
            }
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                inner_modules.pop_if(|opened| *opened == depth);
            }
            ";" => is_test = false,
            "use" => {
                let mut found = Vec::new();
                let end = tree(&tokens, at + 1, &[], &mut found);
                let is_public = at
                    .checked_sub(1)
                    .and_then(|before| tokens.get(before))
                    .is_some_and(|before| before == "pub" || before == ")");
                take_use(
                    &mut scanned,
                    found,
                    is_public && inner_modules.is_empty(),
                    inner_modules.len(),
                    is_test,
                );
                is_test = false;
                at = end;
                continue;
            }
            word if is_word(word) => {
                let mut found = Vec::new();
                let end = tree(&tokens, at, &[], &mut found);
                let paths = found.into_iter().map(|(path, _)| path).filter(|path| path.len() > 1);
                scanned.paths.extend(paths.map(|path| without_inner(path, inner_modules.len())));
                at = end.max(at + 1);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    Ok(scanned)
}

fn take_use(
    scanned: &mut Scanned,
    found: Vec<(Vec<String>, String)>,
    is_public: bool,
    inner_modules: usize,
    is_test: bool,
) {
    if is_test {
        return;
    }
    for (path, name) in found {
        let path = without_inner(path, inner_modules);
        if is_public && name != "*" {
            scanned.handed_on.insert(name, path);
        } else {
            scanned.paths.push(path);
        }
    }
}

/// Converts a path in a module inside a file to a path seen from the file. Removes one `super` for each module that it leaves.
fn without_inner(mut path: Vec<String>, inner_modules: usize) -> Vec<String> {
    let up = path.iter().take_while(|part| *part == "super").count().min(inner_modules);
    if up > 0 {
        path.drain(..up);
        if path.first().is_none_or(|first| first != "super") {
            path.insert(0, "self".to_owned());
        }
    }
    path
}

/// Reads a path or a tree of paths (`a::{b, c as d}`) from position `at` on. Adds each path with the name that it gets. Returns
/// the position after the tree.
fn tree(
    tokens: &[String],
    mut at: usize,
    prefix: &[String],
    found: &mut Vec<(Vec<String>, String)>,
) -> usize {
    let mut path = prefix.to_vec();
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("{")
                if prefix.len() < path.len()
                    || tokens.get(at.wrapping_sub(1)).is_some_and(|t| t == "use") =>
            {
                at += 1;
                while tokens.get(at).is_some_and(|token| token != "}") {
                    let next = tree(tokens, at, &path, found);
                    at = next.max(at + 1);
                    if tokens.get(at).is_some_and(|token| token == ",") {
                        at += 1;
                    }
                }
                return at + 1;
            }
            Some("*") => {
                found.push((path, "*".to_owned()));
                return at + 1;
            }
            Some(word) if is_word(word) => path.push(word.to_owned()),
            _ => return at,
        }
        at += 1;
        if tokens.get(at).is_some_and(|token| token == "::") {
            at += 1;
            continue;
        }
        let mut name = path.last().cloned().unwrap_or_default();
        // `a::{self}` stands for `a`.
        if path.len() > 1 && name == "self" {
            path.pop();
            name = path.last().cloned().unwrap_or_default();
        }
        if tokens.get(at).is_some_and(|token| token == "as") {
            name = tokens.get(at + 1).cloned().unwrap_or_default();
            at += 2;
        }
        found.push((path, name));
        return at;
    }
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

fn matches_at(tokens: &[String], at: usize, wanted: &[&str]) -> bool {
    tokens.get(at..at + wanted.len()).is_some_and(|found| found.iter().zip(wanted).all(|(a, b)| a == b))
}

/// Returns the position after the brace that closes the one at `at`.
fn after_block(tokens: &[String], at: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, token) in tokens.iter().enumerate().skip(at) {
        match token.as_str() {
            "{" => depth += 1,
            "}" if depth == 1 => return offset + 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    tokens.len()
}

/// Appends words, `::` and single characters. Leaves out comments and texts.
fn append_tokens(stream: TokenStream, tokens: &mut Vec<String>) {
    for tree in stream {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Parenthesis | Delimiter::None => ("(", ")"),
                };
                tokens.push(open.to_owned());
                append_tokens(group.stream(), tokens);
                tokens.push(close.to_owned());
            }
            TokenTree::Ident(word) => tokens.push(word.to_string()),
            TokenTree::Punct(sign) => match tokens.last_mut() {
                Some(last) if last == ":" && sign.as_char() == ':' => last.push(':'),
                _ => tokens.push(sign.to_string()),
            },
            TokenTree::Literal(_) => {}
        }
    }
}
