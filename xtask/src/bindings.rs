//! Tests the Python package: installs packages such as numpy below target/, and runs its tests.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::step;

/// Packages of the registry that the tests import: for arrays, tables, and the notebook.
const PACKAGES: [&str; 5] = ["numpy", "pandas", "matplotlib", "nbclient", "ipykernel"];

/// Runs the tests with `program` as server. The module was built with the rest of the workspace.
pub(crate) fn run(program: &str) -> anyhow::Result<()> {
    let python = step::python_with("bindings", &PACKAGES, &PACKAGES)?;
    let package = assemble(&step::target_dir().join("debug"))?;
    let (python, package) = (python.to_string_lossy(), package.to_string_lossy());
    let line = [&python, "-m", "unittest", "discover", "--start-directory", "bindings/python/tests"];
    let screenshots = step::target_dir().join("screenshots").to_string_lossy().into_owned();
    let env = [
        ("NOWCAST_BIN", program),
        ("NOWCAST_SCREENSHOTS", &screenshots),
        ("PYTHONPATH", &package),
        ("PYTHONDONTWRITEBYTECODE", "1"),
    ];
    step::run_with_env(&line, &env)
}

/// Measures puts and receives of the package in release, by `bindings/python/examples/measure.py`.
pub(crate) fn measure() -> anyhow::Result<()> {
    step::run(&["cargo", "build", "--release", "--package", "nowcast-python"])?;
    let package = assemble(&step::target_dir().join("release"))?;
    let line = ["python3", "bindings/python/examples/measure.py"];
    step::run_with_env(&line, &[("PYTHONPATH", &package.to_string_lossy())])
}

/// Makes a folder with the package: its files, and the module in the folder `built`. Returns the folder.
fn assemble(built: &Path) -> anyhow::Result<PathBuf> {
    let folder = step::target_dir().join("python");
    let files = folder.join("nowcast");
    std::fs::create_dir_all(&files).context("cannot make the folder of the package")?;
    std::fs::copy(built.join("libnowcast_python.so"), files.join("_nowcast.abi3.so"))
        .context("cargo has built no module")?;
    for file in std::fs::read_dir(step::root().join("bindings/python/python/nowcast"))? {
        let file = file?;
        if file.path().is_file() {
            std::fs::copy(file.path(), files.join(file.file_name()))?;
        }
    }
    Ok(folder)
}
