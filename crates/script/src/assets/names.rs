//! Finds names of assets in rules that match no file, with the lines of these names.

use nowcast_world::{Definition, Value};

use super::{ASSETS_FOLDER, AssetKind, Assets, asset_kind};
use crate::fault::{Fault, FaultKind};
use crate::lexer::{TokenKind, tokens};
use crate::sources::{MAIN, Sources};

/// Maximum number of existing names that an error lists.
const NAMES_LISTED_MAX: usize = 8;

/// Names of the kit's models, which pages draw without a file, begin so.
const KIT: &str = "@nowcast/kit/";
const KIT_MODELS: [&str; 11] =
    ["tree", "pine", "bush", "rock", "fence", "bench", "lamp", "sign", "crate", "barrel", "boat"];

/// Checks the models and textures that kinds name: missing files, files of another kind, and models that the kit does not
/// have. Rules with such a name are refused.
pub fn missing_assets(sources: &Sources, definition: &Definition, assets: &Assets) -> Vec<Fault> {
    let mut faults = Vec::new();
    for kind in &definition.kinds {
        for (field, wanted) in [("model", AssetKind::Model), ("texture", AssetKind::Texture)] {
            let Some(name) = kind.look.get(field).and_then(Value::as_text) else { continue };
            if wanted == AssetKind::Model && name.starts_with(KIT) {
                faults.extend(unknown_kit_model(place(sources, name), name));
                continue;
            }
            let message = match assets.get(name) {
                Some(asset) if asset_kind(&asset.name) == Some(wanted) => continue,
                Some(_) => format!("{}.look.{field} names {name:?}, which is not a {field}", kind.name),
                None => format!("{}.look.{field} names {name:?}, but that file does not exist", kind.name),
            };
            faults.push(fault(place(sources, name), message, assets, wanted));
        }
    }
    faults
}

/// Finds all names of assets in the rules that match no file, including names of sounds. Such rules run: pages replace a
/// missing sound by a synthetic one, and a missing model by the shape of the body. Names that are built while rules run are
/// not found.
pub fn unknown_names(sources: &Sources, assets: &Assets) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (file, line, name) in literals(sources) {
        faults.extend(unknown_kit_model(Some((file, line)), &name));
        let Some(kind) = asset_kind(&name).filter(|_| name.starts_with(ASSETS_FOLDER)) else { continue };
        if assets.get(&name).is_none() {
            let message = format!("the file {name:?} does not exist");
            faults.push(fault(Some((file, line)), message, assets, kind));
        }
    }
    faults
}

fn unknown_kit_model(place: Option<(&str, u32)>, name: &str) -> Option<Fault> {
    let model = name.strip_prefix(KIT).filter(|model| !model.is_empty() && !KIT_MODELS.contains(model))?;
    let fault = fault_at(place, format!("the kit has no model {model:?}"));
    Some(fault.with_cure(&format!("there are: {}", KIT_MODELS.join(", "))))
}

fn fault(place: Option<(&str, u32)>, message: String, assets: &Assets, kind: AssetKind) -> Fault {
    let known = assets.iter().map(|asset| asset.name.as_str()).filter(|name| asset_kind(name) == Some(kind));
    let known: Vec<_> = known.take(NAMES_LISTED_MAX).collect();
    let cure = match &known[..] {
        [] => "put the file into the world's folder assets/".to_owned(),
        known => format!("there are: {}", known.join(", ")),
    };
    fault_at(place, message).with_cure(&cure)
}

fn fault_at(place: Option<(&str, u32)>, message: String) -> Fault {
    let (file, line) = place.map_or((MAIN, None), |(file, line)| (file, Some(line)));
    Fault { line, ..Fault::of_file(FaultKind::Asset, file, message) }
}

/// Returns the quoted texts of all modules except tests.
fn literals(sources: &Sources) -> impl Iterator<Item = (&str, u32, String)> {
    let modules = sources.iter().filter(|(path, _)| !path.starts_with("tests/"));
    modules.flat_map(|(path, text)| {
        let quoted = tokens(text).into_iter();
        let quoted =
            quoted.filter(|token| matches!(token.kind, TokenKind::Text | TokenKind::Interpolated(_)));
        quoted.map(move |token| (path, token.line, token.text))
    })
}

fn place<'s>(sources: &'s Sources, name: &str) -> Option<(&'s str, u32)> {
    literals(sources).find(|(_, _, text)| text == name).map(|(file, line, _)| (file, line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Script};

    const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0";

    fn assets() -> Assets {
        Assets::read([("assets/moss.png".to_owned(), PIXEL.to_vec())], &Assets::default()).0
    }

    fn missing(text: &str) -> Vec<String> {
        let sources = Sources::of_main(text);
        let definition = Script::load(&sources, Limits::DEFAULT).expect("the script loads").definition();
        missing_assets(&sources, &definition, &assets()).iter().map(Fault::to_string).collect()
    }

    #[test]
    fn a_look_that_names_a_missing_file_is_reported_with_its_line() {
        let rules = |look: &str| {
            format!("local world = require('@nowcast/world')\nworld.kind('rock', {{\nlook = {look} }})")
        };
        assert_eq!(missing(&rules("{ texture = 'assets/moss.png', color = '#fff' }")), [""; 0]);
        assert_eq!(
            missing(&rules("{ texture = 'assets/mos.png' }")),
            [
                r#"world.luau:3: rock.look.texture names "assets/mos.png", but that file does not exist (there are: assets/moss.png)"#
            ]
        );
        assert_eq!(
            missing(&rules("{ model = 'assets/' .. 'moss' .. '.png' }")),
            [
                r#"world.luau: rock.look.model names "assets/moss.png", which is not a model (put the file into the world's folder assets/)"#
            ]
        );
    }

    #[test]
    fn a_look_may_name_a_model_of_the_kit_but_no_other() {
        let rules = |look: &str| {
            format!("local world = require('@nowcast/world')\nworld.kind('tree', {{\nlook = {look} }})")
        };
        for model in KIT_MODELS {
            assert_eq!(missing(&rules(&format!("{{ model = '@nowcast/kit/{model}' }}"))), [""; 0]);
        }
        let elm = missing(&rules("{ model = '@nowcast/kit/elm' }"));
        assert_eq!(elm.len(), 1);
        assert!(
            elm[0].starts_with("world.luau:3: the kit has no model \"elm\" (there are: tree, "),
            "{elm:?}"
        );
    }

    #[test]
    fn the_guide_lists_the_models_of_the_kit() {
        let guide = include_str!("../../../../docs/how-to/pages.md");
        let rows: String = guide
            .lines()
            .skip_while(|line| !line.contains("models of `@nowcast/kit/`"))
            .skip(2)
            .take(3)
            .collect();
        let mut listed: Vec<_> = rows.split('`').skip(1).step_by(2).collect();
        let mut known = KIT_MODELS.to_vec();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
    }

    #[test]
    fn names_in_rules_that_no_file_has_are_warned_of_but_not_in_tests_or_comments() {
        let sources = Sources::from_iter([
            ("world.luau", "-- \"assets/a.ogg\"\nworld.sound('assets/horn.ogg')\nworld.sound('horn')"),
            ("tests/a.luau", "play('assets/other.ogg')"),
        ]);
        let found: Vec<_> = unknown_names(&sources, &assets()).iter().map(Fault::to_string).collect();
        assert_eq!(
            found,
            [
                r#"world.luau:2: the file "assets/horn.ogg" does not exist (put the file into the world's folder assets/)"#
            ]
        );
    }
}
