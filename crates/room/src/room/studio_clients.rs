//! The clients of a room, for the studio.

use std::collections::BTreeMap;
use std::time::Duration;

use nowcast_world::EntityId;
use nowcast_world::text::sanitize;
use serde_json::{Value as Json, json};
use tracing::{info, warn};

use super::editor_commands::marks_of;
use super::{Member, Room};
use crate::closing::Closing;
use crate::persistence::{ADDRESS_BAN_MAX, Ban, BanScope, BannedBy, now_ms};
use crate::studio::{StudioAnswer, StudioError};

/// Maximum characters of the reason of a disconnection.
const KICK_CHARS_MAX: usize = 64;

/// Maximum entities in the description of a client.
const ENTITIES_LISTED_MAX: usize = 64;

impl Room {
    pub(super) fn describe_clients(&self) -> Json {
        let clients: Vec<Json> =
            self.members.seated.iter().map(|member| self.describe_member(member)).collect();
        json!({ "clients": clients })
    }

    fn describe_member(&self, member: &Member) -> Json {
        let Member { client, commands, id, behind_ms, .. } = member;
        let name = self.world.world().scene().player(*id).map(|player| player.name.clone());
        let mut json = json!({
            "player": id.0,
            "name": name.unwrap_or_default(),
            "role": client.roles,
            "networkHz": client.network_hz(),
            "behindMs": behind_ms,
            "inputs": commands.input.counts_of_input(),
        });
        if let (Some(all), Ok(Json::Object(figures))) =
            (json.as_object_mut(), serde_json::to_value(client.sink().figures()))
        {
            all.extend(figures);
        }
        json
    }

    fn member(&self, player: u32) -> Result<&Member, StudioError> {
        let member = self.members.seated.iter().find(|member| member.id.0 == player);
        member.ok_or_else(|| StudioError::NotFound(format!("no client controls player {player}")))
    }

    pub(super) fn describe_client(&self, player: u32) -> StudioAnswer {
        let member = self.member(player)?;
        let figures = member.client.sink().figures();
        let mut details = member.client.sink().details();
        let world = self.world.world();
        let kind_of = |id: u32| {
            world.entity(EntityId(id)).map(|entity| world.scene().kind_of(entity.kind).name.as_str())
        };
        let mut kinds: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
        for (id, bytes) in &details.entities {
            let (count, sum) = kinds.entry(kind_of(*id).unwrap_or_default()).or_default();
            *count += 1;
            *sum += bytes;
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_by(|(_, (_, a)), (_, (_, b))| b.total_cmp(a));
        let kinds: Vec<Json> = kinds
            .into_iter()
            .map(|(kind, (count, bytes))| json!({ "kind": kind, "entities": count, "bytes": bytes.round() }))
            .collect();
        details.entities.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let entities: Vec<Json> = details
            .entities
            .iter()
            .take(ENTITIES_LISTED_MAX)
            .map(|(id, bytes)| json!({ "id": id, "kind": kind_of(*id), "bytes": bytes.round() }))
            .collect();
        let ages: Vec<Json> =
            details.ages.iter().map(|(ms, count)| json!({ "ms": ms, "count": count })).collect();
        Ok(json!({
            "tick": world.tick(),
            "client": self.describe_member(member),
            "agesMs": ages,
            "queue": details.waiting,
            "queueTotal": figures.queued,
            "kinds": kinds,
            "entities": entities,
            "measuredS": details.measured_s,
        }))
    }

    /// Disconnects a client. With a ban, the client is removed as a banned one in the next step.
    pub(super) fn disconnect(&self, player: u32, reason: &str, ban: Option<Duration>) -> StudioAnswer {
        let client = &self.member(player)?.client;
        let mut banned = Vec::new();
        if let Some(lasts) = ban {
            let marks = marks_of(client.known(), None);
            if marks.is_empty() {
                let why = "the client cannot be banned: it has no token and no key, and is on this machine";
                return Err(StudioError::Refused(why.into()));
            }
            let name = self.world.world().scene().player(nowcast_world::PlayerId(player));
            let name = name.map(|player| player.name.clone()).unwrap_or_default();
            for by in marks {
                let lasts =
                    if matches!(by, BannedBy::Address(_)) { lasts.min(ADDRESS_BAN_MAX) } else { lasts };
                let scope = BanScope::Room(self.context.name.clone());
                let added = Ban::new(scope, by, Some(lasts), &name, reason, now_ms()).and_then(|ban| {
                    let kept = Box::new(|kept: Result<_, _>| {
                        if kept.is_err() {
                            warn!("a ban holds, but could not be kept: it ends with the server");
                        }
                    });
                    self.context.rooms.bans.add(ban.clone(), kept).map(|()| ban.to_string())
                });
                banned.push(added.map_err(|error| StudioError::Refused(error.to_string()))?);
            }
            info!(room = self.context.name, bans = banned.join("; "), "banned by the studio");
        } else {
            client.close(Closing::Kicked(sanitize(reason, KICK_CHARS_MAX)));
        }
        Ok(json!({ "ok": true, "banned": banned }))
    }
}
