//! Reads the kinds of sitemaps and feeds that are XML, event by event. Namespaces are not looked at: people get
//! their prefixes wrong, and the local names suffice.

use std::borrow::Cow;
use std::io::BufRead;

use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::item::{Field, Item, is_date};
use super::stream::Stream;
use super::{
    SITEMAP_LIMIT_DEPTH, SITEMAP_LIMIT_URL_BYTES, Sink, SitemapEntry, SitemapKind, SitemapLimit, Stop,
};

/// Reads a document from its first `<`.
pub(super) fn read<R, F>(stream: &mut Stream<R>, sink: &mut Sink<F>) -> (SitemapKind, Option<Stop>)
where
    R: BufRead,
    F: FnMut(SitemapEntry<'_>),
{
    let mut reader = Reader::from_reader(stream);
    reader.config_mut().expand_empty_elements = true;
    // Addresses with a bare ampersand are the commonest fault of sitemaps.
    reader.config_mut().allow_dangling_amp = true;
    let mut reading = Reading::new(sink);
    let mut buffer = Vec::new();
    let stop = loop {
        buffer.clear();
        reader.get_mut().start_node();
        let outcome = match reader.read_event_into(&mut buffer) {
            Ok(Event::Eof) if reading.depth == 0 => break None,
            Ok(Event::Eof) | Err(_) => break Some(Stop::Broken),
            Ok(event) => reading.take(&event),
        };
        if let Err(stop) = outcome {
            break Some(stop);
        }
    };
    (reading.kind, stop)
}

/// A document that is being read.
struct Reading<'a, F> {
    sink: &'a mut Sink<F>,
    kind: SitemapKind,
    depth: usize,
    item: Option<Item>,
    /// The field that is open, and its text so far.
    field: Option<Field>,
    text: String,
}

impl<'a, F: FnMut(SitemapEntry<'_>)> Reading<'a, F> {
    fn new(sink: &'a mut Sink<F>) -> Reading<'a, F> {
        Reading { sink, kind: SitemapKind::Unknown, depth: 0, item: None, field: None, text: String::new() }
    }

    fn take(&mut self, event: &Event<'_>) -> Result<(), Stop> {
        match event {
            Event::Start(element) => return self.open(element),
            Event::End(_) => return self.close(),
            Event::Text(text) if self.field.is_some() => self.append(text),
            Event::CData(text) if self.field.is_some() => self.append(text),
            Event::GeneralRef(reference) if self.field.is_some() => self.append_reference(reference),
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, element: &BytesStart<'_>) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth > SITEMAP_LIMIT_DEPTH {
            return Err(Stop::Limit(SitemapLimit::Depth));
        }
        let name = element.local_name();
        let name: &str = name.as_ref();
        if self.depth == 1 {
            self.kind = SitemapKind::of_root(name);
            return if self.kind == SitemapKind::Unknown { Err(Stop::Broken) } else { Ok(()) };
        }
        if self.kind.is_item(name) {
            self.item = Some(Item::new(self.depth));
        } else if self.kind == SitemapKind::Rdf {
            self.open_resource(element, name);
        }
        self.open_field(element, name);
        Ok(())
    }

    /// In RDF an item is what has an address as an attribute, or a child that tells one.
    fn open_resource(&mut self, element: &BytesStart<'_>, name: &str) {
        let may_open =
            |depth: usize| self.item.as_ref().is_none_or(|item| item.url.is_none() && item.depth < depth);
        if self.kind.field(name).is_some() {
            if may_open(self.depth - 1) {
                self.item = Some(Item::new(self.depth - 1));
            }
            return;
        }
        let address = attribute(element, |name| matches!(name, "about" | "resource"));
        if let Some(address) = address.filter(|_| may_open(self.depth)) {
            let mut item = Item::new(self.depth);
            item.set(Field::Url, &address);
            item.set(Field::Modified, &attribute(element, is_date).unwrap_or_default());
            item.about_feed = matches!(name, "channel" | "image" | "textinput");
            self.item = Some(item);
        }
    }

    /// Only the children of an item are its fields: deeper lie the addresses of images and the like.
    fn open_field(&mut self, element: &BytesStart<'_>, name: &str) {
        self.field = None;
        let Some(item) = self.item.as_mut().filter(|item| item.depth + 1 == self.depth) else { return };
        let Some(field) = self.kind.field(name) else { return };
        self.text.clear();
        self.field = Some(field);
        if field == Field::Url {
            let rel = attribute(element, |name| name == "rel");
            match attribute(element, |name| matches!(name, "href" | "resource")) {
                Some(address) if rel.is_none_or(|rel| rel == "alternate") => item.set(field, &address),
                Some(_) => self.field = None,
                None => {}
            }
        }
        if field == Field::Id
            && attribute(element, |name| name == "isPermaLink").is_some_and(|v| v == "false")
        {
            self.field = None;
        }
    }

    /// Adds to the text of the open field; one that grows too long is dropped.
    fn append(&mut self, text: &str) {
        if self.text.len() + text.len() > SITEMAP_LIMIT_URL_BYTES {
            self.field = None;
        } else {
            self.text.push_str(text);
        }
    }

    fn append_reference(&mut self, reference: &BytesRef<'_>) {
        match reference.resolve_char_ref() {
            Ok(Some(character)) => self.append(character.encode_utf8(&mut [0; 4])),
            _ => match quick_xml::escape::resolve_xml_entity(reference) {
                Some(text) => self.append(text),
                None => self.append(&format!("&{};", &**reference)),
            },
        }
    }

    fn close(&mut self) -> Result<(), Stop> {
        if let (Some(field), Some(item)) = (self.field.take(), &mut self.item) {
            item.set(field, &self.text);
        }
        if let Some(item) = self.item.take_if(|item| item.depth == self.depth)
            && let Some(entry) = item.entry(self.kind)
        {
            self.sink.give(entry)?;
        }
        self.depth = self.depth.saturating_sub(1);
        Ok(())
    }
}

/// The value of the first attribute whose local name is wanted; broken attributes are as good as none.
fn attribute(element: &BytesStart<'_>, wanted: impl Fn(&str) -> bool) -> Option<String> {
    let mut attributes = element.html_attributes();
    let attributes = attributes.with_checks(false).filter_map(Result::ok);
    let mut found = attributes.filter(|attribute| wanted(attribute.key.local_name().as_ref()));
    let value = found.next()?;
    let text = value.normalized_value(XmlVersion::Implicit1_0);
    Some(text.map_or_else(|_| value.value.to_string(), Cow::into_owned))
}
