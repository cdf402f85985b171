//! Lists, reads and writes the files of a world's folder, for editors.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use ring::digest::{SHA256, digest};

use super::folder::{FolderError, Root};

/// Maximum bytes of a text file.
pub(crate) const TEXT_BYTES_MAX: usize = 256 << 10;

/// Maximum files of a folder that are listed. A folder with as many files gets no new ones.
const FILES_MAX: usize = 4_096;

/// Maximum parts of a path, and characters of a part.
const PARTS_MAX: usize = 16;
const PART_CHARS_MAX: usize = 64;

/// The ends of the names of text files.
const TEXT: [&str; 4] = [".luau", ".ts", ".json", ".md"];

/// The folder with packages of npm, which is not part of a world.
const PACKAGES: &str = "node_modules";

/// A file of a world's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedFile {
    /// The path in the folder.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// The revision of a text file.
    pub(crate) revision: Option<String>,
}

/// The reason why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error(
        "'{0}' is not a path of a world's file: 1 to 16 parts of A-Z a-z 0-9 _ - . that end in .luau, .ts, .json or .md"
    )]
    BadPath(String),
    #[error("there is no file '{0}'")]
    Missing(String),
    #[error("'{0}' is a link or not a regular file")]
    NotAFile(String),
    #[error("'{path}' has {bytes} bytes, and a text has {TEXT_BYTES_MAX} at most")]
    TooLarge { path: String, bytes: u64 },
    #[error("'{0}' is not UTF-8")]
    NotText(String),
    #[error("the folder has {FILES_MAX} files, which is the limit")]
    TooMany,
    #[error("{path} has changed")]
    Changed { path: String, revision: Option<String> },
    #[error("the folder cannot be written: {0}")]
    ReadOnly(String),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("{0}")]
    Io(std::io::Error),
}

impl From<std::io::Error> for FileError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Self::ReadOnly(error.to_string()),
            _ => Self::Io(error),
        }
    }
}

/// The revision of a file that a writer expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Any: the last save wins.
    Any,
    /// This revision.
    Revision(String),
    /// The file does not exist.
    Absent,
}

/// The folder of one world.
pub(crate) struct WorldFiles {
    folder: PathBuf,
    /// Held while a file is checked and replaced, so that no save is lost between the two.
    writing: Mutex<()>,
}

impl WorldFiles {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), writing: Mutex::new(()) }
    }

    /// Lists the files, ordered by path. Hidden files and packages of npm are left out.
    pub(crate) fn list(&self) -> Result<Vec<ListedFile>, FileError> {
        let root = Root::of(&self.folder)?;
        let mut files = Vec::new();
        root.find(&self.folder, "", PARTS_MAX, &mut { 65_536 }, &mut |path, place| {
            if files.len() < FILES_MAX {
                let bytes = std::fs::symlink_metadata(&place).map_or(0, |metadata| metadata.len());
                let revision = check_path(&path).ok().and_then(|()| self.read(&path).ok()).map(|(_, it)| it);
                files.push(ListedFile { path, bytes, revision });
            }
            Ok(())
        })?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// Returns the reason why the folder cannot be written, if there is one.
    pub(crate) fn why_read_only(&self) -> Option<String> {
        match std::fs::metadata(&self.folder) {
            Ok(metadata) if metadata.permissions().readonly() => {
                Some("the folder has no write permission".into())
            }
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        }
    }

    /// Returns the text of a file, and its revision.
    pub(crate) fn read(&self, path: &str) -> Result<(String, String), FileError> {
        let place = self.place(path, None)?;
        let bytes = read_file(path, &place)?.ok_or_else(|| FileError::Missing(path.into()))?;
        let revision = revision_of(&bytes);
        let text = String::from_utf8(bytes).map_err(|_| FileError::NotText(path.into()))?;
        Ok((text, revision))
    }

    /// Replaces a file as a whole, or creates it. Returns its revision, and whether it is new.
    pub(crate) fn write(
        &self,
        path: &str,
        text: &str,
        expected: &Expected,
    ) -> Result<(String, bool), FileError> {
        check_length(path, text)?;
        self.replace(path, text, expected)
    }

    /// Replaces or creates several files, or none if one of them has another revision or cannot be written. Returns the revision of
    /// each, and whether it is new.
    pub(crate) fn write_all(
        &self,
        files: &[(String, String, Expected)],
    ) -> Result<Vec<(String, bool)>, FileError> {
        let _writing = self.writing.lock();
        let mut prepared = Vec::new();
        for (path, text, expected) in files {
            check_length(path, text)?;
            prepared.push(self.prepare(path, text, expected, prepared.len())?);
        }
        prepared.iter().map(Prepared::put_in_place).collect()
    }

    /// Writes a generated module, which may be larger than a text that a person edits.
    pub(crate) fn write_generated(&self, path: &str, text: &str) -> Result<(), FileError> {
        self.replace(path, text, &Expected::Any).map(drop)
    }

    fn replace(&self, path: &str, text: &str, expected: &Expected) -> Result<(String, bool), FileError> {
        let _writing = self.writing.lock();
        self.prepare(path, text, expected, 0)?.put_in_place()
    }

    /// Checks a file, and writes its new text beside it. `number` distinguishes the files of one call.
    fn prepare(
        &self,
        path: &str,
        text: &str,
        expected: &Expected,
        number: usize,
    ) -> Result<Prepared, FileError> {
        check_path(path)?;
        if self.place(path, None).is_err() && self.list()?.len() >= FILES_MAX {
            return Err(FileError::TooMany);
        }
        let mut folders = NewFolders::default();
        let place = self.place(path, Some(&mut folders))?;
        let before = self.check_revision(path, &place, expected)?;
        // A hidden file is not read as part of the world.
        let aside = place.with_file_name(format!(".studio-{}-{number}.tmp", std::process::id()));
        let (revision, is_new) = (revision_of(text.as_bytes()), before.is_none());
        let prepared = Prepared { place, aside, revision, is_new, _folders: folders };
        std::fs::write(&prepared.aside, text)?;
        Ok(prepared)
    }

    /// Removes a file.
    pub(crate) fn remove(&self, path: &str, expected: &Expected) -> Result<(), FileError> {
        let _writing = self.writing.lock();
        let place = self.place(path, None)?;
        self.check_revision(path, &place, expected)?.ok_or_else(|| FileError::Missing(path.into()))?;
        Ok(std::fs::remove_file(&place)?)
    }

    /// Compares the revision of a file with the expected one. Returns the revision; `None` without a file.
    fn check_revision(
        &self,
        path: &str,
        place: &Path,
        expected: &Expected,
    ) -> Result<Option<String>, FileError> {
        let revision = match read_file(path, place) {
            Ok(bytes) => bytes.map(|bytes| revision_of(&bytes)),
            // Only the name of a generated file is compared.
            Err(FileError::TooLarge { .. }) => Some(String::new()),
            Err(error) => return Err(error),
        };
        let is_expected = match expected {
            Expected::Any => true,
            Expected::Absent => revision.is_none(),
            Expected::Revision(expected) => revision.as_ref() == Some(expected),
        };
        if is_expected { Ok(revision) } else { Err(FileError::Changed { path: path.into(), revision }) }
    }

    /// Returns the place of a file. No part of the path may be a link. Creates missing folders only for `new`.
    fn place(&self, path: &str, mut new: Option<&mut NewFolders>) -> Result<PathBuf, FileError> {
        check_path(path)?;
        let mut place = self.folder.canonicalize().map_err(|_| FolderError::NoWorld(self.folder.clone()))?;
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            place.push(part);
            if parts.peek().is_none() {
                break;
            }
            match std::fs::symlink_metadata(&place) {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(_) => return Err(FileError::NotAFile(path.into())),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let new = new.as_mut().ok_or_else(|| FileError::Missing(path.into()))?;
                    std::fs::create_dir(&place)?;
                    new.0.push(place.clone());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(place)
    }
}

/// Folders that were created for a new file, each before those inside it. Dropping removes them, unless they hold a file.
#[derive(Default)]
struct NewFolders(Vec<PathBuf>);

impl Drop for NewFolders {
    fn drop(&mut self) {
        for folder in self.0.iter().rev() {
            // Only an empty folder can be removed like this.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// A new text beside its file. Dropping it removes the text, unless it was put in place.
struct Prepared {
    place: PathBuf,
    aside: PathBuf,
    revision: String,
    is_new: bool,
    _folders: NewFolders,
}

impl Prepared {
    /// Replaces the file. Returns its revision, and whether it is new.
    fn put_in_place(&self) -> Result<(String, bool), FileError> {
        std::fs::rename(&self.aside, &self.place)?;
        Ok((self.revision.clone(), self.is_new))
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // The text is gone if it was put in place.
        let _ = std::fs::remove_file(&self.aside);
    }
}

fn check_length(path: &str, text: &str) -> Result<(), FileError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(FileError::TooLarge { path: path.into(), bytes: text.len() as u64 });
    }
    Ok(())
}

/// Reads a regular file; `None` if it does not exist.
fn read_file(path: &str, place: &Path) -> Result<Option<Vec<u8>>, FileError> {
    let metadata = match std::fs::symlink_metadata(place) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if !metadata.is_file() {
        return Err(FileError::NotAFile(path.into()));
    }
    if metadata.len() > TEXT_BYTES_MAX as u64 {
        return Err(FileError::TooLarge { path: path.into(), bytes: metadata.len() });
    }
    Ok(Some(std::fs::read(place)?))
}

/// Checks the form of a path.
fn check_path(path: &str) -> Result<(), FileError> {
    let is_part = |part: &str| {
        (1..=PART_CHARS_MAX).contains(&part.len())
            && !part.starts_with('.')
            && part != PACKAGES
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    };
    let is_path = path.split('/').count() <= PARTS_MAX
        && path.split('/').all(is_part)
        && TEXT.iter().any(|end| path.ends_with(end));
    if is_path { Ok(()) } else { Err(FileError::BadPath(path.chars().take(100).collect())) }
}

fn revision_of(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_file_leaves_neither_folders_nor_texts() {
        let folder = std::env::temp_dir().join(format!("nowcast-refused-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("world.luau"), "-- rules").unwrap();
        let files = WorldFiles::new(&folder);
        let other = Expected::Revision("0".repeat(16));
        let one =
            |path: &str, expected: &Expected| (path.to_owned(), "return 1".to_owned(), expected.clone());
        assert!(matches!(files.write("a/b/c.luau", "return 1", &other), Err(FileError::Changed { .. })));
        let both = [one("a/b/c.luau", &Expected::Absent), one("d/world.luau", &other)];
        assert!(matches!(files.write_all(&both), Err(FileError::Changed { .. })));
        let names = || {
            let mut names: Vec<_> =
                std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(), ["world.luau"]);
        files.write_all(&both[..1]).unwrap();
        assert_eq!(names(), ["a", "world.luau"]);
        assert_eq!(files.read("a/b/c.luau").unwrap().0, "return 1");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_paths_of_text_files_inside_the_folder_are_accepted() {
        for path in ["world.luau", "tests/goals.luau", "level.json", "a/b/c-d_e.f/x.ts", "README.md"] {
            assert!(check_path(path).is_ok(), "{path}");
        }
        for path in [
            "",
            "/",
            "world",
            "../world.luau",
            "a/../b.luau",
            "/etc/x.luau",
            ".hidden.luau",
            "a/.git/x.luau",
            "a//b.luau",
            "a\\b.luau",
            "a b.luau",
            "ä.luau",
            "node_modules/x.ts",
            "x.luau/",
            "x.sh",
            "%2e%2e/x.luau",
            "nul\0.luau",
        ] {
            assert!(check_path(path).is_err(), "{path:?}");
        }
        assert!(check_path(&format!("{}x.luau", "a/".repeat(PARTS_MAX))).is_err());
    }
}
