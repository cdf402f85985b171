//! Compresses the pages that the program embeds, and rebuilds the crate after a new build of them.

fn main() {
    #[cfg(feature = "web")]
    pages::pack().expect("the pages can be compressed into cargo's output");
    #[cfg(not(feature = "web"))]
    println!("cargo::rerun-if-changed=build.rs");
}

#[cfg(feature = "web")]
mod pages {
    use std::io::{Result, Write};
    use std::path::{Path, PathBuf};
    use std::{env, fs};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    /// The folders below `packages` whose builds are embedded.
    const PAGES: [&str; 2] = ["viewer", "studio"];

    /// Writes each page into `$OUT_DIR/pages`, and the list of its files into `$OUT_DIR/PAGE.rs`: a slice of names and contents.
    /// The suffix `.gz` marks a compressed file.
    pub(super) fn pack() -> Result<()> {
        let lists = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
        let out = lists.join("pages");
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        for page in PAGES {
            let built = Path::new("../../packages").join(page).join("dist");
            // Cargo treats a missing path as changed, and would rebuild the crate every time. So the folder is created. In a
            // read-only source tree this fails, which only costs time.
            let _ = fs::create_dir_all(&built);
            println!("cargo::rerun-if-changed={}", built.display());
            let folder = out.join(page);
            let mut files = Vec::new();
            if built.is_dir() {
                pack_folder(&built, &folder, &mut files)?;
            }
            let list: String = files
                .iter()
                .map(|file| {
                    let name =
                        file.strip_prefix(&folder).expect("the file is in the folder").to_string_lossy();
                    format!("({:?}, include_bytes!({:?})),\n", name.replace('\\', "/"), file)
                })
                .collect();
            fs::write(lists.join(format!("{page}.rs")), format!("&[\n{list}]\n"))?;
        }
        Ok(())
    }

    /// Adds the paths of the packed files to `files`.
    fn pack_folder(from: &Path, to: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                pack_folder(&entry.path(), &target, files)?;
            } else {
                files.push(pack_file(&entry.path(), target)?);
            }
        }
        Ok(())
    }

    /// Compresses a file, unless that saves less than a tenth of it. Returns the path of the result.
    fn pack_file(from: &Path, to: PathBuf) -> Result<PathBuf> {
        let content = fs::read(from)?;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&content)?;
        let compressed = encoder.finish()?;
        if compressed.len() < content.len() / 10 * 9 {
            let mut name = to.into_os_string();
            name.push(".gz");
            fs::write(&name, compressed)?;
            Ok(name.into())
        } else {
            fs::write(&to, content)?;
            Ok(to)
        }
    }
}
