//! The assets of a world: models, textures, sounds. Rules refer to them by name, clients fetch them by hash.
//!
//! Every byte is untrusted. A file is refused if it does not match its name, if it is larger than a page should load, or if
//! it refers to anything outside of itself. No content is decoded.

mod glb;
mod json;
mod names;
mod picture;
mod sound;

pub use names::{missing_assets, unknown_names};

use std::collections::BTreeMap;
use std::sync::Arc;

use ring::digest::{SHA256, digest};

use crate::fault::{Fault, FaultKind};

/// The folder of a world's assets, with the slash: the names of assets begin with it.
pub const ASSETS_FOLDER: &str = "assets/";

/// Maximum number of files in the folder.
pub const ASSETS_MAX: usize = 256;

/// Maximum bytes of one file.
pub const ASSET_BYTES_MAX: usize = 16 << 20;

/// Maximum bytes in a world's files together.
pub const ASSETS_BYTES_MAX: usize = 64 << 20;

/// Maximum bytes of a file's name, with its folder.
pub const ASSET_NAME_BYTES_MAX: usize = 96;

const _: () = assert!(ASSET_BYTES_MAX <= ASSETS_BYTES_MAX);

/// The kind of a file, which the extension of its name determines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AssetKind {
    /// A scene of glTF 2.0 in one binary file.
    Model,
    /// A picture.
    Texture,
    /// A sound.
    Sound,
}

/// The problem of a file, and how to correct it.
struct Problem {
    message: String,
    cure: &'static str,
}

impl Problem {
    fn new(message: impl Into<String>, cure: &'static str) -> Problem {
        Problem { message: message.into(), cure }
    }
}

type Checked<T = ()> = Result<T, Problem>;

/// One file that pages may fetch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asset {
    /// The path in the world's folder, such as `assets/door.glb`.
    pub name: String,
    /// SHA-256 of its content, as 64 hexadecimal digits in lower case.
    pub hash: String,
    /// The media type of the file.
    pub media_type: &'static str,
    /// The content of the file.
    pub content: Arc<[u8]>,
}

impl Asset {
    /// Checks a file against the kind of its name.
    ///
    /// # Errors
    /// A [`Fault`] of kind [`FaultKind::Asset`] names the file, states the fault, and says how to correct it.
    pub fn new(name: &str, content: Vec<u8>) -> Result<Asset, Fault> {
        let hash = hash_of(&content);
        Asset::with_hash(name, content, hash)
    }

    fn with_hash(name: &str, content: Vec<u8>, hash: String) -> Result<Asset, Fault> {
        let media_type = check(name, &content).map_err(|Problem { message, cure }| {
            Fault::of_file(FaultKind::Asset, name, message).with_cure(cure)
        })?;
        Ok(Asset { name: name.to_owned(), hash, media_type, content: content.into() })
    }
}

/// Returns the kind that a name stands for; `None` for a file that is not an asset. Case is ignored.
pub fn asset_kind(name: &str) -> Option<AssetKind> {
    Some(match extension(name)?.as_str() {
        "glb" => AssetKind::Model,
        "png" | "jpg" | "jpeg" | "webp" => AssetKind::Texture,
        "ogg" | "mp3" | "wav" => AssetKind::Sound,
        _ => return None,
    })
}

fn extension(name: &str) -> Option<String> {
    Some(name.rsplit_once('.')?.1.to_ascii_lowercase())
}

fn hash_of(content: &[u8]) -> String {
    digest(&SHA256, content).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the media type.
fn check(name: &str, content: &[u8]) -> Checked<&'static str> {
    if name.len() > ASSET_NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return Err(Problem::new(
            format!("its name is longer than {ASSET_NAME_BYTES_MAX} bytes, or has invisible characters"),
            "give it another name",
        ));
    }
    if content.len() > ASSET_BYTES_MAX {
        return Err(Problem::new(
            format!("{} bytes, but an asset may have at most {ASSET_BYTES_MAX}", content.len()),
            "make its textures smaller, or split it",
        ));
    }
    Ok(match extension(name).as_deref() {
        Some("glb") => glb::check(content).map(|()| "model/gltf-binary")?,
        Some("png") => picture::check(content, picture::Format::Png)?,
        Some("jpg" | "jpeg") => picture::check(content, picture::Format::Jpeg)?,
        Some("webp") => picture::check(content, picture::Format::WebP)?,
        Some("ogg") => sound::check(content, sound::Format::Ogg)?,
        Some("mp3") => sound::check(content, sound::Format::Mp3)?,
        Some("wav") => sound::check(content, sound::Format::Wav)?,
        _ => {
            return Err(Problem::new(
                "this type of file is not an asset",
                "assets are .glb, .png, .jpg, .webp, .ogg, .mp3 and .wav",
            ));
        }
    })
}

/// The assets of a world's version, ordered by name. Clones share their contents.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Assets(Arc<BTreeMap<String, Arc<Asset>>>);

impl Assets {
    /// Checks files and takes over those without faults. Returns all faults. Files that are also in `known` are not checked
    /// again, and share the bytes of `known`.
    pub fn read(files: impl IntoIterator<Item = (String, Vec<u8>)>, known: &Assets) -> (Assets, Vec<Fault>) {
        let mut assets = BTreeMap::new();
        let mut faults = Vec::new();
        let mut bytes = 0_usize;
        for (name, content) in files {
            bytes = bytes.saturating_add(content.len());
            if assets.len() >= ASSETS_MAX || bytes > ASSETS_BYTES_MAX {
                let message = format!(
                    "this file exceeds the limit of a world: {ASSETS_MAX} assets of {ASSETS_BYTES_MAX} bytes together"
                );
                let fault = Fault::of_file(FaultKind::Asset, &name, message);
                faults.push(fault.with_cure("remove unused files"));
                break;
            }
            let hash = hash_of(&content);
            let asset = match known.get(&name).filter(|known| known.hash == hash) {
                Some(same) => Ok(Arc::clone(same)),
                None => Asset::with_hash(&name, content, hash).map(Arc::new),
            };
            match asset {
                Ok(asset) => drop(assets.insert(name, asset)),
                Err(fault) => faults.push(fault),
            }
        }
        (Assets(Arc::new(assets)), faults)
    }

    /// Returns the asset of a name.
    pub fn get(&self, name: &str) -> Option<&Arc<Asset>> {
        self.0.get(name)
    }

    /// Returns every asset, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Asset>> {
        self.0.values()
    }

    /// Returns the number of assets.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no assets.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0";

    fn read(files: &[(&str, &[u8])], known: &Assets) -> (Assets, Vec<Fault>) {
        Assets::read(files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())), known)
    }

    #[test]
    fn assets_have_the_hash_and_the_type_of_their_content() {
        let (assets, faults) =
            read(&[("assets/a.png", PIXEL), ("assets/b.ogg", b"OggS\0")], &Assets::default());
        assert_eq!(faults, []);
        let found: Vec<_> = assets.iter().map(|asset| (asset.name.as_str(), asset.media_type)).collect();
        assert_eq!(found, [("assets/a.png", "image/png"), ("assets/b.ogg", "audio/ogg")]);
        let hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hash_of(b""), hash, "SHA-256 of nothing (FIPS 180-4)");
    }

    #[test]
    fn broken_files_are_named_with_a_cure_and_the_others_stay() {
        let files: [(&str, &[u8]); 4] = [
            ("assets/a.png", PIXEL),
            ("assets/b.png", b"GIF89a"),
            ("assets/c.glb", b""),
            ("assets/d.ogg", b"ID3"),
        ];
        let (assets, faults) = read(&files, &Assets::default());
        assert_eq!(assets.len(), 1);
        let told: Vec<_> = faults.iter().map(|fault| (fault.file.as_deref(), fault.cure.is_some())).collect();
        let expected = ["assets/b.png", "assets/c.glb", "assets/d.ogg"].map(|name| (Some(name), true));
        assert_eq!(told, expected);
    }

    #[test]
    fn known_assets_are_shared() {
        let (first, _) = read(&[("assets/a.png", PIXEL)], &Assets::default());
        let (second, _) = read(&[("assets/a.png", PIXEL), ("assets/b.png", PIXEL)], &first);
        assert!(Arc::ptr_eq(first.get("assets/a.png").unwrap(), second.get("assets/a.png").unwrap()));
    }

    #[test]
    fn no_more_assets_are_taken_than_a_world_may_have() {
        let files = (0..=ASSETS_MAX).map(|number| (format!("assets/{number}.png"), PIXEL.to_vec()));
        let (assets, faults) = Assets::read(files, &Assets::default());
        assert_eq!((assets.len(), faults.len()), (ASSETS_MAX, 1));
    }
}
