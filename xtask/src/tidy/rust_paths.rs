//! Finds the paths that a Rust file names, without a compiler. The result is exact enough to see which file uses which other
//! file.

use std::collections::{BTreeMap, BTreeSet};

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
pub(super) fn scan(text: &str) -> Scanned {
    let tokens = tokens(text);
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
    scanned
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

/// Returns words, `::` and single characters. Leaves out comments and texts.
fn tokens(text: &str) -> Vec<String> {
    let signs: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&sign) = signs.get(at) {
        let next = signs.get(at + 1).copied().unwrap_or_default();
        match sign {
            '/' if next == '/' => at = end_of(&signs, at, |sign| sign == '\n'),
            '/' if next == '*' => at = end_of_block_comment(&signs, at),
            '"' => at = end_of_text(&signs, at + 1),
            'r' if next == '"' || (next == '#' && matches!(signs.get(at + 2), Some('"' | '#'))) => {
                at = end_of_raw_text(&signs, at + 1);
            }
            '\'' => at = end_of_char_or_lifetime(&signs, at + 1),
            ':' if next == ':' => {
                tokens.push("::".to_owned());
                at += 2;
            }
            _ if sign.is_alphabetic() || sign == '_' => {
                let end = end_of(&signs, at, |sign| !sign.is_alphanumeric() && sign != '_');
                tokens.push(signs[at..end].iter().collect());
                at = end;
            }
            _ => {
                if !sign.is_whitespace() {
                    tokens.push(sign.to_string());
                }
                at += 1;
            }
        }
    }
    tokens
}

fn end_of(signs: &[char], from: usize, is_end: impl Fn(char) -> bool) -> usize {
    signs.iter().skip(from).position(|sign| is_end(*sign)).map_or(signs.len(), |length| from + length)
}

fn end_of_block_comment(signs: &[char], from: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = from;
    while let Some(pair) = signs.get(at..at + 2) {
        match pair {
            ['/', '*'] => (depth, at) = (depth + 1, at + 2),
            ['*', '/'] if depth == 1 => return at + 2,
            ['*', '/'] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    signs.len()
}

fn end_of_text(signs: &[char], mut at: usize) -> usize {
    while let Some(sign) = signs.get(at) {
        match sign {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    signs.len()
}

fn end_of_raw_text(signs: &[char], from: usize) -> usize {
    let hashes = end_of(signs, from, |sign| sign != '#') - from;
    let mut at = from + hashes + 1;
    while at < signs.len() {
        if signs[at] == '"'
            && signs.iter().skip(at + 1).take(hashes).filter(|sign| **sign == '#').count() == hashes
        {
            return at + 1 + hashes;
        }
        at += 1;
    }
    signs.len()
}

/// `'a'`, `'\''` and `'static` all begin with the same character.
fn end_of_char_or_lifetime(signs: &[char], from: usize) -> usize {
    match (signs.get(from), signs.get(from + 1)) {
        (Some('\\'), _) => end_of(signs, from + 2, |sign| sign == '\'') + 1,
        (Some(_), Some('\'')) => from + 2,
        _ => from,
    }
}
