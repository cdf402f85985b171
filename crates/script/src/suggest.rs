//! Suggests known names for an unknown one.

/// Returns the hint for an error about an unknown name: the nearest known name, or else all known names.
pub fn instead<S: AsRef<str>>(name: &str, known: &[S]) -> String {
    match closest(name, known) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => "none is declared".to_owned(),
        None => {
            let known: Vec<_> = known.iter().map(AsRef::as_ref).collect();
            format!("there are {}", known.join(", "))
        }
    }
}

/// Returns the known name that is nearest to a misspelt one. For every three letters of the name, one letter may be added,
/// missing, wrong or swapped.
pub fn closest<'a, S: AsRef<str>>(name: &str, known: &'a [S]) -> Option<&'a str> {
    let errors_max = name.chars().count().div_ceil(3);
    let near = known.iter().map(|known| (distance(name, known.as_ref()), known.as_ref()));
    near.filter(|(errors, _)| *errors <= errors_max).min().map(|(_, known)| known)
}

/// Returns the number of letters to add, remove, replace or swap with their neighbour. Only the first 32 letters are
/// compared.
fn distance(a: &str, b: &str) -> usize {
    const LETTERS_MAX: usize = 32;
    let letters = |text: &str| -> Vec<char> {
        text.chars().flat_map(char::to_lowercase).filter(|c| *c != '_').take(LETTERS_MAX).collect()
    };
    let (a, b) = (letters(a), letters(b));
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = match (i, j) {
                (0, _) => j,
                (_, 0) => i,
                _ => {
                    let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    let is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                    let swapped = if is_swap { rows[i - 2][j - 2] + 1 } else { usize::MAX };
                    replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(swapped)
                }
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_the_one_that_was_meant() {
        let known = ["on", "action", "radius", "restitution", "velocity"];
        for (name, meant) in [
            ("onn", Some("on")),
            ("radus", Some("radius")),
            ("raduis", Some("radius")),
            ("Velocity", Some("velocity")),
            ("restitusion", Some("restitution")),
            ("teleport", None),
            ("", None),
        ] {
            assert_eq!(closest(name, &known), meant, "{name}");
        }
        assert_eq!(instead("x", &["aa", "bb"]), "there are aa, bb");
    }
}
