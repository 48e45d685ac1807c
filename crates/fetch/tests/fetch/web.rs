//! Front pages of a synthetic Web with faults, from DNS lookup to body.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::support::{fetcher, request_for, settings, url};
use fetch::{DnsSettings, Failure, FetchRequest, FetchSettings, Fetcher, Resolver, Response};
use model::Reason;
use simweb::{Certificate, Endpoints, Health, PageRef, Settings, SimWeb, Site};

async fn front_page(
    web: &SimWeb,
    site: &Site,
    resolver: &Resolver,
    fetcher: &Fetcher,
) -> Result<Response, Reason> {
    let page = url(&web.world.url(PageRef { site: site.index, page: 0 }));
    let resolved = resolver.resolve(page.host(), 0).await.map_err(|failure| match failure {
        Failure::Site(reason) => reason,
        Failure::Local(fault) => panic!("{fault}"),
    })?;
    let address = resolved.addresses[0];
    let request =
        FetchRequest { address, max_body_bytes: 2_000_000, any_mime_type: true, ..request_for(&page) };
    let (response, _) = fetcher.fetch(&request, None).await;
    response.failure.map_or(Ok(response), Err)
}

#[tokio::test]
async fn every_front_page_is_fetched_or_fails_with_the_right_reason() {
    let rough = Settings {
        sites: 300,
        slow_body: 0.1,
        unresponsive: 0.03,
        down: 0.03,
        nxdomain: 0.03,
        servfail: 0.03,
        bad_certificates: 0.3,
        ..Settings::default()
    };
    let web = SimWeb::start(rough, &Endpoints::default()).unwrap();
    let dns = DnsSettings { name_servers: web.dns.into_iter().collect(), ..DnsSettings::default() };
    let resolver = Resolver::new(&dns).unwrap();
    let fetcher = fetcher(FetchSettings {
        extra_ca_pem: web.authority_pem.clone().into_bytes(),
        first_byte_timeout: Duration::from_secs(3),
        ..settings()
    });
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let sites: Vec<Site> = web.world.site_indexes().map(|index| web.world.site(index)).collect();
    let visits = sites.iter().map(|site| front_page(&web, site, &resolver, &fetcher));
    for (site, outcome) in sites.iter().zip(all(visits).await) {
        let expected = match site.health {
            Health::NxDomain => Err(Reason::DnsNotFound),
            Health::ServFail => Err(Reason::DnsFailed),
            _ if site.https && site.certificate != Certificate::Good => Err(Reason::InvalidCertificate),
            Health::Unresponsive => Err(Reason::FirstByteTimeout),
            Health::Down => Ok(503),
            // The front page of a flaky site may fail or not.
            Health::Flaky => continue,
            Health::Good | Health::Slow | Health::SlowBody => Ok(200),
        };
        assert_eq!(
            outcome.as_ref().map(|response| response.status).map_err(|reason| *reason),
            expected,
            "{site:?}"
        );
        *seen.entry(format!("{expected:?}")).or_default() += 1;
        if let (Ok(response), Ok(200)) = (outcome, expected) {
            assert!(response.truncation.is_none() && !response.body.is_empty());
        }
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
}

/// Runs all futures concurrently.
async fn all<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut waiting: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        let mut is_done = true;
        for (future, outcome) in &mut waiting {
            if outcome.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *outcome = Some(value),
                    std::task::Poll::Pending => is_done = false,
                }
            }
        }
        if is_done { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    waiting.into_iter().map(|(_, outcome)| outcome.unwrap()).collect()
}
