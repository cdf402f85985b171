//! A part of the type definitions for rules.

use serde_json::{Map, Value, json};

/// Returns the declarations that contain a text, with their comments, by file. A declaration is a line that does not begin with a
/// comment. The line that begins the enclosing table is added.
pub(crate) fn matching(types: &Value, search: &str) -> Value {
    let search = search.to_lowercase();
    let mut files = Map::new();
    for (name, text) in types["files"].as_object().into_iter().flatten() {
        let found = find(text.as_str().unwrap_or_default(), &search);
        if !found.is_empty() {
            files.insert(name.clone(), found.into());
        }
    }
    json!({ "search": search, "files": files })
}

fn find(text: &str, search: &str) -> String {
    let mut found = String::new();
    let (mut comment, mut enclosing, mut shown) = (Vec::new(), None, None);
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("--") {
            comment.push(line);
            continue;
        }
        if !line.starts_with(char::is_whitespace) {
            enclosing = Some(line);
        }
        let is_wanted = line.to_lowercase().contains(search)
            || comment.iter().any(|line: &&str| line.to_lowercase().contains(search));
        if is_wanted && !trimmed.is_empty() {
            if enclosing != shown && enclosing != Some(line) {
                push(&mut found, enclosing.unwrap_or_default());
            }
            shown = enclosing;
            comment.iter().for_each(|line| push(&mut found, line));
            push(&mut found, line);
        }
        comment.clear();
    }
    found
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_matching_declarations_are_returned_with_their_comments() {
        let text = "export type World = {\n\t-- Looks along a ray.\n\traycast: (from: vector) -> Hit?,\n\tplayers: () -> { Player },\n}\n\nexport type Hit = {\n\tentity: Entity,\n}\n";
        let types = json!({ "files": { "world.luau": text, "test.luau": "export type Test = {}\n" } });
        let found = matching(&types, "RAY");
        let expected = "export type World = {\n\t-- Looks along a ray.\n\traycast: (from: vector) -> Hit?,\n";
        assert_eq!(found["files"], json!({ "world.luau": expected }));
        assert_eq!(matching(&types, "no such name")["files"], json!({}));
    }
}
