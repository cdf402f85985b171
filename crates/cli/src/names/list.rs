//! `nowcast names list`

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use nowcast::local::{Advertised, advertised};
use nowcast::names::{NamesError, PORT, Service, list};

use crate::host::resolve;
use crate::output::{self, OutputLost, printable};

/// List service names, on this machine or at a host
#[derive(clap::Args)]
#[group(id = "list")]
pub(super) struct Args {
    /// Ask the name server at this HOST or HOST:PORT [default: this machine]
    host: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (local, served) = match &args.host {
        None => {
            let here = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
            let served = match runtime.block_on(list(here)) {
                Ok(services) => services,
                // Most machines need no name server and have none.
                Err(NamesError::NoServer { .. }) => Vec::new(),
                Err(error) => return Err(error.into()),
            };
            (advertised()?, served)
        }
        Some(host) => (Vec::new(), runtime.block_on(at(host))?),
    };
    if args.json {
        print_json(&local, &served)?;
    } else {
        print_table(args.host.as_deref(), &local, &served)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks every address of a host until one answers.
async fn at(host: &str) -> anyhow::Result<Vec<Service>> {
    let addresses: Vec<SocketAddr> = match host.parse() {
        Ok(address) => vec![address],
        Err(_) => {
            let (name, port) = match host.rsplit_once(':') {
                Some((name, port)) if !name.contains(':') => {
                    let port = port.parse().with_context(|| format!("{port} is not a port"))?;
                    (name, port)
                }
                _ => (host, PORT),
            };
            resolve("", name)?.into_iter().map(|ip| SocketAddr::new(ip, port)).collect()
        }
    };
    let mut failure = None;
    for address in addresses {
        match list(address).await {
            Ok(services) => return Ok(services),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    Err(failure.map_or_else(|| anyhow::anyhow!("{host} has no address"), Into::into))
}

fn print_json(local: &[Advertised], served: &[Service]) -> Result<(), OutputLost> {
    let here = local.iter().map(|name| {
        serde_json::json!({
            "name": name.name,
            "pid": name.pid,
            "age_ms": u64::try_from(name.age.as_millis()).unwrap_or(u64::MAX),
            "alive": name.alive,
        })
    });
    let there = served.iter().map(
        |service| serde_json::json!({ "name": service.name, "port": service.port, "host": service.host }),
    );
    output::line(format_args!("{:#}", here.chain(there).collect::<serde_json::Value>()))
}

fn print_table(host: Option<&str>, local: &[Advertised], served: &[Service]) -> Result<(), OutputLost> {
    if local.is_empty() && served.is_empty() {
        return match host {
            None => output::line("No program of this user advertises a name on this machine."),
            Some(host) => output::line(format_args!("The name server of {host} knows no name.")),
        };
    }
    if !local.is_empty() {
        output::line(format_args!("{:<32} {:>8} {:>14}  STATUS", "NAME, HERE", "PID", "AGE"))?;
        for name in local {
            let status = if name.alive { "alive" } else { "dead, removed" };
            let shown = printable(&name.name);
            output::line(format_args!("{shown:<32} {:>8} {:>14}  {status}", name.pid, age(name.age)))?;
        }
    }
    if !served.is_empty() {
        output::line(format_args!("{:<32} ADDRESS", "NAME, BY NAME SERVER"))?;
        for service in served {
            let at = service.host.map_or_else(|| host.unwrap_or("localhost").to_owned(), text);
            let name = printable(&service.name);
            output::line(format_args!("{name:<32} nowcast://{at}:{}/{name}", service.port))?;
        }
    }
    Ok(())
}

/// Returns an address as written in URLs.
fn text(host: IpAddr) -> String {
    if host.is_ipv6() { format!("[{host}]") } else { host.to_string() }
}

/// Shows an age in its two largest units: `5 s`, `3 min 20 s`, `2 h 5 min`, `4 d 1 h`.
fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}
