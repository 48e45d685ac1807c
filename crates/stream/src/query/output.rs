//! Output formats and columns of a stream.

use std::str::FromStr;

/// Output options of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputOptions {
    /// Output format.
    pub format: OutputFormat,
    /// Columns, in formats with rows.
    pub columns: Vec<OutputColumn>,
    /// Whether WARC records are verified before they are forwarded, so that corrupt ones are skipped.
    pub verify: bool,
}

impl Default for OutputOptions {
    fn default() -> OutputOptions {
        OutputOptions { format: OutputFormat::Warc, columns: OutputColumn::DEFAULT.to_vec(), verify: false }
    }
}

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// WARC records as they are stored, one gzip member each.
    Warc,
    /// One JSON object per line.
    Jsonl,
    /// The URL, an empty line, the text, and a line with a form feed.
    Text,
    /// One URL per line.
    Urls,
    /// Like text, with the simplified HTML of the page.
    Simplified,
    /// WARC conversion records with the text, as in the WET files of Common Crawl, one gzip member each.
    Wet,
    /// WARC metadata records with title, links and headers as JSON, as in the WAT files of Common Crawl, one gzip member each.
    Wat,
}

impl OutputFormat {
    const ALL: [OutputFormat; 7] = [
        OutputFormat::Warc,
        OutputFormat::Jsonl,
        OutputFormat::Text,
        OutputFormat::Urls,
        OutputFormat::Simplified,
        OutputFormat::Wet,
        OutputFormat::Wat,
    ];

    /// Whether the output is gzip data rather than text.
    pub fn is_compressed(self) -> bool {
        matches!(self, OutputFormat::Warc | OutputFormat::Wet | OutputFormat::Wat)
    }

    /// Name of the format.
    pub fn name(self) -> &'static str {
        match self {
            OutputFormat::Warc => "warc",
            OutputFormat::Jsonl => "jsonl",
            OutputFormat::Text => "text",
            OutputFormat::Urls => "urls",
            OutputFormat::Simplified => "simplified-html",
            OutputFormat::Wet => "wet",
            OutputFormat::Wat => "wat",
        }
    }

    /// Value of the Content-Type header.
    pub fn content_type(self) -> &'static str {
        match self {
            OutputFormat::Warc | OutputFormat::Wet | OutputFormat::Wat => "application/warc",
            OutputFormat::Jsonl => "application/x-ndjson",
            OutputFormat::Text | OutputFormat::Urls | OutputFormat::Simplified => "text/plain; charset=utf-8",
        }
    }
}

impl FromStr for OutputFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<OutputFormat, String> {
        let known = OutputFormat::ALL.map(OutputFormat::name).join(", ");
        OutputFormat::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or(format!("expected one of: {known}"))
    }
}

/// Column of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputColumn {
    /// The URL.
    Url,
    /// Id of the page in the collection.
    PageId,
    /// Time of the fetch.
    FetchTime,
    /// HTTP status.
    Status,
    /// MIME type declared by the server.
    MimeType,
    /// Detected language.
    Language,
    /// Title.
    Title,
    /// Full text.
    Text,
    /// Main text, without boilerplate.
    MainText,
    /// Simplified HTML.
    Simplified,
    /// Links with their anchor texts.
    Links,
    /// Body without content encoding, in Base64 in text formats.
    Body,
    /// Cursor after the page, for the parameter `after`.
    Cursor,
}

impl OutputColumn {
    /// All columns.
    pub const ALL: [OutputColumn; 13] = [
        OutputColumn::Url,
        OutputColumn::PageId,
        OutputColumn::FetchTime,
        OutputColumn::Status,
        OutputColumn::MimeType,
        OutputColumn::Language,
        OutputColumn::Title,
        OutputColumn::Text,
        OutputColumn::MainText,
        OutputColumn::Simplified,
        OutputColumn::Links,
        OutputColumn::Body,
        OutputColumn::Cursor,
    ];

    /// Columns of a query that names none.
    pub const DEFAULT: [OutputColumn; 9] = [
        OutputColumn::Url,
        OutputColumn::PageId,
        OutputColumn::FetchTime,
        OutputColumn::Status,
        OutputColumn::MimeType,
        OutputColumn::Language,
        OutputColumn::Title,
        OutputColumn::Text,
        OutputColumn::Cursor,
    ];

    /// Name of the column.
    pub fn name(self) -> &'static str {
        match self {
            OutputColumn::Url => "url",
            OutputColumn::PageId => "page_id",
            OutputColumn::FetchTime => "fetch_time",
            OutputColumn::Status => "status",
            OutputColumn::MimeType => "mime_type",
            OutputColumn::Language => "language",
            OutputColumn::Title => "title",
            OutputColumn::Text => "text",
            OutputColumn::MainText => "main_text",
            OutputColumn::Simplified => "simplified_html",
            OutputColumn::Links => "links",
            OutputColumn::Body => "body",
            OutputColumn::Cursor => "cursor",
        }
    }

    /// Whether the page must be parsed for this column.
    pub(crate) fn needs_parsing(self) -> bool {
        use OutputColumn::{Language, Links, MainText, Simplified, Text, Title};
        matches!(self, Language | Title | Text | MainText | Simplified | Links)
    }

    pub(crate) fn parse_list(names: &str) -> Result<Vec<OutputColumn>, String> {
        let find = |name: &str| {
            let known = || OutputColumn::ALL.map(OutputColumn::name).join(", ");
            let column = OutputColumn::ALL.into_iter().find(|column| column.name() == name.trim());
            column.ok_or_else(|| format!("unknown column `{}`; expected: {}", name.trim(), known()))
        };
        let columns: Vec<OutputColumn> = names.split(',').map(find).collect::<Result<_, _>>()?;
        let duplicate = columns.iter().enumerate().find(|(index, column)| columns[..*index].contains(column));
        match duplicate {
            Some((_, column)) => Err(format!("column {} is listed twice", column.name())),
            None => Ok(columns),
        }
    }

    pub(crate) fn join_names(columns: &[OutputColumn]) -> String {
        columns.iter().map(|column| column.name()).collect::<Vec<_>>().join(",")
    }
}
