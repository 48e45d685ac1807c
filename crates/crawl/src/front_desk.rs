//! The front desk: where does each site of a batch live, and which harvester does it belong to?
//!
//! Names are resolved at a set pace, before anybody waits for them. Sites of one address go to one harvester, whatever
//! batch they are in. A site that cannot be found goes back to the manager.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use fetch::{Resolved, Resolver};
use frontier::Event;
use model::{CanonicalUrl, Reason, SiteId};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;

use crate::batch::{Batch, BatchSite, RobotsCopy};
use crate::clock::seconds;
use crate::errand::Errand;
use crate::harvest::{HarvestNews, SiteReport};
use crate::harvester::Piece;
use crate::name_clocks::{NameClocks, Rest, Visitor};
use crate::outbox::Outbox;
use crate::random::random;
use crate::running::Running;
use crate::site_run::Located;
use crate::stop::Stop;
use crate::territory::{ErrandWay, Territory};

/// What a harvester is given to do.
#[derive(Debug)]
pub(crate) enum Work {
    /// A site of a batch, with its front page and where it lives.
    Site(Box<BatchSite>, CanonicalUrl, Located),
    /// A robots.txt for the site of another harvester, at this address, not before this time.
    Errand(Errand, IpAddr, u64),
    /// The same at a site that is in work here.
    AtItsSite(Errand),
    /// What came of an errand.
    Returned { site: SiteId, robots: RobotsCopy },
    /// Nobody may go on an errand to the site of this name.
    NotLent { site: SiteId, name: Box<str> },
}

/// What the front desk is asked for.
#[derive(Debug)]
pub(crate) enum DeskRequest {
    Batch(Batch),
    Errand(Errand),
    Returned(Errand, RobotsCopy),
    /// Nobody asks the site of this name any more.
    Left(Box<str>, Rest),
}

/// The way to the front desk.
#[derive(Debug, Clone)]
pub(crate) struct Desk(pub(crate) UnboundedSender<DeskRequest>);

impl Desk {
    /// Sends somebody on an errand. At the end of a crawl nobody may be there any more: then the site goes back unvisited.
    pub(crate) fn send(&self, errand: Errand) {
        let _ = self.0.send(DeskRequest::Errand(errand));
    }

    pub(crate) fn give_back(&self, errand: &Errand, robots: RobotsCopy) {
        let _ = self.0.send(DeskRequest::Returned(errand.clone(), robots));
    }

    /// Lets others go to a site, when it has rested.
    pub(crate) fn leave(&self, name: &str, rest: Rest) {
        let _ = self.0.send(DeskRequest::Left(name.into(), rest));
    }
}

/// The front desk of a crawl.
pub(crate) struct FrontDesk {
    running: Running,
    resolver: Arc<Resolver>,
    harvesters: Vec<UnboundedSender<Work>>,
    /// Which harvester the first addresses belong to.
    owners: HashMap<IpAddr, usize>,
    clocks: NameClocks<Work>,
    territory: Territory,
    outbox: Outbox<Piece>,
    questions: JoinSet<Resolution>,
    waiting: std::collections::VecDeque<Question>,
    next_question: tokio::time::Instant,
}

/// About 40 bytes each.
const MOST_OWNERS: usize = 1 << 20;

/// Whose address is wanted.
enum Question {
    Site(Box<BatchSite>, CanonicalUrl),
    Errand(Errand),
}

struct Resolution {
    question: Question,
    answer: Result<Resolved, Reason>,
}

impl FrontDesk {
    pub(crate) fn new(
        running: Running,
        resolver: Resolver,
        harvesters: Vec<UnboundedSender<Work>>,
        outbox: Outbox<Piece>,
        rests: Vec<(String, u64)>,
        territory: Territory,
    ) -> FrontDesk {
        FrontDesk {
            running,
            resolver: Arc::new(resolver),
            harvesters,
            owners: HashMap::new(),
            clocks: NameClocks::new(rests),
            territory,
            outbox,
            questions: JoinSet::new(),
            waiting: std::collections::VecDeque::new(),
            next_question: tokio::time::Instant::now(),
        }
    }

    /// Works until the crawl stops, or nobody asks any more.
    pub(crate) async fn run(mut self, mut requests: UnboundedReceiver<DeskRequest>) {
        loop {
            // The collection itself frees what was not asked for.
            if !self.outbox.flush() || self.running.stop() >= Stop::InOrder {
                return;
            }
            let settings = self.running.settings();
            let may_ask = !self.waiting.is_empty()
                && self.questions.len() < settings.names_at_once
                && self.running.may_begin();
            tokio::select! {
                biased;
                resolution = self.questions.join_next(), if !self.questions.is_empty() => {
                    match resolution {
                        Some(Ok(resolution)) => self.take(resolution),
                        Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
                        None => {}
                    }
                }
                request = requests.recv() => match request {
                    Some(request) => self.accept(request),
                    None => return,
                },
                () = self.running.changed() => {}
                () = tokio::time::sleep_until(self.next_question), if may_ask => {
                    let pause = Duration::from_secs(1) / settings.names_per_second.max(1);
                    self.next_question = tokio::time::Instant::now() + pause;
                    self.ask();
                }
                () = self.outbox.room(), if !self.outbox.is_empty() => {}
            }
        }
    }

    fn accept(&mut self, request: DeskRequest) {
        match request {
            DeskRequest::Batch(batch) => batch.sites.into_iter().for_each(|site| self.accept_site(site)),
            DeskRequest::Errand(errand) => match self.clocks.harvester(errand.url.site()) {
                Some(harvester) => self.hand_to(harvester, Work::AtItsSite(errand)),
                None => self.accept_errand(errand),
            },
            DeskRequest::Returned(errand, robots) => {
                let (harvester, site) = errand.home();
                self.hand_to(harvester, Work::Returned { site, robots });
            }
            DeskRequest::Left(name, rest) => {
                let now_ms = self.running.clock.now_ms();
                for work in self.clocks.leave(&name, rest, now_ms) {
                    match work {
                        Work::Site(site, front, located) => self.send_site(site, front, located),
                        Work::Errand(errand, address, _) => self.send_errand(errand, address),
                        Work::AtItsSite(_) | Work::Returned { .. } | Work::NotLent { .. } => {}
                    }
                }
            }
        }
    }

    fn accept_site(&mut self, site: BatchSite) {
        let settings = self.running.settings();
        let Ok(front) = settings.gather.rules.canonical(&format!("{}/", site.name)) else {
            return self.cannot_be_found(&site, Reason::NameNotFound);
        };
        let now_s = self.running.clock.now_s();
        match site.address.filter(|_| now_s < site.resolve_again_s) {
            Some(address) => {
                let resolve_again_s = site.resolve_again_s;
                self.locate(Box::new(site), front, &[address], resolve_again_s);
            }
            None => self.waiting.push_back(Question::Site(Box::new(site), front)),
        }
    }

    fn accept_errand(&mut self, errand: Errand) {
        let (harvester, site) = errand.home();
        let name = errand.url.site();
        match self.territory.errand(site, name) {
            ErrandWay::Ask => self.waiting.push_back(Question::Errand(errand)),
            ErrandWay::To(address) => self.send_errand(errand, address),
            ErrandWay::Nowhere => {
                let nothing = RobotsCopy::none(self.running.clock.now_s());
                self.accept(DeskRequest::Returned(errand, nothing));
            }
            ErrandWay::NotLent => self.hand_to(harvester, Work::NotLent { site, name: name.into() }),
        }
    }

    /// Asks for the next name.
    fn ask(&mut self) {
        let Some(question) = self.waiting.pop_front() else { return };
        let host = match &question {
            Question::Site(_, front) => front.host().to_owned(),
            Question::Errand(errand) => errand.url.host().to_owned(),
        };
        let (resolver, now_ms) = (Arc::clone(&self.resolver), self.running.clock.now_ms());
        self.questions.spawn_local(async move {
            let answer = resolver.resolve(&host, now_ms).await;
            Resolution { question, answer }
        });
    }

    fn take(&mut self, Resolution { question, answer }: Resolution) {
        let now_s = self.running.clock.now_s();
        match (question, answer) {
            (Question::Site(site, front), Ok(resolved)) => {
                self.locate(site, front, &resolved.addresses, seconds(resolved.good_until_ms));
            }
            (Question::Site(site, _), Err(reason)) => self.cannot_be_found(&site, reason),
            (Question::Errand(errand), answer) => {
                let addresses = answer.map(|found| found.addresses).unwrap_or_default();
                match self.territory.for_site(&addresses, None) {
                    Some(address) => self.send_errand(errand, address),
                    None => self.accept(DeskRequest::Returned(errand, RobotsCopy::none(now_s))),
                }
            }
        }
    }

    /// A site has one of these addresses.
    fn locate(
        &mut self,
        site: Box<BatchSite>,
        front: CanonicalUrl,
        addresses: &[IpAddr],
        resolve_again_s: u32,
    ) {
        let resolved_s = self.running.clock.now_s();
        match (self.territory.for_site(addresses, site.address), addresses.first()) {
            (Some(address), _) => {
                let located = Located { address, resolved_s, resolve_again_s, asked_ms: 0 };
                self.send_site(site, front, located);
            }
            (None, Some(address)) => self.is_elsewhere(&site, *address, resolve_again_s),
            (None, None) => self.cannot_be_found(&site, Reason::NameNotFound),
        }
    }

    fn send_site(&mut self, mut site: Box<BatchSite>, front: CanonicalUrl, mut located: Located) {
        let name: Box<str> = front.site().into();
        let address = located.address;
        if let Some(Visitor::Errand) = self.clocks.visitor(&name) {
            return self.clocks.wait(&name, Work::Site(site, front, located));
        }
        let harvester = self.owner(address);
        let rest = self.clocks.begin_site(&name, harvester);
        site.not_before_ms = site.not_before_ms.max(rest.until_ms);
        located.asked_ms = rest.asked_ms;
        self.hand_to(harvester, Work::Site(site, front, located));
    }

    fn send_errand(&mut self, errand: Errand, address: IpAddr) {
        let name: Box<str> = errand.url.site().into();
        match self.clocks.visitor(&name) {
            Some(Visitor::Harvester(harvester)) => self.hand_to(harvester, Work::AtItsSite(errand)),
            Some(Visitor::Errand) => self.clocks.wait(&name, Work::Errand(errand, address, 0)),
            None => {
                let rest = self.clocks.begin_errand(&name);
                let harvester = self.owner(address);
                self.hand_to(harvester, Work::Errand(errand, address, rest.until_ms));
            }
        }
    }

    /// Sites of one address go to one harvester, for as long as the crawl runs: its clock is there. A new address goes to
    /// the next harvester in turn, so that few addresses are spread evenly; beyond the limit chance spreads them well enough.
    fn owner(&mut self, address: IpAddr) -> usize {
        let address = address.to_canonical();
        let (next, harvesters) = (self.owners.len(), self.harvesters.len());
        match self.owners.get(&address) {
            Some(harvester) => *harvester,
            None if next < MOST_OWNERS => *self.owners.entry(address).or_insert(next % harvesters),
            None => {
                let mut hasher = DefaultHasher::new();
                address.hash(&mut hasher);
                hasher.finish() as usize % harvesters
            }
        }
    }

    /// A harvester that is gone has failed, and the crawl will end with its error.
    fn hand_to(&self, harvester: usize, work: Work) {
        let _ = self.harvesters[harvester].send(work);
    }

    /// Somebody else works at its address: its pages go back. Whoever makes the next batch knows better.
    fn is_elsewhere(&mut self, site: &BatchSite, address: IpAddr, resolve_again_s: u32) {
        self.give_back(site, None);
        let report = SiteReport {
            site: site.site,
            address: Some(address),
            // Nobody has asked it.
            resolved_s: 0,
            resolve_again_s,
            next_request_ms: site.not_before_ms,
            errors_in_a_row: site.errors_in_a_row,
            back_off_until_ms: 0,
            asked_wait_ms: site.asked_wait_ms,
            sitemaps_read_s: 0,
        };
        self.outbox.push(Piece::News(HarvestNews::Done(report)), 64);
    }

    fn give_back(&mut self, site: &BatchSite, reason: Option<Reason>) {
        for page in &site.pages {
            self.running.counters.waiting_pages.fetch_sub(1, Relaxed);
            let news = HarvestNews::Back { page: page.page, reason: reason.map(Into::into) };
            self.outbox.push(Piece::News(news), 64);
        }
    }

    /// Nobody knows where it is: its pages go back, and it is left alone for a while.
    fn cannot_be_found(&mut self, site: &BatchSite, reason: Reason) {
        let settings = self.running.settings();
        let verdict = settings.patience.after(Event::NoAnswer(reason), site.errors_in_a_row, 0, random());
        self.give_back(site, Some(reason));
        let back_off_until_ms = self.running.clock.now_ms() + verdict.site_back_off_ms;
        let report = SiteReport {
            site: site.site,
            address: site.address,
            resolved_s: self.running.clock.now_s(),
            resolve_again_s: seconds(back_off_until_ms),
            next_request_ms: site.not_before_ms,
            errors_in_a_row: verdict.errors_in_a_row,
            back_off_until_ms,
            asked_wait_ms: site.asked_wait_ms,
            sitemaps_read_s: 0,
        };
        self.outbox.push(Piece::News(HarvestNews::Done(report)), 64);
    }
}
