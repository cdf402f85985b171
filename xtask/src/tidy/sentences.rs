//! Checks sentences. No comment, page, message or test name may begin with a relative clause, or contain a phrase that readers of
//! this repository had to read twice.
//!
//! A *paragraph* is one comment, one cell of a table, or one item of a list.

use std::collections::BTreeMap;
use std::path::Path;

use super::tracked_files;

/// Words that must not begin a sentence. A question may begin with them.
const OPENERS: [&str; 4] = ["What", "Who", "Whoever", "Whatever"];

/// Phrases that had to be read twice.
const PHRASES: [&str; 10] = [
    concat!("of ", "before"),
    concat!("of ", "then"),
    concat!("so ", "many"),
    concat!("as many as ", "one may"),
    concat!("for ", "who"),
    concat!("by ", "who"),
    concat!("of ", "who"),
    concat!("by ", "and by"),
    concat!("told ", "against"),
    concat!("heed ", "of"),
];

/// Maximum number of words of a sentence. Longer sentences are counted, but not refused.
const WORDS_MAX: usize = 25;

/// The kinds of files that hold sentences.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Rust and TypeScript: `//`, `///`, `//!` and `*`.
    Slashes,
    /// Luau: `--`.
    Dashes,
    /// Python and shell: `#`.
    Hash,
    Markdown,
}

impl Kind {
    fn of(file: &str) -> Option<Self> {
        match Path::new(file).extension()?.to_str()? {
            "rs" | "ts" | "tsx" | "mjs" | "js" | "c" | "h" | "hpp" | "cpp" => Some(Self::Slashes),
            "luau" | "lua" => Some(Self::Dashes),
            "py" | "sh" => Some(Self::Hash),
            "md" => Some(Self::Markdown),
            _ => None,
        }
    }

    /// Returns the text of a line of a comment; `None` for a line of code.
    fn comment(self, line: &str) -> Option<&str> {
        let line = line.trim_start();
        let text = match self {
            Self::Slashes => line
                .strip_prefix("///")
                .or_else(|| line.strip_prefix("//!"))
                .or_else(|| line.strip_prefix("//"))
                .or_else(|| line.strip_prefix("/**"))
                .or_else(|| line.strip_prefix("* "))?,
            Self::Dashes => line.strip_prefix("--")?.trim_start_matches('-'),
            Self::Hash => line.strip_prefix('#').filter(|rest| !rest.starts_with('!'))?,
            Self::Markdown => line,
        };
        Some(text.trim().trim_end_matches("*/").trim())
    }
}

/// A paragraph, and the number of its first line.
struct Paragraph {
    line: usize,
    text: String,
}

/// Number of all sentences of one folder, and of those with more than [`WORDS_MAX`] words.
#[derive(Default)]
struct Lengths {
    all: usize,
    long: usize,
}

/// Reports refused sentences, and prints the share of long sentences for each folder.
pub(super) fn check(root: &Path, complaints: &mut Vec<String>) -> anyhow::Result<()> {
    let mut lengths: BTreeMap<String, Lengths> = BTreeMap::new();
    for file in tracked_files(root)? {
        let Some(kind) = Kind::of(&file) else { continue };
        let Ok(text) = std::fs::read_to_string(root.join(&file)) else { continue };
        complaints
            .extend(complaints_about(kind, &text).iter().map(|complaint| format!("{file}:{complaint}")));
        let lengths = lengths.entry(folder_of(&file)).or_default();
        for sentence in paragraphs(kind, &text).iter().flat_map(|paragraph| sentences(&paragraph.text)) {
            lengths.all += 1;
            lengths.long += usize::from(sentence.split_whitespace().count() > WORDS_MAX);
        }
    }
    let shares: Vec<String> = lengths
        .iter()
        .filter(|(_, lengths)| lengths.long > 0)
        .map(|(folder, lengths)| {
            format!("{folder} {:.0} %", 100.0 * lengths.long as f64 / lengths.all as f64)
        })
        .collect();
    eprintln!("tidy: sentences of more than {WORDS_MAX} words: {}", shares.join(", "));
    Ok(())
}

/// Returns the first two parts of a path, such as `crates/server` or `docs`.
fn folder_of(file: &str) -> String {
    let parts: Vec<&str> = file.split('/').collect();
    match parts.as_slice() {
        [top, inner, _, ..] => format!("{top}/{inner}"),
        [top, _] => (*top).to_owned(),
        _ => "top".to_owned(),
    }
}

fn complaints_about(kind: Kind, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for Paragraph { line, text } in paragraphs(kind, text) {
        for sentence in sentences(&text) {
            let first = sentence.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
            if OPENERS.contains(&first) && !sentence.ends_with('?') {
                found.push(format!(
                    "{line}: a sentence begins with {first:?}: name the subject: {}",
                    start_of(sentence)
                ));
            }
        }
        for phrase in PHRASES {
            if has_phrase(&text, phrase) {
                found.push(format!("{line}: {phrase:?} had to be read twice: {}", start_of(&text)));
            }
        }
    }
    for (number, line) in text.lines().enumerate() {
        if let Some(name) = relative_test_name(kind, line) {
            found.push(format!(
                "{}: the name {name:?} is a relative clause: subject, condition, outcome",
                number + 1
            ));
        } else if kind != Kind::Markdown && kind.comment(line).is_none() {
            let problems = problems_of_literals(line);
            found.extend(problems.into_iter().map(|problem| format!("{}: {problem}", number + 1)));
        }
    }
    found
}

fn start_of(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Whether the text contains the phrase as whole words.
fn has_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let is_end = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
        is_end(text[..at].chars().next_back()) && is_end(text[at + phrase.len()..].chars().next())
    })
}

/// Returns the problems of the string literals in a line of code.
fn problems_of_literals(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, quote) in line.match_indices(['"', '`']) {
        let literal = line[at + 1..].split(quote).next().unwrap_or_default();
        let first = literal.split(' ').next().unwrap_or_default();
        let is_relative = OPENERS.iter().any(|opener| first.eq_ignore_ascii_case(opener));
        if is_relative && first.len() < literal.len() && !literal.contains('?') {
            found.push(format!("a text begins with {first:?}: name the subject: {}", start_of(literal)));
        }
        for phrase in PHRASES.iter().filter(|phrase| has_phrase(literal, phrase)) {
            found.push(format!("{phrase:?} had to be read twice: {}", start_of(literal)));
        }
    }
    found
}

/// Returns the name of a function or test, if it begins with a relative clause.
fn relative_test_name(kind: Kind, line: &str) -> Option<&str> {
    let is_relative = |name: &str, separator: char| {
        let first = name.split(separator).next().unwrap_or_default();
        OPENERS.iter().any(|opener| first.eq_ignore_ascii_case(opener)) && name.contains(separator)
    };
    if kind == Kind::Slashes && kind.comment(line).is_none() {
        let name = line.trim_start().split_once("fn ").map(|(_, rest)| rest);
        let name = name.map(|rest| rest.split(['(', '<']).next().unwrap_or_default());
        if let Some(name) = name.filter(|name| is_relative(name, '_')) {
            return Some(name);
        }
    }
    let call = ["test(\"", "it(\"", "describe(\"", "test.case(\""];
    let name = call.iter().find_map(|call| line.trim_start().strip_prefix(call))?;
    let name = name.split('"').next().unwrap_or_default();
    is_relative(name, ' ').then_some(name)
}

/// Returns the paragraphs of a file's comments, or of a page.
fn paragraphs(kind: Kind, text: &str) -> Vec<Paragraph> {
    let mut found: Vec<Paragraph> = Vec::new();
    let (mut is_open, mut is_code) = (false, false);
    for (number, line) in text.lines().enumerate() {
        let Some(mut text) = kind.comment(line) else {
            is_open = false;
            continue;
        };
        if text.starts_with("```") {
            (is_code, is_open) = (!is_code, false);
            continue;
        }
        if is_code || text.is_empty() {
            is_open = false;
            continue;
        }
        if kind == Kind::Markdown && text.starts_with('|') {
            is_open = false;
            let cells = text.split('|').map(str::trim).filter(|cell| !cell.is_empty());
            found.extend(cells.map(|cell| Paragraph { line: number + 1, text: cell.to_owned() }));
            continue;
        }
        let item = text.trim_start_matches(['-', '*', '#', '>', ' ']);
        let is_new = item.len() < text.len() || text.starts_with(|letter: char| letter.is_ascii_digit());
        if is_new {
            text =
                item.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.').trim_start();
        }
        match found.last_mut() {
            Some(last) if is_open && !is_new => {
                last.text.push(' ');
                last.text.push_str(text);
            }
            _ => found.push(Paragraph { line: number + 1, text: text.to_owned() }),
        }
        is_open = true;
    }
    found
}

/// Returns the sentences of a paragraph. A full stop, colon, semicolon, question mark or exclamation mark ends a sentence if a
/// space follows.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let text = rest.trim_start();
        if text.is_empty() {
            return None;
        }
        let end = text
            .char_indices()
            .find(|&(at, letter)| {
                matches!(letter, '.' | ':' | ';' | '?' | '!')
                    && text[at + 1..].chars().next().is_none_or(char::is_whitespace)
            })
            .map_or(text.len(), |(at, _)| at + 1);
        rest = &text[end..];
        Some(&text[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(kind: Kind, text: &str) -> usize {
        complaints_about(kind, text).len()
    }

    #[test]
    fn comments_that_begin_with_a_relative_clause_are_refused() {
        let opener = OPENERS[0];
        assert_eq!(complaints(Kind::Slashes, &format!("/// {opener} a client sends.\nfn a() {{}}")), 1);
        assert_eq!(
            complaints(Kind::Slashes, &format!("// It ends. {opener} comes later\n// is dropped.")),
            1
        );
        assert_eq!(complaints(Kind::Dashes, &format!("-- {} comes first wins.", OPENERS[2])), 1);
        assert_eq!(complaints(Kind::Slashes, "/// The message of a client.\nlet what = \"What\";"), 0);
    }

    #[test]
    fn questions_are_allowed() {
        assert_eq!(complaints(Kind::Markdown, &format!("{} owns the ball?", OPENERS[1])), 0);
    }

    #[test]
    fn pages_are_read_by_paragraph_cell_and_item_and_code_blocks_are_not() {
        let opener = OPENERS[0];
        assert_eq!(complaints(Kind::Markdown, &format!("| a | {opener} it is |\n| --- | --- |")), 1);
        assert_eq!(complaints(Kind::Markdown, &format!("Text.\n- {opener} it is.\n2. {opener} it was.")), 2);
        assert_eq!(complaints(Kind::Markdown, &format!("```\n{opener} it is.\n```")), 0);
    }

    #[test]
    fn phrases_are_refused_across_lines_and_only_as_whole_words() {
        let phrase = PHRASES[2].replace(' ', "\n// ");
        assert_eq!(complaints(Kind::Slashes, &format!("// after {phrase} steps")), 1);
        assert_eq!(complaints(Kind::Slashes, "// for whole worlds"), 0);
    }

    #[test]
    fn messages_that_begin_with_a_relative_clause_or_hold_a_phrase_are_refused() {
        let opener = OPENERS[1].to_lowercase();
        assert_eq!(complaints(Kind::Slashes, &format!("    return Err(\"{opener} asks is refused\");")), 1);
        assert_eq!(complaints(Kind::Slashes, &format!("    ask(\"{opener} is there?\");")), 0);
        assert_eq!(complaints(Kind::Slashes, &format!("    take(\"{opener}\");")), 0);
        assert_eq!(complaints(Kind::Dashes, &format!("error(\"after {} steps\")", PHRASES[2])), 1);
    }

    #[test]
    fn test_names_that_are_relative_clauses_are_refused_in_every_language() {
        let opener = OPENERS[1].to_lowercase();
        assert_eq!(complaints(Kind::Slashes, &format!("fn {opener}_comes_last_waits() {{}}")), 1);
        assert_eq!(complaints(Kind::Slashes, &format!("test(\"{opener} comes last waits\", () => {{")), 1);
        assert_eq!(
            complaints(Kind::Dashes, &format!("test.case(\"{opener} comes last waits\", function()")),
            1
        );
        assert_eq!(complaints(Kind::Slashes, &format!("fn {opener}() {{}}")), 0);
    }
}
