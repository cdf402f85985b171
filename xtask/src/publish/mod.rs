//! `cargo xtask dist` is a release without its last step: it makes everything that would be published, below target/dist.

mod archive;
mod bom;
pub(crate) mod check;
mod debian;
mod image;
mod npm;
mod pages;
pub(crate) mod program;
pub(crate) mod release;
mod roots;
mod wheel;
mod wine;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::{client, console, step, tools};

/// The packages to make, and their checks.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    packages: Packages,
    /// Install every result in an empty folder without a toolchain and without a network, and start a world there. Prints the
    /// time and the number of commands of each way
    #[arg(long)]
    check: bool,
    /// Use what is in target/dist, and make nothing
    #[arg(long, requires = "check", conflicts_with_all = ["program", "platforms", "profile"])]
    made: bool,
    /// Fail if a file is larger than its goal of 25 MiB, instead of naming it in a warning
    #[arg(long)]
    strict: bool,
    /// Pack everything a second time, and compare the checksums. The programs are compiled once
    #[arg(long, conflicts_with = "made")]
    twice: bool,
    /// Also time the installation of Colyseus from npm's registry, as a comparison
    #[arg(long, requires = "check")]
    colyseus: bool,
}

/// The packages to make.
#[derive(clap::Args)]
struct Packages {
    /// Pack this program for the platform of this machine, and build no other and no wheel. For tests of the packages: a
    /// published program must run on older systems, too
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Make only the packages of this platform, such as linux-x86_64. May be given several times. Without the flag, packages of all
    /// platforms are made
    #[arg(long = "platform", value_name = "NAME", conflicts_with = "program")]
    platforms: Vec<String>,
    /// Compile with this profile of Cargo. For tests of the packages: `dev` compiles faster, but makes large and slow programs
    #[arg(long, value_name = "NAME", default_value = DIST, conflicts_with = "program")]
    profile: String,
}

/// The profile of published programs.
const DIST: &str = "dist";

impl Packages {
    /// Whether these are all packages of a release, as they are published.
    fn is_complete(&self) -> bool {
        self.program.is_none() && self.platforms.is_empty() && self.profile == DIST
    }

    /// Describes these packages and the commit that they are made from. `None` if the checkout has changes that are in no commit.
    fn origin(&self) -> anyhow::Result<Option<String>> {
        let Some(commit) = clean_commit()? else { return Ok(None) };
        let program = self.program.as_deref().map(sha256).transpose()?.unwrap_or_default();
        Ok(Some(format!("{commit} {} {} {program}", self.profile, self.platforms.join(","))))
    }
}

/// Goal for the size of a program, of a package with a program, and of a wheel, in bytes.
const BYTES_MAX: u64 = 25 << 20;

/// The file with the checksums.
const SUMS: &str = "SHA256SUMS";
/// The version of all packages.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The folders of one run.
struct Places {
    /// The files that would be published.
    out: PathBuf,
    /// Trees from which archives are packed.
    stage: PathBuf,
}

impl Places {
    fn new() -> Self {
        let dist = step::target_dir().join("dist");
        Self { out: dist.join("out"), stage: dist.join("stage") }
    }

    /// Returns an empty folder below the stage.
    fn empty(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.stage.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }

    /// Returns the file that says which packages were made, from which commit.
    fn origin(&self) -> PathBuf {
        self.out.with_file_name("origin")
    }

    /// Returns the checksums of the last run.
    fn sums(&self) -> anyhow::Result<String> {
        fs::read_to_string(self.out.join(SUMS)).context("cannot read the checksums")
    }
}

/// Makes all packages, and checks them if asked.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let places = Places::new();
    let mut programs = Vec::new();
    if !args.made {
        programs = make(&places, &args.packages)?;
    }
    if args.twice {
        let first = places.sums()?;
        make(&places, &args.packages)?;
        let differing = differing(&first, &places.sums()?);
        if !differing.is_empty() {
            bail!("the second packing has other checksums: {}", differing.join(", "));
        }
        eprintln!("the second packing has the same checksums");
    }
    if args.check {
        for part in check::run(&places, args.colyseus)? {
            eprintln!("{} {part}, which was not made", console::yellow("not checked:"));
        }
    }
    // The last step, so that a file that is too large prevents no other check.
    refuse_large_files(&places, &programs, args.strict)
}

/// Returns the names of files that are in one list only, or with two checksums.
fn differing(first: &str, second: &str) -> Vec<String> {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let (first, second) = (lines(first), lines(second));
    let names = first.symmetric_difference(&second).filter_map(|line| line.split_whitespace().nth(1));
    names.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Makes the files of all packages, and lists them. Returns the programs in them with their sizes.
fn make(places: &Places, args: &Packages) -> anyhow::Result<Vec<(String, u64)>> {
    tools::require_node()?;
    changelog()?;
    let origin = args.origin()?;
    if places.origin().exists() {
        fs::remove_file(places.origin())?;
    }
    let targets = program::named(&args.platforms)?;
    if args.program.is_none() {
        for architecture in targets.iter().filter_map(|target| target.debian) {
            image::refuse_missing_packages(architecture)?;
        }
    }
    if places.out.exists() {
        fs::remove_dir_all(&places.out).context("cannot empty the folder of the last run")?;
    }
    fs::create_dir_all(&places.out)?;
    client::build_all()?;
    let programs = match &args.program {
        Some(given) => vec![program::of_this_machine(given.clone())?],
        None => program::build_all(&targets, args.platforms.is_empty(), &args.profile)?,
    };
    anyhow::ensure!(!programs.is_empty(), "no target of this machine could be built");
    let docs = step::target_dir().join("docs");
    client::build_served_site(&docs)?;
    let licences = bom::write_list(places)?;
    for program in &programs {
        archive::make(places, program, &docs, &licences)?;
    }
    npm::make_all(places, &programs, &licences)?;
    for program in programs.iter().filter(|program| program.target.debian.is_some()) {
        debian::make(places, program, &docs, &licences)?;
        image::make(places, program, &licences)?;
    }
    // The module of the wheel would be compiled, although the program is given.
    if args.program.is_none() {
        wheel::make(places, &programs, &args.profile)?;
    }
    let mut sizes = Vec::new();
    for program in &programs {
        let (name, size) = (program.target.name, program.path.metadata()?.len());
        println!("{:>9.2} MB  the program for {name}", size as f64 / 1e6);
        sizes.push((format!("the program for {name}"), size));
    }
    list(places)?;
    let is_whole = args.program.is_some() || programs.len() == targets.len();
    if let Some(origin) = origin.filter(|_| is_whole) {
        write(&places.origin(), origin)?;
    }
    Ok(sizes)
}

/// Returns the entry of this release in the changelog.
fn changelog() -> anyhow::Result<String> {
    let text = fs::read_to_string(step::root().join("CHANGELOG.md"))?;
    let entry = text.split_once(&format!("\n## {VERSION}\n"));
    let entry = entry.and_then(|(_, rest)| rest.split("\n## ").next()).unwrap_or_default();
    anyhow::ensure!(
        entry.lines().any(|line| line.starts_with("- ")),
        "CHANGELOG.md has no section for {VERSION} with a list: write what this release changes"
    );
    Ok(entry.to_owned())
}

/// Writes the checksums, and prints all files with their sizes.
fn list(places: &Places) -> anyhow::Result<()> {
    let mut sums = String::new();
    let names = published(places)?;
    for name in &names {
        let path = places.out.join(name);
        let sum = sha256(&path)?;
        println!("{:>9.2} MB  {}  {name}", path.metadata()?.len() as f64 / 1e6, &sum[..16]);
        sums += &format!("{sum}  {name}\n");
    }
    fs::write(places.out.join(SUMS), sums).context("cannot write the checksums")?;
    eprintln!("made {} files in {}; SHA256SUMS has their checksums", names.len(), places.out.display());
    Ok(())
}

/// Returns the names of all files that would be published, relative to their folder.
fn published(places: &Places) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for folder in ["", "npm/"] {
        for entry in fs::read_dir(places.out.join(folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_file() && name != SUMS {
                names.push(format!("{folder}{name}"));
            }
        }
    }
    names.sort();
    Ok(names)
}

/// Names the files that are larger than their goal. They are an error only if asked, because they work like others.
fn refuse_large_files(places: &Places, programs: &[(String, u64)], strict: bool) -> anyhow::Result<()> {
    let mut sizes = programs.to_vec();
    for name in published(places)? {
        let size = places.out.join(&name).metadata()?.len();
        sizes.push((name, size));
    }
    let large = larger_than(&sizes, BYTES_MAX);
    if large.is_empty() {
        return Ok(());
    }
    let message = format!("larger than the goal of {} MiB: {}", BYTES_MAX >> 20, large.join(", "));
    if strict {
        bail!("{message}");
    }
    eprintln!("{} {message}", console::yellow("warning:"));
    Ok(())
}

/// Returns the names of files with more bytes than `bytes_max`, each with its size.
fn larger_than(sizes: &[(String, u64)], bytes_max: u64) -> Vec<String> {
    let large = sizes.iter().filter(|(_, size)| *size > bytes_max);
    large.map(|(name, size)| format!("{name} ({:.2} MB)", *size as f64 / 1e6)).collect()
}

/// Returns the SHA-256 of a file in hexadecimal digits.
fn sha256(path: &Path) -> anyhow::Result<String> {
    let printed = output_of("sha256sum", &[&path.to_string_lossy()])?;
    let sum = printed.split_whitespace().next().map(|sum| sum.trim_start_matches('\\').to_owned());
    sum.filter(|sum| sum.len() == 64).context("`sha256sum` prints no checksum")
}

/// Returns the time of the newest commit in seconds. All files in archives have this time, so a commit always gives the same
/// bytes.
fn commit_time() -> anyhow::Result<String> {
    output_of("git", &["log", "-1", "--format=%ct"]).map(|time| time.trim().to_owned())
}

/// Returns the newest commit. `None` if the checkout has changes that are in no commit.
fn clean_commit() -> anyhow::Result<Option<String>> {
    let changes = output_of("git", &["status", "--porcelain"])?;
    let commit = output_of("git", &["rev-parse", "HEAD"])?;
    Ok(changes.is_empty().then(|| commit.trim().to_owned()))
}

/// Runs a command at the root of the checkout, and returns its standard output.
fn output_of(program: &str, args: &[&str]) -> anyhow::Result<String> {
    let output = step::command(program)
        .args(args)
        .output()
        .with_context(|| format!("cannot start `{program}`: is it installed and on the PATH?"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{program} {}` failed ({}): {}", args.join(" "), output.status, said.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{program}` prints no text"))
}

/// Packs a folder into a tar archive with the same bytes every time: sorted, with the time of the commit, owned by root.
fn tar(folder: &Path, archive: &Path) -> anyhow::Result<()> {
    let time = format!("--mtime=@{}", commit_time()?);
    let (folder, archive) = (folder.to_string_lossy(), archive.to_string_lossy());
    let fixed = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"];
    let line = [&["tar"], &fixed[..], &[&time, "-C", &folder, "-cf", &archive, "."]].concat();
    step::run(&line)
}

/// Compresses a file without a name and a time in its head. The result replaces the file and ends in `.gz`.
fn gzip(path: &Path) -> anyhow::Result<()> {
    step::run(&["gzip", "--no-name", "--best", "--force", &path.to_string_lossy()])
}

/// Packs a folder into a zip archive with the same bytes every time: sorted, with the time of the commit.
fn zip(folder: &Path, archive: &Path) -> anyhow::Result<()> {
    let time = format!("@{}", commit_time()?);
    let (shown, archive) = (folder.to_string_lossy(), archive.to_string_lossy());
    step::run(&["chmod", "-R", "u=rwX,go=rX", &shown])?;
    step::run(&["find", &shown, "-exec", "touch", "--date", &time, "{}", "+"])?;
    step::run_with_env(&["python3", "-m", "zipfile", "--create", &archive, &shown], &[("TZ", "UTC")])
}

/// Copies a file, and makes its folder.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// Copies a folder with everything below it.
fn copy_folder(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?
        } else {
            copy(&entry.path(), &target)?
        }
    }
    Ok(())
}

/// Writes a file, and makes its folder.
fn write(path: &Path, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_two_checksums_or_in_one_list_differ() {
        let first = "aa  one\nbb  two\ncc  three\n";
        assert_eq!(differing(first, "cc  three\naa  one\nbb  two\n"), Vec::<String>::new());
        assert_eq!(differing(first, "aa  one\nb0  two\n"), ["three", "two"]);
    }

    #[test]
    fn only_files_above_the_goal_are_named_with_their_size() {
        let sizes = [("at the goal".to_owned(), BYTES_MAX), ("above".to_owned(), BYTES_MAX + 1)];
        assert_eq!(larger_than(&sizes, BYTES_MAX), ["above (26.21 MB)"]);
    }
}
