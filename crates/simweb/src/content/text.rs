//! Words, sentences and titles of a page.

use crate::world::language::Vocabulary;
use crate::world::page::{Page, PageKey};
use crate::world::random::KeyedRandom;
use crate::world::site::Site;
use crate::world::text_buffer::TextBuffer;

const MIN_SENTENCE_WORDS: u64 = 6;
const WORD_SPREAD: u64 = 14;
/// Mean number of words of a sentence.
pub(crate) const MEAN_WORDS: f64 = MIN_SENTENCE_WORDS as f64 + (WORD_SPREAD as f64 - 1.0) / 2.0;

/// Number of words that are selected by one random value of 64 bits.
const WORDS_PER_DRAW: u64 = 5;

/// Appends one sentence.
pub(crate) fn push_sentence(out: &mut TextBuffer, words: &Vocabulary, random: KeyedRandom) {
    let mut stream = random.stream();
    let shape = stream.bits();
    let length = MIN_SENTENCE_WORDS + (shape & 0xffff) % WORD_SPREAD;
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
fn close(out: &mut TextBuffer, words: &Vocabulary, mark: &str) {
    out.take_back(words.gap.len());
    out.push_str(mark);
}

/// Appends the title of a page: three to six words about its subject.
pub(crate) fn push_title(out: &mut TextBuffer, page: &Page) {
    let random = page.random(PageKey::Title);
    push_topic(out, page, 3 + random.below(4));
}

/// Appends the first words of a page's title, as an anchor text.
pub(crate) fn push_anchor(out: &mut TextBuffer, site: &Site, page: &Page, random: KeyedRandom) {
    if page.index == 0 {
        push_site_title(out, site);
    } else {
        push_topic(out, page, 2 + random.bits() % 2);
    }
}

/// Appends the title of a site.
pub(crate) fn push_site_title(out: &mut TextBuffer, site: &Site) {
    if site.is_portal() {
        return out.push_str("Portal");
    }
    let words = site.language.vocabulary();
    for n in 0..2 {
        out.push_str(words.topic(site.key.child(950 + n), true));
    }
    out.take_back(words.gap.len());
}

fn push_topic(out: &mut TextBuffer, page: &Page, length: u64) {
    let random = page.random(PageKey::Title);
    let words = page.language.vocabulary();
    for n in 0..length {
        out.push_str(words.topic(random.child(n), n == 0));
    }
    out.take_back(words.gap.len());
}
