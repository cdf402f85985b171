//! `cargo xtask release` does everything that a release does, step by step. Only `--publish` sends anything to another machine.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use super::{
    Packages, Places, SUMS, VERSION, changelog, check, clean_commit, make, output_of, pages, published,
};
use crate::{console, step};

/// The way to release.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Do everything but the publication, and print what the publication lacks
    #[arg(long, conflicts_with = "publish")]
    dry_run: bool,
    /// Publish the packages after all steps have passed. It needs a commit with the tag of the version, and logins at npm, PyPI and
    /// GitHub
    #[arg(long, conflicts_with_all = ["quick", "program", "platforms", "profile"])]
    publish: bool,
    /// Run `cargo xtask check` instead of all tests. The summary says so
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    packages: Packages,
}

/// A step. Returns its line of the summary.
type Step = fn(&Args, &Places) -> anyhow::Result<String>;

const STEPS: [(&str, Step); 8] = [
    ("versions", |_, _| versions()),
    ("changelog", |_, _| changelog().map(|entry| format!("{} lines on {VERSION}", entry.lines().count()))),
    ("checks", checks),
    ("packages", packages),
    ("checksums", |_, places| checksums(places)),
    ("pages", pages),
    ("installation", installation),
    ("publication", publication),
];

/// Runs the steps until one fails, and prints a line with the time of each.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(args.dry_run || args.publish, "say --dry-run, or --publish to publish {VERSION}");
    if args.publish {
        let missing = missing()?;
        ensure!(missing.is_empty(), "to publish {VERSION}, these are missing: {}", missing.join("; "));
    }
    let places = Places::new();
    let mut summary = Vec::new();
    let mut failed = None;
    for (name, step) in STEPS {
        eprintln!("\n{} {}", console::bold("==>"), console::bold(name));
        let start = Instant::now();
        let outcome = step(args, &places);
        let found = outcome.as_ref().map_or_else(|error| format!("FAILED: {error:#}"), String::clone);
        summary.push(format!("{name:<13} {:>7.1} s  {found}", start.elapsed().as_secs_f32()));
        if outcome.is_err() {
            failed = Some(name);
            break;
        }
    }
    eprintln!("\n{}", console::bold("summary"));
    println!("{}", summary.join("\n"));
    match failed {
        Some(name) => bail!("the step \"{name}\" failed"),
        None => Ok(()),
    }
}

/// All crates, npm packages and the wheel have the version of this release.
fn versions() -> anyhow::Result<String> {
    let crates = step::packages()?;
    for package in &crates {
        let version = package.metadata["version"].as_str();
        ensure!(version == Some(VERSION), "{} has version {version:?}, not {VERSION}", package.place);
    }
    let lock: Value = read_json(&step::root().join("package-lock.json"))?;
    let mut packages = 0;
    for entry in fs::read_dir(step::root().join("packages"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let manifest = read_json(&step::root().join("packages").join(&name).join("package.json"))?;
        let locked = &lock["packages"][format!("packages/{name}")];
        for (file, version) in
            [("package.json", &manifest["version"]), ("package-lock.json", &locked["version"])]
        {
            ensure!(version == VERSION, "packages/{name} has version {version} in {file}, not {VERSION}");
        }
        packages += 1;
    }
    // The lab is a workspace of its own.
    let lab = fs::read_to_string(step::root().join("lab/Cargo.lock"))?;
    let other = locked_in_another_version(&lab);
    ensure!(
        other.is_none(),
        "lab/Cargo.lock has a version other than {VERSION} for {}",
        other.unwrap_or_default()
    );
    // The wheel takes the version of its crate.
    let wheel = fs::read_to_string(step::root().join("bindings/python/pyproject.toml"))?;
    ensure!(wheel.contains("dynamic = [\"version\"]"), "pyproject.toml has a version of its own");
    let private =
        crates.iter().filter(|package| package.metadata["publish"].as_array().is_some_and(Vec::is_empty));
    // `cargo package` refuses such crates: they name each other by paths.
    ensure!(
        private.count() == crates.len(),
        "a crate may be published: pack it by `cargo package` in this command"
    );
    Ok(format!(
        "{VERSION} in {} crates (none is published), the lab, {packages} npm packages and the wheel",
        crates.len()
    ))
}

/// Returns the name of a local crate that a lock file of Cargo has in another version. Only crates from elsewhere have a source.
fn locked_in_another_version(lock: &str) -> Option<&str> {
    let version = format!("\nversion = \"{VERSION}\"\n");
    let mut packages = lock.split("[[package]]\nname = ").skip(1);
    packages.find(|package| !package.contains("\nsource = ") && !package.contains(&version))?.lines().next()
}

fn read_json(path: &Path) -> anyhow::Result<Value> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("cannot read {}", path.display()))
}

/// Runs all tests, unless they passed for this commit in an earlier run.
fn checks(args: &Args, places: &Places) -> anyhow::Result<String> {
    if args.quick {
        step::run(&["cargo", "xtask", "check"])?;
        return Ok("`cargo xtask check` passed; NOT RUN: `cargo xtask test` (--quick)".to_owned());
    }
    let (commit, tested) = (clean_commit()?, places.out.with_file_name("tested"));
    if commit.is_some() && fs::read_to_string(&tested).ok() == commit {
        return Ok("`cargo xtask test` passed for this commit in an earlier run".to_owned());
    }
    step::run(&["cargo", "xtask", "test"])?;
    if let Some(commit) = commit {
        super::write(&tested, commit)?;
    }
    Ok("`cargo xtask test` passed".to_owned())
}

/// Makes the packages, unless the same packages were made from this commit.
fn packages(args: &Args, places: &Places) -> anyhow::Result<String> {
    let origin = args.packages.origin()?;
    let is_made = origin.is_some() && fs::read_to_string(places.origin()).ok() == origin;
    if !is_made {
        make(places, &args.packages)?;
    }
    let count = published(places)?.len();
    Ok(match is_made {
        true => format!("{count} files, which an earlier run made from this commit"),
        false => format!("made {count} files"),
    })
}

fn checksums(places: &Places) -> anyhow::Result<String> {
    check::check_sums(places)?;
    let (listed, made) = (places.sums()?.lines().count(), published(places)?);
    ensure!(listed == made.len(), "{SUMS} lists {listed} files, and there are {}", made.len());
    Ok(format!("{listed} files are as in {SUMS}"))
}

/// The pages name packages and files of this release.
fn pages(args: &Args, places: &Places) -> anyhow::Result<String> {
    let (names, pages) = pages::check(places, args.packages.is_complete())?;
    Ok(format!("{names} names of packages and files in {pages} pages are those of this release"))
}

/// Runs the commands of the page about installation without a network.
fn installation(args: &Args, places: &Places) -> anyhow::Result<String> {
    let unmade = check::run(places, false)?;
    if unmade.is_empty() {
        return Ok("every way to install works by the page's commands".to_owned());
    }
    ensure!(!args.packages.is_complete(), "{} were not made", unmade.join(" and "));
    Ok(format!("the page's commands work; NOT CHECKED, because not made: {}", unmade.join(", ")))
}

/// Publishes, or runs npm's part without sending and lists what is missing.
fn publication(args: &Args, places: &Places) -> anyhow::Result<String> {
    let files = published(places)?;
    let (mut npm, rest): (Vec<String>, Vec<String>) =
        files.into_iter().partition(|file| file.starts_with("npm/"));
    // Users install the last two by name, so they follow their dependencies.
    npm.sort_by_key(|file| {
        (file.starts_with("npm/create-"), file.starts_with(&format!("npm/nowcast-server-{VERSION}")))
    });
    let path = |file: &str| places.out.join(file).to_string_lossy().into_owned();
    let wheels: Vec<String> =
        rest.iter().filter(|file| file.ends_with(".whl")).map(|file| path(file)).collect();
    let assets: Vec<String> = rest.iter().map(String::as_str).chain([SUMS]).map(path).collect();
    for file in &npm {
        let line = ["npm", "publish", &path(file), "--access", "public"];
        let dry: &[&str] = if args.publish { &[] } else { &["--dry-run"] };
        step::run(&[&line[..], dry].concat())?;
    }
    if args.publish {
        let maturin = super::program::python_tools()?.join("maturin").to_string_lossy().into_owned();
        step::run(&words(&[&maturin, "upload"], &wheels))?;
        let tag = format!("v{VERSION}");
        step::run(&words(&["gh", "release", "create", &tag, "--verify-tag", "--generate-notes"], &assets))?;
        return Ok(format!("published {} npm packages and {} other files", npm.len(), assets.len()));
    }
    let (packages, wheels, assets) = (npm.len(), wheels.len(), assets.len());
    let mut lines = vec![format!(
        "`npm publish --dry-run` accepts {packages} packages; NOT RUN: `maturin upload` of {wheels} wheels, `gh release create` with {assets} files"
    )];
    lines.extend(missing()?.iter().map(|missing| format!("{:26}--publish lacks {missing}", "")));
    Ok(lines.join("\n"))
}

fn words<'a>(command: &[&'a str], files: &'a [String]) -> Vec<&'a str> {
    command.iter().copied().chain(files.iter().map(String::as_str)).collect()
}

/// Returns everything that a publication needs and that is not there, each with its cure.
fn missing() -> anyhow::Result<Vec<String>> {
    let mut missing = Vec::new();
    let mut need = |holds: bool, cure: &str| {
        if !holds {
            missing.push(cure.to_owned());
        }
    };
    need(clean_commit()?.is_some(), "a checkout without changes: commit them");
    let tag = format!("v{VERSION}");
    let has_tag = output_of("git", &["tag", "--points-at", "HEAD"])?.lines().any(|line| line == tag);
    need(has_tag, &format!("the tag of this commit: `git tag {tag} && git push origin {tag}`"));
    let is_dated = !changelog()?.contains("Not released yet");
    need(is_dated, &format!("the date of {VERSION} in CHANGELOG.md, which says \"Not released yet\""));
    let denying = pages::that_deny_a_release()?;
    need(denying.is_empty(), &format!("pages that do not say \"No package is …\": {}", denying.join(", ")));
    need(output_of("npm", &["whoami"]).is_ok(), "a login at npm: `npm login`");
    need(std::env::var_os("MATURIN_PYPI_TOKEN").is_some(), "PyPI's token in the variable MATURIN_PYPI_TOKEN");
    need(output_of("gh", &["auth", "status"]).is_ok(), "GitHub's program with a login: `gh auth login`");
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_crate_in_another_version_is_found_in_a_lock_file() {
        let lock = format!(
            "version = 4\n\n[[package]]\nname = \"log\"\nversion = \"0.0.4\"\nsource = \"registry\"\n\n\
             [[package]]\nname = \"nowcast\"\nversion = \"{VERSION}\"\ndependencies = [\n \"log\",\n]\n"
        );
        assert_eq!(locked_in_another_version(&lock), None);
        let lock = lock.replace(VERSION, "0.0.9");
        assert_eq!(locked_in_another_version(&lock), Some("\"nowcast\""));
    }
}
