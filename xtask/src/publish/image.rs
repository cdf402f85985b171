//! The image of a container, as an OCI archive, made without a daemon: the program, and the C library of Debian.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::archive::copy_licences;
use super::program::Program;
use super::{Places, VERSION, commit_time, copy, gzip, output_of, sha256, tar, write};
use crate::step;

/// The packages of Debian in the image: the C library, the libraries of C++ for a program that was linked with those of its
/// machine (`--program`), and the authorities for certificates of other servers.
const DEBIAN_PACKAGES: [&str; 4] = ["libc6", "libgcc-s1", "libstdc++6", "ca-certificates"];

pub(super) fn make(places: &Places, program: &Program, licences: &Path) -> anyhow::Result<()> {
    let architecture = program.target.debian.unwrap_or_default();
    let root = places.empty("image-root")?;
    unpack_debian(places, architecture, &root)?;
    copy(&program.path, &root.join("usr/bin/nowcast"))?;
    copy_licences(licences, &root.join("usr/share/doc/nowcast"))?;
    write(&root.join("etc/passwd"), "nowcast:x:65532:65532::/data:/bin/false\n")?;
    write(&root.join("etc/group"), "nowcast:x:65532:\n")?;
    write(&root.join("etc/nsswitch.conf"), "hosts: files dns\n")?;
    for folder in ["data", "worlds", "tmp", "proc", "dev", "sys"] {
        fs::create_dir_all(root.join(folder))?;
    }
    step::run(&["chmod", "1777", &root.join("tmp").to_string_lossy(), &root.join("data").to_string_lossy()])?;
    let layout = places.empty("image")?;
    let layer = layout.join("layer.tar");
    tar(&root, &layer)?;
    let uncompressed = sha256(&layer)?;
    gzip(&layer)?;
    let layer = blob(&layout, &layout.join("layer.tar.gz"), "application/vnd.oci.image.layer.v1.tar+gzip")?;
    let time = output_of("date", &["-u", "-d", &format!("@{}", commit_time()?), "+%Y-%m-%dT%H:%M:%SZ"])?;
    let config = json!({
        "created": time.trim(),
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": "65532:65532",
            "ExposedPorts": { "7777/tcp": {}, "7777/udp": {} },
            "Env": ["PATH=/usr/bin"],
            "Entrypoint": ["/usr/bin/nowcast"],
            "Cmd": ["serve", "--host", "0.0.0.0", "--anonymous", "--self-signed", "--data", "/data"],
            "Volumes": { "/data": {} },
            "WorkingDir": "/worlds",
            "Labels": {
                "org.opencontainers.image.title": "nowcast",
                "org.opencontainers.image.version": VERSION,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{uncompressed}")] },
        "history": [{ "created": time.trim(), "created_by": "cargo xtask dist" }],
    });
    let config = json_blob(&layout, &config, "application/vnd.oci.image.config.v1+json")?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": [layer],
    });
    let mut manifest = json_blob(&layout, &manifest, "application/vnd.oci.image.manifest.v1+json")?;
    manifest["platform"] = json!({ "architecture": architecture, "os": "linux" });
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": format!("nowcast:{VERSION}") });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest],
    });
    write(&layout.join("index.json"), index.to_string())?;
    write(&layout.join("oci-layout"), json!({ "imageLayoutVersion": "1.0.0" }).to_string())?;
    tar(&layout, &places.out.join(format!("nowcast-{VERSION}-image-{architecture}.oci.tar")))
}

/// Fails if the packages of an image cannot be downloaded, so that nothing is compiled in vain.
pub(super) fn refuse_missing_packages(architecture: &str) -> anyhow::Result<()> {
    let package = format!("{}:{architecture}", DEBIAN_PACKAGES[0]);
    let mut search = step::command("apt-get");
    let found = search.args(["download", "--print-uris", "-qq", &package]).output();
    anyhow::ensure!(found.is_ok_and(|output| output.status.success()), unavailable(&package, architecture));
    Ok(())
}

/// The cause and the cure if a package of Debian cannot be downloaded.
fn unavailable(package: &str, architecture: &str) -> String {
    format!(
        "Debian's package {package} cannot be downloaded: run `dpkg --add-architecture {architecture} && apt-get update` first"
    )
}

/// Unpacks packages of Debian, and removes documents and translations, which no program reads.
fn unpack_debian(places: &Places, architecture: &str, root: &Path) -> anyhow::Result<()> {
    let folder = places.empty("debian-packages")?;
    for name in &DEBIAN_PACKAGES {
        let is_for_all = *name == "ca-certificates";
        let package = if is_for_all { (*name).to_owned() } else { format!("{name}:{architecture}") };
        let mut download = step::command("apt-get");
        let status = download.args(["download", "-qq", &package]).current_dir(&folder).status();
        let done = status.is_ok_and(|status| status.success());
        anyhow::ensure!(done, unavailable(&package, architecture));
    }
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        step::run(&["dpkg-deb", "-x", &path.to_string_lossy(), &root.to_string_lossy()])?;
    }
    let conversions = match architecture {
        "arm64" => "usr/lib/aarch64-linux-gnu/gconv",
        _ => "usr/lib/x86_64-linux-gnu/gconv",
    };
    for removed in ["usr/share/man", "usr/share/locale", "usr/share/lintian", conversions] {
        let path = root.join(removed);
        if path.exists() {
            fs::remove_dir_all(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    join_certificates(root)
}

/// Writes all authorities into the one file that programs read. Debian does so when it installs the package.
fn join_certificates(root: &Path) -> anyhow::Result<()> {
    let mut files: Vec<_> = fs::read_dir(root.join("usr/share/ca-certificates/mozilla"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<anyhow::Result<_>>()?;
    files.sort();
    let mut all = Vec::new();
    for file in files {
        all.extend(fs::read(file)?);
    }
    write(&root.join("etc/ssl/certs/ca-certificates.crt"), all)
}

fn json_blob(layout: &Path, value: &Value, media_type: &str) -> anyhow::Result<Value> {
    let path = layout.join("blob.json");
    write(&path, value.to_string())?;
    blob(layout, &path, media_type)
}

/// Moves a file to its place by its checksum, and returns its descriptor.
fn blob(layout: &Path, path: &Path, media_type: &str) -> anyhow::Result<Value> {
    let sum = sha256(path)?;
    let size = path.metadata()?.len();
    let folder = layout.join("blobs/sha256");
    fs::create_dir_all(&folder)?;
    fs::rename(path, folder.join(&sum))?;
    Ok(json!({ "mediaType": media_type, "digest": format!("sha256:{sum}"), "size": size }))
}
