//! Words, phrases, distances, stars and operators, and all of them against a search that reads every page.

use proptest::prelude::*;
use search::{Condition, Query, QueryError, Words};

use crate::sample::Sample;

#[test]
fn words_are_found_in_all_their_forms() {
    let english = "The weirs of the river were built by millers who needed water for their wheels in summer.";
    let german =
        "Die Häuser an dem Fluss wurden von den Müllern gebaut, die das Wasser für ihre Räder brauchten.";
    let sample = Sample::of(&[("/en", english), ("/de", german), ("/none", "xq7 weir")]);
    assert_eq!(sample.sorted("weir"), ["/en", "/none"]);
    assert_eq!(sample.found("wheeled needs"), ["/en"], "stems");
    assert_eq!(sample.found("haus"), ["/de"]);
    assert_eq!(sample.found("HÄUSER"), ["/de"]);
    assert_eq!(sample.found("the weirs AND of the miller"), ["/en"], "stop words are no hindrance");
    assert_eq!(sample.found("die haus"), ["/de"], "not even where few pages are in their language");
    assert_eq!(sample.sorted("weir - &"), ["/en", "/none"], "punctuation says nothing");
    assert!(sample.found("- &").is_empty());
    assert!(sample.found("sluice").is_empty());
}

/// A page in a language that leaves a word out counts as having it; one in another language has it or not.
#[test]
fn a_stop_word_of_one_language_is_a_word_in_others() {
    let war =
        "The historians wrote about the world war and about the treaties that followed it in those years.";
    let peace =
        "The historians wrote about the world fair and about the visitors that followed it in those years.";
    let german =
        "Es war einmal ein Müller, der hatte drei Söhne, seine Mühle und einen Esel, und das war alles.";
    let pages = [("/war", war), ("/peace", peace), ("/de", german), ("/de2", german), ("/de3", german)];
    let sample = Sample::of(&pages);
    assert_eq!(sample.found("world war"), ["/war"]);
    assert_eq!(sample.found("\"world war\""), ["/war"]);
    assert_eq!(sample.found("world NEAR/2 war"), ["/war"]);
    assert_eq!(sample.found("war OR sluice"), ["/war"]);
    assert_eq!(sample.sorted("\"der hatte drei\" -sluice"), ["/de", "/de2", "/de3"]);
    assert_eq!(sample.sorted("(of the) world"), ["/peace", "/war"]);
    assert_eq!(sample.sorted("\"about the world\""), ["/peace", "/war"]);
    assert_eq!(sample.sorted("historians NEAR/4 about"), ["/peace", "/war"]);
    assert_eq!(sample.sorted("world -the"), Vec::<String>::new(), "English pages count as having it");
}

#[test]
fn phrases_and_distances_count_words() {
    let sample = Sample::of(&[
        ("/1", "a1 b2 c3 d4 e5 f6 g7"),
        ("/2", "b2 a1 x x x x x c3"),
        ("/3", "<h1>b2</h1><p>a1</p> g7"),
        ("/4", "well known b2 c3 well-known"),
    ]);
    assert_eq!(sample.sorted("\"a1 b2\""), ["/1"]);
    assert_eq!(sample.sorted("\"b2 c3\""), ["/1", "/4"]);
    assert_eq!(sample.sorted("b2 NEAR/1 a1"), ["/1", "/2", "/3"]);
    assert_eq!(sample.sorted("a1 NEAR/5 c3"), ["/1"]);
    assert_eq!(sample.sorted("a1 NEAR/6 c3"), ["/1", "/2"]);
    assert_eq!(sample.sorted("\"a1 b2\" NEAR/2 \"d4 e5\""), ["/1"]);
    assert!(sample.found("\"a1 b2\" NEAR/1 \"d4 e5\"").is_empty());
    assert_eq!(sample.sorted("a1 NEAR/1 b2 NEAR/1 c3"), ["/1"]);
    assert_eq!(sample.sorted("well-known"), ["/4"], "one word to people, a phrase to the index");
    assert!(sample.found("a1 NEAR/3 a1").is_empty(), "one word is not near itself");
}

#[test]
fn stars_stand_for_letters() {
    let sample =
        Sample::of(&[("/1", "crawler17 x9"), ("/2", "crawled18"), ("/3", "recrawl19"), ("/4", "Çrawlé5")]);
    assert_eq!(sample.sorted("crawl*"), ["/1", "/2", "/4"]);
    assert_eq!(sample.sorted("CRAWLE*"), ["/1", "/2", "/4"]);
    assert_eq!(sample.sorted("*awl*"), ["/1", "/2", "/3", "/4"]);
    assert_eq!(sample.sorted("*rawler1*"), ["/1"]);
    assert!(sample.found("crawlx*").is_empty());
    let english = "They were running along the river bank while the water was rising in the evening sun.";
    let sample = Sample::of(&[("/en", english)]);
    assert_eq!(sample.found("running*"), ["/en"], "the index knows `run`");
}

#[test]
fn scripts_without_spaces_are_searched_by_pairs() {
    let sample = Sample::of(&[("/1", "東京都は日本の首都である。"), ("/2", "京都の大学"), ("/3", "水")]);
    assert_eq!(sample.sorted("東京都"), ["/1"]);
    assert_eq!(sample.sorted("京都"), ["/1", "/2"]);
    assert_eq!(sample.sorted("大"), ["/2"]);
    assert_eq!(sample.sorted("水"), ["/3"]);
}

#[test]
fn parts_of_a_page_can_be_named() {
    let sample = Sample::of(&[
        ("/chair7", "<title>stool8</title>table9"),
        ("/2", "<title>Chair7 table9</title>stool8"),
        ("/3", "chair7 stool8"),
    ]);
    assert_eq!(sample.sorted("chair7"), ["/2", "/3", "/chair7"]);
    assert_eq!(sample.sorted("title:chair7"), ["/2"]);
    assert_eq!(sample.sorted("title:\"chair7 table9\""), ["/2"]);
    assert_eq!(sample.sorted("title:st*"), ["/chair7"]);
    assert_eq!(sample.sorted("url:chair7"), ["/chair7"]);
    assert!(sample.found("anchor:chair7").is_empty());
    assert_eq!(sample.found("chair7 -title:chair7 -url:chair7"), ["/3"]);
}

/// The words of a text.
fn has(page: &[usize], condition: &Condition) -> bool {
    let number = |text: &str| text[1..].parse::<usize>().unwrap();
    let phrase = |words: &Words| -> Vec<usize> {
        match words {
            Words::Word(text) | Words::Phrase(text) => text.split(' ').map(number).collect(),
            _ => panic!("not asked for"),
        }
    };
    let starts = |words: &Words| -> Vec<usize> {
        let phrase = phrase(words);
        (0..page.len()).filter(|at| page[*at..].starts_with(&phrase)).collect()
    };
    match condition {
        Condition::All(all) => all.iter().all(|condition| has(page, condition)),
        Condition::Any(any) => any.iter().any(|condition| has(page, condition)),
        Condition::Not(not) => !has(page, not),
        Condition::Text { words, .. } => !starts(words).is_empty(),
        Condition::Near { words, within } => {
            let mut reached = starts(&words[0]);
            for (number, within) in (1..).zip(within) {
                let (one, two) = (phrase(&words[number - 1]).len(), phrase(&words[number]).len());
                let near = |a: usize, b: usize| {
                    let (end_a, end_b) = (a + one - 1, b + two - 1);
                    (end_a < b && b - end_a <= usize::from(*within))
                        || (end_b < a && a - end_b <= usize::from(*within))
                };
                let next = starts(&words[number]);
                reached = next.into_iter().filter(|b| reached.iter().any(|a| near(*a, *b))).collect();
            }
            !reached.is_empty()
        }
        _ => panic!("not asked for"),
    }
}

fn any_words() -> impl Strategy<Value = Words> {
    let word = (0..6_usize).prop_map(|number| format!("q{number}"));
    prop_oneof![
        2 => word.clone().prop_map(Words::Word),
        1 => prop::collection::vec(word, 2..4).prop_map(|words| Words::Phrase(words.join(" "))),
    ]
}

fn any_condition() -> impl Strategy<Value = Condition> {
    let leaf = prop_oneof![
        2 => any_words().prop_map(|words| Condition::Text { part: None, words }),
        1 => prop::collection::vec((any_words(), 1..4_u16), 2..4).prop_map(|pairs| {
            let (words, mut within): (Vec<Words>, Vec<u16>) = pairs.into_iter().unzip();
            within.pop();
            Condition::Near { words, within }
        }),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::All),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::Any),
            inner.prop_map(|not| Condition::Not(Box::new(not))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn whatever_is_asked_the_pages_are_those_that_have_it(
        pages in prop::collection::vec(prop::collection::vec(0..6_usize, 1..12), 1..20),
        conditions in prop::collection::vec(any_condition(), 40),
    ) {
        let text = |page: &Vec<usize>| page.iter().map(|word| format!("q{word} ")).collect::<String>();
        let pages: Vec<(String, String, Vec<usize>)> =
            (10..).zip(pages).map(|(number, page)| (format!("/{number}"), text(&page), page)).collect();
        let stored: Vec<(&str, &str)> =
            pages.iter().map(|(path, text, _)| (path.as_str(), text.as_str())).collect();
        let sample = Sample::of(&stored);
        for condition in conditions {
            let expected: Vec<&str> =
                pages.iter().filter(|(.., page)| has(page, &condition)).map(|(path, ..)| path.as_str()).collect();
            prop_assert_eq!(sample.sorted(&condition.to_string()), expected, "{}", condition);
        }
    }
}

#[test]
fn what_a_query_means_is_told_before_it_is_searched() {
    let error: QueryError = Query::parse("weir AND (dam OR").unwrap_err();
    assert_eq!(error.column, 17);
}
