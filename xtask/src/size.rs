//! `cargo xtask size` counts lines of code without tests, and bytes of documents.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;

use crate::step;

/// References that programs write from the code. Tests compare them with the code.
const GENERATED: [&str; 3] =
    ["docs/reference/cli.md", "docs/reference/sdk.md", "docs/reference/world-luau.md"];

/// Prints lines of Rust and TypeScript and bytes of Markdown for each crate, package and folder. Blank lines, comments, test files
/// and test modules do not count; Markdown below spec/ does not count.
pub(crate) fn run() -> anyhow::Result<()> {
    let listed = step::command("git").args(["ls-files"]).output().context("git is missing")?;
    let mut tables: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
    let listed = String::from_utf8(listed.stdout)?;
    let read = |file: &str| std::fs::read_to_string(step::root().join(file)).ok();
    let rust = listed.lines().filter(|file| file.ends_with(".rs"));
    let tests: BTreeSet<String> =
        rust.filter_map(|file| Some(test_modules(file, &read(file)?))).flatten().collect();
    for file in listed.lines().filter(|file| !tests.contains(*file)) {
        let Some(kind) = kind_of(file) else { continue };
        let Some(text) = read(file) else { continue };
        let count = match kind {
            kind if kind.starts_with("Markdown") => text.len(),
            "Rust, lines" => code_lines(without_test_modules(&text)),
            _ => code_lines(text.lines()),
        };
        let place: Vec<&str> = file.split('/').take(2).collect();
        *tables.entry(kind).or_default().entry(place.join("/")).or_default() += count;
    }
    for (kind, table) in tables {
        println!("{:>9}  {kind}", table.values().sum::<usize>());
        let mut rows: Vec<_> = table.into_iter().collect();
        rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        rows.iter().for_each(|(place, count)| println!("{count:>9}    {place}"));
    }
    Ok(())
}

/// The table in which a file counts.
fn kind_of(file: &str) -> Option<&'static str> {
    let is_test =
        ["/tests/", "/test/", "/benches/", "/tests.rs", ".test.ts"].iter().any(|part| file.contains(part));
    let ends = |endings: &[&str]| endings.iter().any(|ending| file.ends_with(ending));
    if GENERATED.contains(&file) {
        Some("Markdown that is generated, bytes")
    } else if ends(&[".md"]) && !file.starts_with("spec/") {
        Some("Markdown, bytes")
    } else if is_test || file.ends_with(".d.ts") {
        None
    } else if ends(&[".rs"]) {
        Some("Rust, lines")
    } else if ends(&[".ts", ".tsx", ".mts", ".mjs", ".js"]) {
        Some("TypeScript, lines")
    } else {
        None
    }
}

/// The files of the test modules that a Rust file declares.
fn test_modules(file: &str, text: &str) -> Vec<String> {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let is_root = ["mod.rs", "lib.rs", "main.rs"].contains(&name);
    let folder = if is_root { folder } else { file.trim_end_matches(".rs") };
    let lines: Vec<&str> = text.lines().collect();
    let is_test = |line: &str| line.starts_with("#[cfg(") && line.contains("test)") | line.contains("(test,");
    let declared = lines.windows(2).filter(|lines| is_test(lines[0]) && !lines[0].contains("any("));
    let names = declared.filter_map(|lines| lines[1].strip_prefix("mod ")?.strip_suffix(';'));
    names.map(|name| format!("{folder}/{name}.rs")).collect()
}

/// The lines of a Rust file without the modules below `#[cfg(test)]`, which begin and end at the margin.
fn without_test_modules(text: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    let mut lines = text.lines().peekable();
    std::iter::from_fn(move || {
        loop {
            let line = lines.next()?;
            if line.starts_with("#[cfg(test)]") && lines.peek().is_some_and(|next| next.starts_with("mod ")) {
                is_test = lines.next().is_some_and(|module| module.ends_with('{'));
            } else if is_test {
                is_test = line != "}";
            } else {
                return Some(line);
            }
        }
    })
}

/// Counts the lines that are neither blank nor comments.
fn code_lines<'a>(lines: impl Iterator<Item = &'a str>) -> usize {
    let mut is_comment = false;
    let mut count = 0;
    for line in lines.map(str::trim) {
        let begins = !is_comment && line.starts_with("/*");
        let was_comment = is_comment || begins;
        is_comment = was_comment && !line.contains("*/");
        count += usize::from(!was_comment && !line.is_empty() && !line.starts_with("//"));
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_blank_lines_and_test_modules_do_not_count() {
        let text = "//! A file.\n\n/* one\n   two */\nuse std::fmt;\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\nfn last() {}\n";
        assert_eq!(code_lines(without_test_modules(text)), 2);
        assert_eq!(code_lines("/** one line */\nlet a = 1; // why\n".lines()), 1);
        assert_eq!(kind_of("crates/a/tests/b.rs"), None);
        let text = "mod one;\n#[cfg(test)]\nmod two;\n#[cfg(all(test, not(loom)))]\nmod three;\n";
        assert_eq!(test_modules("a/src/b.rs", text), ["a/src/b/two.rs", "a/src/b/three.rs"]);
        assert_eq!(test_modules("a/src/lib.rs", text), ["a/src/two.rs", "a/src/three.rs"]);
        assert_eq!(kind_of("packages/a/src/b.ts"), Some("TypeScript, lines"));
    }
}
