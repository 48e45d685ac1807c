//! Tests of the events in segments.

use model::{PageId, Reason, SiteId};

use super::*;
use crate::item::harvest_event::{SiteResult, SitemapOutcome, SitemapUrl, UrlList, UrlListKind};
use crate::item::robots_response::RobotsResponse;

pub(super) fn site_result() -> SiteResult {
    SiteResult {
        site: SITE,
        address: Some([192, 0, 2, 1].into()),
        resolved_s: (NOW_MS / 1_000) as u32,
        address_expires_s: (NOW_MS / 1_000) as u32 + 600,
        next_request_ms: NOW_MS + 15_000,
        consecutive_errors: 0,
        back_off_until_ms: 0,
        throttle_delay_ms: 0,
        sitemaps_read_s: 0,
        sitemaps: SitemapOutcome::Absent,
    }
}

fn robots() -> RobotsResponse {
    RobotsResponse { fetched_s: (NOW_MS / 1_000) as u32, status: 200, text: b"User-agent: *\n".to_vec() }
}

fn contacted(name: &str) -> HarvestEvent {
    let address = Some([192, 0, 2, 1].into());
    HarvestEvent::HostContacted { name: name.to_owned(), address, ended_ms: NOW_MS, until_ms: NOW_MS + 1 }
}

fn sitemap(url: &str, modified_s: u32) -> HarvestEvent {
    url_list(UrlListKind::Sitemap, vec![SitemapUrl { url: url.to_owned(), modified_s }])
}

fn url_list(kind: UrlListKind, urls: Vec<SitemapUrl>) -> HarvestEvent {
    let file = "http://a.example/sitemap.xml".to_owned();
    HarvestEvent::UrlsListed(UrlList { site: SITE, file, kind, urls })
}

/// Sitemap with one page, of another site or file.
fn of_sitemap(change: impl Fn(&mut UrlList)) -> HarvestEvent {
    let mut event = sitemap("http://a.example/s", 1);
    if let HarvestEvent::UrlsListed(list) = &mut event {
        change(list);
    }
    event
}

/// Verifies one event; returns the number of items and of rejections.
fn accept(event: HarvestEvent) -> (usize, u64) {
    let VerifiedItems { items, rejections } = read(&segment(&[], &[event]), &mut leased()).unwrap();
    (items.len(), rejections.count)
}

#[test]
fn honest_events_are_accepted() {
    for event in [
        HarvestEvent::PageSkipped { page: PageId(10), reason: Reason::RobotsDisallowed },
        HarvestEvent::PageReturned { page: PageId(10), reason: Some(Reason::SiteFailing) },
        HarvestEvent::PageReturned { page: PageId(10), reason: Some(Reason::DnsNotFound) },
        HarvestEvent::PageReturned { page: PageId(10), reason: Some(Reason::ConnectFailed) },
        HarvestEvent::PageReturned { page: PageId(10), reason: Some(Reason::RobotsUnreachable) },
        HarvestEvent::RobotsFetched { site: SITE, response: robots() },
        HarvestEvent::RobotsFetched {
            site: SITE,
            response: RobotsResponse { status: 0, text: vec![], ..robots() },
        },
        HarvestEvent::RobotsRedirect { site: SITE, name: "https://c.example:8443".to_owned() },
        HarvestEvent::SiteBackedOff { site: SITE, until_ms: NOW_MS + 37 * 86_400_000, consecutive_errors: 9 },
        contacted("http://a.example"),
        sitemap("http://a.example/s", 1),
        // Whether the other site permits it is not known here.
        sitemap("http://b.example/", 0),
    ] {
        assert_eq!(accept(event.clone()), (1, 0), "{event:?}");
    }
    // All pages of a finished site without a result are returned.
    assert_eq!(accept(HarvestEvent::SiteDone(site_result())), (6, 0));
}

#[test]
fn a_lie_about_a_site_or_a_host_is_reported_and_has_no_effect() {
    let done = |change: fn(&mut SiteResult)| {
        let mut result = site_result();
        change(&mut result);
        HarvestEvent::SiteDone(result)
    };
    let robots_of = |response| HarvestEvent::RobotsFetched { site: SITE, response };
    let other = SiteId(u32::MAX);
    let redirect = |name: &str| HarvestEvent::RobotsRedirect { site: SITE, name: name.to_owned() };
    let lies = [
        HarvestEvent::PageSkipped { page: PageId(u32::MAX), reason: Reason::RobotsDisallowed },
        HarvestEvent::PageSkipped { page: PageId(10), reason: Reason::SiteAlias },
        HarvestEvent::PageReturned { page: PageId(9), reason: None },
        HarvestEvent::PageReturned { page: PageId(10), reason: Some(Reason::SiteAlias) },
        HarvestEvent::PageReturned { page: PageId(10), reason: Some(Reason::CollectionLimit) },
        HarvestEvent::RobotsFetched { site: other, response: robots() },
        robots_of(RobotsResponse { text: vec![b'x'; (1 << 20) + 1], ..robots() }),
        robots_of(RobotsResponse { status: 7, text: Vec::new(), ..robots() }),
        robots_of(RobotsResponse { fetched_s: u32::MAX, ..robots() }),
        robots_of(RobotsResponse { fetched_s: 1, ..robots() }),
        HarvestEvent::RobotsRedirect { site: other, name: "http://c.example".to_owned() },
        redirect("c.example"),
        redirect("http://c.example/path"),
        redirect("http://C.example"),
        redirect("http://c.example\nhttp://d.example"),
        redirect(&format!("http://{}.example", "x".repeat(400))),
        HarvestEvent::SiteBackedOff { site: other, until_ms: 0, consecutive_errors: 1 },
        HarvestEvent::SiteBackedOff { site: SITE, until_ms: u64::MAX, consecutive_errors: 1 },
        contacted("http://other.example"),
        HarvestEvent::HostContacted {
            name: "http://a.example".to_owned(),
            address: Some([127, 0, 0, 1].into()),
            ended_ms: NOW_MS,
            until_ms: 0,
        },
        HarvestEvent::HostContacted {
            name: "http://a.example".to_owned(),
            address: None,
            ended_ms: u64::MAX,
            until_ms: 0,
        },
        HarvestEvent::HostContacted {
            name: "http://a.example".to_owned(),
            address: None,
            ended_ms: NOW_MS,
            until_ms: u64::MAX,
        },
        of_sitemap(|list| list.site = other),
        of_sitemap(|list| list.file = "http://b.example/sitemap.xml".to_owned()),
        url_list(UrlListKind::Feed, vec![SitemapUrl { url: "http://b.example/".to_owned(), modified_s: 0 }]),
        sitemap("http://a.example/a\nb", 0),
        sitemap("http://a.example/", u32::MAX),
        done(|result| result.site = SiteId(4)),
        done(|result| result.address = Some([192, 168, 0, 1].into())),
        done(|result| result.address = Some("::1".parse().unwrap())),
        done(|result| result.next_request_ms = u64::MAX),
        done(|result| result.back_off_until_ms = u64::MAX),
        done(|result| result.throttle_delay_ms = u64::MAX),
        done(|result| result.resolved_s = u32::MAX),
        done(|result| result.address_expires_s = u32::MAX),
        done(|result| result.sitemaps_read_s = u32::MAX),
    ];
    for lie in lies {
        assert_eq!(accept(lie.clone()), (0, 1), "{lie:?}");
    }
}

#[test]
fn only_a_successful_robots_txt_has_rules() {
    let response = RobotsResponse { status: 404, ..robots() };
    let event = HarvestEvent::RobotsFetched { site: SITE, response };
    let VerifiedItems { items, .. } = read(&segment(&[], &[event]), &mut leased()).unwrap();
    let [HarvestItem::Event(HarvestEvent::RobotsFetched { response, .. })] = &items[..] else { panic!() };
    assert_eq!((response.status, response.text.len()), (404, 0));
}

#[test]
fn a_site_is_finished_once_and_the_sitemap_within_its_limit() {
    let done = HarvestEvent::SiteDone(site_result());
    let returned = HarvestEvent::PageReturned { page: PageId(10), reason: None };
    // A worker that is stopped returns pages after their site: they were returned on its behalf.
    let twice = read(&segment(&[], &[done.clone(), returned, done]), &mut leased()).unwrap();
    assert_eq!((twice.items.len(), twice.rejections.count), (6, 1), "{:?}", twice.rejections);
    let max_urls = settings().sitemaps.max_urls as usize;
    let urls = (0..max_urls + 3)
        .map(|number| SitemapUrl { url: format!("http://a.example/{number}"), modified_s: 0 });
    let event = url_list(UrlListKind::Sitemap, urls.collect());
    let VerifiedItems { items, rejections } = read(&segment(&[], &[event]), &mut leased()).unwrap();
    let [HarvestItem::Event(HarvestEvent::UrlsListed(list))] = &items[..] else { panic!() };
    assert_eq!((list.urls.len(), rejections.count), (max_urls, 1));
}
