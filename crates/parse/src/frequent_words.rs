//! Is a text plainly in one of the languages that most pages are in? Their most frequent words tell.
//!
//! Asked before any profile is, because it costs a twentieth: a table look-up per word. It answers only where there is
//! no doubt, and never about short texts. In pieces of 1,024 bytes of texts in 75 languages it named no wrong language;
//! it knew all of the English ones, and nearly all of German, French, Spanish, Portuguese, Italian, Dutch and Polish.
//!
//! A word that two of these languages share says nothing and is in no list. Catalan, Romanian and Afrikaans are here
//! because they would be taken for their neighbours otherwise.

use std::sync::LazyLock;

/// Languages with words of theirs, in lower case, none longer than eight bytes.
const LISTS: [(&str, &str); 11] = [
    (
        "en",
        "the of and to that for with this be are by it or on from not you can will was have which they been has is",
    ),
    (
        "de",
        "der und den von zu mit ist auf für nicht ein eine dem des sich auch werden sie wird bei oder zum wie im",
    ),
    ("fr", "le et du est pour qui dans par sur pas avec ce sont aux plus leur cette vous nous être elle ont"),
    (
        "es",
        "el los las y su lo más pero fue esta está sus muy hay cuando donde sin sobre hasta han ese desde según había",
    ),
    ("pt", "do da em não uma os um ao são com foi pelo pela você sua isso dos no até já nos"),
    ("it", "di che è non della sono del gli dei più nel alla anche questo delle nella dal essere si"),
    ("ca", "els amb és dels va més seva aquest aquesta són ser hi ho pel seu també molt fins però ja"),
    ("ro", "în și cu din pe care nu că pentru mai sau prin fi lui fost sunt cel într după fiind"),
    (
        "pl",
        "w z się nie że jest jak przez dla są może oraz które który przy tylko ich jego czy już gdy także bardzo",
    ),
    ("nl", "het een dat zijn niet bij door naar worden deze voor er heeft wordt hij uit hebben dan"),
    ("af", "wat hy word sy deur hulle haar ons sal baie toe vir"),
];

/// One word, however often, may be a name or a word of a language that is not here; so many different ones are not.
const LEAST_DIFFERENT_WORDS: u32 = 6;

/// The language, where it is plain.
pub(crate) fn plain_language(sample: &str) -> Option<&'static str> {
    let mut counts = [Count::default(); LISTS.len()];
    let mut seen = [false; SLOTS];
    let mut words = 0;
    for_each_word(sample.as_bytes(), |word| {
        words += 1;
        let Some((slot, list)) = TABLE.find(word) else { return };
        counts[list].words += 1;
        counts[list].different += u32::from(!seen[slot]);
        seen[slot] = true;
    });
    let best = (0..LISTS.len()).max_by_key(|list| counts[*list].words)?;
    let rivals = counts.iter().enumerate().filter(|(list, _)| *list != best);
    let next = rivals.map(|(_, count)| count.words).max().unwrap_or(0);
    let Count { words: own, different } = counts[best];
    let plain = different >= LEAST_DIFFERENT_WORDS && own * 16 >= words && own >= next * 2;
    plain.then_some(LISTS[best].0)
}

/// Whether a word, in lower case, is among the most frequent of a language, and so says nothing about a subject.
pub fn is_frequent_word(word: &str) -> bool {
    let mut found = false;
    for_each_word(word.as_bytes(), |word| found = TABLE.find(word).is_some());
    found
}

#[derive(Clone, Copy, Default)]
struct Count {
    words: u32,
    different: u32,
}

/// Calls `each` with every word in lower case, as a number: its bytes, or 0 if it is longer than all that are listed.
fn for_each_word(text: &[u8], mut each: impl FnMut(u64)) {
    let (mut word, mut length) = (0_u64, 0);
    for byte in text.iter().chain(b" ") {
        if byte.is_ascii_alphabetic() || !byte.is_ascii() {
            word = word << 8 | u64::from(byte.to_ascii_lowercase());
            length += 1;
        } else if length > 0 {
            each(if length > 8 { 0 } else { word });
            (word, length) = (0, 0);
        }
    }
}

/// Four times as many as there are words.
const SLOTS: usize = 1024;

/// The listed words with the numbers of their lists, each at the place of its hash or behind.
struct Table([(u64, usize); SLOTS]);

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table([(0, 0); SLOTS]);
    for (number, (_, words)) in LISTS.iter().enumerate() {
        for_each_word(words.as_bytes(), |word| {
            let mut slot = Table::slot(word);
            while table.0[slot].0 != 0 {
                slot = (slot + 1) % SLOTS;
            }
            table.0[slot] = (word, number);
        });
    }
    table
});

impl Table {
    fn slot(word: u64) -> usize {
        (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize
    }

    /// The place of a word and its list.
    fn find(&self, word: u64) -> Option<(usize, usize)> {
        let mut slot = Table::slot(word);
        loop {
            match self.0[slot] {
                (0, _) => return None,
                (known, list) if known == word => return Some((slot, list)),
                _ => slot = (slot + 1) % SLOTS,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_word_is_in_two_lists_or_too_long() {
        let mut all = HashSet::new();
        for word in LISTS.iter().flat_map(|(_, words)| words.split(' ')) {
            assert!(word.len() <= 8 && all.insert(word), "{word}");
        }
        assert!(all.len() * 4 <= SLOTS);
    }

    #[test]
    fn running_text_is_known_and_a_few_words_are_not() {
        let english = "It was the best of times, it was the worst of times, and they have not been told by you that \
                       this will be for ever.";
        assert_eq!(plain_language(english), Some("en"));
        assert_eq!(plain_language("the of and to that"), None);
        assert_eq!(plain_language(""), None);
        assert_eq!(plain_language("Het was de beste van alle tijden, en ook de slechtste."), None);
    }

    /// The sentences of 75 languages that another project collected.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test reads its cases from a file")]
    fn no_language_is_taken_for_another() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/language/sentences.tsv");
        let Ok(text) = std::fs::read_to_string(path) else {
            eprintln!("skipped: {path} is not there");
            return;
        };
        let mut texts = std::collections::BTreeMap::<&str, String>::new();
        for (code, sentence) in text.lines().filter_map(|line| line.split_once('\t')) {
            *texts.entry(code).or_default() += &format!("{sentence} ");
        }
        let mut known = 0;
        for (code, text) in texts {
            for start in (0..text.len().saturating_sub(1_024)).step_by(128) {
                let (start, end) = (text.floor_char_boundary(start), text.floor_char_boundary(start + 1_024));
                let Some(found) = plain_language(&text[start..end]) else { continue };
                assert_eq!(found, code, "{}", &text[start..end]);
                known += 1;
            }
        }
        assert!(known > 500, "{known} pieces were known");
    }
}
