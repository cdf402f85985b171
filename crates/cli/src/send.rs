//! `nowcast send`

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use nowcast::{Channel, Error};
use tokio::time::timeout;

use crate::output::{self, printable};
use crate::reach::{Reach, Stop, interrupted, runtime};

/// Send a state, an event or a command to a service, and print a command's reply
///
/// Values are texts. A value that begins with 0x is hexadecimal bytes.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct Args {
    #[command(flatten)]
    reach: Reach,

    /// A state: a key, at least 1, and its newest value
    #[arg(long, num_args = 2, value_names = ["KEY", "VALUE"], group = "what")]
    state: Option<Vec<String>>,

    /// An event
    #[arg(long, value_name = "TEXT", group = "what")]
    event: Option<String>,

    /// A command, whose reply is printed
    #[arg(long, value_name = "TEXT", group = "what")]
    command: Option<String>,

    /// The lane
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..16))]
    lane: u8,

    /// Seconds to wait for the reply or the delivery
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    timeout: u64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let what = what(args)?;
    runtime()?.block_on(async {
        let mut stop = Stop::new();
        let Some(channel) = stop.before(args.reach.connect()).await else { return Ok(interrupted()) };
        let channel = channel?;
        let sent = stop.before(send(args, &channel, what)).await;
        channel.leave(0, "").await;
        sent.map_or(Ok(interrupted()), |sent| sent.map(|()| ExitCode::SUCCESS))
    })
}

async fn send(args: &Args, channel: &Channel, what: What) -> anyhow::Result<()> {
    let lane = channel.lane(args.lane);
    let patience = Duration::from_secs(args.timeout);
    match what {
        What::State(key, value) => lane.state(key, &value).await?,
        What::Event(event) => lane.event(&event).await?,
        What::Command(command) => match lane.command(&command, patience).await {
            Err(Error::TimedOut) => {
                bail!("no reply within {} s: does the service answer commands?", args.timeout)
            }
            reply => output::line(text(&reply?))?,
        },
    }
    match timeout(patience, channel.drained()).await {
        Ok(drained) => drained?,
        Err(_) => bail!("the message did not arrive within {} s", args.timeout),
    }
    Ok(())
}

/// A message to send.
enum What {
    State(u64, Vec<u8>),
    Event(Vec<u8>),
    Command(Vec<u8>),
}

fn what(args: &Args) -> anyhow::Result<What> {
    if let Some([key, value]) = args.state.as_deref() {
        match key.parse() {
            Ok(key) if key > 0 => Ok(What::State(key, bytes(value)?)),
            _ => bail!("the key is '{key}', not a whole number of at least 1"),
        }
    } else if let Some(event) = &args.event {
        Ok(What::Event(bytes(event)?))
    } else {
        Ok(What::Command(bytes(args.command.as_deref().unwrap_or_default())?))
    }
}

/// Returns the bytes of an argument.
fn bytes(value: &str) -> anyhow::Result<Vec<u8>> {
    let Some(digits) = value.strip_prefix("0x") else { return Ok(value.as_bytes().to_vec()) };
    let pair = |index: usize| digits.get(index..index + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let read: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(pair).collect();
    match read {
        Some(bytes) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => Ok(bytes),
        _ => bail!("'{value}' is not bytes in hexadecimal: two digits each, as in 0x00ff"),
    }
}

/// Converts bytes to text that is safe for a terminal. Bytes that are not text, or that contain control characters, are shown in
/// hexadecimal.
pub(crate) fn text(bytes: &[u8]) -> String {
    printable(&raw_text(bytes))
}

/// Like [`text`], for output that programs read. Keeps characters that a terminal would not show.
pub(crate) fn raw_text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(|character| character.is_control() && character != '\t') => {
            text.to_owned()
        }
        _ => bytes.iter().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02x}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_texts_or_hexadecimal() {
        assert_eq!(bytes("hello").unwrap(), b"hello");
        assert_eq!(bytes("0x00fF").unwrap(), [0, 255]);
        assert_eq!(bytes("0x").unwrap(), b"");
        for wrong in ["0x0", "0xg0", "0x+1", "0xé"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn nothing_that_arrives_can_control_the_terminal() {
        assert_eq!(text("grüße 🚀".as_bytes()), "grüße 🚀");
        assert_eq!(text(b"\x1b[2J"), "0x1b5b324a");
        assert_eq!(text(&[0xff]), "0xff");
        assert_eq!(text("a\u{202e}b\tc".as_bytes()), "a\\u{202e}b\\u{9}c");
    }
}
