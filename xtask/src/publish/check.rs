//! Installs the results as a newcomer would: without a network, and in a folder that has no toolchain.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::{Places, VERSION, copy, copy_folder, output_of, program, write};
use crate::{console, step, tools};

/// The packages of Debian in the small system: the C library, what Node needs, and a shell.
const SYSTEM: [&str; 4] = ["libc6", "libgcc-s1", "libstdc++6", "busybox-static"];
/// The world that the instructions make.
const WORLD: &str = "my-world";
/// The variables of the small system.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Follows every way to a first world, each in a small system of its own.
pub(super) fn run(places: &Places, colyseus: bool) -> anyhow::Result<()> {
    check_sums(places)?;
    let npm = system(places, "npm")?;
    add_node(&npm)?;
    let archive = system(places, "archive")?;
    let name = format!("nowcast-{VERSION}-linux-x86_64");
    copy(&places.out.join(format!("{name}.tar.gz")), &archive.join("home").join(format!("{name}.tar.gz")))?;
    let image = places.stage.join("root-image");
    unpack_image(places, &image)?;
    let debian = system(places, "debian")?;
    let package = places.out.join(format!("nowcast_{VERSION}_amd64.deb"));
    step::run(&["dpkg-deb", "-x", &package.to_string_lossy(), &debian.to_string_lossy()])?;
    let npm_way = way("npm", &npm, &[&format!("npm create nowcast@latest {WORLD} -- --no-open")]);
    let ways = [
        npm_way,
        way(
            "archive",
            &archive,
            &[
                &format!("tar xzf {name}.tar.gz"),
                &format!("{name}/nowcast new {WORLD}"),
                &format!("{name}/nowcast serve {WORLD}"),
            ],
        ),
        way("debian package", &debian, &[&format!("nowcast new {WORLD}"), &format!("nowcast serve {WORLD}")]),
        image_way(&image)?,
    ];
    follow(&places.out.join("npm"), &ways)?;
    documents(&archive.join("home").join(name))?;
    if colyseus {
        time_colyseus(places)?;
    }
    Ok(())
}

/// The short form for CI: the packages of npm with the program of the tests, without a small system.
pub(crate) fn run_in_short(program: &Path) -> anyhow::Result<()> {
    if let Some(lacking) = tools::lacking() {
        return Err(step::NotRun(format!("it needs {lacking}, which this machine lacks")).into());
    }
    let dist = step::target_dir().join("dist-short");
    let places = Places { out: dist.join("out"), stage: dist.join("stage") };
    places.empty("npm-program")?;
    if places.out.exists() {
        fs::remove_dir_all(&places.out)?;
    }
    let stripped = places.stage.join("nowcast");
    // The package of a program with debug information would take half a minute to compress.
    step::run(&["strip", "-o", &stripped.to_string_lossy(), &program.to_string_lossy()])?;
    let programs = [program::of_this_machine(stripped)?];
    super::npm::pack_program(&places, &programs[0], None)?;
    for package in ["nowcast-server", "create-nowcast"] {
        step::run(&["npm", "run", "--silent", "build", "--workspace", package])?;
        super::npm::pack(&places, package, &programs)?;
    }
    let folder = places.empty("home")?;
    let tools = folder.join("bin");
    fs::create_dir_all(&tools)?;
    // On this PATH there is no compiler.
    for tool in ["node", "npm", "npx", "sh", "env"] {
        let found = output_of("sh", &["-c", &format!("command -v {tool}")])?;
        std::os::unix::fs::symlink(found.trim(), tools.join(tool))?;
    }
    let home = folder.to_string_lossy().into_owned();
    let ways = [json!({
        "name": "npm",
        "commands": [format!("npm create nowcast@latest {WORLD} -- --no-open")],
        "folder": home,
        "world": WORLD,
        "file": folder.join(WORLD).join("world.luau"),
        "env": { "PATH": tools, "HOME": home, "npm_config_yes": "true" },
    })];
    follow(&places.out.join("npm"), &ways)
}

/// Compares the files with the list of checksums.
fn check_sums(places: &Places) -> anyhow::Result<()> {
    let line = ["sha256sum", "--check", "--quiet", "SHA256SUMS"];
    let status = step::command(line[0]).args(&line[1..]).current_dir(&places.out).status();
    if !status.is_ok_and(|status| status.success()) {
        bail!("{} does not match its checksums: run `cargo xtask dist` again", places.out.display());
    }
    Ok(())
}

/// Makes a folder with a shell and the libraries of Debian, and nothing else.
fn system(places: &Places, name: &str) -> anyhow::Result<PathBuf> {
    let root = places.empty(&format!("root-{name}"))?;
    let packages = places.stage.join("system-packages");
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
        std::os::unix::fs::symlink("/bin/busybox", root.join("usr/local/bin").join(tool))?;
    }
    std::os::unix::fs::symlink("/bin/busybox", root.join("bin/sh"))?;
    // `#!/usr/bin/env node` names this path.
    std::os::unix::fs::symlink("/bin/busybox", root.join("usr/bin/env"))?;
    write(&root.join("etc/passwd"), "root:x:0:0::/home:/bin/sh\n")?;
    write(&root.join("etc/hosts"), "127.0.0.1 localhost\n")?;
    step::run(&["mknod", "-m", "666", &root.join("dev/null").to_string_lossy(), "c", "1", "3"])?;
    step::run(&["mknod", "-m", "666", &root.join("dev/urandom").to_string_lossy(), "c", "1", "9"])?;
    Ok(root)
}

/// Copies Node and npm of this machine into a small system.
fn add_node(root: &Path) -> anyhow::Result<()> {
    let node = output_of("node", &["-p", "process.execPath"])?;
    copy(Path::new(node.trim()), &root.join("usr/local/bin/node"))?;
    let npm = output_of("sh", &["-c", "readlink -f $(command -v npm)"])?;
    let npm = Path::new(npm.trim()).ancestors().nth(2).context("npm stands in a folder")?;
    copy_folder(npm, &root.join("usr/local/lib/node_modules/npm"))?;
    for tool in ["npm", "npx"] {
        let script = format!("../lib/node_modules/npm/bin/{tool}-cli.js");
        std::os::unix::fs::symlink(script, root.join("usr/local/bin").join(tool))?;
    }
    Ok(())
}

/// Unpacks the layers of the image as a container's engine does.
fn unpack_image(places: &Places, root: &Path) -> anyhow::Result<()> {
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

/// The image has no shell, so its program runs without one. A world comes into it as a volume does.
fn image_way(root: &Path) -> anyhow::Result<Value> {
    let config: Value = serde_json::from_slice(&fs::read(root.join("config.json"))?)?;
    let program = config["config"]["Entrypoint"][0].as_str().context("the image has no entry point")?;
    let shown = root.display();
    let world = format!("/worlds/{WORLD}");
    let mut way = way(
        "container image",
        root,
        &[
            &format!("chroot {shown} {program} new {world}"),
            &format!("chroot {shown} {program} serve {world} --data /data"),
        ],
    );
    way["file"] = json!(root.join("worlds").join(WORLD).join("world.luau"));
    way["folder"] = json!("/");
    way["env"]["PATH"] = json!("/usr/sbin:/usr/bin:/sbin:/bin");
    way.as_object_mut().context("a way is a table")?.remove("root");
    Ok(way)
}

fn way(name: &str, root: &Path, commands: &[&str]) -> Value {
    json!({
        "name": name,
        "root": root,
        "folder": "/home",
        "commands": commands,
        "world": WORLD,
        "file": root.join("home").join(WORLD).join("world.luau"),
        "env": { "PATH": PATH, "HOME": "/home", "npm_config_yes": "true" },
    })
}

/// Runs the ways in a network that has nothing but loopback.
fn follow(packages: &Path, ways: &[Value]) -> anyhow::Result<()> {
    let root = step::root();
    let configuration =
        json!({ "packages": packages, "sdk": root.join("packages/nowcast/dist"), "ways": ways });
    let driver = root.join("packages/create-nowcast/test/install.mjs");
    isolated(&["node", &driver.to_string_lossy(), &configuration.to_string()])
}

/// Runs a command in a network namespace whose only interface is loopback. All its processes end with it.
fn isolated(command: &[&str]) -> anyhow::Result<()> {
    let script = "ip link set lo up && exec \"$@\"";
    let spaces =
        ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script, "sh"];
    let status = step::command(spaces[0]).args(&spaces[1..]).args(command).status();
    if !status.context("cannot start `unshare`")?.success() {
        bail!("a way to a first world failed; the line above has the cause");
    }
    Ok(())
}

/// Serves the documents of the archive beside a world.
fn documents(folder: &Path) -> anyhow::Result<()> {
    let program = folder.join("nowcast").to_string_lossy().into_owned();
    let script = "ip link set lo up; \"$1\" serve --docs --no-data --port 7790 & server=$!; \
                  for attempt in $(seq 100); do curl -sf http://localhost:7790/healthz >/dev/null && break; sleep 0.1; done; \
                  curl -sf http://localhost:7790/docs/ | grep -q 'Nowcast'; found=$?; kill $server; exit $found";
    let line = ["unshare", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh", &program];
    step::run(&line).context("the archive does not serve its documents")
}

/// Times the same with Colyseus, from npm's registry. It needs the network of this machine.
fn time_colyseus(places: &Places) -> anyhow::Result<()> {
    let folder = places.empty("colyseus")?;
    let script = "npm create colyseus-app@latest my-server </dev/null && cd my-server && (npm start & server=$!; \
                  for attempt in $(seq 600); do curl -s http://localhost:2567/ >/dev/null && break; sleep 0.1; done; \
                  curl -s http://localhost:2567/ >/dev/null; found=$?; kill $server; exit $found)";
    let began = Instant::now();
    let mut command = step::command("sh");
    let status = command.args(["-c", script]).env("npm_config_yes", "true").current_dir(folder).status()?;
    let elapsed = began.elapsed().as_secs_f32();
    if status.success() {
        println!(
            "{}",
            json!({ "way": "Colyseus, from npm's registry", "commands": 3, "pageSeconds": elapsed })
        );
    } else {
        eprintln!("{} Colyseus did not start here ({status})", console::yellow("not measured:"));
    }
    Ok(())
}
