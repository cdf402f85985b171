//! Checks the Windows program under Wine, which runs Windows programs on Linux.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context as _, ensure};

use super::{Places, VERSION, program, write};
use crate::{client, step, tools};

/// The DLL from which Rust programs take random numbers. Older versions of Wine, such as 8, lack this DLL.
const RANDOM: &str = "#include <stddef.h>
__declspec(dllimport) unsigned char __stdcall SystemFunction036(void *, unsigned long);
__declspec(dllexport) int __stdcall ProcessPrng(void *bytes, size_t count) {
    return SystemFunction036(bytes, (unsigned long)count);
}
";
/// The browser tests that run against the program, each with a part of the names of its cases. Players join over WebSocket, saved
/// rules apply or are refused, saved data is there after a restart, and target/screenshots gets a picture of a world.
const BROWSER_TESTS: [(&str, &str); 3] = [
    ("browser/rules.browser.test.ts", ""),
    ("browser/saved-data.browser.test.ts", ""),
    ("screenshots/worlds.test.ts", "on a desktop football_shows_its_card_noon_and_dusk"),
];
/// The picture that these tests take. Vitest passes if no case has the name.
const PICTURE: &str = "target/screenshots/world-football-desktop.jpg";

/// Maximum lifetime of a server that ignores Ctrl-C, or of a failed check, in seconds.
const SERVER_SECONDS_MAX: &str = "120";

/// The unpacked program, and the folder that is Wine's drive C.
struct Wine {
    /// The script that starts the program. The script's process becomes the program's, so signals reach the program.
    program: PathBuf,
    /// The program for Windows.
    windows: PathBuf,
    drive: PathBuf,
}

/// Unpacks an archive, and runs its program from a command line and with a browser.
pub(super) fn run(places: &Places, archive: &Path) -> anyhow::Result<()> {
    tools::require_wine()?;
    let chromium = tools::require_chromium()?;
    let wine = Wine::unpack(places, archive)?;
    let version = wine.output(&["--version"], true)?;
    ensure!(version.starts_with(&format!("nowcast {VERSION}")), "the Windows program says {version:?}");
    wine.compare_with_npm(places)?;
    wine.make_worlds()?;
    wine.share_a_folder_and_stop()?;
    client::install_packages()?;
    let picture = step::root().join(PICTURE);
    if picture.exists() {
        fs::remove_file(&picture)?;
    }
    for (file, cases) in BROWSER_TESTS {
        let file = format!("packages/viewer/test/{file}");
        let line = ["npx", "vitest", "run", "--config", "vitest.browser.config.ts", &file, "-t", cases];
        let (program, chromium) = (wine.program.to_string_lossy(), chromium.to_string_lossy());
        step::run_with_env(&line, &[("NOWCAST_BIN", &program), ("NOWCAST_CHROMIUM", &chromium)])?;
    }
    ensure!(picture.exists(), "no case of the browser tests has taken {PICTURE}");
    Ok(())
}

impl Wine {
    fn unpack(places: &Places, archive: &Path) -> anyhow::Result<Self> {
        let folder = places.empty("wine")?;
        step::run(&[
            "python3",
            "-m",
            "zipfile",
            "--extract",
            &archive.to_string_lossy(),
            &folder.to_string_lossy(),
        ])?;
        let unpacked = folder.join(archive.file_stem().context("the archive has a name")?);
        let python = program::python_tools()?.join("python").to_string_lossy().into_owned();
        let (source, library) = (folder.join("random.c"), unpacked.join("bcryptprimitives.dll"));
        write(&source, RANDOM)?;
        let (source, library) = (source.to_string_lossy(), library.to_string_lossy());
        let compiler = [&*python, "-m", "ziglang", "cc", "-target", "x86_64-windows-gnu", "-shared"];
        step::run(&[&compiler[..], &["-o", &*library, &*source, "-ladvapi32"]].concat())?;
        let program = folder.join("nowcast");
        let (prefix, windows) = (folder.join("prefix"), unpacked.join("nowcast.exe"));
        let (shown, exe) = (prefix.display(), windows.display());
        let script = format!("#!/bin/sh\nWINEDEBUG=-all WINEPREFIX='{shown}' exec wine '{exe}' \"$@\"\n");
        write(&program, script)?;
        step::run(&["chmod", "755", &program.to_string_lossy()])?;
        Ok(Self { program, windows, drive: prefix.join("drive_c") })
    }

    /// Runs the program to its end, and returns its output.
    fn output(&self, args: &[&str], succeeds: bool) -> anyhow::Result<String> {
        let mut command = step::prepared(&[&[&*self.program.to_string_lossy()], args].concat(), &[])?;
        let output = command.output().context("the Windows program does not start")?;
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        ensure!(
            output.status.success() == succeeds,
            "`nowcast {}` ({}): {said}",
            args.join(" "),
            output.status
        );
        Ok(said)
    }

    /// Checks that npm's package for Windows has the same program.
    fn compare_with_npm(&self, places: &Places) -> anyhow::Result<()> {
        let package = places.out.join(format!("npm/nowcast-server-win32-x64-{VERSION}.tgz"));
        let folder = self.program.with_file_name("npm");
        fs::create_dir_all(&folder)?;
        step::run(&["tar", "-C", &folder.to_string_lossy(), "-xzf", &package.to_string_lossy()])?;
        let packed = fs::read(folder.join("package/bin/nowcast.exe"))?;
        ensure!(packed == fs::read(&self.windows)?, "{} has another program than the zip", package.display());
        Ok(())
    }

    /// Makes and checks a world at Windows paths.
    fn make_worlds(&self) -> anyhow::Result<()> {
        self.output(&["new", r"C:\worlds\my-world"], true)?;
        let file = self.drive.join("worlds/my-world/world.luau");
        let rules = fs::read_to_string(&file).context("the world is not at its path")?;
        // Windows editors save such line ends.
        write(&file, rules.replace('\n', "\r\n"))?;
        self.output(&["check", r"C:\worlds\my-world"], true)?;
        self.output(&["test", "C:/worlds/my-world"], true)?;
        let refused = self.output(&["new", r"C:\worlds\nul"], false)?;
        ensure!(refused.contains(r"nul is a device name in Windows"), "another refusal: {refused}");
        Ok(())
    }

    /// Two servers use one folder, of which the second one is refused. Ctrl-C then ends the first one.
    fn share_a_folder_and_stop(&self) -> anyhow::Result<()> {
        let line = ["serve", r"C:\worlds\my-world", "--port", "0", "--data", r"C:\data"];
        let mut server = self.serve(&line)?;
        let refused = self.output(&line, false)?;
        ensure!(refused.contains(r"uses the data folder C:\data"), "another refusal: {refused}");
        step::run(&["kill", "-INT", &server.id().to_string()])?;
        let status = server.wait()?;
        ensure!(status.success(), "Ctrl-C ended the Windows program with {status}");
        Ok(())
    }

    /// Starts a server, and waits until it prints its address. The server ends after [`SERVER_SECONDS_MAX`] at the latest.
    fn serve(&self, args: &[&str]) -> anyhow::Result<Child> {
        let limited = ["timeout", "--foreground", SERVER_SECONDS_MAX, &*self.program.to_string_lossy()];
        let mut command = step::prepared(&[&limited, args].concat(), &[])?;
        let mut server = command.stdout(Stdio::piped()).spawn()?;
        let stdout = server.stdout.take().context("the output is a pipe")?;
        let mut lines = BufReader::new(stdout).lines();
        let is_up = lines.any(|line| line.is_ok_and(|line| line.starts_with("Nowcast is at ")));
        ensure!(is_up, "the Windows server ended before it printed its address");
        // The pipe stays open until the server ends.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(server)
    }
}
