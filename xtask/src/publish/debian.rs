//! The package for Debian and Ubuntu, with a unit for systemd.

use std::path::Path;

use super::archive::copy_licences;
use super::program::Program;
use super::{Places, VERSION, commit_time, copy, copy_folder, write};
use crate::step;

const UNIT: &str = include_str!("nowcast.service");
/// The unit is installed, but not started: its administrator first decides which world is served, and to which clients.
const POST_INSTALL: &str = "#!/bin/sh\nset -e\n\
     if [ \"$1\" = configure ] && [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi\n";

pub(super) fn make(places: &Places, program: &Program, docs: &Path, licences: &Path) -> anyhow::Result<()> {
    let architecture = program.target.debian.unwrap_or_default();
    let stage = places.empty("debian")?;
    copy(&program.path, &stage.join("usr/bin/nowcast"))?;
    copy_folder(docs, &stage.join("usr/share/nowcast/docs"))?;
    copy_licences(licences, &stage.join("usr/share/doc/nowcast"))?;
    write(&stage.join("usr/share/doc/nowcast/copyright"), COPYRIGHT)?;
    write(&stage.join("usr/lib/systemd/system/nowcast.service"), UNIT)?;
    write(&stage.join("etc/default/nowcast"), DEFAULTS)?;
    write(&stage.join("DEBIAN/conffiles"), "/etc/default/nowcast\n")?;
    write(&stage.join("DEBIAN/postinst"), POST_INSTALL)?;
    let size = folder_kib(&stage)?;
    let control = format!(
        "Package: nowcast\nVersion: {VERSION}\nArchitecture: {architecture}\nMaintainer: Nowcast <nowcast@localhost>\n\
         Installed-Size: {size}\nDepends: libc6 (>= 2.28)\nSection: games\nPriority: optional\n\
         Homepage: https://github.com/nowcast/nowcast\nDescription: Server of shared virtual worlds\n \
         Serves worlds whose rules are Luau to browsers and programs: newest\n state first, events never lost.\n"
    );
    write(&stage.join("DEBIAN/control"), control)?;
    step::run(&["chmod", "-R", "u=rwX,go=rX", &stage.to_string_lossy()])?;
    step::run(&["chmod", "755", &stage.join("DEBIAN/postinst").to_string_lossy()])?;
    let package = places.out.join(format!("nowcast_{VERSION}_{architecture}.deb"));
    step::run_with_env(
        &[
            "dpkg-deb",
            "--root-owner-group",
            "-Zxz",
            "--build",
            &stage.to_string_lossy(),
            &package.to_string_lossy(),
        ],
        &[("SOURCE_DATE_EPOCH", &commit_time()?)],
    )
}

const COPYRIGHT: &str = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
     Upstream-Name: nowcast\nSource: https://github.com/nowcast/nowcast\n\n\
     Files: *\nCopyright: The Nowcast authors\nLicense: MIT or Apache-2.0\n \
     The texts are in LICENSE-MIT and LICENSE-APACHE beside this file. Licences of included code are in\n \
     THIRD-PARTY-LICENCES.txt.\n";

const DEFAULTS: &str = "# Flags of `nowcast serve` for the unit nowcast.service. Without a folder, the sample worlds are served.\n\
     # A public server needs --host, a decision on admission and a certificate: see `nowcast serve --help`.\n\
     NOWCAST_FLAGS=\"\"\n";

/// Returns the size of a folder in KiB.
fn folder_kib(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() {
            folder_kib(&entry.path())? * 1024
        } else {
            entry.metadata()?.len().next_multiple_of(1024)
        };
    }
    Ok(bytes / 1024)
}
