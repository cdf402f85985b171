//! `lab report` runs every instrument and makes one book.

use std::time::Duration;

use crate::browser;
use crate::link::check;
use crate::report::{Book, Machine, Report};
use crate::trial::{Progress, TrialError, locked};
use crate::{freshness, ipc, lag, latency};

/// Expected duration of an instrument that has no plan, in seconds.
const CHECK_SECONDS: f64 = 16.0;
const SIMULATED_SECONDS: f64 = 12.0;
const LAG_SECONDS: f64 = 25.0;
const IPC_SECONDS: f64 = 70.0;
const IPC_SECONDS_QUICK: f64 = 70.0;
const CODEC_SECONDS: f64 = 45.0;
const CODEC_SECONDS_QUICK: f64 = 45.0;

/// The packages that are compared with our own.
const MEASURED: [&str; 9] = [
    "quinn",
    "tokio-tungstenite",
    "rusty_enet",
    "bitcode",
    "prost",
    "quick-xml",
    "rmp-serde",
    "wincode",
    "tokio",
];

/// The options of a run.
#[derive(Debug, Clone)]
pub struct Everything {
    /// Fewer runs, in less than ten minutes.
    pub quick: bool,
    /// The first seed of all instruments.
    pub seed: u64,
    /// The command line that repeats the run.
    pub command: String,
}

struct Plans {
    latency: latency::Plan,
    freshness: freshness::Plan,
    lag: lag::remote::Plan,
}

impl Everything {
    fn plans(&self) -> Plans {
        let (seed, quick) = (self.seed, self.quick);
        let mut latency = latency::Plan {
            seed,
            command: format!("cargo xtask lab latency --seed {seed}"),
            ..latency::Plan::default()
        };
        let mut freshness = freshness::Plan {
            seed,
            command: format!("cargo xtask lab freshness --seed {seed}"),
            ..freshness::Plan::default()
        };
        let mut lag = lag::remote::Plan {
            runs: 4,
            seed,
            at_once: 6,
            peers: Vec::new(),
            command: format!("cargo xtask lab lag --where remote --seed {seed}"),
        };
        if quick {
            latency.losses = vec![0.01, 0.05];
            latency.samples = 100;
            latency.seeds = 1;
            latency.command += " --loss 1,5 --samples 100 --seeds 1";
            freshness.links = ["50-1", "50-5", "narrow", "outage", "jitter-10", "spikes", "cubic-5"]
                .map(str::to_owned)
                .to_vec();
            freshness.measured = Duration::from_secs(10);
            freshness.seeds = 1;
            freshness.at_once = 3;
            freshness.command +=
                " --link 50-1,50-5,narrow,outage,jitter-10,spikes,cubic-5 --seconds 10 --seeds 1 --at-once 3";
            lag.runs = 1;
            lag.command += " --runs 1";
        }
        Plans { latency, freshness, lag }
    }

    /// Runs all instruments that this system supports. Reports the others at once, and notes them in the book.
    pub fn run(&self) -> Book {
        let plans = self.plans();
        let mut book = Book {
            title: "Measurements of Nowcast".into(),
            command: self.command.clone(),
            machine: Machine::here(),
            versions: versions(),
            notes: Vec::new(),
            chapters: Vec::new(),
        };
        book.notes.push(
            "Every figure is shown together with those of other programs, measured in the same run. Links are emulated between the network stacks of real kernels; a seed decides the fate of every packet. This page loads no other file."
                .into(),
        );
        let browser = self.browser();
        let seconds_of_browser = match browser.check() {
            Ok(()) => browser.seconds(),
            Err(error) => {
                leave_out(&mut book, "the browser", &error.to_string());
                0.0
            }
        };
        let over_links = plans.latency.seconds() + plans.freshness.seconds() + plans.lag.seconds();
        let on_this_machine =
            SIMULATED_SECONDS + LAG_SECONDS + self.seconds_of_ipc() + self.seconds_of_codec();
        let expected = CHECK_SECONDS + over_links + seconds_of_browser + on_this_machine;
        eprintln!("about {} min", (expected / 60.0).ceil());
        let progress = Progress::shown(expected);
        // The instruments over links add their own parts to the progress.
        let alone = |what: &str, seconds: f64, report: &dyn Fn() -> Result<Report, String>| {
            let part = locked(&progress).begin(what, seconds, seconds);
            let report = report();
            locked(&progress).end(part);
            report
        };
        let mut keep = |what: &str, report: Result<Report, String>| match report {
            Ok(report) => book.chapters.push(report),
            Err(error) => {
                locked(&progress).say(&left_out(what, &error));
                book.notes.push(left_out(what, &error));
            }
        };
        let text = |error: TrialError| error.to_string();
        keep("the link", alone("the link, compared with its configuration", CHECK_SECONDS, &|| self.link()));
        keep("latency", plans.latency.run(&progress).map_err(text));
        keep("freshness", plans.freshness.run(&progress).map_err(text));
        keep("lag between hosts", plans.lag.run(&progress).map_err(text));
        if seconds_of_browser > 0.0 {
            let run = || browser.run().map_err(|error| error.to_string());
            keep("the browser", alone("in the browser", seconds_of_browser, &run));
        }
        let simulated =
            freshness::simulated::Simulated { seed: self.seed, duration: Duration::from_secs(20) };
        keep(
            "freshness in virtual time",
            alone("freshness in virtual time", SIMULATED_SECONDS, &|| Ok(simulated.run(|_, _| {}))),
        );
        keep("lag", alone("lag on this machine", LAG_SECONDS, &|| self.lag()));
        keep("between processes", alone("between two processes", self.seconds_of_ipc(), &|| self.ipc()));
        keep("encodings", alone("encodings", self.seconds_of_codec(), &|| self.codec()));
        locked(&progress).finish();
        book
    }

    fn seconds_of_ipc(&self) -> f64 {
        if self.quick { IPC_SECONDS_QUICK } else { IPC_SECONDS }
    }

    fn seconds_of_codec(&self) -> f64 {
        if self.quick { CODEC_SECONDS_QUICK } else { CODEC_SECONDS }
    }

    fn lag(&self) -> Result<Report, String> {
        let plan = lag::Plan { runs: if self.quick { 1 } else { 4 }, seed: self.seed };
        lag::run(&plan, &mut |_| {}).map_err(|error| error.to_string())
    }

    fn ipc(&self) -> Result<Report, String> {
        let rounds = if self.quick { 1 } else { 5 };
        let plan = ipc::Plan { rounds, quick: self.quick, through: Vec::new() };
        ipc::run(&plan, &mut |_| {}).map_err(|error| error.to_string())
    }

    fn link(&self) -> Result<Report, String> {
        let findings = check::check(self.seed).map_err(|error| error.to_string())?;
        let command = format!("cargo xtask lab link --check --seed {}", self.seed);
        let mut report = Report::new("The link itself", command).seed(self.seed);
        report.section(check::section(&findings));
        Ok(report)
    }

    fn browser(&self) -> browser::Plan {
        browser::Plan {
            rtt: Duration::from_millis(50),
            loss: 0.01,
            samples: 250,
            interval: Duration::from_millis(100),
            seed: self.seed,
            browser: "/usr/bin/chromium".into(),
            picture: None,
            command: format!("cargo xtask lab browser --seed {}", self.seed),
        }
    }

    fn codec(&self) -> Result<Report, String> {
        let samples = if self.quick { 3 } else { 15 };
        let options = crate::codec::Options {
            only: Vec::new(),
            samples,
            input: None,
            node: false,
            browser: false,
            browser_path: None,
            command: format!("cargo xtask lab codec --samples {samples}"),
        };
        crate::codec::run(&options).map_err(|error| error.to_string())
    }
}

/// If an instrument cannot run, the pages of the others must not be lost.
fn leave_out(book: &mut Book, what: &str, why: &str) {
    eprintln!("{}", left_out(what, why));
    book.notes.push(left_out(what, why));
}

fn left_out(what: &str, why: &str) -> String {
    format!("Left out: {what}: {why}")
}

/// Returns the versions of Nowcast and of the compared packages, with which this program was built.
fn versions() -> Vec<(String, String)> {
    let packages = include_str!("../Cargo.lock").split("[[package]]\n").filter_map(|package| {
        let value = |key: &str| {
            package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'))
        };
        Some((value("name")?.to_owned(), value("version")?.to_owned()))
    });
    packages.filter(|(name, _)| name == "nowcast" || MEASURED.contains(&name.as_str())).collect()
}
