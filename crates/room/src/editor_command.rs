//! Editors' commands: chat lines that begin with a slash (`docs/how-to/server.md`).

use nowcast_store::At;

use crate::persistence::BanRequest;

/// A command for the server. No other client receives its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EditorCommand {
    /// `/ban`: bans a client.
    Ban(BanRequest),
    /// `/unban`: lifts bans, by a name or an id.
    Unban(String),
    /// `/bans`: lists bans.
    Bans,
    /// `/at`: in a room that shows history, shows another moment.
    At(At),
    /// `/play`: plays the history, starting at the shown moment.
    Play,
    /// `/pause`: stops at the shown moment.
    Pause,
    /// `/copy`: creates a room with the world of the shown moment.
    Copy(String),
}

/// The answer to `/help` and to a command that does not exist.
pub(crate) const COMMANDS: &str = "/ban, /unban and /bans keep players out; /at, /play, /pause and /copy view a room's history. They \
     require the role 'editor'. A line that begins with two slashes is said with one.";

/// Whether a line is a command and not chat: whether it begins with a slash and a letter. The command may be invalid.
pub(crate) fn is_command(line: &str) -> bool {
    let mut letters = words(line).0.chars();
    letters.next() == Some('/')
        && letters.next().is_some_and(char::is_alphabetic)
        && !letters.any(|letter| letter == '/')
}

/// Whether all clients may use this command.
pub(crate) fn is_for_all(line: &str) -> bool {
    !matches!(words(line).0, "/ban" | "/unban" | "/bans" | "/at" | "/play" | "/pause" | "/copy")
}

impl EditorCommand {
    /// Parses a line for which [`is_command`] is true. The error message states the expected form.
    pub(crate) fn parse(line: &str) -> Result<Self, String> {
        let (command, rest) = words(line);
        match command {
            "/ban" => BanRequest::parse(rest).map(Self::Ban).map_err(str::to_owned),
            "/unban" if !rest.is_empty() => Ok(Self::Unban(rest.to_owned())),
            "/unban" => Err("/unban NAME, or the ban's id, which /bans shows".to_owned()),
            "/bans" => Ok(Self::Bans),
            "/at" => rest.parse().map(Self::At).map_err(|error| format!("/at: {error}")),
            "/play" => Ok(Self::Play),
            "/pause" => Ok(Self::Pause),
            "/copy" => Ok(Self::Copy(rest.to_owned())),
            "/help" => Err(COMMANDS.to_owned()),
            _ => Err(format!("there is no command {command}: {COMMANDS}")),
        }
    }
}

/// Splits a text into its first word and the rest.
fn words(line: &str) -> (&str, &str) {
    let line = line.trim();
    line.split_once(char::is_whitespace).map_or((line, ""), |(first, rest)| (first, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_lines_that_begin_with_a_command_are_commands() {
        for line in
            ["/ban", "  /unban Ada ", "/at -5m", "/pause now", "/copy old", "/help", "/shrug", "/BAN Ada"]
        {
            assert!(is_command(line), "{line}");
        }
        for line in ["", "/", "/ 2", "1/2", "ban Ada", "a /ban", "//ban", "/r/plaza is better", "/:"] {
            assert!(!is_command(line), "{line}");
        }
    }

    #[test]
    fn a_command_is_parsed_or_answered_with_its_expected_form() {
        let ago = At::Ago(Duration::from_secs(300));
        for (line, command) in [
            ("/at -5m", EditorCommand::At(ago)),
            ("/bans", EditorCommand::Bans),
            ("/unban Ian Bell", EditorCommand::Unban("Ian Bell".into())),
            ("/copy  old ", EditorCommand::Copy("old".into())),
            ("/pause", EditorCommand::Pause),
        ] {
            assert_eq!(EditorCommand::parse(line), Ok(command), "{line}");
        }
        for line in ["/ban", "/unban", "/at", "/at noon", "/shrug", "/help"] {
            assert!(EditorCommand::parse(line).is_err(), "{line}");
        }
    }
}
