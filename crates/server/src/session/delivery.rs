//! What one client on a session is told, worked out on its driver's thread: what it sees, what of the news is its own, and
//! movement, written when a packet leaves.

use std::sync::Arc;
use std::time::Instant;

use nowcast::session::{PacketOutcome, Refused, Replication};
use nowcast::{Error, Feed, Source};
use nowcast_replication::{Look, SectionId, Sight, Viewer};
use nowcast_world::PlayerId;

use super::board::{Board, Picture};
use super::news::{News, state_of_screen, states_of_look};
use super::post::{Letterbox, Mail, Welcome};
use super::{CHAT_LANE, MISSED_KEY, Missed, REPLICATION_LANE, WORLD_LANE};
use crate::closing::Closing;
use crate::metrics::Metrics;

/// Entities that come into sight in one round; more come with the next ones, the nearest first. A description has about 40
/// bytes.
const ENTITIES_PER_ROUND_MAX: usize = 400;

/// Entities that a newcomer is told of at once.
const ENTITIES_AT_ONCE_MAX: usize = 1_000;

/// One client's end of a room: reads its mail, and looks at the board.
///
/// **Invariant**: of the mail that is read, none is of a later step than the picture that is looked at, and none of that
/// step or an earlier one is left. So what comes into sight is described as the news before have it, and the news after go on from
/// there. A room posts the mail of a step before it puts the step's picture on the board.
pub(super) struct Delivery {
    letterbox: Letterbox,
    /// The next mail, of a step whose picture is not out yet.
    ahead: Option<Mail>,
    metrics: Arc<Metrics>,
    /// Since the client was welcomed.
    view: Option<View>,
    /// Lines of chat that the client was not sent, and how many of them it has been told of.
    missed: u32,
    missed_told: u32,
}

/// What a client sees.
struct View {
    player: PlayerId,
    board: Arc<Board>,
    sight: Sight,
    viewer: Viewer,
}

impl Delivery {
    pub(super) fn new(letterbox: Letterbox, metrics: Arc<Metrics>) -> Self {
        Self { letterbox, ahead: None, metrics, view: None, missed: 0, missed_told: 0 }
    }

    /// Reads the mail, and begins a round if one is due.
    fn deliver(&mut self, feed: &mut Feed<'_>) -> Result<(), Error> {
        // A round is asked for when its picture is out, so the picture is taken after that was heard.
        let is_due = self.letterbox.take_round();
        let mut picture = self.view.as_ref().and_then(|view| view.board.newest());
        while let Some(mail) = self.ahead.take().or_else(|| self.letterbox.take()) {
            match mail {
                Mail::Welcome(welcome) => {
                    let newest = welcome.board.newest();
                    match newest.filter(|picture| picture.tick >= welcome.tick) {
                        Some(newest) => {
                            self.welcome(feed, *welcome, &newest)?;
                            picture = Some(newest);
                        }
                        None => {
                            self.ahead = Some(Mail::Welcome(welcome));
                            break;
                        }
                    }
                }
                Mail::News(news) => {
                    if picture.as_ref().is_none_or(|picture| picture.tick < news.tick()) {
                        self.ahead = Some(Mail::News(news));
                        break;
                    }
                    self.news(feed, &news)?;
                }
                Mail::Event(event) => feed.try_event(WORLD_LANE, &event)?,
                Mail::Forget => {
                    if let Some(view) = &mut self.view {
                        view.viewer.reset();
                    }
                }
                #[cfg(test)]
                Mail::Hold(until) => drop(until.recv()),
            }
        }
        if let Some(picture) = picture.filter(|_| is_due) {
            self.round(feed, &picture)?;
        }
        Ok(())
    }

    /// Tells a newcomer who it is and what is there.
    fn welcome(&mut self, feed: &mut Feed<'_>, welcome: Welcome, picture: &Picture) -> Result<(), Error> {
        let Welcome { player, event, all, screens, board, bytes_per_round_max, .. } = welcome;
        feed.try_event(WORLD_LANE, &event)?;
        let viewer = Viewer::with_bytes_per_round_max(bytes_per_round_max);
        self.view = Some(View { player, board, sight: Sight::new(player.0), viewer });
        self.news(feed, &all)?;
        self.look(feed, picture, all.at(), ENTITIES_AT_ONCE_MAX)?;
        screens
            .iter()
            .map(state_of_screen)
            .try_for_each(|(key, value)| feed.try_state(WORLD_LANE, key, &value, all.at()))
    }

    /// Tells what happened: first what there can be, then what there is, then what happened, so that whoever hears of an event
    /// sees what came of it.
    fn news(&mut self, feed: &mut Feed<'_>, news: &News) -> Result<(), Error> {
        let Some(View { player, sight, .. }) = &mut self.view else { return Ok(()) };
        let (player, at) = (*player, news.at());
        sight.follow(news.created());
        news.define().into_iter().try_for_each(|define| feed.try_event(WORLD_LANE, define))?;
        news.entities_for(sight).try_for_each(|(key, value)| feed.try_state(WORLD_LANE, key, &value, at))?;
        news.states_for(player).try_for_each(|(key, value)| feed.try_state(WORLD_LANE, key, value, at))?;
        news.events_for(player).try_for_each(|event| feed.try_event(WORLD_LANE, event))?;
        for said in news.said() {
            self.say(feed, said, news);
        }
        Ok(())
    }

    /// Lets the client look about, and begins a round of movement.
    fn round(&mut self, feed: &mut Feed<'_>, picture: &Picture) -> Result<(), Error> {
        let at = Instant::now();
        self.look(feed, picture, at, ENTITIES_PER_ROUND_MAX)?;
        if let Some(View { player, sight, viewer, .. }) = &mut self.view {
            viewer.set_sight(sight, picture.far_metres);
            viewer.due(&picture.frames, picture.player(*player).eye);
        }
        self.tell_missed(feed, at);
        Ok(())
    }

    /// Tells what came into sight and what is out of it.
    fn look(
        &mut self,
        feed: &mut Feed<'_>,
        picture: &Picture,
        at: Instant,
        entities_max: usize,
    ) -> Result<(), Error> {
        let Some(View { player, sight, .. }) = &mut self.view else { return Ok(()) };
        let eye = picture.player(*player).eye;
        let look = sight.look(&picture.chart, eye, entities_max);
        if look == Look::default() {
            return Ok(());
        }
        let count = |sections: &[SectionId]| {
            sections.iter().map(|section| picture.chart.members(*section).len() as u64).sum::<u64>()
        };
        self.metrics.sight_entered.inc_by(count(&look.entered));
        self.metrics.sight_left.inc_by(count(&look.left));
        let states = states_of_look(&look, &picture.descriptions, (picture.tick as u32, &picture.chart));
        states.iter().try_for_each(|(key, value)| feed.try_state(WORLD_LANE, *key, value, at))
    }

    /// Passes a line of chat on. A client that does not read so fast misses lines, and is told how many before the next that it
    /// gets.
    fn say(&mut self, feed: &mut Feed<'_>, said: &[u8], news: &News) {
        let is_said = self.tell_missed(feed, news.at()) && !is_full(&feed.try_event(CHAT_LANE, said));
        if !is_said {
            self.missed = self.missed.wrapping_add(1);
            self.metrics.lines_missed.inc();
        }
    }

    /// Tells how many lines were missed, if the client has not heard. Returns whether nothing is left to tell.
    fn tell_missed(&mut self, feed: &mut Feed<'_>, at: Instant) -> bool {
        if self.missed == self.missed_told {
            return true;
        }
        let missed = nowcast_wire::encode_to_vec(&Missed { lines: self.missed });
        let is_told = !is_full(&feed.try_state(CHAT_LANE, MISSED_KEY, &missed, at));
        if is_told {
            self.missed_told = self.missed;
        }
        is_told
    }
}

/// Whether a put failed because the session takes no more of this.
fn is_full(put: &Result<(), Error>) -> bool {
    matches!(put, Err(Error::Refused(Refused::Full)))
}

impl Replication for Delivery {
    fn has_more(&self, lane: u8) -> bool {
        lane == REPLICATION_LANE && self.view.as_ref().is_some_and(|view| view.viewer.has_more())
    }

    fn fill(&mut self, _lane: u8, number: u64, room: usize, out: &mut Vec<u8>) {
        let Some(View { player, board, viewer, .. }) = &mut self.view else { return };
        // The newest there is when the packet leaves.
        let Some(picture) = board.newest() else { return };
        viewer.set_controls(picture.frames.tick(), picture.player(*player).controls);
        viewer.fill(&picture.frames, number, room, out);
    }
}

impl Source for Delivery {
    fn settled(&mut self, outcome: PacketOutcome) {
        if let Some(view) = &mut self.view {
            view.viewer.settled(outcome.number, outcome.arrived);
        }
    }

    fn feed(&mut self, feed: &mut Feed<'_>) {
        if self.letterbox.closing().is_none()
            && let Err(Error::Refused(refused)) = self.deliver(feed)
        {
            match refused {
                // A client that left so much unread is told nothing more.
                Refused::Full => end(feed, &Closing::TooSlow),
                // A client that cannot be told what there is would see a world with holes.
                Refused::TooLarge { bytes, bytes_max } => {
                    let what =
                        format!("the world has a message of {bytes} bytes, the client takes {bytes_max}");
                    end(feed, &Closing::Protocol(what));
                }
                // A client whose channel is closed is gone anyway.
                _ => {}
            }
        }
        if let Some(closing) = self.letterbox.closing() {
            end(feed, closing);
        }
    }
}

fn end(feed: &mut Feed<'_>, closing: &Closing) {
    feed.close(closing.session_code(), &closing.reason());
}
