//! `lab report`: every instrument, one after the other, as one book.

use std::sync::Mutex;
use std::time::Duration;

use crate::link::check;
use crate::report::{Book, Report};
use crate::trial::Progress;
use crate::{browser, freshness, ipc, lag, latency};

/// Expected seconds of the instruments that do not run over links.
const CHECK_SECONDS: f64 = 16.0;
const BROWSER_SECONDS: f64 = 55.0;
const SIMULATED_SECONDS: f64 = 12.0;
const LAG_SECONDS: f64 = 25.0;
const IPC_SECONDS: f64 = 70.0;
const CODEC_SECONDS: f64 = 45.0;

/// What to run.
#[derive(Debug, Clone)]
pub struct Everything {
    /// Fewer runs, so that all of it takes less than ten minutes.
    pub quick: bool,
    /// The first seed of everything.
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
            command: format!("nowcast lab latency --seed {seed}"),
            ..latency::Plan::default()
        };
        let mut freshness = freshness::Plan {
            seed,
            command: format!("nowcast lab freshness --seed {seed}"),
            ..freshness::Plan::default()
        };
        let mut lag = lag::remote::Plan {
            runs: 4,
            seed,
            at_once: 6,
            peers: Vec::new(),
            command: format!("nowcast lab lag --where remote --seed {seed}"),
        };
        if quick {
            latency.losses = vec![0.01, 0.05];
            latency.samples = 100;
            latency.seeds = 1;
            latency.command += " --loss 1,5 --samples 100 --seeds 1";
            freshness.links = ["50-1", "50-5", "narrow", "outage"].map(str::to_owned).to_vec();
            freshness.measured = Duration::from_secs(10);
            freshness.seeds = 1;
            freshness.at_once = 3;
            freshness.command +=
                " --link 50-1 --link 50-5 --link narrow --link outage --seconds 10 --seeds 1 --at-once 3";
            lag.runs = 1;
            lag.command += " --runs 1";
        }
        Plans { latency, freshness, lag }
    }

    /// Runs all that this system allows; what it does not is a note in the book.
    pub fn run(&self) -> Book {
        let plans = self.plans();
        let over_links = [
            (plans.latency.seconds(), plans.latency.at_once),
            (plans.freshness.seconds(), plans.freshness.at_once),
            (plans.lag.seconds(), plans.lag.at_once),
        ];
        let fixed =
            CHECK_SECONDS + BROWSER_SECONDS + SIMULATED_SECONDS + LAG_SECONDS + IPC_SECONDS + CODEC_SECONDS;
        let expected: f64 =
            fixed + over_links.iter().map(|(seconds, at_once)| seconds / *at_once as f64).sum::<f64>();
        eprintln!("about {} min", (expected / 60.0).ceil());
        let mut book = Book::new("What Nowcast measures", self.command.clone());
        book.notes.push(
            "Every figure is beside those of what people use today, measured in the same run. Links are emulated between \
             real kernels' network stacks; a seed decides every packet's fate. Nothing on this page is loaded from \
             elsewhere."
                .into(),
        );
        step("the link, held against itself");
        keep(&mut book, "the link", self.link());
        let bar = |(seconds, at_once): (f64, usize)| {
            Mutex::new(Progress::new(seconds, Duration::from_secs_f64(seconds / at_once as f64)))
        };
        let run = |what: &str, weight, report: &dyn Fn(&Mutex<Progress>) -> Result<Report, String>| {
            step(what);
            let progress = bar(weight);
            let report = report(&progress);
            progress.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).finish();
            report
        };
        let text = |error: crate::trial::TrialError| error.to_string();
        let report = run("latency", over_links[0], &|bar| plans.latency.run(bar).map_err(text));
        keep(&mut book, "latency", report);
        let report = run("freshness", over_links[1], &|bar| plans.freshness.run(bar).map_err(text));
        keep(&mut book, "freshness", report);
        let report = run("lag between hosts", over_links[2], &|bar| plans.lag.run(bar).map_err(text));
        keep(&mut book, "lag between hosts", report);
        step("in the browser");
        keep(&mut book, "the browser", self.browser());
        step("freshness in virtual time");
        let simulated =
            freshness::simulated::Simulated { seed: self.seed, duration: Duration::from_secs(20) };
        keep(&mut book, "freshness in virtual time", Ok(simulated.run(|_, _| {})));
        step("lag on this machine");
        let plan = lag::Plan { runs: if self.quick { 1 } else { 4 }, peers: true, seed: self.seed };
        keep(&mut book, "lag", lag::run(&plan, &mut |_| {}).map_err(|error| error.to_string()));
        step("what lies between two processes");
        let plan =
            ipc::Plan { rounds: if self.quick { 1 } else { 5 }, quick: self.quick, through: Vec::new() };
        keep(&mut book, "between processes", ipc::run(&plan, &mut |_| {}).map_err(|error| error.to_string()));
        step("encodings");
        keep(&mut book, "encodings", self.codec());
        book
    }

    fn link(&self) -> Result<Report, String> {
        let findings = check::check(self.seed).map_err(|error| error.to_string())?;
        let command = format!("nowcast lab link --check --seed {}", self.seed);
        let mut report = Report::new("The link itself", command).seed(self.seed);
        report.section(check::section(&findings));
        Ok(report)
    }

    fn browser(&self) -> Result<Report, String> {
        let plan = browser::Plan {
            rtt: Duration::from_millis(50),
            loss: 0.01,
            samples: 250,
            interval: Duration::from_millis(100),
            seed: self.seed,
            browser: "/usr/bin/chromium".into(),
            picture: None,
            command: format!("nowcast lab browser --seed {}", self.seed),
        };
        plan.run().map_err(|error| error.to_string())
    }

    #[cfg(feature = "peers")]
    fn codec(&self) -> Result<Report, String> {
        let samples = if self.quick { 3 } else { 15 };
        let options = crate::codec::Options {
            only: Vec::new(),
            samples,
            input: None,
            node: false,
            browser: false,
            browser_path: None,
            command: format!("nowcast lab codec --samples {samples}"),
        };
        crate::codec::run(&options).map_err(|error| error.to_string())
    }

    #[cfg(not(feature = "peers"))]
    fn codec(&self) -> Result<Report, String> {
        Err("this program was built without the feature `peers`".into())
    }
}

/// A heading above the bar of an instrument.
fn step(what: &str) {
    eprintln!("— {what}");
}

/// One instrument that cannot run must not cost the others their pages.
fn keep(book: &mut Book, what: &str, report: Result<Report, String>) {
    match report {
        Ok(report) => book.chapters.push(report),
        Err(error) => {
            eprintln!("{what}: {error}");
            book.notes.push(format!("Left out: {what}: {error}"));
        }
    }
}
