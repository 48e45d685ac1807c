//! Operations of a history that change the collection, without the commit.

use model::{PageId, SiteId, UrlBatch, UrlRules};
use store::{Collection, Link, LinkRow, PageFlags, PageRecord, PageStage, Result};
use warc::Capture;

use super::history::History;
use super::model::{URLS, url};

impl History {
    pub(super) fn update_sites(&mut self, collection: &mut Collection) -> Result<()> {
        if self.current.sites.is_empty() {
            return Ok(());
        }
        let number = self.random.below(self.current.sites.len());
        let site = SiteId(number as u32);
        if self.random.one_in(2) {
            let text =
                format!("Disallow: /{}/\n", self.random.below(1_000)).repeat(self.random.below(200) + 1);
            collection.site_state.set_robots_text(site, text.as_bytes())?;
            self.current.sites[number].robots = Some(text.into_bytes());
        } else {
            let time = self.random.next_u64() >> 20;
            collection.site_state.update(&[site], |_, site| site.earliest_request_ms = time)?;
            self.current.sites[number].earliest_request_ms = time;
        }
        Ok(())
    }

    pub(super) fn write_pages(&mut self, collection: &mut Collection) -> Result<()> {
        let rules = UrlRules::default();
        let urls: Vec<usize> = (0..1 + self.random.below(12)).map(|_| self.random.below(URLS)).collect();
        let mut batch = UrlBatch::new();
        for number in &urls {
            batch.push(&rules.canonical(&url(*number)).unwrap());
        }
        let resolved = collection
            .resolve(&batch, self.clock_s, |new| PageRecord::new(new.site, 1, PageFlags::default()))?;
        let ids: Vec<PageId> = urls.iter().map(|number| self.current.resolve(*number)).collect();
        assert_eq!(resolved.pages, ids);
        for (number, id) in urls.into_iter().zip(ids) {
            if self.random.one_in(2) {
                self.put_page(collection, number, id)?;
            }
            if self.random.one_in(3) {
                self.log_links(collection, number, id)?;
            }
        }
        Ok(())
    }

    fn put_page(&mut self, collection: &mut Collection, number: usize, id: PageId) -> Result<()> {
        self.clock_s += 1;
        // Few different bodies, so that some are stored as revisit records.
        let variant = self.random.below(5);
        let body = format!("body {variant} {}", if variant < 2 { 0 } else { self.random.next_u64() });
        let body = body.repeat([1, 60, 60, 300, 700][variant]).into_bytes();
        let url = url(number);
        let capture = Capture {
            url: &url,
            fetched_at_ms: i64::from(self.clock_s) * 1_000,
            ip_address: None,
            protocols: &[],
            head: b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n",
            body: &body,
            truncated: None,
            request: None,
            metadata: &[],
        };
        let previous = collection.page_state.reader().get(id)?.and_then(|page| page.record_location);
        let location = collection.page_store.append(&capture, previous)?.location;
        let visit_s = self.clock_s;
        collection.page_state.update(&[id], |_, page| {
            page.stage = PageStage::Fetched;
            page.last_visit_s = visit_s;
            page.record_location = Some(location);
        })?;
        let page = &mut self.current.pages[id.0 as usize];
        (page.last_visit_s, page.body) = (visit_s, Some(body));
        Ok(())
    }

    fn log_links(&mut self, collection: &mut Collection, number: usize, id: PageId) -> Result<()> {
        let pages = self.current.pages.len();
        let targets: Vec<u32> = (0..self.random.below(6)).map(|_| self.random.below(pages) as u32).collect();
        let link = |target: &u32| Link {
            target: PageId(*target),
            kind: 0,
            context: 0,
            anchor_chars: 3,
            position: 0,
        };
        collection.links.append(id, targets.iter().map(link))?;
        for target in &targets {
            collection.tables.links.rows.push(&LinkRow {
                source_page_id: id.0,
                target_page_id: Some(*target),
                target_url: &url(number),
                element: "a",
                ..LinkRow::default()
            });
        }
        self.current.link_rows += targets.len() as u64;
        self.current.pages[id.0 as usize].links = Some(targets);
        Ok(())
    }
}
