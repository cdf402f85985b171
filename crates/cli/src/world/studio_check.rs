//! Checks rules for a server's studio.

use std::path::Path;

use nowcast_script::{Assets, Fault, Limits, Script, Sources, missing_assets};
use nowcast_script_check::{Finding, check};
use nowcast_server::{CheckRules, Checked, Diagnostic, read_assets};

/// Checks rules as `nowcast check` does, without its tests.
pub(crate) struct StudioCheck;

impl CheckRules for StudioCheck {
    fn check(&self, sources: &Sources, folder: Option<&Path>) -> Checked {
        let modules = sources.iter().count();
        let script = match Script::load(sources, Limits::DEFAULT) {
            Ok(script) => script,
            Err(fault) => return Checked { diagnostics: vec![of_fault(&fault)], kinds: 0, modules },
        };
        let definition = script.definition();
        let mut diagnostics: Vec<Diagnostic> =
            check(sources, &definition).into_iter().map(of_finding).collect();
        if let Some(folder) = folder {
            match read_assets(folder, &Assets::default()) {
                Ok((assets, wrong)) => {
                    let missing = missing_assets(sources, &definition, &assets);
                    diagnostics.extend(wrong.iter().chain(&missing).map(of_fault));
                }
                Err(error) => diagnostics.push(diagnostic("assets", 1, "error", error.to_string())),
            }
        }
        diagnostics.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
        Checked { diagnostics, kinds: definition.kinds.len(), modules }
    }
}

fn diagnostic(file: &str, line: u32, severity: &'static str, message: String) -> Diagnostic {
    Diagnostic { file: file.to_owned(), line, column: 1, severity, message }
}

fn of_finding(finding: Finding) -> Diagnostic {
    let Finding { file, line, column, is_error, message } = finding;
    Diagnostic { file, line, column, severity: if is_error { "error" } else { "warning" }, message }
}

fn of_fault(fault: &Fault) -> Diagnostic {
    let file = fault.file.as_deref().unwrap_or("world.luau");
    let cure = fault.cure.as_ref().map_or_else(String::new, |cure| format!(" ({cure})"));
    diagnostic(file, fault.line.unwrap_or(1), "error", format!("{}{cure}", fault.message))
}
