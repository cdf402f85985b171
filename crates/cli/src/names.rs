//! `nowcast names`

use std::process::ExitCode;
use std::time::Duration;

use nowcast::local::{Advertised, advertised};

/// List the names that programs of this user advertise on this machine
///
/// A name whose process has died is shown once, as dead, and its files are cleaned away.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let names = advertised()?;
    if args.json {
        let entry = |name: &Advertised| {
            serde_json::json!({
                "name": name.name,
                "pid": name.pid,
                "age_ms": u64::try_from(name.age.as_millis()).unwrap_or(u64::MAX),
                "alive": name.alive,
            })
        };
        println!("{:#}", names.iter().map(entry).collect::<serde_json::Value>());
    } else if names.is_empty() {
        println!("No program of this user advertises a name on this machine.");
    } else {
        println!("{:<32} {:>8} {:>10}  STATUS", "NAME", "PID", "AGE");
        for name in &names {
            let status = if name.alive { "alive" } else { "dead, cleaned away" };
            println!("{:<32} {:>8} {:>10}  {status}", name.name, name.pid, age(name.age));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The two largest units: `5 s`, `3 min 20 s`, `2 h 5 min`, `4 d 1 h`.
fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}
