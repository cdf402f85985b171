//! The archive of the program: program, documents and licences in one folder.

use std::path::Path;

use super::program::Program;
use super::{Places, VERSION, copy, copy_folder, gzip, tar, zip};
use crate::step;

pub(super) fn make(places: &Places, program: &Program, docs: &Path, licences: &Path) -> anyhow::Result<()> {
    let name = format!("nowcast-{VERSION}-{}", program.target.name);
    let stage = places.empty("archive")?;
    let folder = stage.join(&name);
    copy(&program.path, &folder.join(program.target.file))?;
    copy_folder(docs, &folder.join("docs"))?;
    copy_licences(licences, &folder)?;
    if program.target.is_windows() {
        return zip(&folder, &places.out.join(format!("{name}.zip")));
    }
    let archive = places.out.join(format!("{name}.tar"));
    tar(&stage, &archive)?;
    gzip(&archive)
}

/// Copies the licences of Nowcast and of everything in its program.
pub(super) fn copy_licences(licences: &Path, folder: &Path) -> anyhow::Result<()> {
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&step::root().join(name), &folder.join(name))?;
    }
    copy(licences, &folder.join("THIRD-PARTY-LICENCES.txt"))
}
