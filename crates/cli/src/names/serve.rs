//! `nowcast names serve`

use std::process::ExitCode;

use anyhow::Context as _;
use nowcast::names::{NameServer, NameServerConfig, PORT};

use crate::host::resolve;
use crate::output;
use crate::serve::{asked_to_stop, raise_open_files_limit};

/// Tell other programs and machines the ports of services
///
/// Services on this machine advertise their names here automatically. A name disappears when its service ends. Addresses then
/// need no port: nowcast://HOST/NAME.
#[derive(clap::Args)]
pub(super) struct Args {
    /// TCP port; 0 lets the system choose one
    #[arg(long, default_value_t = PORT)]
    port: u16,

    /// Address or name to listen on; 0.0.0.0 is every address of this machine [default: loopback in both families]
    #[arg(long)]
    host: Option<String>,

    /// Also accept service names from other machines
    #[arg(long)]
    allow_remote: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    raise_open_files_limit();
    let defaults = NameServerConfig::default();
    let hosts = args.host.as_deref().map_or(Ok(defaults.hosts), |host| resolve("--host ", host))?;
    let config = NameServerConfig {
        hosts,
        port: args.port,
        allow_remote: args.allow_remote,
        ..NameServerConfig::default()
    };
    tokio::runtime::Runtime::new().context("cannot start the runtime")?.block_on(async {
        let server = NameServer::bind(config).await.with_context(|| {
            format!(
                "cannot listen on port {}: stop the program that listens there, or try another --port or --host",
                args.port
            )
        })?;
        for address in server.addresses() {
            output::line(format_args!("Names are served at {address}."))?;
        }
        let (handle, mut shown) = (server.handle(), None);
        let showing = async {
            let mut second = tokio::time::interval(std::time::Duration::from_secs(1));
            loop {
                second.tick().await;
                let names = handle.stats().names;
                if shown.replace(names) != Some(names) && names > 0 {
                    let verb = if names == 1 { " is" } else { "s are" };
                    let line = output::line(format_args!(
                        "{names} name{verb} advertised; `nowcast names` lists them."
                    ));
                    // If the output fails, the server continues, because services need their names even if no program reads the
                    // counts.
                    if let Err(lost) = line {
                        output::note(format_args!("{lost}; names are still served"));
                        return std::future::pending().await;
                    }
                }
            }
        };
        tokio::select! {
            () = server.run(asked_to_stop()) => {}
            () = showing => {}
        }
        Ok(ExitCode::SUCCESS)
    })
}
