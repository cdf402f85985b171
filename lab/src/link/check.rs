//! Checks the link: compares its configuration with measurements by programs on the hosts.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use super::{EmulatedLink, HostError, Lateness, LinkConfig, Loss};
use crate::local::now_ns;
use crate::report::{Cell, Column, Samples, Section, Table};

/// Number of datagrams that are sent in a case.
const DATAGRAMS: u32 = 2_000;
const INTERVAL: Duration = Duration::from_micros(700);
/// Maximum time that a receiver waits for the next datagram.
const SILENCE: Duration = Duration::from_millis(400);
const DELAY: Duration = Duration::from_millis(30);
const LOSS: f64 = 0.05;
const REORDER: f64 = 0.1;
const DUPLICATE: f64 = 0.05;
const RATE_BITS: u64 = 4_000_000;
const TRANSFER: Duration = Duration::from_secs(3);
/// Maximum number of runs of a case, if the relay is late.
const TRIES: usize = 3;

/// The measurement of one property of a link.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The property.
    pub what: &'static str,
    /// The unit of the values.
    pub unit: &'static str,
    /// The configured value.
    pub configured: f64,
    /// The value that programs on the hosts measured.
    pub measured: f64,
    /// The range of measured values that agree with the configuration.
    pub allowed: (f64, f64),
}

impl Finding {
    /// Whether the measurement agrees with the configuration.
    #[must_use]
    pub fn agrees(&self) -> bool {
        (self.allowed.0..=self.allowed.1).contains(&self.measured)
    }
}

/// The reason why a link could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The hosts could not be created.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A socket on a host failed.
    #[error("a socket on a host failed: {0}")]
    Socket(#[from] io::Error),
}

/// Measures links with known properties. Takes about 15 s.
///
/// # Errors
/// [`CheckError`]
///
/// # Panics
/// Never: the threads inside return their errors.
pub fn check(seed: u64) -> Result<Vec<Finding>, CheckError> {
    let lossy = LinkConfig { delay: DELAY, loss: Loss::Random(LOSS), ..LinkConfig::default() };
    let (first, lateness) = in_time(&lossy, seed)?;
    let (second, _) = in_time(&lossy, seed)?;
    let mut findings = vec![
        delay(&first, lateness),
        share("lost", LOSS, first.lost().len()),
        same("lost, as the link counts it", "packets", first.counted_lost as f64, first.lost().len() as f64),
        same("overtaken, although no datagram should be", "packets", 0.0, first.overtaken() as f64),
        same(
            "different losses with the same seed",
            "packets",
            0.0,
            first.lost().iter().filter(|number| !second.lost().contains(number)).count() as f64,
        ),
    ];
    let reordering = LinkConfig { delay: DELAY, reorder: REORDER, ..LinkConfig::default() };
    let (seen, _) = in_time(&reordering, seed)?;
    findings.push(share("overtaken", REORDER, seen.overtaken()));
    let doubling = LinkConfig { duplicate: DUPLICATE, ..LinkConfig::default() };
    let (seen, _) = in_time(&doubling, seed)?;
    let distinct = DATAGRAMS as usize - seen.lost().len();
    findings.push(share("doubled", DUPLICATE, seen.arrivals.len() - distinct));
    findings.push(rate(seed)?);
    Ok(findings)
}

/// Returns the findings as a section of a report.
#[must_use]
pub fn section(findings: &[Finding]) -> Section {
    let mut section = Section::new("Configured and measured properties of the links");
    section.text(format!(
        "{DATAGRAMS} numbered datagrams for each property, and a TCP transfer for the rate (of which headers take 3.5 %)."
    ));
    let mut table = Table::new(vec![
        Column::text("property"),
        Column::number("configured", ""),
        Column::number("measured", ""),
        Column::text("allowed"),
        Column::text("unit"),
        Column::text("agrees"),
    ]);
    for finding in findings {
        table.row(vec![
            Cell::text(finding.what),
            Cell::number(finding.configured, 2),
            Cell::number(finding.measured, 2),
            Cell::text(format!("{:.2} to {:.2}", finding.allowed.0, finding.allowed.1)),
            Cell::text(finding.unit),
            Cell::text(if finding.agrees() { "yes" } else { "NO" }),
        ]);
    }
    section.table(table);
    section
}

/// Packets at a receiver, in the order of arrival.
struct Seen {
    arrivals: Vec<(u32, u64)>,
    counted_lost: u64,
}

impl Seen {
    fn lost(&self) -> Vec<u32> {
        let mut seen = vec![false; DATAGRAMS as usize];
        self.arrivals.iter().for_each(|(number, _)| seen[*number as usize] = true);
        (0..DATAGRAMS).filter(|number| !seen[*number as usize]).collect()
    }

    /// Counts the datagrams that arrived after a later one. Duplicates do not count.
    fn overtaken(&self) -> usize {
        let mut highest = None;
        let mut overtaken = 0;
        for (number, _) in &self.arrivals {
            overtaken += usize::from(highest.is_some_and(|highest| *number < highest));
            highest = highest.max(Some(*number));
        }
        overtaken
    }
}

fn delay(seen: &Seen, lateness: Lateness) -> Finding {
    let mut ages: Samples = seen.arrivals.iter().map(|(_, age)| *age as f64 / 1e6).collect();
    let configured = DELAY.as_secs_f64() * 1e3;
    // No packet is early. A packet is late by at most the reported lateness of the relay plus the wake-up of the receiver.
    let late = lateness.p50_us as f64 / 1e3 + 1.0;
    let (what, measured) = ("delay, median", ages.quantile(0.5));
    Finding { what, unit: "ms", configured, measured, allowed: (configured, configured + late) }
}

/// Checks a share of the datagrams. The share must be within four standard deviations of the binomial distribution.
fn share(what: &'static str, configured: f64, count: usize) -> Finding {
    let n = f64::from(DATAGRAMS);
    let deviation = 4.0 * (configured * (1.0 - configured) / n).sqrt();
    Finding {
        what,
        unit: "%",
        configured: 100.0 * configured,
        measured: 100.0 * count as f64 / n,
        allowed: (100.0 * (configured - deviation), 100.0 * (configured + deviation)),
    }
}

fn same(what: &'static str, unit: &'static str, configured: f64, measured: f64) -> Finding {
    Finding { what, unit, configured, measured, allowed: (configured, configured) }
}

/// Sends numbered datagrams over a link. Repeats this if the relay was late.
fn in_time(config: &LinkConfig, seed: u64) -> Result<(Seen, Lateness), CheckError> {
    let mut tries = 1;
    loop {
        let link = EmulatedLink::new(config, 2, seed)?;
        let mut seen = datagrams(&link)?;
        let summary = link.finish();
        seen.counted_lost = summary.toward[1].lost;
        if summary.lateness.is_trustworthy() || tries == TRIES {
            return Ok((seen, summary.lateness));
        }
        tries += 1;
    }
}

fn datagrams(link: &EmulatedLink) -> Result<Seen, CheckError> {
    let receiver = link.host(2).run(|| UdpSocket::bind((link.host(2).address(), 4_000)))??;
    let sender = link.host(1).run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)))??;
    sender.connect((link.host(2).address(), 4_000))?;
    receiver.set_read_timeout(Some(SILENCE))?;
    let start = Instant::now();
    thread::scope(|scope| {
        let sending = scope.spawn(move || -> io::Result<()> {
            for number in 0..DATAGRAMS {
                thread::sleep((start + INTERVAL * number).saturating_duration_since(Instant::now()));
                let mut datagram = [0; 12];
                datagram[..4].copy_from_slice(&number.to_le_bytes());
                datagram[4..].copy_from_slice(&now_ns().to_le_bytes());
                sender.send(&datagram)?;
            }
            Ok(())
        });
        let mut arrivals = Vec::new();
        let mut buffer = [0; 64];
        loop {
            match receiver.recv(&mut buffer) {
                Ok(12) => {
                    let number = u32::from_le_bytes(buffer[..4].try_into().expect("four bytes"));
                    let sent = u64::from_le_bytes(buffer[4..12].try_into().expect("eight bytes"));
                    if number < DATAGRAMS {
                        arrivals.push((number, now_ns().saturating_sub(sent)));
                    }
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !sending.is_finished() => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        sending.join().expect("returns its errors")?;
        Ok(Seen { arrivals, counted_lost: 0 })
    })
}

/// Measures the rate of TCP through a narrow link.
fn rate(seed: u64) -> Result<Finding, CheckError> {
    let config = LinkConfig {
        delay: Duration::from_millis(5),
        rate_bits: Some(RATE_BITS),
        queue_bytes: 64 * 1_024,
        ..LinkConfig::default()
    };
    let link = EmulatedLink::new(&config, 2, seed)?;
    let listener = link.host(2).run(|| TcpListener::bind((link.host(2).address(), 4_000)))??;
    let mut sender = link.host(1).run(|| TcpStream::connect((link.host(2).address(), 4_000)))??;
    let (mut receiver, _) = listener.accept()?;
    sender.set_write_timeout(Some(SILENCE))?;
    let measured = thread::scope(|scope| {
        scope.spawn(move || {
            let end = Instant::now() + TRANSFER;
            // The loop ends when the time has passed, or when the other side has ended.
            while Instant::now() < end && sender.write_all(&[0; 8_192]).is_ok() {}
        });
        let mut buffer = [0; 65_536];
        let mut bytes = 0;
        let mut first = None;
        let mut last = Instant::now();
        loop {
            let length = receiver.read(&mut buffer)?;
            if length == 0 {
                break;
            }
            last = Instant::now();
            match first {
                None => first = Some(last),
                Some(_) => bytes += length,
            }
        }
        let seconds = first.map_or(0.0, |first| (last - first).as_secs_f64());
        io::Result::Ok(bytes as f64 * 8.0 / seconds.max(1e-9) / 1e6)
    })?;
    let configured = RATE_BITS as f64 / 1e6;
    let allowed = (configured * 0.88, configured);
    Ok(Finding { what: "rate, as goodput of TCP", unit: "Mbit/s", configured, measured, allowed })
}
