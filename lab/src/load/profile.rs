//! Measures the processor time of a server by crate. `perf` samples the server during a measurement.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::link::kill_with_starter;
use rustix::process::{Pid, Signal, kill_process};

/// Samples a second. The number is prime, so that samples do not synchronise with ticks.
const SAMPLES_HZ: &str = "997";

/// The group of code that has no Rust path: Luau, SQLite, the C library.
const NATIVE: &str = "C and C++";

/// The sampling of one process. It ends at [`finish`](Self::finish), or when this value is dropped.
#[derive(Debug)]
pub(super) struct Profiler {
    perf: Child,
    file: PathBuf,
}

/// The shares of the samples of one process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Profile {
    /// Percentages by crate. The kernel is a separate group, and so is code that has no Rust path.
    pub(super) crates: BTreeMap<String, f64>,
    /// Percentages by function.
    pub(super) functions: BTreeMap<String, f64>,
}

/// Checks that `perf` can run on this machine.
///
/// # Errors
/// If `perf` is not installed or does not run.
pub(super) fn check() -> io::Result<()> {
    let status =
        Command::new("perf").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("perf ended with {status}"))) }
}

impl Profiler {
    /// Begins to sample a process. The samples are written to a file in `folder`.
    ///
    /// # Errors
    /// If `perf` does not start.
    pub(super) fn start(pid: u32, folder: &Path) -> io::Result<Profiler> {
        let file = folder.join("perf.data");
        let mut command = Command::new("perf");
        command.args(["record", "-q", "-e", "cpu-clock", "-F", SAMPLES_HZ, "-p"]).arg(pid.to_string());
        command.arg("-o").arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Profiler { perf: kill_with_starter(&mut command).spawn()?, file })
    }

    /// Ends the sampling and counts the samples.
    ///
    /// # Errors
    /// If `perf` failed, for example because this user may not sample other processes.
    pub(super) fn finish(mut self) -> io::Result<Profile> {
        kill_process(Pid::from_child(&self.perf), Signal::INT)?;
        self.perf.wait()?;
        let report = Command::new("perf")
            .args(["report", "--stdio", "-q", "--no-children", "--sort", "dso,sym", "-t", ";", "-i"])
            .arg(&self.file)
            .output()?;
        if report.status.success() {
            return Ok(Profile::parse(&String::from_utf8_lossy(&report.stdout)));
        }
        Err(io::Error::other(String::from_utf8_lossy(&report.stderr).trim().to_owned()))
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        // If the process has already ended, it cannot be killed. Both outcomes are acceptable.
        let _ = self.perf.kill();
        let _ = self.perf.wait();
    }
}

impl Profile {
    /// Reads the lines of `perf report`: a share, an object file and a symbol.
    fn parse(report: &str) -> Profile {
        let mut profile = Profile::default();
        for line in report.lines() {
            let mut fields = line.splitn(3, ';').map(str::trim);
            let (Some(share), Some(_object), Some(symbol)) = (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let Some(share) = share.strip_suffix('%').and_then(|share| share.trim().parse::<f64>().ok())
            else {
                continue;
            };
            let (space, function) = symbol.split_once(' ').unwrap_or(("", symbol));
            let name = if space == "[k]" { "kernel" } else { crate_of(function) };
            *profile.crates.entry(name.to_owned()).or_default() += share;
            *profile.functions.entry(format!("{name}: {function}")).or_default() += share;
        }
        profile
    }
}

/// Returns the crate of a demangled function: the first segment of the function's path. For a method, returns the first segment
/// of the path of its type.
fn crate_of(function: &str) -> &str {
    let path = function.trim_start_matches(|symbol: char| "<&*([ ".contains(symbol));
    let path =
        ["dyn ", "mut ", "const "].iter().fold(path, |path, word| path.strip_prefix(word).unwrap_or(path));
    match path.split_once("::") {
        Some((name, _)) if name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') => {
            if ["core", "alloc", "std"].contains(&name) { "std" } else { name }
        }
        _ => NATIVE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_summed_by_crate_and_function() {
        let report = "\
    21.50%  ;nowcast          ;[.] <nowcast_server::session::client_replicator::ClientReplicator as nowcast::channel::source::Source>::feed
     3.25%  ;nowcast          ;[.] nowcast_server::room::Room::tick
     2.00%  ;nowcast          ;[.] <alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop
     1.50%  ;nowcast          ;[.] Luau::execute(lua_State*)
     1.00%  ;libc.so.6        ;[.] malloc
    40.00%  ;[kernel.kallsyms];[k] udp_sendmsg

";
        let profile = Profile::parse(report);
        let crates: Vec<_> = profile.crates.iter().map(|(name, share)| (name.as_str(), *share)).collect();
        let luau = ("Luau", 1.5);
        assert_eq!(
            crates,
            [("C and C++", 1.0), luau, ("kernel", 40.0), ("nowcast_server", 24.75), ("std", 2.0)]
        );
        assert_eq!(profile.functions["kernel: udp_sendmsg"], 40.0);
    }

    #[test]
    fn lines_that_are_not_samples_are_skipped() {
        assert_eq!(Profile::parse("# no samples\n\n-; -; -\n12%\n"), Profile::default());
    }
}
