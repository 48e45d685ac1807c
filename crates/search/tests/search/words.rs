//! Words, phrases, NEAR, wildcards and operators; random queries are compared with a full scan of the pages.

use proptest::prelude::*;
use search::{Condition, Query, QueryError, WordPattern};

use crate::sample::Sample;

#[test]
fn words_are_stemmed() {
    let english = "The weirs of the river were built by millers who needed water for their wheels in summer.";
    let german =
        "Die Häuser an dem Fluss wurden von den Müllern gebaut, die das Wasser für ihre Räder brauchten.";
    let sample = Sample::of(&[("/en", english), ("/de", german), ("/none", "xq7 weir")]);
    assert_eq!(sample.sorted("weir"), ["/en", "/none"]);
    assert_eq!(sample.found("wheeled needs"), ["/en"], "stems");
    assert_eq!(sample.found("haus"), ["/de"]);
    assert_eq!(sample.found("HÄUSER"), ["/de"]);
    assert_eq!(sample.found("the weirs AND of the miller"), ["/en"], "stop words are optional");
    assert_eq!(sample.found("die haus"), ["/de"], "also if few pages are in their language");
    assert_eq!(sample.sorted("weir - &"), ["/en", "/none"], "punctuation is ignored");
    assert!(sample.found("- &").is_empty());
    assert!(sample.found("sluice").is_empty());
}

/// A page matches a stop word of its language without containing it.
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
    assert_eq!(sample.sorted("world -the"), Vec::<String>::new(), "English pages match the stop word");
}

#[test]
fn phrases_and_near_use_word_positions() {
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
    assert_eq!(sample.sorted("well-known"), ["/4"], "a hyphenated word is a phrase");
    assert!(sample.found("a1 NEAR/3 a1").is_empty(), "a word is not near itself");
}

#[test]
fn wildcards_match_at_any_place() {
    let sample =
        Sample::of(&[("/1", "crawler17 x9"), ("/2", "crawled18"), ("/3", "recrawl19"), ("/4", "Çrawlé5")]);
    assert_eq!(sample.sorted("crawl*"), ["/1", "/2", "/4"]);
    assert_eq!(sample.sorted("CRAWLE*"), ["/1", "/2", "/4"]);
    assert_eq!(sample.sorted("*awl*"), ["/1", "/2", "/3", "/4"]);
    assert_eq!(sample.sorted("*rawler1*"), ["/1"]);
    assert!(sample.found("crawlx*").is_empty());
    assert_eq!(sample.sorted("*19"), ["/3"]);
    assert_eq!(sample.sorted("cr*8"), ["/2"]);
    assert_eq!(sample.sorted("c*l*1*"), ["/1", "/2"]);
    assert_eq!(sample.sorted("x9 AND *aw*7"), ["/1"]);
    let english = "They were running along the river bank while the water was rising in the evening sun.";
    let sample = Sample::of(&[("/en", english)]);
    assert_eq!(sample.found("running*"), ["/en"], "indexed as `run`");
}

#[test]
fn wildcards_match_words_as_written() {
    let english =
        "They were running along the river bank while the water was rising in the evening sun. ".repeat(4);
    let sample = Sample::of(&[("/en", &english)]);
    assert_eq!(sample.found("*nning"), ["/en"], "indexed as `run`");
    assert_eq!(sample.found("r*ing"), ["/en"]);
    assert!(sample.found("*nninx").is_empty());
}

#[test]
fn a_word_does_not_match_a_short_stem_of_another_language() {
    let languages = [
        "Die Häuser an dem Fluss wurden von den Müllern gebaut, die das Wasser für ihre Räder brauchten.",
        "Les moulins de la rivière étaient construits par des meuniers qui avaient besoin de l'eau.",
        "Talot joen rannalla rakennettiin myllärien toimesta, jotka tarvitsivat vettä rattaisiinsa.",
        "A malmok a folyó partján épültek, mert a molnároknak vízre volt szükségük a kerekekhez.",
        "Nehrin kıyısındaki evler, çarkları için suya ihtiyaç duyan değirmenciler tarafından yapıldı.",
    ];
    let mut pages = vec![("/ru", "ru x1 x2"), ("/run", "run x1 x2")];
    pages.extend(["/1", "/2", "/3", "/4", "/5"].into_iter().zip(languages));
    let sample = Sample::of(&pages);
    assert_eq!(sample.found("run"), ["/run"]);
    assert_eq!(sample.found("ru"), ["/ru"]);
}

#[test]
fn scripts_without_spaces_are_searched_by_bigrams() {
    let sample = Sample::of(&[("/1", "東京都は日本の首都である。"), ("/2", "京都の大学"), ("/3", "水")]);
    assert_eq!(sample.sorted("東京都"), ["/1"]);
    assert_eq!(sample.sorted("京都"), ["/1", "/2"]);
    assert_eq!(sample.sorted("大"), ["/2"]);
    assert_eq!(sample.sorted("水"), ["/3"]);
}

#[test]
fn fields_can_be_searched() {
    let sample = Sample::of(&[
        ("/chair7", "<title>stool8</title>table9"),
        ("/2", "<title>Chair7 table9</title>stool8"),
        ("/3", "chair7 stool8"),
    ]);
    assert_eq!(sample.sorted("chair7"), ["/2", "/3", "/chair7"]);
    assert_eq!(sample.sorted("title:chair7"), ["/2"]);
    assert_eq!(sample.sorted("title:\"chair7 table9\""), ["/2"]);
    assert_eq!(sample.sorted("title:st*"), ["/chair7"]);
    assert_eq!(sample.sorted("title:(stool8 OR table9)"), ["/2", "/chair7"]);
    assert_eq!(sample.sorted("title:(chair7 table9) stool8"), ["/2"]);
    assert_eq!(sample.sorted("url:chair7"), ["/chair7"]);
    assert!(sample.found("anchor:chair7").is_empty());
    assert_eq!(sample.found("chair7 -title:chair7 -url:chair7"), ["/3"]);
}

/// Evaluates a condition on a page given as a list of word numbers.
fn matches(page: &[usize], condition: &Condition) -> bool {
    let number = |text: &str| text[1..].parse::<usize>().unwrap();
    let phrase = |pattern: &WordPattern| -> Vec<usize> {
        match pattern {
            WordPattern::Word(text) | WordPattern::Phrase(text) => text.split(' ').map(number).collect(),
            _ => panic!("not generated"),
        }
    };
    let starts = |pattern: &WordPattern| -> Vec<usize> {
        let phrase = phrase(pattern);
        (0..page.len()).filter(|at| page[*at..].starts_with(&phrase)).collect()
    };
    match condition {
        Condition::All(all) => all.iter().all(|condition| matches(page, condition)),
        Condition::Any(any) => any.iter().any(|condition| matches(page, condition)),
        Condition::Not(not) => !matches(page, not),
        Condition::Text { pattern, .. } => !starts(pattern).is_empty(),
        Condition::Near { operands, max_distances } => {
            let mut matched = starts(&operands[0]);
            for (number, max_distance) in (1..).zip(max_distances) {
                let (one, two) = (phrase(&operands[number - 1]).len(), phrase(&operands[number]).len());
                let near = |a: usize, b: usize| {
                    let (end_a, end_b) = (a + one - 1, b + two - 1);
                    (end_a < b && b - end_a <= usize::from(*max_distance))
                        || (end_b < a && a - end_b <= usize::from(*max_distance))
                };
                let next = starts(&operands[number]);
                matched = next.into_iter().filter(|b| matched.iter().any(|a| near(*a, *b))).collect();
            }
            !matched.is_empty()
        }
        _ => panic!("not generated"),
    }
}

fn any_pattern() -> impl Strategy<Value = WordPattern> {
    let word = (0..6_usize).prop_map(|number| format!("q{number}"));
    prop_oneof![
        2 => word.clone().prop_map(WordPattern::Word),
        1 => prop::collection::vec(word, 2..4).prop_map(|words| WordPattern::Phrase(words.join(" "))),
    ]
}

fn any_condition() -> impl Strategy<Value = Condition> {
    let leaf = prop_oneof![
        2 => any_pattern().prop_map(|pattern| Condition::Text { field: None, pattern }),
        1 => prop::collection::vec((any_pattern(), 1..4_u16), 2..4).prop_map(|pairs| {
            let (operands, mut max_distances): (Vec<WordPattern>, Vec<u16>) = pairs.into_iter().unzip();
            max_distances.pop();
            Condition::Near { operands, max_distances }
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
    fn the_result_of_any_query_equals_a_full_scan(
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
                pages.iter().filter(|(.., page)| matches(page, &condition)).map(|(path, ..)| path.as_str()).collect();
            prop_assert_eq!(sample.sorted(&condition.to_string()), expected, "{}", condition);
        }
    }
}

#[test]
fn syntax_errors_are_found_before_searching() {
    let error: QueryError = Query::parse("weir AND (dam OR").unwrap_err();
    assert_eq!(error.column, 17);
}
