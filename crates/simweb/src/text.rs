//! Words, sentences and titles, appended to a page without a detour.

use crate::draw::Draw;
use crate::language::Vocabulary;
use crate::page::{About, Page};
use crate::sheet::Sheet;
use crate::site::Site;

const FEWEST_WORDS: u64 = 6;
const WORD_SPREAD: u64 = 14;
/// Words a sentence has on average.
pub(crate) const MEAN_WORDS: f64 = FEWEST_WORDS as f64 + (WORD_SPREAD as f64 - 1.0) / 2.0;

/// Words that one draw of 64 bits is good for.
const WORDS_PER_DRAW: u64 = 5;

/// Appends one sentence.
pub(crate) fn push_sentence(out: &mut Sheet, words: &Vocabulary, draw: Draw) {
    let mut stream = draw.stream();
    let shape = stream.bits();
    let length = FEWEST_WORDS + (shape & 0xffff) % WORD_SPREAD;
    let comma = 3 + (shape >> 16 & 15);
    out.push_word(words.capital(shape >> 32));
    let mut bits = 0;
    for position in 1..length {
        bits = if position % WORDS_PER_DRAW == 1 { stream.bits() } else { bits >> 12 };
        out.push_word(words.word(bits));
        if position == comma && position + 2 < length {
            close(out, words, words.comma);
        }
    }
    close(out, words, words.full_stop);
}

/// Replaces the gap after the last word by a punctuation mark.
fn close(out: &mut Sheet, words: &Vocabulary, mark: &str) {
    out.take_back(words.gap.len());
    out.push_str(mark);
}

/// Appends the title of a page: three to six words about its subject.
pub(crate) fn push_title(out: &mut Sheet, page: &Page) {
    let draw = page.about(About::Title);
    push_topic(out, page, 3 + draw.below(4));
}

/// Appends the first words of a page's title, as those do who link to it.
pub(crate) fn push_anchor(out: &mut Sheet, site: &Site, page: &Page, draw: Draw) {
    if page.index == 0 {
        push_site_title(out, site);
    } else {
        push_topic(out, page, 2 + draw.bits() % 2);
    }
}

/// Appends the name by which a site calls itself.
pub(crate) fn push_site_title(out: &mut Sheet, site: &Site) {
    if site.is_portal() {
        return out.push_str("Portal");
    }
    let words = site.language.vocabulary();
    for n in 0..2 {
        out.push_str(words.topic(site.key.of(950 + n), true));
    }
    out.take_back(words.gap.len());
}

fn push_topic(out: &mut Sheet, page: &Page, length: u64) {
    let draw = page.about(About::Title);
    let words = page.language.vocabulary();
    for n in 0..length {
        out.push_str(words.topic(draw.of(n), n == 0));
    }
    out.take_back(words.gap.len());
}
