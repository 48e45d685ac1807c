//! Who draws the picture of a crawl? The thread that owns the collection, twice a second, from what passes through its hands
//! anyway.

use std::time::{Duration, Instant};

use model::SiteId;
use store::Collection;

use crate::harvest::HarvestNews;
use crate::harvester::Piece;
use crate::live::LiveCommit;
use crate::manager::Manager;
use crate::picture::SharedPicture;
use crate::running::Running;
use crate::site_tallies::SiteTallies;

/// What is seen between two drawings.
pub(crate) struct Painter {
    picture: SharedPicture,
    tallies: SiteTallies,
    /// Sites that came back: their errors in a row, and until when they are left alone.
    came_back: Vec<(SiteId, u16, u64)>,
    commit: Option<LiveCommit>,
    last_drawn: Option<Instant>,
}

const DRAW_EVERY: Duration = Duration::from_millis(500);
/// How many sites each list shows.
const LISTED: usize = 20;

impl Painter {
    pub(crate) fn new(picture: SharedPicture) -> Painter {
        Painter {
            picture,
            tallies: SiteTallies::default(),
            came_back: Vec::new(),
            commit: None,
            last_drawn: None,
        }
    }

    /// A piece goes by.
    pub(crate) fn see(&mut self, piece: &Piece) {
        match piece {
            Piece::Gathered(page) => {
                self.tallies.count(page.url.site(), page.duration_ms, page.outcome.is_success());
            }
            Piece::News(HarvestNews::Done(report)) => {
                self.came_back.push((report.site, report.errors_in_a_row, report.back_off_until_ms));
            }
            Piece::News(_) | Piece::Fetched(..) | Piece::Log(_) => {}
        }
    }

    /// A commit was made.
    pub(crate) fn committed(&mut self, time_ms: u64, generation: u64, took: Duration) {
        let commits = self.commit.map_or(0, |last| last.commits) + 1;
        self.commit = Some(LiveCommit { time_ms, generation, took_ms: took.as_millis() as u64, commits });
    }

    /// Draws, if the last time was long enough ago.
    pub(crate) fn draw(&mut self, collection: &Collection, manager: &Manager, running: &Running) {
        if self.last_drawn.is_some_and(|drawn| drawn.elapsed() < DRAW_EVERY) {
            return;
        }
        for (site, errors_in_a_row, until_ms) in self.came_back.drain(..) {
            if let Some(name) = collection.urls.known().site_name(site) {
                self.tallies.close(name, errors_in_a_row, until_ms);
            }
        }
        let budgets = manager.budgets(&collection.notes, &running.settings(), running.clock.now_ms());
        let (slowest, failing) = (self.tallies.slowest(LISTED), self.tallies.failing(LISTED));
        self.picture.draw(|picture| {
            picture.batches = manager.open.list().collect();
            (picture.slowest, picture.failing) = (slowest, failing);
            (picture.commit, picture.budgets) = (self.commit, budgets);
            picture.sample(&running.counters.progress());
        });
        self.last_drawn = Some(Instant::now());
    }

    /// The last picture of a crawl that is over.
    pub(crate) fn finish(&mut self, collection: &Collection, manager: &Manager, running: &Running) {
        self.last_drawn = None;
        self.draw(collection, manager, running);
    }
}
