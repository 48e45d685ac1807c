//! How does a harvester learn what a site allows, and what it offers? robots.txt first, wherever redirects lead to, then
//! sitemaps; each takes its turn like a page.

use fetch::Answer;
use frontier::Turn;
use model::{CanonicalUrl, Reason, SiteId};

use super::{Harvester, event};
use crate::batch::RobotsCopy;
use crate::crawl_settings::CrawlSettings;
use crate::errand::Errand;
use crate::harvest::HarvestNews;
use crate::http_head::HttpHead;
use crate::job::Job;
use crate::name_clocks::Rest;
use crate::random::random;
use crate::robots_answer::{self, Robots};
use crate::sitemaps;

impl Harvester<'_> {
    /// Follows a redirect of robots.txt, or takes what came.
    pub(super) fn robots_answered(
        &mut self,
        site: SiteId,
        url: &CanonicalUrl,
        hops: u8,
        answer: &Answer,
    ) -> std::io::Result<()> {
        let now_s = self.running.clock.now_s();
        let target = redirect(&self.settings, url, answer).filter(|_| hops < robots_answer::REDIRECTS);
        match target {
            Some(target) if target.site() == url.site() => {
                let job = self.jobs.add(Job::Robots { url: target, hops: hops + 1 });
                self.workbench.push_first(site, job);
                Ok(())
            }
            Some(target) => {
                // Another site, which may be another harvester's: its pages wait until the answer is back.
                let waiting = self.workbench.drain(site);
                self.errands.hold(site, waiting);
                self.desk.send(Errand::new(site, self.running.number, target, hops + 1));
                Ok(())
            }
            None => self.robots_came(site, &RobotsCopy::of(answer, now_s)),
        }
    }

    pub(super) fn robots_came(&mut self, site: SiteId, copy: &RobotsCopy) -> std::io::Result<()> {
        for job in self.errands.release(site) {
            self.workbench.push(site, job);
        }
        // Before anything else happens: a crawl that is killed now must not ask for it again.
        self.send(HarvestNews::Robots { site, robots: copy.clone() })?;
        self.apply_robots(site, copy)
    }

    /// It lies at a site that was not lent together with this one, which goes back: the next batch has both.
    pub(super) fn robots_not_lent(&mut self, site: SiteId, name: String) -> std::io::Result<()> {
        self.send(HarvestNews::Refers { site, name })?;
        self.give_back(site, None)?;
        self.close_if_done(site)
    }

    /// From now on these rules hold; what they forbid is left out at once.
    pub(super) fn apply_robots(&mut self, site: SiteId, copy: &RobotsCopy) -> std::io::Result<()> {
        let Some(run) = self.sites.get_mut(&site) else { return Ok(()) };
        if matches!(run.obey(copy), Robots::Unreachable) {
            let retry_ms = (u64::from(copy.fetched_s) + u64::from(self.settings.robots_retry_s)) * 1_000;
            run.back_off_until_ms = run.back_off_until_ms.max(retry_ms);
            self.give_back(site, Some(Reason::RobotsUnreachable))?;
            return self.close_if_done(site);
        }
        // The wait that began before a Crawl-delay was known ends with it.
        self.wait_on(site);
        let mut allowed = Vec::new();
        for number in self.workbench.drain(site) {
            match self.jobs.get(number) {
                Some(Job::Page { page, url, .. }) if !self.sites[&site].allows(url) => {
                    let page = *page;
                    self.jobs.remove(number);
                    self.leave(page, Reason::RobotsForbid)?;
                }
                _ => allowed.push(number),
            }
        }
        for number in self.sitemap_jobs(site).into_iter().chain(allowed) {
            self.workbench.push(site, number);
        }
        self.close_if_done(site)
    }

    /// The requests for what a site tells about its pages, if they are due.
    fn sitemap_jobs(&mut self, site: SiteId) -> Vec<u32> {
        let Some(run) = self.sites.get_mut(&site) else { return Vec::new() };
        if !std::mem::take(&mut run.sitemaps_due) {
            return Vec::new();
        }
        let urls = sitemaps::of_site(run, &self.settings);
        if urls.is_empty() {
            run.sitemaps_read_s = self.running.clock.now_s();
        }
        urls.into_iter().map(|url| self.jobs.add(Job::Sitemap { url, level: 0 })).collect()
    }

    pub(super) fn sitemap_came(
        &mut self,
        site: SiteId,
        url: &CanonicalUrl,
        level: u8,
        answer: &Answer,
    ) -> std::io::Result<()> {
        let Some(run) = self.sites.get_mut(&site) else { return Ok(()) };
        let read = sitemaps::read(run, url, answer, &self.settings, self.running.clock.now_s());
        // A server in trouble is asked again; one that answered is not, for a while.
        if (200..500).contains(&answer.status) && answer.status != 429 {
            run.sitemaps_read_s = self.running.clock.now_s();
        }
        if level < sitemaps::LEVELS {
            for url in read.sitemaps {
                let job = self.jobs.add(Job::Sitemap { url, level: level + 1 });
                self.workbench.push_first(site, job);
            }
        }
        if read.pages.is_empty() { Ok(()) } else { self.send(HarvestNews::Found { site, pages: read.pages }) }
    }
}

/// Errands.
impl Harvester<'_> {
    /// Takes a request for a robots.txt that another site refers to. Nobody works at the site that has it, and nobody will
    /// before the end of this: so says the front desk.
    pub(super) fn begin_errand(&mut self, errand: Errand, address: std::net::IpAddr, not_before_ms: u64) {
        let wait_ms = self.wait_at(&errand.url, 0);
        let ready_ms = not_before_ms.max(self.unknown_until(address, wait_ms));
        let made_up = self.errands.make_up_site();
        self.workbench.add_site(made_up, address, ready_ms);
        let job = self.jobs.add(Job::Errand(Box::new(errand)));
        self.workbench.push_first(made_up, job);
    }

    /// The site that has it is in work here: it is one of that site's requests. If it has just left, the front desk has heard
    /// of it when it gets the errand back.
    pub(super) fn join_errand(&mut self, errand: Errand) {
        match self.by_name.get(errand.url.site()) {
            Some(site) => {
                let job = self.jobs.add(Job::Errand(Box::new(errand)));
                self.workbench.push_first(*site, job);
            }
            None => self.desk.send(errand),
        }
    }

    /// Brings home what an errand found, or goes on to where it leads.
    pub(super) fn errand_answered(
        &mut self,
        turn: Turn,
        errand: Errand,
        answer: &Answer,
        ended_ms: u64,
    ) -> std::io::Result<()> {
        let copy = RobotsCopy::of(answer, self.running.clock.now_s());
        if !self.sites.contains_key(&turn.site) {
            self.leave_errand(turn, &errand, answer, &copy, ended_ms)?;
        }
        let target = redirect(&self.settings, &errand.url, answer);
        match target.filter(|_| errand.hops < robots_answer::REDIRECTS) {
            Some(target) => self.desk.send(errand.on_to(target)),
            None => self.desk.give_back(&errand, copy),
        }
        Ok(())
    }

    /// A site that was asked on an errand rests like any other, also over the end of the crawl.
    fn leave_errand(
        &mut self,
        turn: Turn,
        errand: &Errand,
        answer: &Answer,
        copy: &RobotsCopy,
        ended_ms: u64,
    ) -> std::io::Result<()> {
        // What it asks for holds at once, if it was its own robots.txt.
        let own = errand.url.path_and_query() == "/robots.txt";
        let crawl_delay_ms =
            if own { Robots::of(copy, &self.settings.robots_agent).crawl_delay_ms() } else { 0 };
        let wait_ms = self.wait_at(&errand.url, crawl_delay_ms);
        let verdict = self.settings.patience.after(event(answer, copy.fetched_s), 0, 0, random());
        let until_ms = ended_ms + wait_ms.max(verdict.site_back_off_ms);
        let address_wait_ms = self.settings.waits.address_wait_ms.unwrap_or(wait_ms);
        self.workbench.finish(turn.site, until_ms, ended_ms + address_wait_ms);
        self.workbench.remove_site(turn.site);
        let name = errand.url.site();
        self.desk.leave(name, Rest { until_ms, asked_ms: ended_ms });
        let name = name.to_owned();
        self.send(HarvestNews::Asked { name, address: Some(turn.address), ended_ms, until_ms })
    }

    /// How long a site waits of which only the name is known, and what it asks for.
    pub(super) fn wait_at(&self, url: &CanonicalUrl, crawl_delay_ms: u64) -> u64 {
        let own = self.settings.site(url).and_then(|site| site.wait_ms);
        self.settings.waits.site_wait_ms(0, crawl_delay_ms, own)
    }
}

/// Where an answer leads, if it is a redirect.
fn redirect(settings: &CrawlSettings, from: &CanonicalUrl, answer: &Answer) -> Option<CanonicalUrl> {
    if !matches!(answer.status, 300..=303 | 307 | 308) {
        return None;
    }
    let location = HttpHead(&answer.head).value("Location")?;
    settings.gather.rules.join(from, &location).ok()
}
