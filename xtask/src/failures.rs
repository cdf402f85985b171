//! The names of failed tests, so that a summary of many steps says which tests to look at.
//!
//! The output of all steps is long, and the place where one of a thousand tests failed is hard to find in it. Rust's test
//! programs print their failures on standard output. Vitest writes a report in JSON.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::{console, step};

/// The number of files or programs with failed tests that run a second time. If more fail, the machine is not the cause.
const UNSTEADY: usize = 3;

/// The number of tests that an error names. The output has the others.
const NAMED: usize = 20;

/// Tests that failed, in the order of their names.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Failures {
    tests: BTreeSet<String>,
    /// The files of the tests, relative to the root of the checkout, or the names of Rust's test programs.
    pub(crate) files: BTreeSet<String>,
}

impl Failures {
    pub(crate) fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// Adds a failed test of a Rust program.
    pub(crate) fn add(&mut self, program: &str, test: &str) {
        self.files.insert(program.to_owned());
        self.tests.insert(format!("{program}: {test}"));
    }

    /// Runs the files or programs of the failed tests once more, because a busy machine sometimes lets a program wait for longer
    /// than any limit. A test that passes then is printed as unsteady.
    ///
    /// # Errors
    /// If a test fails a second time, or if the tests of many files failed.
    pub(crate) fn settle(self, again: impl FnOnce(&Self) -> anyhow::Result<Self>) -> anyhow::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        if self.files.len() > UNSTEADY {
            bail!("{self}");
        }
        eprintln!("{} these tests failed, and their files run once more:\n{self}", console::yellow("again:"));
        let second = again(&self)?;
        if !second.is_empty() {
            bail!("twice:\n{second}");
        }
        eprintln!(
            "{} these tests failed once and passed the second time:\n{self}",
            console::yellow("unsteady:")
        );
        Ok(())
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, test) in self.tests.iter().take(NAMED).enumerate() {
            write!(f, "{}{test}", if index == 0 { "" } else { "\n" })?;
        }
        if self.tests.len() > NAMED {
            write!(f, "\nand {} more", self.tests.len() - NAMED)?;
        }
        Ok(())
    }
}

/// Returns the name of the test that failed, if a test program printed this line for one.
pub(crate) fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// Runs a command of Vitest that writes its report to `report`, and returns the tests that failed.
///
/// # Errors
/// If Vitest fails without a failed test.
pub(crate) fn run_vitest(line: &[&str], env: &[(&str, &str)], report: &Path) -> anyhow::Result<Failures> {
    if report.exists() {
        std::fs::remove_file(report).with_context(|| format!("cannot remove {}", report.display()))?;
    }
    let output = format!("--outputFile.json={}", report.display());
    let line = [line, &["--reporter=default", "--reporter=json", &output]].concat();
    let Err(error) = step::run_with_env(&line, env) else { return Ok(Failures::default()) };
    let Ok(text) = std::fs::read_to_string(report) else { return Err(error) };
    let failures = failures_of(&serde_json::from_str(&text).context("the report of Vitest is no JSON")?);
    if failures.is_empty() { Err(error) } else { Ok(failures) }
}

/// Returns the failed tests of a report of Vitest. A file that fails before its first test counts as a test.
fn failures_of(report: &Value) -> Failures {
    let mut failures = Failures::default();
    let root = step::root();
    for file in report["testResults"].as_array().into_iter().flatten() {
        if file["status"] != "failed" {
            continue;
        }
        let path = Path::new(file["name"].as_str().unwrap_or_default());
        let path = path.strip_prefix(&root).unwrap_or(path).to_string_lossy().into_owned();
        let tests = file["assertionResults"].as_array().into_iter().flatten();
        let mut failed = tests.filter(|test| test["status"] == "failed").peekable();
        if failed.peek().is_none() {
            failures.tests.insert(described(&path, "", file["message"].as_str()));
        }
        for test in failed {
            let name = test["fullName"].as_str().unwrap_or_default();
            failures.tests.insert(described(&path, name, test["failureMessages"][0].as_str()));
        }
        failures.files.insert(path);
    }
    failures
}

fn described(path: &str, test: &str, message: Option<&str>) -> String {
    let cause = message.and_then(|message| message.lines().next()).unwrap_or("no message");
    let separator = if test.is_empty() { "" } else { " > " };
    format!("{path}{separator}{test}: {cause}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_names_failed_tests_with_file_and_cause() {
        let failing = step::root().join("packages/a.test.ts");
        let broken = step::root().join("packages/b.test.ts");
        let failures = failures_of(&json!({ "testResults": [
            { "name": failing, "status": "failed", "message": "", "assertionResults": [
                { "status": "passed", "fullName": "page opens" },
                { "status": "failed", "fullName": "page closes", "failureMessages": ["Error: late\n  at line 3"] },
            ] },
            { "name": broken, "status": "failed", "message": "cannot import x\nstack", "assertionResults": [] },
            { "name": step::root().join("packages/c.test.ts"), "status": "passed", "assertionResults": [] },
        ] }));
        assert_eq!(
            failures.to_string(),
            "packages/a.test.ts > page closes: Error: late\npackages/b.test.ts: cannot import x"
        );
        assert_eq!(failures.files.len(), 2);
        assert!(failures_of(&json!({ "testResults": [] })).is_empty());
    }

    #[test]
    fn an_error_names_the_first_twenty_failures() {
        let tests = (10..35).map(|index| format!("test {index}")).collect();
        let text = Failures { tests, files: BTreeSet::new() }.to_string();
        assert!(text.starts_with("test 10\n") && text.ends_with("test 29\nand 5 more"), "{text}");
    }
}
