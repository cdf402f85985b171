//! Checks the walks of ARCHITECTURE.md. A walk follows a key press or a datagram by the names of files and functions. Every file
//! and function must exist.
//!
//! The check reads the words in code marks on that page. A word that ends in `.rs`, `.ts` or `.luau` is a file. A word that ends
//! in `()` is a function of the file that was named before it. In "`function()` of `file`" and in "`one()` and `other()` of
//! `file`", the word is a function of the file that follows. A file may be named by the end of its path: `session/mod.rs`.

use std::path::Path;

use super::files_below;

const FILE_ENDS: [&str; 3] = ["rs", "ts", "luau"];

/// Reports every file that does not exist, and every function that is not in the file to which the page assigns it.
pub(super) fn check(root: &Path, complaints: &mut Vec<String>) -> anyhow::Result<()> {
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    let mut files = Vec::new();
    for end in FILE_ENDS {
        for file in files_below(root, end)? {
            let relative = file.strip_prefix(root)?.to_string_lossy().into_owned();
            files.push(relative);
        }
    }
    let read = |file: &str| std::fs::read_to_string(root.join(file)).unwrap_or_default();
    complaints
        .extend(wrong(&page, &files, read).into_iter().map(|what| format!("ARCHITECTURE.md names {what}")));
    Ok(())
}

fn wrong(page: &str, files: &[String], read: impl Fn(&str) -> String) -> Vec<String> {
    let mut wrong = Vec::new();
    // If the paths of several files end in the same way, a function may be in any of these files.
    let mut named: (&str, Vec<&String>) = ("", Vec::new());
    let parts: Vec<&str> = page.split('`').collect();
    for at in (1..parts.len()).step_by(2) {
        let word = parts[at];
        if is_path(word) {
            named = (word, ending(files, word));
            if named.1.is_empty() {
                wrong.push(format!("{word}, which is not there"));
            }
        } else if let Some(path) = word.strip_suffix("()") {
            let function = path.rsplit(['.', ':']).next().unwrap_or(path);
            let following = following_file(&parts, at).map(|file| (file, ending(files, file)));
            let (file, candidates) = following.as_ref().unwrap_or(&named);
            if file.is_empty() {
                wrong.push(format!("{word} before any file"));
            } else if !candidates.is_empty()
                && !candidates.iter().any(|candidate| defines(&read(candidate), function))
            {
                wrong.push(format!("{word}, which is not in {file}"));
            }
        }
    }
    wrong
}

fn is_path(word: &str) -> bool {
    let ends = word.rsplit_once('.').is_some_and(|(_, end)| FILE_ENDS.contains(&end));
    ends && !word.contains([' ', '*', '{', '<'])
}

/// Returns the files whose path ends with `end`.
fn ending<'f>(files: &'f [String], end: &str) -> Vec<&'f String> {
    let fits = |file: &&String| {
        file.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    files.iter().filter(fits).collect()
}

/// Returns the file of "`function()` of `file`". Other functions may stand between: "`one()`, `two()` and `three()` of `file`".
fn following_file<'p>(parts: &[&'p str], mut at: usize) -> Option<&'p str> {
    loop {
        let (between, next) = (parts.get(at + 1)?.trim(), *parts.get(at + 2)?);
        match between {
            "of" if is_path(next) => return Some(next),
            "and" | "," if next.ends_with("()") => at += 2,
            _ => return None,
        }
    }
}

/// Whether a file in Rust, TypeScript or Luau defines a function or method with that name.
fn defines(text: &str, function: &str) -> bool {
    text.lines().any(|line| {
        line.match_indices(function).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + function.len()..]);
            let keyword = ["fn ", "function "].iter().any(|keyword| before.ends_with(keyword));
            // In TypeScript, a method looks like `async name(…): T {`, `private name(` or `readonly name = (`.
            let opens = after.starts_with('(') || after.starts_with('<');
            let is_start = before.split_whitespace().all(|word| {
                matches!(
                    word,
                    "async" | "private" | "public" | "protected" | "static" | "get" | "set" | "export"
                )
            });
            let is_method =
                is_start && opens && (line.trim_end().ends_with(['{', '(', ',']) || before.is_empty());
            let is_value = after.starts_with(" = (") || after.starts_with(" = async (");
            let is_whole = !after.starts_with(|next: char| next.is_alphanumeric() || next == '_');
            is_whole && (keyword && opens || is_method || is_value)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong_in(page: &str) -> Vec<String> {
        let files = ["crates/a/src/driver.rs".to_owned(), "packages/a/src/driver.ts".to_owned()];
        wrong(page, &files, |file| {
            if file.ends_with(".rs") {
                "impl A {\n    pub(crate) fn send_next(&self) {}\n    async fn run<T>() {}\n}".to_owned()
            } else {
                "class A {\n  private async sendNext(now: number): Promise<void> {\n    this.later();\n  }\n}"
                    .to_owned()
            }
        })
    }

    #[test]
    fn a_walk_with_existing_names_passes() {
        let page =
            "`crates/a/src/driver.rs` has `Driver::send_next()` and `run()`; `driver.ts` has `sendNext()`.";
        assert!(wrong_in(page).is_empty(), "{:?}", wrong_in(page));
    }

    #[test]
    fn a_missing_file_and_a_missing_function_are_named() {
        let page = "`src/driver.rs` has `gone()`, `gone.rs` has `x()`, and `driver.ts` has `later()`.";
        assert_eq!(
            wrong_in(page),
            [
                "gone(), which is not in src/driver.rs",
                "gone.rs, which is not there",
                "later(), which is not in driver.ts"
            ]
        );
    }

    #[test]
    fn a_file_may_follow_its_functions() {
        assert!(wrong_in("`driver.ts` and `run()` of `driver.rs`").is_empty());
        assert!(wrong_in("`send_next()` and `run()` of `src/driver.rs`").is_empty());
        assert_eq!(
            wrong_in("`driver.ts` and `gone()`, `run()` of `driver.rs`"),
            ["gone(), which is not in driver.rs"]
        );
    }

    #[test]
    fn a_file_whose_name_only_has_the_same_ending_is_another_file() {
        assert_eq!(wrong_in("`river.rs`"), ["river.rs, which is not there"]);
    }
}
