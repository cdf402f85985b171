//! `nowcast record`

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use nowcast_world_client::Join;

use crate::output::{self, printable};
use crate::reach::{Reach, Stop, runtime};
use crate::recorder::{self, RECORD_MB};
use crate::watch::seconds;

/// Record the packets of a session for Wireshark, tshark and `nowcast play`
///
/// Connects as a new client, receives everything, and writes the packets of both directions into a file of the format pcapng. The
/// packets are recorded without the encryption of the carrier, so the file needs no keys (docs/how-to/wireshark.md). `nowcast serve
/// --record FILE` records the sessions of all clients instead.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reach: Reach,

    /// The file, which must not exist yet
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// Join the world at this address under this name. A world sends nothing to clients that do not join it
    #[arg(long, value_name = "NAME")]
    join: Option<String>,

    /// End after this many seconds
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<Duration>,

    /// Maximum size of the file, in megabytes. Later packets are left out
    #[arg(long, value_name = "MB", default_value_t = RECORD_MB)]
    mb: u64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let recorder = recorder::create(&args.output, args.mb)?;
    runtime()?.block_on(async {
        let mut stop = Stop::new();
        let recording = async {
            let channel = args.reach.connect_recorded(&recorder).await?;
            if let Some(name) = &args.join {
                Join::new(name).send(&channel)?;
            }
            let over = async {
                match args.seconds {
                    Some(time) => tokio::time::sleep(time).await,
                    None => std::future::pending().await,
                }
            };
            let receiving = async {
                loop {
                    if let Err(error) = channel.receive().await {
                        return output::note(format_args!(
                            "The channel has ended: {}.",
                            printable(&error.to_string())
                        ));
                    }
                }
            };
            tokio::select! {
                () = receiving => {}
                () = over => {}
            }
            channel.leave(0, "").await;
            anyhow::Ok(())
        };
        stop.before(recording).await.unwrap_or(Ok(()))
    })?;
    recorder::finish(&recorder)?;
    Ok(ExitCode::SUCCESS)
}
