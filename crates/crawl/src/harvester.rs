//! The harvester: asks for the pages of a batch, politely, and hands on what comes back.
//!
//! One per core, on one thread. Sites come to the harvester that their address belongs to, so that all clocks of an
//! address lie in one [`Workbench`], and no lock stands in the way of a page. A turn is one request; after it the site and
//! its address are left alone for their wait. What a site must be asked before its pages (robots.txt), and what it offers
//! beside them (sitemaps), takes its turn like everything else.
//!
//! A page is read by a [`Gatherer`] on the same thread as soon as it has come, while others are still on their way.
//!
//! It never decides what is worth fetching, and never touches the collection.

mod reading;
mod robots;
mod turns;

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fetch::{Answer, Connection, Fetcher};
use frontier::{Event, Turn, Workbench};
use model::{CanonicalUrl, PageId, Reason, SiteId};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use self::reading::Unread;
use crate::batch::{BatchSite, RobotsCopy};
use crate::crawl_settings::CrawlSettings;
use crate::errand::Errands;
use crate::fetched::Fetched;
use crate::front_desk::{Desk, Work};
use crate::gathered::Gathered;
use crate::gatherer::Gatherer;
use crate::harvest::HarvestNews;
use crate::http_head::HttpHead;
use crate::job::{Job, Jobs};
use crate::journal::{Entry, Journal};
use crate::mark::Mark;
use crate::name_clocks::Rest;
use crate::outbox::Outbox;
use crate::random::random;
use crate::robots_answer;
use crate::running::Running;
use crate::site_run::{Located, SiteRun};
use crate::stop::Stop;

/// What leaves a harvester.
#[derive(Debug)]
pub(crate) enum Piece {
    /// A page, read.
    Gathered(Box<Gathered>),
    /// A page as it came, where nobody reads it here.
    Fetched(PageId, Box<Fetched>),
    /// Everything else.
    News(HarvestNews),
    /// What came of a batch elsewhere is told up to this entry of its log.
    Log(Mark),
}

/// One of the harvesters of a crawl.
pub(crate) struct Harvester<'s> {
    running: Running,
    settings: Arc<CrawlSettings>,
    fetcher: Rc<Fetcher>,
    gatherer: Option<Gatherer<'s>>,
    workbench: Workbench,
    jobs: Jobs,
    sites: HashMap<SiteId, SiteRun>,
    /// The same by their names: scheme, host and port.
    by_name: HashMap<Box<str>, SiteId>,
    errands: Errands,
    /// Connections that may be used again: one for each address, and of the site that was last asked there.
    kept: HashMap<IpAddr, (SiteId, Connection)>,
    requests: JoinSet<Ended>,
    most_requests: usize,
    /// Pages that have come and were not read yet.
    unread: VecDeque<Unread>,
    outbox: Outbox<Piece>,
    journal: Journal,
    desk: Desk,
    /// Sites whose clocks nobody knows wait at least until then, and their own wait.
    began_unknown_ms: Option<u64>,
    /// Nothing begins before then, so that the crawl is no faster than it may be.
    paced_until_ms: u64,
}

/// A request that has ended.
struct Ended {
    turn: Turn,
    job: Job,
    /// Nothing if it was broken off because the time was over for which its batch was lent.
    answer: Option<Answer>,
    connection: Option<Connection>,
}

/// What a harvester is made of.
pub(crate) struct Equipment<'s> {
    pub(crate) running: Running,
    pub(crate) fetcher: Fetcher,
    pub(crate) gatherer: Option<Gatherer<'s>>,
    pub(crate) outbox: Outbox<Piece>,
    pub(crate) journal: Journal,
    pub(crate) desk: Desk,
    pub(crate) most_requests: usize,
    pub(crate) began_unknown_ms: Option<u64>,
    /// When addresses may be asked again.
    pub(crate) clocks: &'s [(IpAddr, u64)],
}

impl<'s> Harvester<'s> {
    pub(crate) fn new(equipment: Equipment<'s>) -> Harvester<'s> {
        let Equipment { running, fetcher, gatherer, outbox, journal, desk, .. } = equipment;
        let Equipment { most_requests, began_unknown_ms, clocks, .. } = equipment;
        let mut workbench = Workbench::new();
        clocks.iter().for_each(|(address, ready_ms)| workbench.delay_address(*address, *ready_ms));
        Harvester {
            settings: running.settings(),
            running,
            fetcher: Rc::new(fetcher),
            gatherer,
            workbench,
            jobs: Jobs::default(),
            sites: HashMap::new(),
            by_name: HashMap::new(),
            errands: Errands::default(),
            kept: HashMap::new(),
            requests: JoinSet::new(),
            most_requests,
            unread: VecDeque::new(),
            outbox,
            journal,
            desk,
            began_unknown_ms,
            paced_until_ms: 0,
        }
    }

    /// Works until it is stopped, or nobody brings work or takes news any more. Gives its journal back.
    pub(crate) async fn run(mut self, mut work: UnboundedReceiver<Work>) -> std::io::Result<Journal> {
        let mut closed = false;
        loop {
            while let Ok(work) = work.try_recv() {
                self.accept(work)?;
            }
            while let Some(ended) = self.requests.try_join_next() {
                self.end(ended)?;
            }
            if self.running.stop() == Stop::AtOnce {
                self.running.counters.requests_under_way.fetch_sub(self.requests.len() as u64, Relaxed);
                return Ok(self.journal);
            }
            if self.running.stop() == Stop::InOrder {
                self.give_everything_back()?;
            } else {
                self.start_turns();
            }
            if let Some(unread) = self.unread.pop_front() {
                // What was just asked for is sent before the next page is read: servers work while we read.
                tokio::task::yield_now().await;
                self.read(unread)?;
                if self.outbox.send() && !self.outbox.is_full() {
                    continue;
                }
            }
            let listened_to = self.outbox.flush();
            let idle = self.requests.is_empty()
                && self.unread.is_empty()
                && self.sites.is_empty()
                && self.outbox.is_empty();
            if !listened_to || (idle && (closed || self.running.stop() >= Stop::InOrder)) {
                return Ok(self.journal);
            }
            let can_start = self.has_room() && self.running.may_begin();
            let next = self.workbench.next_ready_ms().filter(|_| can_start);
            let wake = self.running.clock.instant(next.unwrap_or(0).max(self.paced_until_ms));
            let lease = Arc::clone(&self.running.lease);
            tokio::select! {
                biased;
                ended = self.requests.join_next(), if !self.requests.is_empty() => {
                    if let Some(ended) = ended {
                        self.end(ended)?;
                    }
                }
                () = self.outbox.room(), if !self.outbox.is_empty() => {}
                accepted = work.recv(), if !closed => match accepted {
                    Some(work) => self.accept(work)?,
                    None => closed = true,
                },
                () = self.running.changed() => self.obey()?,
                () = lease.over(), if !self.kept.is_empty() => self.kept.clear(),
                () = tokio::time::sleep_until(wake.into()), if next.is_some() => {}
            }
        }
    }

    /// New settings hold for the sites in work, too. Where other rules of robots.txt are meant for us now, pages go back: with
    /// the next batch comes its text, which nobody keeps here.
    fn obey(&mut self) -> std::io::Result<()> {
        if !self.running.may_begin() {
            // Nobody knows when they would be used again.
            self.kept.clear();
        }
        let settings = self.running.settings();
        if Arc::ptr_eq(&self.settings, &settings) {
            return Ok(());
        }
        self.settings = settings;
        let sites = self.sites.values_mut();
        let changed: Vec<SiteId> =
            sites.filter_map(|run| run.follow(&self.settings).then_some(run.site)).collect();
        for site in changed {
            self.give_back(site, None)?;
            self.close_if_done(site)?;
        }
        Ok(())
    }

    fn accept(&mut self, work: Work) -> std::io::Result<()> {
        match work {
            Work::Site(site, front, located) => self.begin(*site, front, &located),
            Work::Errand(errand, address, not_before_ms) => {
                self.begin_errand(errand, address, not_before_ms);
                Ok(())
            }
            Work::AtItsSite(errand) => {
                self.join_errand(errand);
                Ok(())
            }
            Work::Returned { site, robots } => self.robots_came(site, &robots),
            Work::NotLent { site, name } => self.robots_not_lent(site, name.into()),
        }
    }

    /// Takes a site in.
    fn begin(&mut self, site: BatchSite, front: CanonicalUrl, located: &Located) -> std::io::Result<()> {
        let now_s = self.running.clock.now_s();
        let (period_s, retry_s) = (self.settings.robots_period_s, self.settings.robots_retry_s);
        let kept = site.robots.as_ref();
        let kept = kept.filter(|copy| robots_answer::is_fresh(copy, now_s, period_s, retry_s)).cloned();
        let mut run = SiteRun::new(&site, front, located, &self.settings);
        // Its Crawl-delay counts from the beginning.
        if let Some(copy) = &kept {
            run.obey(copy);
        }
        self.set_clocks(&mut run, site.not_before_ms, located.asked_ms);
        for page in site.pages {
            match self.settings.gather.rules.canonical(&page.url).ok().filter(|url| url.as_str() == page.url)
            {
                Some(url) => {
                    let job = self.jobs.add(Job::Page { page: page.page, url, validators: page.validators });
                    self.workbench.push(site.site, job);
                }
                // The rules have changed since it became known.
                None => self.leave(page.page, Reason::RejectedByPattern)?,
            }
        }
        let robots_txt = self.settings.gather.rules.join(&run.front, "/robots.txt");
        self.by_name.insert(run.front.site().into(), site.site);
        self.sites.insert(site.site, run);
        self.running.counters.active_sites.fetch_add(1, Relaxed);
        match (kept, robots_txt) {
            (Some(copy), _) => self.apply_robots(site.site, &copy),
            (None, Ok(url)) => {
                let job = self.jobs.add(Job::Robots { url, hops: 0 });
                self.workbench.push_first(site.site, job);
                Ok(())
            }
            (None, Err(_)) => self.apply_robots(site.site, &RobotsCopy::none(now_s)),
        }
    }

    /// A site that begins waits as long as anybody knows it must, and its full wait if nobody knows.
    fn set_clocks(&mut self, run: &mut SiteRun, not_before_ms: u64, asked_ms: u64) {
        let wait_ms = run.wait_ms(&self.settings.waits);
        let after_errand_ms = if asked_ms > 0 { asked_ms + wait_ms } else { 0 };
        let unknown_ms = self.unknown_until(run.address, wait_ms);
        let ready_ms = not_before_ms.max(after_errand_ms).max(unknown_ms);
        run.next_request_ms = ready_ms;
        self.workbench.add_site(run.site, run.address, ready_ms);
    }

    /// When a site with this wait may be asked first after a run whose clocks are lost. Its address waits too, for as long as
    /// any of its sites may want: nobody knows which one was asked last.
    fn unknown_until(&mut self, address: IpAddr, wait_ms: u64) -> u64 {
        let Some(began_ms) = self.began_unknown_ms else { return 0 };
        let own_wait_ms = self.settings.waits.address_wait_ms;
        let address_wait_ms = own_wait_ms.unwrap_or_else(|| self.settings.longest_wait_ms().max(wait_ms));
        self.workbench.delay_address(address, began_ms + address_wait_ms);
        began_ms + wait_ms
    }

    /// Takes the end of a request.
    fn end(&mut self, ended: Result<Ended, tokio::task::JoinError>) -> std::io::Result<()> {
        let ended_ms = self.running.clock.passed_ms();
        self.running.counters.requests_under_way.fetch_sub(1, Relaxed);
        let Ended { turn, job, answer, connection } = match ended {
            Ok(ended) => ended,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        let Some(answer) = answer else { return self.put_off(turn, job, ended_ms) };
        let event = event(&answer, self.running.clock.now_s());
        if let Some(run) = self.sites.get_mut(&turn.site) {
            run.pace(answer.status, &self.settings.waits);
        }
        self.rest(turn, event, connection, ended_ms)?;
        match job {
            Job::Page { page, url, validators } => {
                self.page_came(turn.site, page, url, answer, validators.is_empty());
            }
            Job::Robots { url, hops } => self.robots_answered(turn.site, &url, hops, &answer)?,
            Job::Sitemap { url, level } => self.sitemap_came(turn.site, &url, level, &answer)?,
            Job::Errand(errand) => self.errand_answered(turn, *errand, &answer, ended_ms)?,
        }
        self.close_if_done(turn.site)
    }

    /// A request that was broken off is sent again, if it ever may be.
    fn put_off(&mut self, turn: Turn, job: Job, ended_ms: u64) -> std::io::Result<()> {
        let wait_ms = match (self.sites.get(&turn.site), &job) {
            (Some(run), _) => run.wait_ms(&self.settings.waits),
            (None, job) => self.wait_at(job.url(), 0),
        };
        let address_wait_ms = self.settings.waits.address_wait_ms.unwrap_or(wait_ms);
        let job = self.jobs.add(job);
        self.workbench.push_first(turn.site, job);
        self.workbench.finish(turn.site, ended_ms + wait_ms, ended_ms + address_wait_ms);
        Ok(())
    }

    /// Leaves a site and its address alone, for as long as they deserve.
    fn rest(
        &mut self,
        turn: Turn,
        event: Event,
        connection: Option<Connection>,
        ended_ms: u64,
    ) -> std::io::Result<()> {
        let Some(run) = self.sites.get_mut(&turn.site) else { return Ok(()) };
        let wait_ms = run.wait_ms(&self.settings.waits);
        let verdict = self.settings.patience.after(event, run.errors_in_a_row, 0, random());
        run.suffer(&verdict, ended_ms);
        (run.ended_ms, run.next_request_ms) = (ended_ms, ended_ms + wait_ms);
        // Who need not wait does not wait for the next millisecond either.
        let after = |wait_ms: u64| if wait_ms == 0 { 0 } else { ended_ms + wait_ms };
        let site_ready_ms = after(wait_ms.max(verdict.site_back_off_ms));
        let address_ready_ms = after(self.settings.waits.address_wait_ms.unwrap_or(wait_ms));
        self.workbench.finish(turn.site, site_ready_ms, address_ready_ms);
        let (errors_in_a_row, until_ms) = (run.errors_in_a_row, run.back_off_until_ms);
        let keeps = wait_ms <= self.settings.keep_connection_ms && self.running.may_begin();
        if verdict.site_back_off_ms > 0 {
            self.send(HarvestNews::BackOff { site: turn.site, until_ms, errors_in_a_row })?;
        } else if let Some(connection) = connection.filter(|_| keeps) {
            self.kept.insert(turn.address, (turn.site, connection));
        }
        if verdict.site_gives_up {
            let reason = if let Event::NoAnswer(reason) = event { reason } else { Reason::SiteGivenUp };
            self.give_back(turn.site, Some(reason))?;
        }
        Ok(())
    }

    /// A wait that has become longer since the last request ended is waited for to its end.
    fn wait_on(&mut self, site: SiteId) {
        let Some(run) = self.sites.get_mut(&site).filter(|run| run.ended_ms > 0) else { return };
        let ready_ms = run.ended_ms + run.wait_ms(&self.settings.waits);
        run.next_request_ms = run.next_request_ms.max(ready_ms);
        let address = run.address;
        self.workbench.delay_site(site, ready_ms);
        if self.settings.waits.address_wait_ms.is_none() {
            self.workbench.delay_address(address, ready_ms);
        }
    }

    /// The pages of a site that were not asked for go back.
    fn give_back(&mut self, site: SiteId, reason: Option<Reason>) -> std::io::Result<()> {
        let held = self.errands.release(site);
        for number in self.workbench.drain(site).into_iter().chain(held) {
            match self.jobs.remove(number) {
                Some(Job::Page { page, .. }) => {
                    self.running.counters.waiting_pages.fetch_sub(1, Relaxed);
                    self.send(HarvestNews::Back { page, reason: reason.map(Into::into) })?;
                }
                // Somebody waits for it.
                Some(Job::Errand(errand)) => {
                    self.desk.give_back(&errand, RobotsCopy::none(self.running.clock.now_s()));
                }
                Some(Job::Robots { .. } | Job::Sitemap { .. }) | None => {}
            }
        }
        Ok(())
    }

    /// At the end, the collection itself frees what was not asked for; it only needs to know the clocks.
    fn give_everything_back(&mut self) -> std::io::Result<()> {
        let sites: Vec<SiteId> = self.sites.keys().copied().collect();
        for site in sites {
            self.errands.release(site);
            self.workbench.drain(site);
            self.close_if_done(site)?;
        }
        Ok(())
    }

    fn leave(&mut self, page: PageId, reason: Reason) -> std::io::Result<()> {
        self.running.counters.waiting_pages.fetch_sub(1, Relaxed);
        self.running.counters.left_out.fetch_add(1, Relaxed);
        self.send(HarvestNews::Left { page, reason: reason.into() })
    }

    /// A site without work leaves; its address keeps its clock.
    fn close_if_done(&mut self, site: SiteId) -> std::io::Result<()> {
        let waits = self.workbench.jobs(site) > 0
            || self.workbench.has_turn(site)
            || self.errands.holds(site)
            || self.sites.get(&site).is_some_and(|run| run.unread > 0);
        if waits {
            return Ok(());
        }
        let Some(run) = self.sites.remove(&site) else { return Ok(()) };
        self.by_name.remove(run.front.site());
        let until_ms = run.next_request_ms.max(run.back_off_until_ms);
        self.desk.leave(run.front.site(), Rest { until_ms, asked_ms: 0 });
        self.workbench.remove_site(site);
        if self.kept.get(&run.address).is_some_and(|(owner, _)| *owner == site) {
            self.kept.remove(&run.address);
        }
        self.running.counters.active_sites.fetch_sub(1, Relaxed);
        self.send(HarvestNews::Done(run.report()))
    }

    fn send(&mut self, news: HarvestNews) -> std::io::Result<()> {
        self.journal.count();
        let place = |site| self.sites.get(&site).map(|run| (run.front.site(), run.address));
        if let Some(entry) = Entry::of(&news, place) {
            self.journal.keep(&entry)?;
        }
        let bytes = if let HarvestNews::Found { pages, .. } = &news { pages.len() * 64 } else { 64 };
        self.outbox.push(Piece::News(news), bytes);
        Ok(())
    }
}

/// What an answer means for the peace of a site.
fn event(answer: &Answer, now_s: u32) -> Event {
    match answer.failure {
        None | Some(Reason::MediaType) => {
            let head = HttpHead(&answer.head);
            Event::of_status(answer.status, head.retry_after_ms(now_s))
        }
        Some(reason) => Event::NoAnswer(reason),
    }
}
