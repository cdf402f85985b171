//! Installs the results as a newcomer would: without a network, and in a folder that has no toolchain.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::{Places, VERSION, copy, copy_folder, output_of, pages, program, published, roots, wheel, wine};
use crate::step;

/// The world that the page's commands make.
const WORLD: &str = "my-world";
/// The warning of a server that was to open a browser, on a machine without one.
const NO_BROWSER: &str = "cannot open a browser";
/// The folders with programs of the small system.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Checks the packages that were made. Returns the parts that were not made, and therefore not checked.
pub(super) fn run(places: &Places, colyseus: bool) -> anyhow::Result<Vec<&'static str>> {
    check_sums(places)?;
    let made = published(places)?;
    let find = |ending: &str| made.iter().find(|name| name.ends_with(ending));
    let mut unmade = Vec::new();
    match find("-windows-x86_64.zip") {
        Some(windows) => wine::run(places, &places.out.join(windows))?,
        None => unmade.push("the Windows program"),
    }
    let with_wheel = find("_x86_64.whl").is_some();
    if !with_wheel {
        unmade.push("the wheel");
    }
    match find("-linux-x86_64.tar.gz") {
        Some(_) => run_on_linux(places, with_wheel, colyseus)?,
        None => unmade.push("the packages for Linux"),
    }
    Ok(unmade)
}

/// Follows every way to a first world, each in a small system of its own. The commands are those of the page about installation.
/// The wheel is left out if none was made.
fn run_on_linux(places: &Places, with_wheel: bool, colyseus: bool) -> anyhow::Result<()> {
    let npm = roots::system(places, "npm")?;
    roots::add_node(&npm)?;
    let archive = roots::system(places, "archive")?;
    let name = format!("nowcast-{VERSION}-linux-x86_64");
    copy(&places.out.join(format!("{name}.tar.gz")), &archive.join("home").join(format!("{name}.tar.gz")))?;
    let image = places.stage.join("root-image");
    roots::unpack_image(places, &image)?;
    let mut npm_way = way("npm", &npm, &pages::commands("With npm")?);
    npm_way["says"] = json!([NO_BROWSER]);
    let mut ways = vec![
        npm_way,
        way("archive", &archive, &pages::commands("With the archive")?),
        debian_way(places)?,
        image_way(&image)?,
    ];
    if with_wheel {
        ways.push(wheel_way(places)?);
    }
    follow(&places.out.join("npm"), &ways, &npm_refusals(&npm))?;
    if with_wheel {
        wheel::check_end(places)?;
    }
    documents(&archive.join("home").join(name))?;
    if colyseus {
        time_colyseus(places)?;
    }
    Ok(())
}

/// The short form for `cargo xtask test --long`: the packages of npm with the program of the tests, without a small system.
pub(crate) fn run_in_short(program: &Path) -> anyhow::Result<()> {
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
    follow(&places.out.join("npm"), &ways, &[])
}

/// Returns the cases in which npm's packages refuse their work. They follow after the way of npm, which has made the world.
fn npm_refusals(root: &Path) -> [Value; 4] {
    let refusal = |name: &str, commands: &[&str], says: &str| {
        let mut refusal = way(name, root, commands);
        refusal["says"] = json!([says]);
        refusal
    };
    let manifest = format!("{WORLD}/node_modules/@nowcast/server-linux-x64/package.json");
    [
        refusal(
            "a folder that is not empty",
            &[&format!("npm create nowcast@latest {WORLD}")],
            &format!("{WORLD} exists and is not empty; nothing was changed"),
        ),
        refusal(
            "a port that is taken",
            &["npm create nowcast@latest second -- --no-open --port $TAKEN_PORT"],
            "is taken",
        ),
        refusal(
            "packages of two releases",
            &[
                &format!("cd {WORLD} && npm install"),
                &format!("sed -i 's/\"version\": \"[^\"]*\"/\"version\": \"0.0.9\"/' {manifest}"),
                &format!("cd {WORLD} && npx nowcast --version"),
            ],
            &format!("nowcast-server {VERSION} cannot use @nowcast/server-linux-x64 0.0.9"),
        ),
        refusal(
            "no network",
            &["npm create nowcast@latest third --fetch-retries 0 --registry http://127.0.0.1:9"],
            "ECONNREFUSED",
        ),
    ]
}

/// Compares the files with the list of checksums.
pub(super) fn check_sums(places: &Places) -> anyhow::Result<()> {
    let line = ["sha256sum", "--check", "--quiet", "SHA256SUMS"];
    let status = step::command(line[0]).args(&line[1..]).current_dir(&places.out).status();
    if !status.is_ok_and(|status| status.success()) {
        bail!("{} does not match its checksums: run `cargo xtask dist` again", places.out.display());
    }
    Ok(())
}

/// The package is installed by dpkg, which checks its dependencies and runs its scripts.
fn debian_way(places: &Places) -> anyhow::Result<Value> {
    let root = roots::system(places, "debian")?;
    roots::add_package_database(places, &root)?;
    let mut commands = pages::commands("With the Debian package")?;
    let shown = root.display();
    let (install, run) = commands.split_first_mut().context("the package is installed by a command")?;
    let package = install.strip_prefix("apt install ./").context("apt installs the package")?;
    *install = format!("dpkg --root={shown} --install {}", places.out.join(package).display());
    for command in run {
        *command = format!("chroot {shown} /bin/sh -c 'cd /home && {command}'");
    }
    let mut way = way("debian package", &root, &commands);
    from_outside(&mut way)?;
    Ok(way)
}

/// The wheel is installed by pip from a folder, and its command runs the program that it carries.
fn wheel_way(places: &Places) -> anyhow::Result<Value> {
    let root = roots::system(places, "wheel")?;
    roots::add_python(&root)?;
    let commands = pages::commands("With pip")?;
    let folder = commands.iter().find_map(|command| command.split_once("--find-links ")?.1.split(' ').next());
    let wheels = root.join("home").join(folder.context("pip installs from a folder")?);
    for path in wheel::made(places)? {
        copy(&path, &wheels.join(path.file_name().context("a wheel has a name")?))?;
    }
    let mut way = way("wheel", &root, &commands);
    way["says"] = json!([NO_BROWSER]);
    Ok(way)
}

/// Lets the commands of a way see the disk of this machine, so that they can start programs in the small system.
fn from_outside(way: &mut Value) -> anyhow::Result<()> {
    way["folder"] = json!("/");
    way["env"]["PATH"] = json!("/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    way.as_object_mut().context("a way is a table")?.remove("root");
    Ok(())
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
            format!("chroot {shown} {program} new {world}"),
            format!("chroot {shown} {program} serve {world} --data /data"),
        ],
    );
    way["file"] = json!(root.join("worlds").join(WORLD).join("world.luau"));
    from_outside(&mut way)?;
    Ok(way)
}

fn way(name: &str, root: &Path, commands: &[impl AsRef<str>]) -> Value {
    let commands: Vec<&str> = commands.iter().map(AsRef::as_ref).collect();
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
fn follow(packages: &Path, ways: &[Value], refusals: &[Value]) -> anyhow::Result<()> {
    let root = step::root();
    let configuration = json!({
        "packages": packages,
        "sdk": root.join("packages/nowcast/dist"),
        "ways": ways,
        "refusals": refusals,
    });
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

/// Times the installation of Colyseus from npm's registry until its server listens. It needs the network of this machine.
///
/// The template of `npm create colyseus-app` asks a question that needs a terminal, and one of its packages is a repository of
/// Git. So this is a lower bound: the three packages of a server, which the lab has written already, with an empty cache.
fn time_colyseus(places: &Places) -> anyhow::Result<()> {
    let folder = places.empty("colyseus")?;
    copy_folder(&step::root().join("lab/javascript/colyseus"), &folder.join("my-server"))?;
    let plan = json!({ "avatars": 2, "half": 10, "radius": null }).to_string();
    let script = "cd my-server && npm install --no-audit --no-fund --silent --cache ../cache && \
                  node server.mjs . \"$1\" </dev/null | grep -q '^listening'";
    let began = Instant::now();
    let mut command = step::command("sh");
    let status = command.args(["-c", script, "sh", &plan]).current_dir(folder).status()?;
    if !status.success() {
        bail!("Colyseus cannot be installed from npm's registry, or does not start ({status})");
    }
    let seconds = (began.elapsed().as_secs_f64() * 100.0).round() / 100.0;
    println!("{}", json!({ "way": "Colyseus", "commands": 2, "listensSeconds": seconds }));
    Ok(())
}
