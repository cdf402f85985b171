//! Reads a server's `/metrics` page. Supports the part of Prometheus' text format that operators' tools and the lab need.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Maximum size of a metrics page, in bytes.
const PAGE_BYTES_MAX: u64 = 4 << 20;

/// Maximum wait for a page.
const PATIENCE: Duration = Duration::from_secs(5);

/// All metrics of a page, read at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    samples: Vec<Sample>,
}

/// One metric. The page may come from an untrusted server, so escape names and labels before display.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The name of the metric.
    pub name: String,
    /// Pairs of a label's name and its value, in the order of the page.
    pub labels: Vec<(String, String)>,
    /// The value of the metric.
    pub value: f64,
}

impl Sample {
    /// Returns the value of a label.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn has(&self, labels: &[(&str, &str)]) -> bool {
        labels.iter().all(|(name, value)| self.label(name) == Some(*value))
    }
}

impl Figures {
    /// Requests the page from the server at `host` (`name:port`), with a token if the server requires one.
    ///
    /// # Errors
    /// Fails if no answer arrives within 5 s, or the answer is not a metrics page. The error text quotes the answer.
    pub async fn fetch(host: &str, token: Option<&str>) -> io::Result<Figures> {
        let exchange = async {
            let mut socket = TcpStream::connect(host).await?;
            let shown = token.map_or(String::new(), |token| format!("authorization: Bearer {token}\r\n"));
            let request =
                format!("GET /metrics HTTP/1.1\r\nhost: {host}\r\n{shown}connection: close\r\n\r\n");
            socket.write_all(request.as_bytes()).await?;
            let mut answer = Vec::new();
            socket.take(PAGE_BYTES_MAX).read_to_end(&mut answer).await?;
            io::Result::Ok(answer)
        };
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "no answer within 5 s");
        let answer = tokio::time::timeout(PATIENCE, exchange).await.map_err(late)??;
        page_of(&String::from_utf8_lossy(&answer)).map(Figures::parse)
    }

    /// Parses a page. Lines that are not metrics are skipped.
    #[must_use]
    pub fn parse(page: &str) -> Figures {
        Figures { samples: page.lines().filter_map(sample).collect() }
    }

    /// Returns all metrics with this name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sample> {
        self.samples.iter().filter(move |sample| sample.name == name)
    }

    /// Returns the first metric with this name that has these labels.
    #[must_use]
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        self.named(name).find(|sample| sample.has(labels)).map(|sample| sample.value)
    }

    /// Returns the histogram with this name and these labels.
    #[must_use]
    pub fn histogram(&self, name: &str, labels: &[(&str, &str)]) -> Buckets {
        let name = format!("{name}_bucket");
        let counts = self.named(&name).filter(|sample| sample.has(labels)).filter_map(|sample| {
            let bound = match sample.label("le")? {
                "+Inf" => f64::INFINITY,
                bound => bound.parse().ok()?,
            };
            Some((bound, sample.value))
        });
        let mut counts: Vec<(f64, f64)> = counts.collect();
        counts.sort_by(|a, b| a.0.total_cmp(&b.0));
        Buckets { counts }
    }
}

/// A histogram: cumulative counts by upper bound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Buckets {
    /// Upper bounds, ascending, each with the number of values up to that bound.
    counts: Vec<(f64, f64)>,
}

impl Buckets {
    /// Returns the observations between an earlier moment and this one.
    #[must_use]
    pub fn since(&self, before: &Buckets) -> Buckets {
        let earlier =
            |bound: f64| before.counts.iter().find(|(other, _)| *other == bound).map_or(0.0, |(_, n)| *n);
        let counts = self.counts.iter().map(|(bound, count)| (*bound, count - earlier(*bound)));
        Buckets { counts: counts.collect() }
    }

    /// The number of recorded values.
    #[must_use]
    pub fn count(&self) -> f64 {
        self.counts.last().map_or(0.0, |(_, count)| *count)
    }

    /// Returns the quantile `p`, interpolated linearly within its bucket as in Prometheus. In the last, open bucket, the
    /// result is the lower bound, which is too low. Returns `None` if no value was counted.
    #[must_use]
    pub fn quantile(&self, p: f64) -> Option<f64> {
        let rank = p * self.count();
        if rank.is_nan() || rank <= 0.0 {
            return None;
        }
        let (mut low, mut below) = (0.0, 0.0);
        for (bound, count) in &self.counts {
            if *count >= rank {
                let inside = (rank - below) / (count - below);
                return Some(if bound.is_finite() { low + (bound - low) * inside } else { low });
            }
            (low, below) = (*bound, *count);
        }
        None
    }
}

/// Returns the body of a response that is a metrics page.
fn page_of(answer: &str) -> io::Result<&str> {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let status = head.lines().next().unwrap_or_default();
    let refused = |text: String| Err(io::Error::new(io::ErrorKind::InvalidData, text));
    match status.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..)) {
        Some(rest) if rest.starts_with("200") => Ok(body),
        Some(rest) => refused(format!("it answers {rest}: {}", body.lines().next().unwrap_or("nothing"))),
        None => refused("it does not speak HTTP".to_owned()),
    }
}

/// Parses a line: `name{label="value",…} value`.
fn sample(line: &str) -> Option<Sample> {
    let line = line.trim_end();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let end = line.find(['{', ' '])?;
    let name = line[..end].to_owned();
    let (labels, rest) = match line[end..].strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), &line[end..]),
    };
    // A time stamp may follow.
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(Sample { name, labels, value })
}

/// Parses labels up to the closing brace. Returns them with the text after the brace.
fn labels(mut text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        if let Some(rest) = text.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, rest) = text.split_once("=\"")?;
        let (value, rest) = quoted(rest)?;
        labels.push((name.trim().to_owned(), value));
        text = rest.strip_prefix(',').unwrap_or(rest);
    }
}

/// Parses a text up to its closing quote. Returns it with the text after the quote.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut signs = text.char_indices();
    while let Some((at, sign)) = signs.next() {
        match sign {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match signs.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# HELP x y\nx_seconds_sum 3.5\nx_seconds_bucket{le=\"0.001\"} 50\nx_seconds_bucket{le=\"0.01\"} 100\n\
        x_seconds_bucket{le=\"+Inf\"} 100\nroom_bytes_total{room=\"a b\",class=\"chat\"} 7 1700000000\n\
        room_bytes_total{room=\"\\\"}\\\\\\n\",class=\"chat\"} 8\nbroken{room=\"\nalso{a=b} 3\nnumberless x\n\
        process_resident_memory_bytes 1048576\n# EOF\n";

    #[test]
    fn metrics_and_quantiles_are_parsed_from_a_page() {
        let figures = Figures::parse(PAGE);
        assert_eq!(figures.value("process_resident_memory_bytes", &[]), Some(1_048_576.0));
        let histogram = figures.histogram("x_seconds", &[]);
        assert_eq!(histogram.count(), 100.0);
        assert_eq!(histogram.quantile(0.5), Some(0.001));
        assert!((histogram.quantile(0.75).unwrap() - 0.0055).abs() < 1e-9);
        assert_eq!(histogram.since(&histogram).quantile(0.5), None);
    }

    #[test]
    fn labels_are_found_by_name_and_may_contain_any_text() {
        let figures = Figures::parse(PAGE);
        assert_eq!(figures.value("room_bytes_total", &[("class", "chat"), ("room", "a b")]), Some(7.0));
        let rooms: Vec<_> = figures.named("room_bytes_total").filter_map(|one| one.label("room")).collect();
        assert_eq!(rooms, ["a b", "\"}\\\n"]);
        assert_eq!(figures.value("room_bytes_total", &[("room", "c")]), None);
    }

    #[test]
    fn lines_that_are_not_metrics_are_skipped() {
        let figures = Figures::parse(PAGE);
        for name in ["broken", "also", "numberless", "#"] {
            assert_eq!(figures.named(name).count(), 0, "{name}");
        }
    }

    #[test]
    fn an_answer_that_is_not_a_page_is_quoted() {
        assert_eq!(page_of("HTTP/1.1 200 OK\r\na: b\r\n\r\nx 1\n").unwrap(), "x 1\n");
        let refused = page_of("HTTP/1.1 403 Forbidden\r\n\r\nonly this machine\nmore").unwrap_err();
        assert_eq!(refused.to_string(), "it answers 403 Forbidden: only this machine");
        assert_eq!(page_of("SSH-2.0-x\r\n").unwrap_err().to_string(), "it does not speak HTTP");
        assert!(page_of("HTTP/1.").is_err());
    }
}
