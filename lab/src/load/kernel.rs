//! Reads counters of the kernel: processor time and memory of a process, packets and bytes of a network.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::time::Duration;

/// Frequency of the clock ticks in which the kernel states processor times. It is the same on every Linux that Nowcast supports.
const TICKS_HZ: u64 = 100;

/// Returns the processor time of a process so far: user and kernel time of all threads.
///
/// # Errors
/// If there is no such process.
pub(crate) fn processor_time(pid: u32) -> io::Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    processor_time_in(&text).ok_or_else(|| unexpected("/proc/PID/stat"))
}

/// Returns the memory of a process that is in RAM, in bytes.
///
/// # Errors
/// If there is no such process.
pub(super) fn resident_bytes(pid: u32) -> io::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix("kB"));
    let kibibytes: Option<u64> = line.and_then(|kibibytes| kibibytes.trim().parse().ok());
    kibibytes.map(|kibibytes| kibibytes * 1_024).ok_or_else(|| unexpected("/proc/PID/status"))
}

/// Packets and bytes of the calling thread's network namespace so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traffic {
    /// Number of datagrams that programs sent. If both ends are in the namespace, this includes both directions. If one system
    /// call sends several datagrams to the same address, the kernel counts them as one.
    pub(super) udp_datagrams: u64,
    /// Number of segments that connections of programs sent, including acknowledgements. The kernel counts them like datagrams.
    pub(super) tcp_segments: u64,
    /// Bytes of all IP packets that were sent, with all headers except those of the link.
    pub(super) ip_bytes: u64,
}

impl Traffic {
    /// Reads the counters.
    ///
    /// # Errors
    /// If the kernel does not report the counters.
    pub(super) fn now() -> io::Result<Traffic> {
        let counted = fs::read_to_string("/proc/thread-self/net/snmp")?;
        let extended = fs::read_to_string("/proc/thread-self/net/netstat")?;
        Self::of(&counted, &extended).ok_or_else(|| unexpected("/proc/net/snmp"))
    }

    fn of(counted: &str, extended: &str) -> Option<Traffic> {
        let (counted, extended) = (table(counted), table(extended));
        let figure = |of: &BTreeMap<_, u64>, group, name| of.get(&(group, name)).copied();
        Some(Traffic {
            udp_datagrams: figure(&counted, "Udp", "OutDatagrams")?,
            tcp_segments: figure(&counted, "Tcp", "OutSegs")?,
            ip_bytes: figure(&extended, "IpExt", "OutOctets")?,
        })
    }

    /// Returns the difference from an earlier time.
    pub(super) fn since(self, before: Traffic) -> Traffic {
        Traffic {
            udp_datagrams: self.udp_datagrams.saturating_sub(before.udp_datagrams),
            tcp_segments: self.tcp_segments.saturating_sub(before.tcp_segments),
            ip_bytes: self.ip_bytes.saturating_sub(before.ip_bytes),
        }
    }
}

/// Bytes and packets that an interface of the calling thread's network namespace has received and sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Interface {
    pub(super) received_bytes: u64,
    pub(super) received_packets: u64,
    pub(super) sent_bytes: u64,
    pub(super) sent_packets: u64,
}

impl Interface {
    /// Reads the counters.
    ///
    /// # Errors
    /// If there is no interface with this name.
    pub(super) fn now(name: &str) -> io::Result<Interface> {
        let text = fs::read_to_string("/proc/thread-self/net/dev")?;
        Self::of(&text, name).ok_or_else(|| unexpected("/proc/net/dev"))
    }

    fn of(text: &str, name: &str) -> Option<Interface> {
        let figures =
            text.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
        let figures: Vec<u64> = figures.split_whitespace().map_while(|figure| figure.parse().ok()).collect();
        Some(Interface {
            received_bytes: *figures.first()?,
            received_packets: *figures.get(1)?,
            sent_bytes: *figures.get(8)?,
            sent_packets: *figures.get(9)?,
        })
    }
}

/// Parses pairs of lines, one with names and one with figures. Each line begins with the name of its group. Negative figures are
/// limits and not counts.
fn table(text: &str) -> BTreeMap<(&str, &str), u64> {
    let lines: Vec<&str> = text.lines().collect();
    let pairs = lines.chunks_exact(2).filter_map(|pair| {
        let (group, names) = pair[0].split_once(':')?;
        let (_, figures) = pair[1].split_once(':')?;
        Some(
            names
                .split_whitespace()
                .zip(figures.split_whitespace())
                .filter_map(move |(name, figure)| Some(((group, name), figure.parse().ok()?))),
        )
    });
    pairs.flatten().collect()
}

/// User and system time are the 14th and the 15th figure. The program's name may contain spaces, and ends at the last
/// parenthesis.
fn processor_time_in(stat: &str) -> Option<Duration> {
    let mut figures = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: u64 = figures.next()?.parse().ok()?;
    let system: u64 = figures.next()?.parse().ok()?;
    Some(Duration::from_millis((user + system) * 1_000 / TICKS_HZ))
}

fn unexpected(file: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{file} is not as expected"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_includes_user_and_kernel_time() {
        let stat = "42 (a (strange) name) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 7 7 20 0 4 0 100 0 0";
        assert_eq!(processor_time_in(stat), Some(Duration::from_secs(3)));
        assert_eq!(processor_time_in("42 (cut"), None);
    }

    #[test]
    fn traffic_counters_are_found_by_the_kernels_names() {
        let counted = "Tcp: RtoMin MaxConn InSegs OutSegs\nTcp: 200 -1 10 20\nUdp: InDatagrams OutDatagrams\nUdp: 30 40\n";
        let extended = "IpExt: InOctets OutOctets\nIpExt: 500 600\n";
        let found = Traffic::of(counted, extended).unwrap();
        assert_eq!(found, Traffic { udp_datagrams: 40, tcp_segments: 20, ip_bytes: 600 });
        let later = Traffic { udp_datagrams: 45, ..found };
        assert_eq!(later.since(found), Traffic { udp_datagrams: 5, ..Traffic::default() });
        assert_eq!(Traffic::of(counted, ""), None);
    }

    #[test]
    fn an_interface_is_found_by_its_name() {
        let text = "Inter-|   Receive                |  Transmit\n face |bytes    packets errs\n    lo:  1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n \
                    link0: 10 20 0 0 0 0 0 0 30 40 0 0 0 0 0 0\n";
        let link = Interface { received_bytes: 10, received_packets: 20, sent_bytes: 30, sent_packets: 40 };
        assert_eq!(Interface::of(text, "link0"), Some(link));
        assert_eq!(Interface::of(text, "eth0"), None);
    }

    #[test]
    fn this_process_has_used_something() {
        let pid = std::process::id();
        assert!(resident_bytes(pid).unwrap() > 1 << 20);
        processor_time(pid).unwrap();
        Traffic::now().unwrap();
        assert!(Interface::now("lo").is_ok());
    }
}
