//! `lab motion` measures the errors of displayed poses: those of a player's own avatar, and those of other avatars. It uses the
//! real SDK, a real server and an emulated link.
//!
//! Node or Chromium runs the SDK on one host, and the program serves a world on the other. One player walks and predicts, and
//! another one watches. The displayed poses are compared with the poses that the server later sent for the same time.

mod course;
mod findings;
mod football;
mod hands;
mod scene;

use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::link::{EmulatedLink, HostError, HostProcess, Jitter, LinkConfig, Loss};
use crate::program;
use crate::report::Report;

const PORT: u16 = 7_777;
/// The script that runs the SDK.
const SCRIPT: &str = "lab/javascript/motion.mjs";
const SDK: &str = "packages/nowcast/dist/world/index.js";
/// Minimum distance of the ground's edge from the middle, in metres.
const EXTENT_M: u32 = 20;
/// Maximum number of runs if the relay is late.
const TRIES: u32 = 2;

/// The conditions of a link in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// The round-trip time.
    pub rtt: Duration,
    /// The share of packets that each direction loses, 0 to 1.
    pub loss: f64,
    /// Mean number of consecutive lost packets.
    pub burst: f64,
    /// Maximum additional delay of single packets.
    pub jitter: Duration,
}

impl Conditions {
    const fn new(rtt_ms: u64, loss: f64, burst: f64, jitter_ms: u64) -> Self {
        Self { rtt: Duration::from_millis(rtt_ms), loss, burst, jitter: Duration::from_millis(jitter_ms) }
    }

    fn link(&self) -> LinkConfig {
        let loss = match self {
            Self { loss, .. } if *loss <= 0.0 => Loss::None,
            Self { loss, burst, .. } if *burst <= 1.0 => Loss::Random(*loss),
            Self { loss, burst, .. } => Loss::Bursts { share: *loss, length: *burst },
        };
        LinkConfig { delay: self.rtt / 2, jitter: Jitter::up_to(self.jitter), loss, ..LinkConfig::default() }
    }

    fn name(&self) -> String {
        let mut name = format!("{} ms, {} % lost", self.rtt.as_millis(), self.loss * 100.0);
        if self.burst > 1.0 {
            name += &format!(", {} in a row", self.burst);
        }
        if !self.jitter.is_zero() {
            name += &format!(", jitter {} ms", self.jitter.as_millis());
        }
        name
    }
}

/// The links of a full run.
pub const ALL: [Conditions; 12] = [
    Conditions::new(50, 0.0, 1.0, 0),
    Conditions::new(50, 0.01, 1.0, 0),
    Conditions::new(50, 0.05, 1.0, 0),
    Conditions::new(100, 0.0, 1.0, 0),
    Conditions::new(100, 0.01, 1.0, 0),
    Conditions::new(100, 0.05, 1.0, 0),
    Conditions::new(150, 0.0, 1.0, 0),
    Conditions::new(150, 0.01, 1.0, 0),
    Conditions::new(150, 0.05, 1.0, 0),
    Conditions::new(100, 0.05, 3.0, 0),
    Conditions::new(100, 0.0, 1.0, 20),
    Conditions::new(100, 0.05, 1.0, 20),
];

/// The links of a first overview.
pub const FEW: [Conditions; 3] = [
    Conditions::new(50, 0.0, 1.0, 0),
    Conditions::new(100, 0.01, 1.0, 5),
    Conditions::new(100, 0.05, 1.0, 5),
];

/// The link over which football is played.
pub const FOOTBALL: [Conditions; 1] = [Conditions::new(100, 0.05, 1.0, 0)];

/// The links for waving hands.
pub const HANDS: [Conditions; 2] = [Conditions::new(100, 0.0, 1.0, 0), Conditions::new(100, 0.05, 1.0, 0)];

/// The links for the course with platforms.
pub const COURSE: [Conditions; 2] = [Conditions::new(100, 0.0, 1.0, 0), Conditions::new(100, 0.05, 1.0, 0)];

/// The ground on which players walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ground {
    /// A floor with a ball.
    Free,
    /// Three hundred blocks that players can push and climb.
    Blocks,
}

impl Ground {
    /// Returns the folder of the world, and its room.
    const fn world(self) -> (&'static str, &'static str) {
        match self {
            Self::Free => ("worlds/minimal", "minimal"),
            Self::Blocks => ("worlds/playground", "playground"),
        }
    }
}

/// The runtime of the SDK, and its carrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Client {
    /// Node, over WebSocket.
    Node,
    /// Chromium, over WebTransport.
    WebTransport,
    /// Chromium, over WebSocket.
    WebSocket,
}

impl Client {
    /// Returns the SDK's name of the carrier, if the client can choose one.
    const fn carrier(self) -> Option<&'static str> {
        match self {
            Self::Node => None,
            Self::WebTransport => Some("webtransport"),
            Self::WebSocket => Some("websocket"),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Node => "Node, WebSocket",
            Self::WebTransport => "Chromium, WebTransport",
            Self::WebSocket => "Chromium, WebSocket",
        }
    }
}

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The conditions. For each condition there is one run with each client on each ground.
    pub conditions: Vec<Conditions>,
    /// The clients: one for each runtime in which the SDK runs.
    pub clients: Vec<Client>,
    /// The grounds of the walks.
    pub grounds: Vec<Ground>,
    /// The browser's program, if a client needs one.
    pub browser: PathBuf,
    /// Duration of each walk.
    pub seconds: u32,
    /// Seed for the walks, and for the loss and delay of packets.
    pub seed: u64,
    /// The command line that repeats the run.
    pub command: String,
}

/// The reason why there are no figures.
#[derive(Debug, thiserror::Error)]
pub enum MotionError {
    /// The hosts could not be created.
    #[error(transparent)]
    Host(#[from] HostError),
    /// This program does not run in a checkout.
    #[error("{} is not there: run this at the top of a checkout of Nowcast", .0.display())]
    NoScript(PathBuf),
    /// The SDK is not built.
    #[error("the SDK is not built: `npm ci && npm run build --workspace nowcast` builds it")]
    NoSdk,
    /// There is no browser.
    #[error("{} is not there: install Chromium, or name another one with `cargo xtask lab motion --browser PROGRAM`", .0.display())]
    NoBrowser(PathBuf),
    /// Node is missing or does not run.
    #[error("node does not start: install Node 20 or newer")]
    NoNode,
    /// A program did not start.
    #[error("cannot start {program}: {cause}")]
    Start {
        /// The name of the program.
        program: &'static str,
        /// The system's error.
        cause: io::Error,
    },
    /// Node failed. Its standard error states the reason.
    #[error("no client walked over the link of {of}; see the output of Node or the server")]
    NoFigures {
        /// The link.
        of: String,
    },
    /// The figures cannot be parsed.
    #[error("the figures of the walk cannot be read: {0}")]
    Figures(#[from] serde_json::Error),
}

/// The findings of a run as the script writes them, in metres, frames, milliseconds and microseconds.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    own_errors: Vec<f64>,
    others_errors: Vec<f64>,
    jumps: Vec<f64>,
    key_frames: Vec<f64>,
    key_ms: Vec<f64>,
    delays: Vec<f64>,
    cost_us: Vec<f64>,
    corrections: usize,
    skipped_steps: usize,
    carrier: String,
    program: String,
}

/// One run.
struct Run {
    of: Conditions,
    client: Client,
    ground: Ground,
    found: Found,
    is_trustworthy: bool,
}

impl Plan {
    /// Returns the expected duration in seconds.
    pub fn expected_seconds(&self) -> u32 {
        (self.seconds + 6) * (self.conditions.len() * self.clients.len() * self.grounds.len()) as u32
    }

    /// Checks that all required programs exist.
    ///
    /// # Errors
    /// [`MotionError`] names the missing program.
    pub fn check(&self) -> Result<(), MotionError> {
        for path in
            [SCRIPT, Ground::Free.world().0, Ground::Blocks.world().0, football::WORLD.0, course::WORLD.0]
        {
            if !Path::new(path).exists() {
                return Err(MotionError::NoScript(path.into()));
            }
        }
        if !Path::new(SDK).is_file() {
            return Err(MotionError::NoSdk);
        }
        let needs_browser = self.clients.iter().any(|client| *client != Client::Node);
        if needs_browser && self.browser.is_absolute() && !self.browser.is_file() {
            return Err(MotionError::NoBrowser(self.browser.clone()));
        }
        let mut node = Command::new("node");
        node.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        if node.status().is_ok_and(|status| status.success()) { Ok(()) } else { Err(MotionError::NoNode) }
    }

    /// Runs the measurement.
    ///
    /// # Errors
    /// [`MotionError`]
    pub fn run(&self, progress: &mut dyn FnMut(&str)) -> Result<Report, MotionError> {
        self.check()?;
        let mut runs = Vec::new();
        for ground in &self.grounds {
            for of in &self.conditions {
                for client in &self.clients {
                    progress(&format!("{}: {}, {}", ground.world().1, of.name(), client.name()));
                    let mut run = self.once(of, *client, *ground)?;
                    for _ in 1..TRIES {
                        if !run.is_trustworthy {
                            run = self.once(of, *client, *ground)?;
                        }
                    }
                    runs.push(run);
                }
            }
        }
        Ok(self.report(&runs))
    }

    fn once(&self, of: &Conditions, client: Client, ground: Ground) -> Result<Run, MotionError> {
        let (found, is_trustworthy) = self.play("walk", ground.world(), of, client)?;
        Ok(Run { of: *of, client, ground, found, is_trustworthy })
    }

    /// Serves a room of a world on one host, and runs the script's task `what` on the other. Returns the script's findings, and
    /// whether the relay was in time.
    fn play<F: DeserializeOwned>(
        &self,
        what: &str,
        (folder, room): (&str, &str),
        of: &Conditions,
        client: Client,
    ) -> Result<(F, bool), MotionError> {
        let link = EmulatedLink::new(&of.link(), 2, self.seed)?;
        let address = link.host(2).address();
        let failed = |program| move |cause| MotionError::Start { program, cause };
        let mut serve = Command::new(program::nowcast().map_err(failed("the server"))?);
        serve.args(["serve", folder, "--no-data", "--anonymous", "--insecure"]);
        serve.args(["--host", &address.to_string(), "--port", &PORT.to_string()]);
        let _server = HostProcess::start(link.host(2), serve).map_err(failed("the server"))?;
        let mut node = Command::new("node");
        node.arg(SCRIPT).arg(what).arg(format!("nowcast://{address}:{PORT}/{room}"));
        node.args([self.seconds.to_string(), self.seed.to_string(), EXTENT_M.to_string()]);
        if let Some(carrier) = client.carrier() {
            node.arg(&self.browser).arg(carrier);
        }
        let mut node = HostProcess::start(link.host(1), node).map_err(failed("node"))?;
        let nothing = || MotionError::NoFigures { of: of.name() };
        let output = node.output().ok_or_else(nothing)?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map_err(failed("node"))?;
        if line.is_empty() {
            return Err(nothing());
        }
        let found = serde_json::from_str(&line)?;
        Ok((found, link.finish().lateness.is_trustworthy()))
    }
}
