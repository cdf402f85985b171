//! A short life with real faults. It is left out where Go and nats-server are missing. The servers are other processes of this
//! program.
//!
//! `cargo test --workspace --test cluster_faults -- 2000 1 50` runs 2,000 faults from seed 1, 50 in each life.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use nowcast_lab_cluster::{Faults, Program, serve};

/// Number of faults of the short form.
const FAULTS: usize = 10;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [role, orders] = &args[..]
        && role == "server"
    {
        serve(orders).expect("the orders are those of a server");
        return ExitCode::SUCCESS;
    }
    // A filter of cargo that names other tests.
    let is_other =
        |first: &String| first.parse::<usize>().is_err() && !"cluster_faults".contains(first.as_str());
    if args.first().is_some_and(is_other) {
        return ExitCode::SUCCESS;
    }
    let Some(nats_server) = nowcast_dev_nats::for_tests() else { return ExitCode::SUCCESS };
    let number = |index: usize, usual: usize| args.get(index).map_or(Ok(usual), |text| text.parse());
    let (faults, seed, faults_a_life) =
        (number(0, FAULTS).unwrap_or(FAULTS), number(1, 1).unwrap_or(1), number(2, FAULTS).unwrap_or(FAULTS));
    let run = Faults {
        program: Program {
            path: std::env::current_exe().expect("this program has a path"),
            args: vec!["server".to_owned()],
        },
        nats_server,
        faults,
        faults_a_life,
        seed: seed as u64,
        script: std::env::var("NOWCAST_SCRIPT").ok().map(|text| text.parse().expect("a script")),
        time_max: None,
        shrink_max: Duration::from_secs(if args.is_empty() { 120 } else { 600 }),
    };
    let command = format!("cargo test --workspace --test cluster_faults -- {}", args.join(" "));
    let outcome = run.run(command, &mut |step| println!("{step}")).expect("the processes can be started");
    println!("{}", outcome.report.to_terminal());
    if let Some(page) = std::env::var_os("NOWCAST_PAGE_FILE") {
        std::fs::write(Path::new(&page), outcome.report.to_html()).expect("the page can be written");
    }
    match outcome.failure {
        Some(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
        None => ExitCode::SUCCESS,
    }
}
