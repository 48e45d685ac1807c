//! Marks of an element by its attributes: what they say about its content.
//!
//! Words of `class` and `id` are compared with a list of words that sites use for the parts of a page. Names are split at
//! hyphens, underscores and capital letters, so that `relatedPosts` and `related-posts` are equal.

use std::cmp::Reverse;
use std::sync::LazyLock;

use xxhash_rust::xxh3::xxh3_64;

use super::tag::Tag;
use crate::outline::Marks;

/// Marks of recent values of `class` and `id`, direct-mapped: pages use few values many times.
pub(super) struct MarksCache {
    slots: [(u64, Marks); CACHE_SLOTS],
}

const CACHE_SLOTS: usize = 128;

/// Maximum length of a value that is read, for values that are generated.
const MAX_VALUE_BYTES: usize = 256;

/// Maximum length of an id that is read; longer ones are made of a title.
const MAX_ID_BYTES: usize = 32;

impl Default for MarksCache {
    fn default() -> MarksCache {
        MarksCache { slots: [(0, Marks::NONE); CACHE_SLOTS] }
    }
}

impl MarksCache {
    /// Returns the marks of the attributes of a tag.
    pub(super) fn of_tag(&mut self, tag: &Tag<'_, '_>, uses_id: bool) -> Marks {
        let mut marks = Marks::NONE;
        for attribute in tag.attributes {
            let value = attribute.raw_value;
            // The length of the name excludes most attributes.
            let own = match attribute.raw_name.len() {
                2 if attribute.is("id") && uses_id && value.len() <= MAX_ID_BYTES => self.of_names(value),
                5 if attribute.is("class") => self.of_names(value),
                5 if attribute.is("style") => of_style(value),
                4 if attribute.is("role") => of_role(value),
                6 if attribute.is("hidden") && value != "until-found" => Marks::HIDDEN,
                8 if attribute.is("itemprop") => of_property(value),
                11 if attribute.is("aria-hidden") && value == "true" => Marks::HIDDEN,
                _ => Marks::NONE,
            };
            marks = marks.union(own);
        }
        marks
    }

    fn of_names(&mut self, value: &str) -> Marks {
        let value = &value.as_bytes()[..value.len().min(MAX_VALUE_BYTES)];
        let hash = xxh3_64(value);
        let slot = &mut self.slots[hash as usize % CACHE_SLOTS];
        if slot.0 != hash {
            *slot = (hash, read_names(value));
        }
        slot.1
    }
}

fn of_style(value: &str) -> Marks {
    let hidden = value.split(';').any(|rule| {
        rule.split_once(':').is_some_and(|(name, value)| {
            let is = |text: &str, expected: &str| text.trim().eq_ignore_ascii_case(expected);
            (is(name, "display") && is(value, "none")) || (is(name, "visibility") && is(value, "hidden"))
        })
    });
    if hidden { Marks::HIDDEN } else { Marks::NONE }
}

fn of_role(value: &str) -> Marks {
    let by_element = |marks: Marks| marks.union(Marks::BY_ELEMENT);
    match value.trim() {
        "navigation" | "menu" | "menubar" | "search" | "tablist" | "toolbar" => by_element(Marks::NAVIGATION),
        "banner" => by_element(Marks::HEADER),
        "contentinfo" => by_element(Marks::FOOTER),
        "complementary" => by_element(Marks::ASIDE),
        "dialog" | "alertdialog" | "alert" => Marks::NOTICE,
        "main" => by_element(Marks::MAIN),
        "article" => by_element(Marks::ARTICLE),
        _ => Marks::NONE,
    }
}

fn of_property(value: &str) -> Marks {
    match value.trim() {
        "articleBody" => Marks::BODY,
        "author" | "datePublished" | "dateModified" | "publisher" => Marks::METADATA,
        "comment" => Marks::COMMENTS,
        _ => Marks::NONE,
    }
}

/// Maximum length of a word; longer ones are generated.
const MAX_WORD_BYTES: usize = 24;

fn read_names(value: &[u8]) -> Marks {
    let mut marks = Marks::NONE;
    for name in value.split(|byte| byte.is_ascii_whitespace()) {
        let own = if name == b"hidden" { Marks::HIDDEN } else { read_name(name) };
        marks = marks.union(own);
    }
    marks
}

/// Reads one class or id.
fn read_name(name: &[u8]) -> Marks {
    let mut marks = Marks::NONE;
    let mut before_is_article = false;
    let mut first = true;
    let mut position = 0;
    while position < name.len() {
        let end = word_end(name, position);
        let length = end - position;
        if length > 0 && length <= MAX_WORD_BYTES {
            let mut buffer = [0; MAX_WORD_BYTES];
            buffer[..length].copy_from_slice(&name[position..end]);
            buffer[..length].make_ascii_lowercase();
            let word = &buffer[..length];
            // `has-sidebar` and `category-comments` describe something else than the content of the element.
            if first && is_in(STATE_WORDS, word) {
                return Marks::NONE;
            }
            marks = marks.union(of_word(word));
            if before_is_article && is_in(BODY_WORDS, word) {
                marks = marks.union(Marks::BODY);
            }
            before_is_article = is_in(ARTICLE_WORDS, word);
            first = false;
        }
        position = end.max(position + 1);
    }
    marks
}

/// Returns the end of the word at a position: the next separator, or the next capital letter after a small one.
fn word_end(name: &[u8], start: usize) -> usize {
    let mut end = start;
    while end < name.len() && name[end].is_ascii_alphanumeric() {
        if end > start && name[end].is_ascii_uppercase() && !name[end - 1].is_ascii_uppercase() {
            break;
        }
        end += 1;
    }
    end
}

fn is_in(words: &str, word: &[u8]) -> bool {
    words.split(' ').any(|known| known.as_bytes() == word)
}

fn of_word(word: &[u8]) -> Marks {
    let Some(letter) = word.first().filter(|byte| byte.is_ascii_lowercase()) else { return Marks::NONE };
    let entries = &WORDS.entries
        [WORDS.starts[usize::from(letter - b'a')]..WORDS.starts[usize::from(letter - b'a') + 1]];
    let found = entries
        .iter()
        .find(|entry| if entry.is_prefix { word.starts_with(entry.word) } else { word == entry.word });
    found.map_or(Marks::NONE, |entry| entry.marks)
}

/// An entry of the vocabulary.
struct Entry {
    word: &'static [u8],
    is_prefix: bool,
    marks: Marks,
}

/// The vocabulary in order of the first letter, longer words first.
struct WordTable {
    entries: Vec<Entry>,
    /// Index of the first entry of each letter, and the number of entries.
    starts: [usize; 27],
}

static WORDS: LazyLock<WordTable> = LazyLock::new(|| {
    let mut entries: Vec<Entry> = VOCABULARY
        .iter()
        .flat_map(|(marks, words)| words.split(' ').map(|word| (*marks, word)))
        .map(|(marks, word)| {
            let prefix = word.strip_suffix('*');
            Entry { word: prefix.unwrap_or(word).as_bytes(), is_prefix: prefix.is_some(), marks }
        })
        .collect();
    entries.sort_by_key(|entry| (entry.word[0], Reverse(entry.word.len())));
    let start = |letter: usize| entries.partition_point(|entry| usize::from(entry.word[0] - b'a') < letter);
    let starts = std::array::from_fn(start);
    WordTable { entries, starts }
});

/// First words of names that describe a state or a topic.
const STATE_WORDS: &str = "has is no not with without category tag js hide show format type status hover focus md lg sm xs xl w data";

/// Words of articles, and words of their text if they follow one of them.
const ARTICLE_WORDS: &str =
    "article articles post entry story news blog page text main body content artikel single item detail node";
const BODY_WORDS: &str = "body content contents text copy bodytext detail details container";

/// Words of sites for the parts of a page, in English and in the languages of the pages that they were collected from. A
/// trailing asterisk stands for any ending. If two entries match, the longer one decides.
const VOCABULARY: &[(Marks, &str)] = &[
    (
        Marks::COMMENTS,
        "comentarios comment* commentaire commentaires discussion disqus* kommentar* pingback* replies reply \
         respond reviews trackback*",
    ),
    (
        Marks::RELATED,
        "crosslinks latest morestories* mostpopular* mostread* outbrain* popular readmore recirc* recommend* \
         relacionadas relacionados related* similar* suggest* taboola* teaser* trending upnext yarpp",
    ),
    (
        Marks::SHARING,
        "addthis* addtoany* follow likes rating ratings share* sharedaddy* shariff* sharing* sociable* social* \
         vote votes",
    ),
    (
        Marks::NAVIGATION,
        "backlink breadcrumb* crumb crumbs dropdown* jumpto* menu* nav* next pager* paginat* pagination* prev \
         previous search searchbox searchform sitemap skip* tabs* toc toolbar* topbar",
    ),
    (Marks::FOOTER, "bottom colophon* copyright* disclaimer* foot footer* impressum* imprint* legal license"),
    (
        Marks::ASIDE,
        "aside infobox leftbar leftcol marginal marginalia rail rightbar rightcol sidebar* sidenav widget*",
    ),
    (
        Marks::NOTICE,
        "abo ad ads adv advert* affiliate* alert anzeige* banner* callout* consent* cookie* cta* dialog donat* \
         gdpr* lightbox login* modal* newsletter* noprint* notice overlay* paywall* poll popup* promo* registr* \
         shop signup* sponsor* subscri* survey tooltip warning werbung*",
    ),
    (
        Marks::METADATA,
        "about author authorbox* authorinfo* authors autor bio byline* categories category credit credits date \
         dateline* keywords kicker meta metadata postinfo* postmeta* profile pubdate* published source tag taglist \
         tags time timestamp* topics vcard",
    ),
    (Marks::HEADER, "header masthead* sitehead"),
    (Marks::HIDDEN, "invisible noscript screenreader sr visuallyhidden"),
    (Marks::CAPTION, "caption*"),
    (
        Marks::BODY,
        "articlebody* articlecontent* articletext* bodytext* entrycontent* fulltext maintext* newstext* postbody* \
         postcontent* prose richtext storybody* storycontent*",
    ),
    (Marks::ARTICLE, "article* artikel entry hentry post story"),
    (Marks::MAIN, "contenido content hauptinhalt inhalt main mainbody maincontent* primary"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn names(value: &str) -> Marks {
        MarksCache::default().of_names(value)
    }

    #[test]
    fn names_are_split_at_separators_and_capital_letters() {
        for value in ["related-posts", "relatedPosts", "wp_related_posts", "RELATED", "box related"] {
            assert_eq!(names(value), Marks::RELATED, "{value}");
        }
        assert_eq!(names("commentary-box").without(Marks::COMMENTS), Marks::NONE);
        assert_eq!(names("correlated unrelated sharp"), Marks::NONE);
    }

    #[test]
    fn the_body_of_an_article_has_two_words() {
        for value in ["article-body", "entry-content", "postContent", "story_text", "articlebody"] {
            assert!(names(value).intersects(Marks::BODY), "{value}");
        }
        assert!(!names("content").intersects(Marks::BODY));
    }

    #[test]
    fn names_of_states_and_topics_mean_nothing() {
        for value in ["has-sidebar", "no-comments", "category-advertising", "tag-social"] {
            assert_eq!(names(value), Marks::NONE, "{value}");
        }
    }

    #[test]
    fn hidden_elements_are_recognised_by_their_style() {
        assert_eq!(of_style("color: red; DISPLAY : none"), Marks::HIDDEN);
        assert_eq!(of_style("display: block; background: none"), Marks::NONE);
    }
}
