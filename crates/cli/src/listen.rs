//! `nowcast listen`

use std::pin::pin;
use std::process::ExitCode;

use anyhow::Context as _;
use nowcast::admission::{Policy, parse_origin};
use nowcast::{Channel, ListenConfig, Listener, Message, MessageKind};
use tokio::task::JoinSet;

use crate::host::resolve;
use crate::output::{self, OutputLost, printable};
use crate::reach::runtime;
use crate::send::text;
use crate::serve::asked_to_stop;
use crate::token;

/// Advertise a name and print the messages that arrive, to test a sender
///
/// Commands are answered with their own bytes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The name
    name: String,

    /// The port, for TCP and UDP; 0 lets the system choose one, and clients connect by the name
    #[arg(long, default_value_t = 0)]
    port: u16,

    /// Address or name to listen on [default: loopback in both families]
    #[arg(long)]
    host: Option<String>,

    /// The file with the key that verifies tokens
    #[arg(long, value_name = "FILE")]
    key_file: Option<std::path::PathBuf>,

    /// Admit all clients without a token, including other machines
    #[arg(long)]
    anonymous: bool,

    /// Web origin whose pages may connect, such as `https://example.org`; may be repeated [default: on loopback without
    /// a key, the endpoint's own; elsewhere every page]
    #[arg(long = "allow-origin", value_name = "ORIGIN", value_parser = parse_origin)]
    origins: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut config = match &args.host {
        None => ListenConfig::loopback(args.port),
        Some(host) => ListenConfig::on(resolve("--host ", host)?, args.port),
    };
    let key = token::key(args.key_file.as_deref())?;
    config.entry =
        Policy { key, anonymous: args.anonymous, origins: args.origins.clone(), ..Policy::default() };
    runtime()?.block_on(async {
        let listener = Listener::bind(config).await?;
        let mut service = listener.advertise(&args.name).await?;
        output::line(format_args!("{} listens on port {}. Ctrl-C ends it.", args.name, listener.port()))?;
        if !service.is_local() {
            output::note(
                "Another process has this name on this machine, so clients reach this one only by its port.",
            );
        }
        let mut number = 0_u64;
        let mut shown = JoinSet::new();
        let mut stop = pin!(asked_to_stop());
        loop {
            tokio::select! {
                channel = service.accept() => {
                    number += 1;
                    shown.spawn(show(channel?, number));
                }
                // If the output of a listener is closed, the listener ends.
                Some(over) = shown.join_next() => over.context("a task that shows a channel failed")??,
                () = &mut stop => return Ok(ExitCode::SUCCESS),
            }
        }
    })
}

async fn show(channel: Channel, number: u64) -> Result<(), OutputLost> {
    let entry = channel.entry();
    let who = entry.name.as_deref().map(|name| format!(", {}", printable(name))).unwrap_or_default();
    let role = entry.role.as_deref().map(|role| format!(" ({})", printable(role))).unwrap_or_default();
    let carrier = channel.status().carrier.map_or_else(|| "no carrier".into(), |carrier| carrier.to_string());
    output::line(format_args!("[{number}] joined over {carrier}{who}{role}"))?;
    loop {
        match channel.receive().await {
            Ok(message) => {
                output::line(format_args!("[{number}] {}", line(&message)))?;
                if let MessageKind::Command(id) = message.kind
                    && let Err(error) = channel.reply(id, &message.bytes).await
                {
                    output::line(format_args!("[{number}] the reply could not be sent: {error}"))?;
                }
            }
            Err(error) => {
                return output::line(format_args!("[{number}] left: {}", printable(&error.to_string())));
            }
        }
    }
}

fn line(message: &Message) -> String {
    let text = text(&message.bytes);
    match message.kind {
        MessageKind::State { key } => format!("state {}: {text}", key.raw()),
        MessageKind::Event => format!("event: {text}"),
        MessageKind::Command(_) => format!("command: {text}"),
        _ => format!("{} bytes", message.bytes.len()),
    }
}
