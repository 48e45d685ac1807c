//! Lookup of sites, pages, names and URLs of a [`World`].

use std::net::Ipv4Addr;

use crate::world::date::{EPOCH, Moment};
use crate::world::kinds::PageRef;
use crate::world::page::Page;
use crate::world::path;
use crate::world::path::Resource;
use crate::world::site;
use crate::world::site::Site;
use crate::world::synthetic_web::{LOCALHOST, Naming, World};
use crate::world::text_buffer::push_number;

impl World {
    /// Returns a site; `index` may exceed the number of sites.
    pub fn site(&self, index: u32) -> Site {
        Site::derive(self, index)
    }

    /// Returns a page of a site.
    pub fn page(&self, site: &Site, index: u32) -> Page {
        Page::derive(self, site, index)
    }

    /// Returns the host name of a site.
    pub fn name(&self, index: u32) -> String {
        let mut name = String::with_capacity(40);
        site::write_name(self, index, &mut name);
        name
    }

    /// Finds a site by its host name, in lower case.
    pub fn site_by_name(&self, host: &str) -> Option<u32> {
        site::by_name(self, host)
    }

    /// Returns the IP address of a site.
    pub fn ip_address(&self, index: u32) -> Ipv4Addr {
        self.single_ip.unwrap_or_else(|| site::ip_address(self, index))
    }

    /// Finds the first site on an IP address.
    pub fn site_by_ip(&self, address: Ipv4Addr) -> Option<u32> {
        site::by_ip(self, address)
    }

    /// Returns the canonical URL of a page.
    pub fn url(&self, page: PageRef) -> String {
        let site = self.site(page.site);
        let mut url = String::with_capacity(96);
        self.write_origin(&site, Naming::Names, &mut url);
        path::write_path(self, &site, &self.page(&site, page.page), &mut url);
        url
    }

    /// Finds the page of a URL. Session ids and tracking parameters are ignored; a hop of a redirect belongs to its
    /// page.
    pub fn page_by_url(&self, url: &str) -> Option<PageRef> {
        let (scheme, rest) = url.split_once("://")?;
        let slash = rest.find('/').unwrap_or(rest.len());
        let host = rest[..slash].split(':').next()?;
        let site = self.site(self.site_by_name(host)?);
        let mut origin = String::new();
        self.write_origin(&site, Naming::Names, &mut origin);
        if origin.as_str() != &url[..scheme.len() + 3 + slash] {
            return None;
        }
        let path = if slash == rest.len() { "/" } else { &rest[slash..] };
        match path::resolve(self, &site, path.split('#').next()?) {
            Resource::Page { page, .. } => Some(PageRef { site: site.index, page }),
            _ => None,
        }
    }

    /// Appends the origin of a site: scheme, host and port.
    pub(crate) fn write_origin(&self, site: &Site, naming: Naming, out: &mut String) {
        let https = site.https && naming == Naming::Names;
        out.push_str(if https { "https://" } else { "http://" });
        self.write_authority(site, naming, out);
    }

    pub(crate) fn write_authority(&self, site: &Site, naming: Naming, out: &mut String) {
        site::write_name(self, site.index, out);
        if naming == Naming::Localhost {
            out.push_str(LOCALHOST);
        }
        let https = site.https && naming == Naming::Names;
        let (port, usual) = if https { (self.ports.https, 443) } else { (self.ports.http, 80) };
        if port != usual {
            out.push(':');
            push_number(out, u32::from(port));
        }
    }

    /// Returns the number of changes of a page and the time of the last one.
    pub(crate) fn version(&self, site: &Site, page: &Page, seconds: u64) -> (u64, Moment) {
        let content = if page.content() == page.index { *page } else { self.page(site, page.content()) };
        let changes = content.change_process(self);
        let version = changes.count_until(seconds);
        (version, EPOCH + changes.time_of(version))
    }
}
