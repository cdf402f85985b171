//! The description of a world for its visitors.

use mlua::Table;

use crate::assets::{AssetKind, asset_kind};
use crate::fields::{Declared, Fields};

/// Maximum bytes of the goal, and of each first step.
const LINE_BYTES_MAX: usize = 200;

/// Maximum number of first steps.
const STEPS_MAX: usize = 6;

/// A description of a world for its visitors, from `world.about`. The engine does not read it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct About {
    /// The goal of the world, in one sentence. Empty if the world does not describe itself.
    pub goal: String,
    /// The first steps of a visitor, one sentence each, at most six.
    pub how: Vec<String>,
    /// The name of the asset with a picture of the world.
    pub picture: Option<String>,
}

impl About {
    /// Reads the fields of `world.about`.
    pub(crate) fn read(table: &Table) -> Declared<About> {
        let fields = Fields::of(table, "about");
        let goal = fields.text("goal")?.unwrap_or_default();
        if goal.is_empty() {
            return Err(fields.expected("goal", "a sentence", "nothing"));
        }
        let how = fields.names_of("how")?;
        if how.len() > STEPS_MAX {
            return Err(fields.expected(
                "how",
                &format!("at most {STEPS_MAX} steps"),
                &how.len().to_string(),
            ));
        }
        for (name, line) in std::iter::once(("goal", &goal)).chain(how.iter().map(|step| ("how", step))) {
            if line.len() > LINE_BYTES_MAX {
                let found = format!("{} bytes", line.len());
                return Err(fields.expected(name, &format!("at most {LINE_BYTES_MAX} bytes"), &found));
            }
        }
        let picture = fields.text("picture")?;
        if let Some(name) = &picture
            && asset_kind(name) != Some(AssetKind::Texture)
        {
            return Err(fields.expected("picture", "the name of a picture in assets/", name));
        }
        fields.nothing_else(&["goal", "how", "picture"])?;
        Ok(About { goal, how, picture })
    }
}
