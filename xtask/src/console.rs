//! Colours, if the terminal shows them.

use std::io::IsTerminal;

fn paint(code: &str, text: &str) -> String {
    let plain = std::env::var_os("NO_COLOR").is_some() || !std::io::stderr().is_terminal();
    if plain { text.to_owned() } else { format!("\x1b[{code}m{text}\x1b[0m") }
}

pub(crate) fn red(text: &str) -> String {
    paint("31;1", text)
}

pub(crate) fn green(text: &str) -> String {
    paint("32;1", text)
}

pub(crate) fn yellow(text: &str) -> String {
    paint("33;1", text)
}

pub(crate) fn bold(text: &str) -> String {
    paint("1", text)
}
