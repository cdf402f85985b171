//! The sample worlds inside the program. They are served by default, and are templates for new worlds.

use nowcast_script::{Assets, Sources};
use nowcast_server::{Rules, WorldConfig};

/// A sample world.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Sample {
    /// A floor, people, and a ball
    Minimal,
    /// Three hundred blocks to carry, to pile up and to throw
    Playground,
    /// Two teams, two goals, a score and a clock
    Football,
    /// Waves of walkers, towers to place, a core to hold
    TowerDefence,
    /// Doors, a lift, lights, a board to draw on and a kart to drive
    Gallery,
    /// Two arms that programs and people move
    Robots,
    /// Two flags, tackles, rounds
    CaptureTheFlag,
    /// Ferries, a turning disc, hammers, a trampoline, and the best run as a light
    ObstacleRace,
    /// Blocks of one metre to build with
    Builders,
    /// Three small games in turn
    Party,
    /// Apples to pick, a keeper to talk to, wares to buy
    Shop,
}

/// The content of a sample.
struct Packed {
    name: &'static str,
    /// The path of each file in the folder, and its text.
    files: &'static [(&'static str, &'static str)],
    /// The path of each asset in the folder, and its content.
    assets: &'static [(&'static str, &'static [u8])],
}

macro_rules! packed {
    ($world:literal: $($text:literal),+; $($asset:literal),+) => {
        Packed {
            name: $world,
            files: &[$(($text, include_str!(concat!("../../../../worlds/", $world, "/", $text)))),+],
            assets: &[$(($asset, include_bytes!(concat!("../../../../worlds/", $world, "/", $asset)))),+],
        }
    };
}

impl Sample {
    /// The worlds that are served by default, in the order of `worlds/worlds.txt`; new players join the first.
    const SERVED: [Sample; 10] = [
        Sample::Playground,
        Sample::Football,
        Sample::ObstacleRace,
        Sample::TowerDefence,
        Sample::Builders,
        Sample::Shop,
        Sample::Party,
        Sample::CaptureTheFlag,
        Sample::Gallery,
        Sample::Robots,
    ];

    fn packed(self) -> Packed {
        match self {
            Sample::Minimal => packed!("minimal": "world.luau", "tests/ball.luau"; "assets/picture.webp"),
            Sample::Playground => packed!(
                "playground": "world.luau", "garden.luau", "plan.luau", "voices.luau", "tests/hands.luau"; "assets/picture.webp"
            ),
            Sample::Football => {
                packed!(
                    "football": "world.luau", "idle.luau", "moments.luau", "pitch.luau", "pointer.luau", "robot.luau", "stadium.luau",
                    "tests/lone.luau", "tests/match.luau", "tests/pointer.luau"; "assets/picture.webp"
                )
            }
            Sample::TowerDefence => {
                packed!(
                    "tower-defence": "world.luau", "creeps.luau", "moments.luau", "plan.luau", "plots.luau", "towers.luau",
                    "tests/waves.luau"; "assets/picture.webp"
                )
            }
            Sample::Gallery => packed!(
                "gallery": "world.luau", "house.luau", "pictures.luau", "tests/visit.luau";
                "assets/door.glb", "assets/kart.glb", "assets/picture.webp"
            ),
            Sample::Robots => {
                packed!("robots": "world.luau", "arm.luau", "hall.luau", "tests/arms.luau"; "assets/picture.webp")
            }
            Sample::CaptureTheFlag => {
                packed!(
                    "capture-the-flag": "world.luau", "field.luau", "moments.luau", "robot.luau", "scenery.luau", "tackle.luau",
                    "way.luau", "tests/match.luau"; "assets/picture.webp"
                )
            }
            Sample::ObstacleRace => packed!(
                "obstacle-race": "world.luau", "course.luau", "lookout.luau", "moments.luau", "tests/lookout.luau",
                "tests/race.luau"; "assets/picture.webp"
            ),
            Sample::Builders => packed!(
                "builders": "world.luau", "blocks.luau", "celebration.luau", "island.luau", "palette.luau", "plans.luau",
                "tests/building.luau", "tests/palette.luau", "tests/plans.luau"; "assets/picture.webp"
            ),
            Sample::Party => packed!(
                "party": "world.luau", "arena.luau", "people.luau", "podium.luau", "robots.luau", "games/coins.luau",
                "games/floor.luau", "games/potato.luau", "tests/gates.luau", "tests/party.luau"; "assets/picture.webp"
            ),
            Sample::Shop => packed!(
                "shop": "world.luau", "apples.luau", "guests.luau", "land.luau", "moments.luau", "tools.luau", "wares.luau",
                "tests/commands.luau", "tests/shop.luau"; "assets/picture.webp"
            ),
        }
    }

    /// Returns the name of the sample.
    pub(crate) fn name(self) -> &'static str {
        self.packed().name
    }

    /// Returns its files: each file's path in the folder, and its text.
    pub(crate) fn files(self) -> &'static [(&'static str, &'static str)] {
        self.packed().files
    }

    /// Returns its assets: each asset's path in the folder, and its content.
    pub(crate) fn assets(self) -> &'static [(&'static str, &'static [u8])] {
        self.packed().assets
    }

    /// Returns its assets in the form in which they are served.
    fn checked_assets(self) -> Assets {
        let files = self.assets().iter().map(|(path, content)| ((*path).to_owned(), content.to_vec()));
        let (assets, faults) = Assets::read(files, &Assets::default());
        // A test has checked the assets. If one is nevertheless invalid, the world that names it is refused.
        faults.iter().for_each(|fault| tracing::error!(%fault, world = self.name(), "an asset"));
        assets
    }

    /// Returns the sample worlds to be served.
    pub(crate) fn served() -> Vec<WorldConfig> {
        let world = |sample: Sample| {
            let sources = Sources::from_iter(sample.files().iter().copied());
            WorldConfig {
                name: sample.name().to_owned(),
                rules: Rules::Packed(sources, sample.checked_assets()),
            }
        };
        Self::SERVED.into_iter().map(world).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;
    use nowcast_server::{read_assets, read_world};
    use std::path::Path;

    #[test]
    fn the_program_contains_every_file_of_a_sample_world() {
        for sample in Sample::value_variants() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../worlds").join(sample.name());
            let carried = Sources::from_iter(sample.files().iter().copied());
            let on_disk = read_world(&folder).unwrap();
            let names =
                |sources: &Sources| sources.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
            assert_eq!(names(&carried), names(&on_disk), "{sample:?}");
            assert!(carried == on_disk, "{sample:?}: a file differs");
            let (assets, faults) = read_assets(&folder, &Assets::default()).unwrap();
            assert_eq!((sample.checked_assets(), vec![]), (assets, faults), "{sample:?}");
        }
    }
}
