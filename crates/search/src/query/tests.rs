//! Queries as people write them, right and wrong, and any text at all.

use model::Neighbours;
use proptest::prelude::*;

use super::*;

/// How a query was understood, with all parentheses.
fn understood(text: &str) -> String {
    fn tree(condition: &Condition) -> String {
        let list = |all: &[Condition], name: &str| {
            format!("{name}({})", all.iter().map(tree).collect::<Vec<_>>().join(", "))
        };
        match condition {
            Condition::All(all) => list(all, "all"),
            Condition::Any(any) => list(any, "any"),
            Condition::Not(not) => format!("not({})", tree(not)),
            leaf => leaf.to_string(),
        }
    }
    match Query::parse(text) {
        Ok(query) => tree(query.condition()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn operators_bind_as_people_expect() {
    assert_eq!(understood("a b OR c d"), "any(all(a, b), all(c, d))");
    assert_eq!(understood("a AND (b OR c) -d"), "all(a, any(b, c), not(d))");
    assert_eq!(understood("a NOT b"), "all(a, not(b))");
    assert_eq!(understood("-(a b) --c"), "all(not(all(a, b)), not(not(c)))");
    assert_eq!(understood("a b NEAR/5 \"c d\" NEAR/2 e"), "all(a, b NEAR/5 \"c d\" NEAR/2 e)");
    assert_eq!(understood("(((a)))"), "a");
    assert_eq!(understood("and or not near"), "all(and, or, not, near)");
}

#[test]
fn words_are_what_stands_between_spaces() {
    assert_eq!(understood("well-known C++ don't - &"), "all(well-known, C++, don't, -, &)");
    assert_eq!(understood("note: 3:15 pre* *sub*"), "all(note:, 3:15, pre*, *sub*)");
    assert_eq!(understood("\"a phrase: (of) -all\"next"), "all(\"a phrase: (of) -all\", next)");
    assert_eq!(understood("東京 Größe"), "all(東京, Größe)");
}

#[test]
fn conditions_are_read() {
    assert_eq!(understood("title:chair Title:\"a b\" url:pre*"), "all(title:chair, title:\"a b\", url:pre*)");
    assert_eq!(
        understood("date:>=2024-01 depth:<3 status:=200 inlinks:>=10 pagerank:>0.001 size:>1.5k"),
        "all(date:>=2024-01, depth:<3, status:200, inlinks:>=10, pagerank:>0.001, size:>1500)"
    );
    assert_eq!(
        understood("site:WWW.Example.org type:text/plain"),
        "all(site:www.example.org, type:text/plain)"
    );
    assert_eq!(
        understood("(links-to:http://a.test/x_(y)?z=1 OR related:a.test)"),
        "any(links-to:\"http://a.test/x_(y)?z=1\", related:\"a.test\")"
    );
    let query = Query::parse("links-to:a.test OR -links-to:a.test linked-from:b.test").unwrap();
    let kinds: Vec<Neighbours> = query.link_conditions().iter().map(|link| link.kind).collect();
    assert_eq!(kinds, [Neighbours::LinksTo, Neighbours::LinkedFrom]);
}

#[test]
fn a_mistake_is_pointed_at() {
    let wrong = |text: &str| {
        let error = Query::parse(text).unwrap_err();
        (error.column, error.expected, error.found)
    };
    let (column, expected, found) = wrong("chair AND");
    assert_eq!((column, found.as_str()), (10, "the end"));
    assert!(expected.starts_with("a word"), "{expected}");
    for (text, column, expected) in [
        ("", 1, "a word"),
        ("a OR OR b", 6, "a word"),
        ("(a b", 5, "closes the one at character 1"),
        ("ä) b", 2, "opens before"),
        ("say \"hello", 11, "ends `\"hello`"),
        ("a \"-\"", 3, "between the quotes"),
        ("titel:x", 1, "title:"),
        ("http://example.org/", 1, "quotes around it"),
        ("title: x", 7, "right after title:"),
        ("lang:english", 6, "such as lang:en"),
        ("date:>yesterday", 7, "date:>=2024-01"),
        ("date:2024-02-30", 6, "a date such as"),
        ("size:>big", 7, "size:>100k"),
        ("inlinks:1.5", 9, "inlinks:>=3"),
        ("status:", 8, "whole number"),
        ("site:\"x\"", 6, "site:www.example.org"),
        ("links-to: x", 10, "a URL right after"),
        ("a NEAR b", 3, "NEAR/n"),
        ("a NEAR/0 b", 3, "NEAR/n"),
        ("pre* NEAR/5 b", 6, "before NEAR"),
        ("a NEAR/5 title:b", 10, "after NEAR"),
        ("a*b", 1, "a star at the end"),
        ("*a", 1, "a star at the end"),
        ("*", 1, "star"),
    ] {
        let (found_column, found_expected, _) = wrong(text);
        assert_eq!(found_column, column, "{text}: {found_expected}");
        assert!(found_expected.contains(expected), "{text}: {found_expected}");
    }
    let error = Query::parse("ä titel:x").unwrap_err();
    assert_eq!(error.pointed("ä titel:x"), "ä titel:x\n  ^");
}

#[test]
fn everything_has_a_limit() {
    let deep = |levels: usize| format!("{}a{}", "(".repeat(levels), ")".repeat(levels));
    assert!(Query::parse(&deep(QUERY_LIMIT_DEPTH)).is_ok());
    assert!(understood(&deep(QUERY_LIMIT_DEPTH + 1)).contains("within each other"));
    assert!(understood(&format!("{}a", "NOT ".repeat(100))).contains("within each other"));
    assert!(Query::parse(&"a ".repeat(QUERY_LIMIT_TERMS)).is_ok());
    assert!(understood(&"a ".repeat(QUERY_LIMIT_TERMS + 1)).contains("at most 128 words"));
    assert!(Query::parse(&"a* ".repeat(QUERY_LIMIT_STARS)).is_ok());
    assert!(understood(&"*a* ".repeat(QUERY_LIMIT_STARS + 1)).contains("at most 8 words with stars"));
    assert!(understood(&"ä".repeat(QUERY_LIMIT_BYTES)).contains("at most 4096 bytes"));
}

#[test]
fn a_text_can_be_asked_for_without_any_language() {
    let query = Query::about("What -is (title:known\" about weirs? Weirs").unwrap();
    assert_eq!(query.to_string(), "title OR title-known OR known OR weirs OR weirs-weirs OR weirs");
    assert_eq!(Query::about("What?").unwrap().to_string(), "what");
    assert_eq!(
        Query::about("to be or not").unwrap().to_string(),
        "to OR to-be OR be OR be-or OR or OR or-not OR not"
    );
    assert_eq!(Query::about(" -- "), None);
    let words: String = (0..5_000).map(|number| format!("ä{number} ")).collect();
    let Some(query) = Query::about(&words) else { panic!("it has words") };
    assert!(matches!(query.condition(), Condition::Any(any) if any.len() == QUERY_LIMIT_TERMS));
    assert_eq!(Query::parse(&query.to_string()), Ok(query));
}

#[test]
fn a_colon_at_the_end_of_a_word_is_read_as_it_is_written() {
    for text in ["(note: )", "a (b OR note:)", "(-note:) c", "note:"] {
        let query = Query::parse(text).unwrap();
        assert_eq!(Query::parse(&query.to_string()), Ok(query), "{text}");
    }
    assert!(Query::parse("(nite:x)").is_err());
}

fn word() -> impl Strategy<Value = String> {
    "[a-zäöß東0-9][a-zA-Zäéß東&'./+0-9-]{0,6}"
}

fn words() -> impl Strategy<Value = Words> {
    prop_oneof![
        word().prop_map(Words::Word),
        "[a-zA-ZäÖ0-9][^\"]{0,12}".prop_map(Words::Phrase),
        word().prop_map(Words::Prefix),
        word().prop_map(Words::Within),
    ]
}

fn nearable() -> impl Strategy<Value = Words> {
    prop_oneof![word().prop_map(Words::Word), "[a-zA-ZäÖ0-9][^\"]{0,12}".prop_map(Words::Phrase)]
}

fn compare() -> impl Strategy<Value = Compare> {
    use Compare::{AtLeast, AtMost, Equal, Less, More};
    prop::sample::select(vec![Equal, Less, AtMost, More, AtLeast])
}

fn leaf() -> impl Strategy<Value = Condition> {
    let part = prop::option::of(prop::sample::select(vec![Part::Title, Part::Url, Part::Anchor]));
    let whole = prop::sample::select(vec![
        Measure::Depth,
        Measure::Status,
        Measure::InLinks,
        Measure::OutLinks,
        Measure::Size,
    ]);
    let kind = prop::sample::select(vec![Neighbours::LinksTo, Neighbours::LinkedFrom, Neighbours::Related]);
    prop_oneof![
        (part, words()).prop_map(|(part, words)| Condition::Text { part, words }),
        prop::collection::vec((nearable(), 1..=NEAR_LIMIT), 2..4).prop_map(|pairs| {
            let (words, mut within): (Vec<Words>, Vec<u16>) = pairs.into_iter().unzip();
            within.pop();
            Condition::Near { words, within }
        }),
        (whole, compare(), 0_u64..1_000_000_000_000_000).prop_map(|(measure, compare, value)| {
            Condition::Number { measure, compare, value: value as f64 }
        }),
        (compare(), 0.0..1.0_f64).prop_map(|(compare, value)| Condition::Number {
            measure: Measure::PageRank,
            compare,
            value
        }),
        (compare(), 1_000_u16..9_999, prop::option::of((1_u8..=12, prop::option::of(1_u8..=28)))).prop_map(
            |(compare, year, rest)| {
                let text = match rest {
                    None => format!("{year}"),
                    Some((month, None)) => format!("{year}-{month:02}"),
                    Some((month, Some(day))) => format!("{year}-{month:02}-{day:02}"),
                };
                Condition::Date { compare, period: Period::parse(&text).unwrap() }
            }
        ),
        "[a-z0-9][a-z0-9.-]{0,8}".prop_map(Condition::Site),
        "[a-z0-9][a-z0-9.-]{0,8}".prop_map(Condition::Domain),
        "[a-z]{2}".prop_map(Condition::Language),
        "[a-z]{2,5}/[a-z+.-]{1,5}".prop_map(Condition::Type),
        (kind, "http://[a-z().?=&ä]{1,12}")
            .prop_map(|(kind, url)| Condition::Link(LinkCondition { kind, url })),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    leaf().prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::All),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::Any),
            inner.prop_map(|not| Condition::Not(Box::new(not))),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(condition in condition()) {
        let text = condition.to_string();
        prop_assume!(text.matches('*').count() <= QUERY_LIMIT_STARS);
        let read = Query::parse(&text);
        prop_assert_eq!(read.map(|query| query.condition), Ok(condition), "{}", text);
    }

    #[test]
    fn any_text_is_a_query_or_a_mistake_at_a_place(text in any::<String>()) {
        read_or_pointed_at(&text)?;
    }

    #[test]
    fn any_row_of_pieces_is_a_query_or_a_mistake_at_a_place(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "a", "AND", "OR", "NOT", "NEAR/3", "-", "(", ")", "\"", "*", ":", " ", " ", "title:", "date:>=", "2024-01",
            "size:", "1e400", "0.1", "inf", "links-to:", "site:", "ä", "\u{3000}", "東",
        ]), 0..30)
    ) {
        read_or_pointed_at(&pieces.concat())?;
    }
}

fn read_or_pointed_at(text: &str) -> Result<(), TestCaseError> {
    match Query::parse(text) {
        Ok(query) => {
            let again = Query::parse(&query.to_string());
            prop_assert_eq!(again, Ok(query));
        }
        Err(error) => {
            prop_assert!((1..=text.chars().count() + 1).contains(&error.column), "{error}");
            prop_assert!(!error.pointed(text).is_empty());
        }
    }
    Ok(())
}

#[test]
fn few_conditions_on_links_are_enough() {
    let few = "links-to:a.test related:b.test ".repeat(4);
    assert!(Query::parse(&few).is_ok());
    let error = Query::parse(&format!("{few} linked-from:c.test")).unwrap_err();
    assert_eq!(error.expected, "at most 8 of links-to:, linked-from: and related:");
    assert_eq!(error.column, few.len() + 2);
}

#[test]
fn queries_are_joined_as_they_were_understood() {
    let query = |text: &str| Query::parse(text).unwrap();
    let joined = Query::all_of(vec![query("a OR b"), query("c d"), query("lang:en")]).unwrap();
    assert_eq!(joined.to_string(), "(a OR b) c d lang:en");
    assert_eq!(Query::all_of(vec![query("a OR b")]), Some(query("a OR b")));
    assert_eq!(Query::all_of(Vec::new()), None);
}
