//! Small systems: folders that a command sees as the whole disk, with the C library and nothing that builds programs.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::{Places, VERSION, copy, copy_folder, output_of, write};
use crate::step;

/// The packages of Debian in the small system: the C library, what Node needs, and a shell.
const SYSTEM: [&str; 4] = ["libc6", "libgcc-s1", "libstdc++6", "busybox-static"];
/// The folder of these packages below the stage.
const SYSTEM_PACKAGES: &str = "system-packages";

/// Makes a folder with a shell and the libraries of Debian, and nothing else.
pub(super) fn system(places: &Places, name: &str) -> anyhow::Result<PathBuf> {
    let root = places.empty(&format!("root-{name}"))?;
    let packages = places.stage.join(SYSTEM_PACKAGES);
    if !packages.is_dir() {
        fs::create_dir_all(&packages)?;
        let mut download = step::command("apt-get");
        let status = download.args(["download", "-qq"]).args(SYSTEM).current_dir(&packages).status();
        if !status.is_ok_and(|status| status.success()) {
            fs::remove_dir_all(&packages)?;
            bail!("Debian's packages {} cannot be downloaded: run `apt-get update` first", SYSTEM.join(", "));
        }
    }
    for entry in fs::read_dir(&packages)? {
        step::run(&["dpkg-deb", "-x", &entry?.path().to_string_lossy(), &root.to_string_lossy()])?;
    }
    for folder in ["home", "tmp", "proc", "dev", "usr/bin", "usr/local/bin"] {
        fs::create_dir_all(root.join(folder))?;
    }
    let busybox = root.join("bin/busybox");
    let listed = output_of(&busybox.to_string_lossy(), &["--list"])?;
    for tool in listed.lines().filter(|tool| *tool != "busybox") {
        symlink("/bin/busybox", root.join("usr/local/bin").join(tool))?;
    }
    symlink("/bin/busybox", root.join("bin/sh"))?;
    // `#!/usr/bin/env node` names this path.
    symlink("/bin/busybox", root.join("usr/bin/env"))?;
    write(&root.join("etc/passwd"), "root:x:0:0::/home:/bin/sh\n")?;
    write(&root.join("etc/hosts"), "127.0.0.1 localhost\n")?;
    step::run(&["mknod", "-m", "666", &root.join("dev/null").to_string_lossy(), "c", "1", "3"])?;
    step::run(&["mknod", "-m", "666", &root.join("dev/urandom").to_string_lossy(), "c", "1", "9"])?;
    Ok(root)
}

/// Copies Node and npm of this machine into a small system.
pub(super) fn add_node(root: &Path) -> anyhow::Result<()> {
    let node = output_of("node", &["-p", "process.execPath"])?;
    copy(Path::new(node.trim()), &root.join("usr/local/bin/node"))?;
    let npm = output_of("sh", &["-c", "readlink -f $(command -v npm)"])?;
    let npm = Path::new(npm.trim()).ancestors().nth(2).context("npm stands in a folder")?;
    copy_folder(npm, &root.join("usr/local/lib/node_modules/npm"))?;
    for tool in ["npm", "npx"] {
        let script = format!("../lib/node_modules/npm/bin/{tool}-cli.js");
        symlink(script, root.join("usr/local/bin").join(tool))?;
    }
    Ok(())
}

/// Unpacks the layers of the image as a container's engine does.
pub(super) fn unpack_image(places: &Places, root: &Path) -> anyhow::Result<()> {
    let layout = places.empty("unpacked-image")?;
    let image = places.out.join(format!("nowcast-{VERSION}-image-amd64.oci.tar"));
    step::run(&["tar", "-C", &layout.to_string_lossy(), "-xf", &image.to_string_lossy()])?;
    let read = |digest: &Value| -> anyhow::Result<Value> {
        Ok(serde_json::from_slice(&fs::read(blob_of(&layout, digest)?)?)?)
    };
    let index: Value = serde_json::from_slice(&fs::read(layout.join("index.json"))?)?;
    let manifest = read(&index["manifests"][0]["digest"])?;
    let root = places.empty(&root.file_name().unwrap_or_default().to_string_lossy())?;
    for layer in manifest["layers"].as_array().context("the image has no layers")? {
        let layer = blob_of(&layout, &layer["digest"])?;
        step::run(&["tar", "-C", &root.to_string_lossy(), "-xzf", &layer.to_string_lossy()])?;
    }
    let config = read(&manifest["config"]["digest"])?;
    write(&root.join("config.json"), config.to_string())
}

fn blob_of(layout: &Path, digest: &Value) -> anyhow::Result<PathBuf> {
    let sum = digest.as_str().and_then(|digest| digest.strip_prefix("sha256:"));
    Ok(layout.join("blobs/sha256").join(sum.context("a digest is missing in the image")?))
}

/// Copies Python and pip of this machine into a small system, with the libraries that they load.
pub(super) fn add_python(root: &Path) -> anyhow::Result<()> {
    let printed = output_of("python3", &["-c", PYTHON_PLACES])?;
    let places: Vec<PathBuf> = printed.lines().map(PathBuf::from).collect();
    let [program, library] = places.as_slice() else { bail!("Python does not print its folders") };
    let version = library.file_name().context("the library stands in a folder")?;
    let installed = root.join("usr/local/lib").join(version);
    copy(program, &root.join("usr/local/bin/python3"))?;
    copy_folder(library, &installed)?;
    for left_out in PYTHON_LEFT_OUT {
        let path = installed.join(left_out);
        if path.exists() {
            fs::remove_dir_all(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    // Only pip is copied from this machine. Another installed package would hide that a wheel lacks a dependency.
    let packages = installed.join("site-packages");
    let found = fs::read_dir(&packages).with_context(|| {
        format!("{} has no site-packages: use a `python3` that has its own pip", library.display())
    })?;
    for entry in found {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with("pip") {
            let path = entry.path();
            if path.is_dir() { fs::remove_dir_all(&path)? } else { fs::remove_file(&path)? }
        }
    }
    write(&root.join("usr/local/bin/pip"), PIP)?;
    step::run(&["chmod", "755", &root.join("usr/local/bin/pip").to_string_lossy()])?;
    add_libraries(root, program, &library.join("lib-dynload"))
}

/// Prints the file of the interpreter and the folder of its library.
const PYTHON_PLACES: &str =
    "import os, sys, sysconfig; print(os.path.realpath(sys.executable)); print(sysconfig.get_path('stdlib'))";
/// Parts of Python's library that no program here uses, and that are large.
const PYTHON_LEFT_OUT: [&str; 4] = ["test", "idlelib", "ensurepip", "lib2to3"];
const PIP: &str =
    "#!/usr/local/bin/python3\nimport sys\nfrom pip._internal.cli.main import main\nsys.exit(main())\n";

/// Copies the shared libraries of a program and of its modules, except those that the system has.
fn add_libraries(root: &Path, program: &Path, modules: &Path) -> anyhow::Result<()> {
    let mut files = vec![program.to_owned()];
    for entry in fs::read_dir(modules).with_context(|| format!("cannot read {}", modules.display()))? {
        files.push(entry?.path());
    }
    let mut libraries = BTreeSet::new();
    let has_libraries =
        |file: &&PathBuf| *file == program || file.extension().is_some_and(|ending| ending == "so");
    for file in files.iter().filter(has_libraries) {
        let printed = output_of("ldd", &[&file.to_string_lossy()])?;
        let found = printed.lines().filter_map(|line| line.split_once("=> ")?.1.split_whitespace().next());
        libraries.extend(found.filter(|path| path.starts_with('/')).map(PathBuf::from));
    }
    for library in &libraries {
        let target = root.join(library.strip_prefix("/")?);
        if !target.exists() {
            copy(library, &target)?;
        }
    }
    Ok(())
}

/// Gives a small system the database of dpkg, which lists the packages that [`system`] has unpacked.
pub(super) fn add_package_database(places: &Places, root: &Path) -> anyhow::Result<()> {
    let database = root.join("var/lib/dpkg");
    let mut status = String::new();
    for entry in fs::read_dir(places.stage.join(SYSTEM_PACKAGES))? {
        let path = entry?.path();
        let control = output_of("dpkg-deb", &["--field", &path.to_string_lossy()])?;
        status += &format!("{}\nStatus: install ok installed\n\n", control.trim_end());
        let name = output_of("dpkg-deb", &["--field", &path.to_string_lossy(), "Package"])?;
        let architecture = output_of("dpkg-deb", &["--field", &path.to_string_lossy(), "Architecture"])?;
        write(&database.join(format!("info/{}:{}.list", name.trim(), architecture.trim())), "/.\n")?;
    }
    for folder in ["updates", "triggers"] {
        fs::create_dir_all(database.join(folder))?;
    }
    write(&database.join("available"), "")?;
    write(&database.join("status"), status)
}
