//! In which form do pages leave? One of a few formats; of those with columns, which ones.

use std::str::FromStr;

/// How pages are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// The format.
    pub format: Format,
    /// What a row has, in formats that have rows.
    pub columns: Vec<Column>,
    /// Whether records that are forwarded as they are stored are read before, so that damaged ones are left out.
    pub verify: bool,
}

impl Default for Form {
    fn default() -> Form {
        Form { format: Format::Warc, columns: Column::DEFAULT.to_vec(), verify: false }
    }
}

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The records of the web archive as they are stored, one gzip member each.
    Warc,
    /// One JSON object a line.
    Jsonl,
    /// The URL, an empty line, the text, and a line with a form feed.
    Text,
    /// One URL a line.
    Urls,
    /// The same as text, with the page's markup reduced to what means something.
    Kept,
    /// WARC records of the text, as Common Crawl's WET files have them, one gzip member each.
    Wet,
    /// WARC records with title, links and headers as JSON, like those of Common Crawl's WAT files, one gzip member each.
    Wat,
}

impl Format {
    const ALL: [Format; 7] =
        [Format::Warc, Format::Jsonl, Format::Text, Format::Urls, Format::Kept, Format::Wet, Format::Wat];

    /// Whether it is nothing for people to read.
    pub fn is_compressed(self) -> bool {
        matches!(self, Format::Warc | Format::Wet | Format::Wat)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Warc => "warc",
            Format::Jsonl => "jsonl",
            Format::Text => "text",
            Format::Urls => "urls",
            Format::Kept => "kept",
            Format::Wet => "wet",
            Format::Wat => "wat",
        }
    }

    /// As HTTP calls it.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Warc | Format::Wet | Format::Wat => "application/warc",
            Format::Jsonl => "application/x-ndjson",
            Format::Text | Format::Urls | Format::Kept => "text/plain; charset=utf-8",
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Format, String> {
        let known = Format::ALL.map(Format::name).join(", ");
        Format::ALL.into_iter().find(|format| format.name() == name).ok_or(format!("there are {known}"))
    }
}

/// What can be told of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The URL.
    Url,
    /// The number of the page in the collection.
    PageId,
    /// When it was fetched.
    Time,
    /// The status of HTTP.
    Status,
    /// The type that the server declared.
    Mime,
    /// The language detected.
    Language,
    /// The title.
    Title,
    /// All of its text.
    Text,
    /// The main part of its text.
    MainText,
    /// Its kept form.
    Kept,
    /// Its links: where to, and what they say.
    Links,
    /// Its body without content encoding, in base 64 where the format is text.
    Body,
    /// Where a stream goes on behind it.
    Position,
}

impl Column {
    /// All of them.
    pub const ALL: [Column; 13] = [
        Column::Url,
        Column::PageId,
        Column::Time,
        Column::Status,
        Column::Mime,
        Column::Language,
        Column::Title,
        Column::Text,
        Column::MainText,
        Column::Kept,
        Column::Links,
        Column::Body,
        Column::Position,
    ];

    /// Those that come without a wish.
    pub const DEFAULT: [Column; 9] = [
        Column::Url,
        Column::PageId,
        Column::Time,
        Column::Status,
        Column::Mime,
        Column::Language,
        Column::Title,
        Column::Text,
        Column::Position,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Column::Url => "url",
            Column::PageId => "page_id",
            Column::Time => "time",
            Column::Status => "status",
            Column::Mime => "mime",
            Column::Language => "language",
            Column::Title => "title",
            Column::Text => "text",
            Column::MainText => "main_text",
            Column::Kept => "kept",
            Column::Links => "links",
            Column::Body => "body",
            Column::Position => "position",
        }
    }

    /// Whether the page has to be parsed for it.
    pub(crate) fn is_of_document(self) -> bool {
        use Column::{Kept, Language, Links, MainText, Text, Title};
        matches!(self, Language | Title | Text | MainText | Kept | Links)
    }

    pub(crate) fn list(names: &str) -> Result<Vec<Column>, String> {
        let find = |name: &str| {
            let known = || Column::ALL.map(Column::name).join(", ");
            let found = Column::ALL.into_iter().find(|column| column.name() == name.trim());
            found.ok_or_else(|| format!("there is no column `{}`; there are {}", name.trim(), known()))
        };
        let columns: Vec<Column> = names.split(',').map(find).collect::<Result<_, _>>()?;
        let twice = columns.iter().enumerate().find(|(place, column)| columns[..*place].contains(column));
        match twice {
            Some((_, column)) => Err(format!("{} is named twice", column.name())),
            None => Ok(columns),
        }
    }

    pub(crate) fn names(columns: &[Column]) -> String {
        columns.iter().map(|column| column.name()).collect::<Vec<_>>().join(",")
    }
}
