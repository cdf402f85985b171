//! Reads a server's `/metrics`: the text format of Prometheus, as far as the lab needs it.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// No page of metrics is longer.
const PAGE_BYTES_MAX: u64 = 1 << 20;

/// All figures of one moment, by name with labels.
#[derive(Clone, Debug, Default)]
pub(super) struct Scrape {
    figures: HashMap<String, f64>,
}

impl Scrape {
    /// Asks the server at `host` (`name:port`).
    pub(super) async fn fetch(host: &str) -> io::Result<Scrape> {
        let exchange = async {
            let mut socket = TcpStream::connect(host).await?;
            let request = format!("GET /metrics HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
            socket.write_all(request.as_bytes()).await?;
            let mut page = String::new();
            socket.take(PAGE_BYTES_MAX).read_to_string(&mut page).await?;
            io::Result::Ok(page)
        };
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "no answer within 5 s");
        let page = tokio::time::timeout(Duration::from_secs(5), exchange).await.map_err(late)??;
        Ok(Scrape::parse(&page))
    }

    /// Lines that are no figure (the head of the answer, comments) are skipped.
    fn parse(page: &str) -> Scrape {
        let figures = page.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
            let (name, value) = line.trim_end().rsplit_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        });
        Scrape { figures: figures.collect() }
    }

    /// One figure, if the server has it.
    pub(super) fn figure(&self, name: &str) -> Option<f64> {
        self.figures.get(name).copied()
    }

    /// The histogram `name` of what happened between an earlier scrape and this one.
    pub(super) fn histogram_since(&self, before: &Scrape, name: &str) -> Histogram {
        let prefix = format!("{name}_bucket{{le=\"");
        let mut buckets: Vec<(f64, f64)> = self
            .figures
            .iter()
            .filter_map(|(key, count)| {
                let bound = key.strip_prefix(&prefix)?.strip_suffix("\"}")?;
                let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().ok()? };
                Some((bound, count - before.figure(key).unwrap_or(0.0)))
            })
            .collect();
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        Histogram { buckets }
    }
}

/// Cumulative counts by upper bound.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    buckets: Vec<(f64, f64)>,
}

impl Histogram {
    pub(super) fn count(&self) -> f64 {
        self.buckets.last().map_or(0.0, |(_, count)| *count)
    }

    /// The value below which the share `p` lies, straight-lined within its bucket, as Prometheus does it. In the last,
    /// open bucket: its lower bound, which then is too low. `None` when nothing was counted.
    pub(super) fn quantile(&self, p: f64) -> Option<f64> {
        let rank = p * self.count();
        if rank <= 0.0 {
            return None;
        }
        let (mut low, mut below) = (0.0, 0.0);
        for (bound, count) in &self.buckets {
            if *count >= rank {
                let inside = (rank - below) / (count - below);
                return Some(if bound.is_finite() { low + (bound - low) * inside } else { low });
            }
            (low, below) = (*bound, *count);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n# HELP x y\nx_seconds_sum 3.5\n\
        x_seconds_bucket{le=\"0.001\"} 50\nx_seconds_bucket{le=\"0.01\"} 100\nx_seconds_bucket{le=\"+Inf\"} 100\n\
        process_resident_memory_bytes 1048576\n# EOF\n";

    #[test]
    fn figures_and_quantiles_come_out_of_a_page() {
        let scrape = Scrape::parse(PAGE);
        assert_eq!(scrape.figure("process_resident_memory_bytes"), Some(1_048_576.0));
        let histogram = scrape.histogram_since(&Scrape::default(), "x_seconds");
        assert_eq!(histogram.count(), 100.0);
        assert_eq!(histogram.quantile(0.5), Some(0.001));
        assert!((histogram.quantile(0.75).unwrap() - 0.0055).abs() < 1e-9);
        assert_eq!(scrape.histogram_since(&scrape, "x_seconds").quantile(0.5), None);
    }
}
