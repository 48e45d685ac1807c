//! What kind of document does a URL promise, before anybody fetched it?

use std::fmt;

use crate::CanonicalUrl;

/// What the crawler does with a link, by its URL alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UrlClass {
    /// A page that lies ready on the server.
    Static,
    /// A page that a program makes when asked; there may be endlessly many of them.
    Dynamic,
    /// Not a page: its link is noted, the document is not fetched.
    Logged(Group),
}

/// The kinds of documents that are noted and not fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    /// Pictures.
    Image,
    /// Sound.
    Audio,
    /// Moving pictures, and the playlists of streams.
    Video,
    /// Documents made for paper or an office program.
    Document,
    /// Packed files.
    Archive,
    /// Programs and packages to install.
    Software,
    /// Typefaces.
    Font,
    /// Tables, databases, maps and other food for programs.
    Data,
    /// Style sheets and scripts: parts of pages.
    Style,
}

impl UrlClass {
    /// `static`, `dynamic`, or `logged:` and the group.
    pub fn as_str(self) -> &'static str {
        match self {
            UrlClass::Static => "static",
            UrlClass::Dynamic => "dynamic",
            UrlClass::Logged(Group::Image) => "logged:image",
            UrlClass::Logged(Group::Audio) => "logged:audio",
            UrlClass::Logged(Group::Video) => "logged:video",
            UrlClass::Logged(Group::Document) => "logged:document",
            UrlClass::Logged(Group::Archive) => "logged:archive",
            UrlClass::Logged(Group::Software) => "logged:software",
            UrlClass::Logged(Group::Font) => "logged:font",
            UrlClass::Logged(Group::Data) => "logged:data",
            UrlClass::Logged(Group::Style) => "logged:style",
        }
    }
}

impl fmt::Display for UrlClass {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl CanonicalUrl {
    /// The class of this URL.
    ///
    /// A file of a logged group stays one with a query behind it (`style.css?v=3`). Apart from that a query makes
    /// a page dynamic, and so does a program anywhere in the path (`/index.php/news`, `/cgi-bin/news`). All else
    /// is static: a path without an extension, or with one that nobody lists (`/v1.2`), is most often a page, and
    /// a page missed is worse than a file fetched in vain, which its content type gives away at once.
    pub fn class(&self, lists: &ExtensionLists) -> UrlClass {
        // Segments are short: plain loops over their bytes beat searches that have to be set up.
        let path = self.path().as_bytes();
        let slash = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let (directories, name) = (&path[..slash], path.get(slash + 1..).unwrap_or_default());
        let is_program =
            |segment: &[u8]| segment == b"cgi-bin" || lists.class_of(segment) == Some(UrlClass::Dynamic);
        match lists.class_of(name) {
            Some(logged @ UrlClass::Logged(_)) => logged,
            Some(UrlClass::Dynamic) => UrlClass::Dynamic,
            _ if self.query().is_some() || directories.split(|byte| *byte == b'/').any(is_program) => {
                UrlClass::Dynamic
            }
            _ => UrlClass::Static,
        }
    }
}

impl CanonicalUrl {
    /// The extension of the last part of the path, as written: `JPG` of `/a/b.JPG?v=3`.
    pub fn extension(&self) -> Option<&str> {
        let name = self.path().rsplit('/').next().unwrap_or_default();
        extension(name.as_bytes()).and_then(|extension| std::str::from_utf8(extension).ok())
    }
}

/// Which extension belongs to which class.
#[derive(Debug, Clone)]
pub struct ExtensionLists {
    /// Sorted by the packed extension.
    classes: Vec<(PackedExtension, UrlClass)>,
}

/// An extension in lower case, its bytes in the number's; longer ones do not exist.
type PackedExtension = u128;

impl ExtensionLists {
    /// Lists of extensions, separated by white space, each with the class they mean. An extension named twice
    /// belongs where it was named last, so that own lists can be chained behind
    /// [`DEFAULT`](ExtensionLists::DEFAULT).
    pub fn new<'a>(lists: impl IntoIterator<Item = (UrlClass, &'a str)>) -> ExtensionLists {
        let mut classes = Vec::new();
        for (class, extensions) in lists {
            classes
                .extend(extensions.split_whitespace().filter_map(|ext| Some((pack(ext.as_bytes())?, class))));
        }
        classes.reverse();
        classes.sort_by_key(|&(extension, _)| extension);
        classes.dedup_by_key(|&mut (extension, _)| extension);
        ExtensionLists { classes }
    }

    fn class_of(&self, segment: &[u8]) -> Option<UrlClass> {
        let extension = pack(extension(segment)?)?;
        let found = self.classes.binary_search_by_key(&extension, |&(extension, _)| extension).ok()?;
        Some(self.classes[found].1)
    }

    /// The extensions of today's Web. Left out: what is as often the end of a name as an extension (`.com`, `.ai`,
    /// `.io`), and feeds and site maps (`.xml`, `.rss`), which are fetched and parsed.
    pub const DEFAULT: &[(UrlClass, &str)] = &[
        (
            UrlClass::Static,
            "html htm xhtml xht shtml shtm stm dhtml mht mhtml txt text md markdown rst xml rss atom rdf",
        ),
        (
            UrlClass::Dynamic,
            "php php3 php4 php5 php7 php8 phtml asp aspx ashx asmx axd cshtml jsp jspx jspa jsf jhtml faces do action \
             seam cgi fcgi pl cfm cfml cfc dll nsf mvc woa wa lasso xsp psp hcsp page svc",
        ),
        (
            UrlClass::Logged(Group::Image),
            "jpg jpeg jpe jfif png apng gif webp avif jxl svg svgz bmp ico cur tif tiff heic heif jp2 psd eps raw \
             cr2 nef dng djv djvu xcf tga pcx",
        ),
        (
            UrlClass::Logged(Group::Audio),
            "mp3 m4a m4b aac ogg oga opus flac wav wma aif aiff mid midi weba amr ape ra ram m3u pls",
        ),
        (
            UrlClass::Logged(Group::Video),
            "mp4 m4v webm mkv avi mov qt wmv asf flv f4v swf mpg mpeg mpe m2ts ogv ogm 3gp 3g2 vob rm rmvb m3u8 \
             mpd vtt srt",
        ),
        (
            UrlClass::Logged(Group::Document),
            "pdf ps doc docx docm dot dotx rtf odt ott fodt wpd pages ppt pptx pptm pps ppsx odp key xls xlsx xlsm \
             xlsb ods numbers epub mobi azw azw3 fb2 chm tex dvi vsd vsdx odg pub mpp one xps",
        ),
        (
            UrlClass::Logged(Group::Archive),
            "zip gz tgz bz2 tbz tbz2 xz txz zst lz lz4 lzma z 7z rar tar cpio arj lzh cab ace warc wacz arc",
        ),
        (
            UrlClass::Logged(Group::Software),
            "exe msi msix appx appinstaller apk aab ipa dmg pkg deb rpm snap flatpak appimage jar war ear xpi crx whl \
             egg gem nupkg iso img vmdk vdi qcow2 ova ovf bin so dylib wasm torrent",
        ),
        (UrlClass::Logged(Group::Font), "woff woff2 ttf ttc otf eot pfb pfm"),
        (
            UrlClass::Logged(Group::Data),
            "json jsonl ndjson geojson jsonld topojson csv tsv parquet arrow feather avro orc sqlite sqlite3 db mdb \
             accdb sql dbf shp shx kml kmz gpx gml las laz nc hdf hdf5 h5 mat rdata rds sav dta npy npz pkl proto \
             yaml yml toml ics ical vcf vcard nt ttl owl n3 nq bib ris xsd xsl xslt dtd wsdl log bak asc sig \
             md5 sha1 sha256 sha512 pem crt cer map webmanifest stl obj gltf glb dwg dxf step pgn pdb fasta",
        ),
        (UrlClass::Logged(Group::Style), "css scss sass less js mjs cjs jsx ts tsx vbs"),
    ];
}

impl Default for ExtensionLists {
    fn default() -> ExtensionLists {
        ExtensionLists::new(ExtensionLists::DEFAULT.iter().copied())
    }
}

/// What stands behind the last dot of a file name, dots at its end aside.
///
/// None for hidden files (`.profile`), and for names with a colon: in wikis `File:Map.png` is the page about a
/// picture and not the picture.
fn extension(segment: &[u8]) -> Option<&[u8]> {
    let end = segment.iter().rposition(|byte| *byte != b'.')?;
    let dot = segment[..end].iter().rposition(|byte| *byte == b'.')?;
    (dot > 0 && !segment.contains(&b':')).then_some(&segment[dot + 1..=end])
}

fn pack(extension: &[u8]) -> Option<PackedExtension> {
    let fits = (1..=16).contains(&extension.len()) && extension.iter().all(u8::is_ascii_alphanumeric);
    let append = |packed, byte: &u8| packed << 8 | PackedExtension::from(byte.to_ascii_lowercase());
    fits.then(|| extension.iter().fold(0, append))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UrlRules;

    fn class(path: &str) -> &'static str {
        let url = UrlRules::default().canonical(&format!("http://example.com{path}")).unwrap();
        url.class(&ExtensionLists::default()).as_str()
    }

    #[test]
    fn pages_that_lie_ready_are_static() {
        for path in ["/", "/a.html", "/A.HTM", "/readme.txt", "/sitemap.xml", "/notes.md", "/about", "/dir/"]
        {
            assert_eq!(class(path), "static", "{path}");
        }
    }

    #[test]
    fn unknown_extensions_and_none_are_static() {
        for path in
            ["/v1.2", "/a.b/c", "/release-1.10.3", "/.profile", "/a.", "/...", "/a.qqq", "/www.example.com"]
        {
            assert_eq!(class(path), "static", "{path}");
        }
    }

    #[test]
    fn programs_and_queries_are_dynamic() {
        for path in ["/a.php", "/A.ASPX", "/a.cgi", "/a?b=1", "/a.html?b=1", "/show.do", "/?p=1"] {
            assert_eq!(class(path), "dynamic", "{path}");
        }
        for path in ["/index.php/news", "/cgi-bin/news", "/cgi-bin/"] {
            assert_eq!(class(path), "dynamic", "{path}");
        }
    }

    #[test]
    fn files_are_logged_by_group_even_with_a_query() {
        assert_eq!(class("/a.jpg"), "logged:image");
        assert_eq!(class("/a.JPG"), "logged:image");
        assert_eq!(class("/a.pdf."), "logged:document");
        assert_eq!(class("/style.css?v=3"), "logged:style");
        assert_eq!(class("/linux-6.1.tar.xz"), "logged:archive");
        assert_eq!(class("/manifest.webmanifest"), "logged:data");
        assert_eq!(class("/index.php/file.zip"), "logged:archive");
    }

    #[test]
    fn an_extension_is_that_of_the_last_part() {
        let url = |path: &str| UrlRules::default().canonical(&format!("http://a.org{path}")).unwrap();
        for (path, wanted) in
            [("/a.b/c.JPG?d.e", Some("JPG")), ("/a.b/c", None), ("/", None), ("/a.tar.gz", Some("gz"))]
        {
            assert_eq!(url(path).extension(), wanted, "{path}");
        }
    }

    #[test]
    fn a_wiki_page_about_a_picture_is_a_page() {
        assert_eq!(class("/wiki/File:Map.png"), "static");
        assert_eq!(class("/a:b/map.png"), "logged:image");
    }

    #[test]
    fn later_lists_override_earlier_ones() {
        let own = [(UrlClass::Static, "pdf"), (UrlClass::Dynamic, "html")];
        let lists = ExtensionLists::new(ExtensionLists::DEFAULT.iter().copied().chain(own));
        let url = |path: &str| UrlRules::default().canonical(&format!("http://a.org/{path}")).unwrap();
        assert_eq!(url("a.pdf").class(&lists), UrlClass::Static);
        assert_eq!(url("a.html").class(&lists), UrlClass::Dynamic);
        assert_eq!(url("a.png").class(&lists), UrlClass::Logged(Group::Image));
    }

    #[test]
    fn no_extension_is_listed_twice() {
        let mut seen = std::collections::HashSet::new();
        for (class, extensions) in ExtensionLists::DEFAULT {
            for extension in extensions.split_whitespace() {
                assert!(seen.insert(extension), "{extension} is also in {class}");
                assert!(pack(extension.as_bytes()).is_some(), "{extension} does not fit");
            }
        }
    }
}
