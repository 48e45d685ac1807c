//! Event-based parser of XML sitemaps and feeds.
//!
//! Namespaces are ignored: prefixes are often wrong, and the local names are sufficient.

use std::borrow::Cow;
use std::io::BufRead;

use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::item::Field;
use super::item::Item;
use super::item::is_date;
use super::stream::Stream;
use super::{
    EntrySink, MAX_SITEMAP_DEPTH, MAX_SITEMAP_URL_BYTES, SitemapEntry, SitemapKind, SitemapLimit, StopReason,
};

/// Parses a document from its first `<`.
pub(super) fn read<R, F>(stream: &mut Stream<R>, sink: &mut EntrySink<F>) -> (SitemapKind, Option<StopReason>)
where
    R: BufRead,
    F: FnMut(SitemapEntry<'_>),
{
    let mut reader = Reader::from_reader(stream);
    reader.config_mut().expand_empty_elements = true;
    // URLs with an unescaped ampersand are the most frequent error in sitemaps.
    reader.config_mut().allow_dangling_amp = true;
    let mut document = XmlReader::new(sink);
    let mut buffer = Vec::new();
    let stop = loop {
        buffer.clear();
        reader.get_mut().start_node();
        let outcome = match reader.read_event_into(&mut buffer) {
            Ok(Event::Eof) if document.depth == 0 => break None,
            Ok(Event::Eof) | Err(_) => break Some(StopReason::Broken),
            Ok(event) => document.handle(&event),
        };
        if let Err(stop) = outcome {
            break Some(stop);
        }
        // What servers append to a file, such as a script or a comment, does not belong to the document.
        if document.is_complete() {
            break None;
        }
    };
    (document.kind, stop)
}

/// State while a document is parsed.
struct XmlReader<'a, F> {
    sink: &'a mut EntrySink<F>,
    kind: SitemapKind,
    depth: usize,
    item: Option<Item>,
    /// The open field; its text is in `text`.
    field: Option<Field>,
    text: String,
}

impl<'a, F: FnMut(SitemapEntry<'_>)> XmlReader<'a, F> {
    fn new(sink: &'a mut EntrySink<F>) -> XmlReader<'a, F> {
        XmlReader { sink, kind: SitemapKind::Unknown, depth: 0, item: None, field: None, text: String::new() }
    }

    /// Reports whether the root element is closed.
    fn is_complete(&self) -> bool {
        self.depth == 0 && self.kind != SitemapKind::Unknown
    }

    fn handle(&mut self, event: &Event<'_>) -> Result<(), StopReason> {
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

    fn open(&mut self, element: &BytesStart<'_>) -> Result<(), StopReason> {
        self.depth += 1;
        if self.depth > MAX_SITEMAP_DEPTH {
            return Err(StopReason::Limit(SitemapLimit::Depth));
        }
        let name = element.local_name();
        let name: &str = name.as_ref();
        if self.depth == 1 {
            self.kind = SitemapKind::from_root(name);
            return if self.kind == SitemapKind::Unknown { Err(StopReason::Broken) } else { Ok(()) };
        }
        if self.kind.is_item(name) {
            self.item = Some(Item::new(self.depth));
        } else if self.kind == SitemapKind::Rdf {
            self.open_resource(element, name);
        }
        self.open_field(element, name);
        Ok(())
    }

    /// Opens an RDF item: an element with a URL as an attribute, or with a child element that contains one.
    fn open_resource(&mut self, element: &BytesStart<'_>, name: &str) {
        let may_open =
            |depth: usize| self.item.as_ref().is_none_or(|item| !item.has_url() && item.depth < depth);
        if self.kind.field(name).is_some() {
            if may_open(self.depth - 1) {
                self.item = Some(Item::new(self.depth - 1));
            }
            return;
        }
        let url = attribute(element, |name| matches!(name, "about" | "resource"));
        if let Some(url) = url.filter(|_| may_open(self.depth)) {
            let mut item = Item::new(self.depth);
            item.about = Some(url).filter(|url| url.len() <= MAX_SITEMAP_URL_BYTES);
            item.set(Field::Modified, &attribute(element, is_date).unwrap_or_default());
            item.describes_feed = matches!(name, "channel" | "image" | "textinput");
            self.item = Some(item);
        }
    }

    /// Opens a field. Only direct children of an item are fields; deeper elements contain URLs of images.
    fn open_field(&mut self, element: &BytesStart<'_>, name: &str) {
        self.field = None;
        let Some(item) = self.item.as_mut().filter(|item| item.depth + 1 == self.depth) else { return };
        let Some(field) = self.kind.field(name) else { return };
        self.text.clear();
        self.field = Some(field);
        if field == Field::Url {
            let rel = attribute(element, |name| name == "rel");
            match attribute(element, |name| matches!(name, "href" | "resource")) {
                Some(url) if rel.is_none_or(|rel| rel == "alternate") => item.set(field, &url),
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

    /// Appends to the text of the open field; a field beyond the maximum length is dropped.
    fn append(&mut self, text: &str) {
        if self.text.len() + text.len() > MAX_SITEMAP_URL_BYTES {
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

    fn close(&mut self) -> Result<(), StopReason> {
        if let (Some(field), Some(item)) = (self.field.take(), &mut self.item) {
            item.set(field, &self.text);
        }
        if let Some(item) = self.item.take_if(|item| item.depth == self.depth)
            && let Some(entry) = item.entry(self.kind)
        {
            self.sink.emit(entry)?;
        }
        self.depth = self.depth.saturating_sub(1);
        Ok(())
    }
}

/// Returns the value of the first attribute whose local name matches; invalid attributes are ignored.
fn attribute(element: &BytesStart<'_>, matches: impl Fn(&str) -> bool) -> Option<String> {
    let mut attributes = element.html_attributes();
    let attributes = attributes.with_checks(false).filter_map(Result::ok);
    let mut found = attributes.filter(|attribute| matches(attribute.key.local_name().as_ref()));
    let value = found.next()?;
    let text = value.normalized_value(XmlVersion::Implicit1_0);
    Some(text.map_or_else(|_| value.value.to_string(), Cow::into_owned))
}
