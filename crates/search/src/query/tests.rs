//! Parser tests: valid queries, syntax errors, arbitrary text.

use model::LinkRelation;
use proptest::prelude::*;

use super::*;

/// The tree of a query, or its error message.
fn parsed(text: &str) -> String {
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
fn operators_have_the_documented_precedence() {
    assert_eq!(parsed("a b OR c d"), "any(all(a, b), all(c, d))");
    assert_eq!(parsed("a AND (b OR c) -d"), "all(a, any(b, c), not(d))");
    assert_eq!(parsed("a NOT b"), "all(a, not(b))");
    assert_eq!(parsed("-(a b) --c"), "all(not(all(a, b)), not(not(c)))");
    assert_eq!(parsed("a b NEAR/5 \"c d\" NEAR/2 e"), "all(a, b NEAR/5 \"c d\" NEAR/2 e)");
    assert_eq!(parsed("(((a)))"), "a");
    assert_eq!(parsed("and or not near"), "all(and, or, not, near)");
}

#[test]
fn words_are_separated_by_white_space() {
    assert_eq!(parsed("well-known C++ don't - &"), "all(well-known, C++, don't, -, &)");
    assert_eq!(parsed("note: 3:15 pre* *sub*"), "all(note:, 3:15, pre*, *sub*)");
    assert_eq!(parsed("\"a phrase: (of) -all\"next"), "all(\"a phrase: (of) -all\", next)");
    assert_eq!(parsed("東京 Größe"), "all(東京, Größe)");
}

#[test]
fn field_conditions_are_parsed() {
    assert_eq!(parsed("title:chair Title:\"a b\" url:pre*"), "all(title:chair, title:\"a b\", url:pre*)");
    assert_eq!(parsed("title:(a OR \"b c\") d"), "all(any(title:a, title:\"b c\"), d)");
    assert_eq!(parsed("url:(a -b*)"), "all(url:a, not(url:b*))");
    assert_eq!(parsed("*den ga*en title:*c"), "all(*den, ga*en, title:*c)");
    assert_eq!(
        parsed("date:>=2024-01 depth:<3 status:=200 inlinks:>=10 pagerank:>0.001 size:>1.5k"),
        "all(date:>=2024-01, depth:<3, status:200, inlinks:>=10, pagerank:>0.001, size:>1500)"
    );
    assert_eq!(parsed("site:WWW.Example.org type:text/plain"), "all(site:www.example.org, type:text/plain)");
    assert_eq!(
        parsed("(links-to:http://a.test/x_(y)?z=1 OR related:a.test)"),
        "any(links-to:\"http://a.test/x_(y)?z=1\", related:\"a.test\")"
    );
    let query = Query::parse("links-to:a.test OR -links-to:a.test linked-from:b.test").unwrap();
    let relations: Vec<LinkRelation> = query.link_conditions().iter().map(|link| link.relation).collect();
    assert_eq!(relations, [LinkRelation::LinksTo, LinkRelation::LinkedFrom]);
}

#[test]
fn syntax_errors_have_a_position() {
    let error = |text: &str| {
        let error = Query::parse(text).unwrap_err();
        (error.column, error.expected, error.found)
    };
    let (column, expected, found) = error("chair AND");
    assert_eq!((column, found.as_str()), (10, "end of query"));
    assert!(expected.starts_with("a word"), "{expected}");
    for (text, column, expected) in [
        ("", 1, "a word"),
        ("a OR OR b", 6, "a word"),
        ("(a b", 5, "for the one at character 1"),
        ("ä) b", 2, "opening parenthesis"),
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
        ("status:", 8, "an integer"),
        ("site:\"x\"", 6, "site:www.example.org"),
        ("links-to: x", 10, "a URL right after"),
        ("a NEAR b", 3, "NEAR/n"),
        ("a NEAR/0 b", 3, "NEAR/n"),
        ("pre* NEAR/5 b", 6, "before NEAR"),
        ("a NEAR/5 title:b", 10, "after NEAR"),
        ("*", 1, "letters next to `*`"),
        ("a-*", 1, "letters next to `*`"),
        ("title:(a lang:en)", 1, "only words and phrases in title:( )"),
        ("title:(a OR b", 14, "for the one at character 1"),
    ] {
        let (found_column, found_expected, _) = error(text);
        assert_eq!(found_column, column, "{text}: {found_expected}");
        assert!(found_expected.contains(expected), "{text}: {found_expected}");
    }
    let error = Query::parse("ä titel:x").unwrap_err();
    assert_eq!(error.point_at("ä titel:x"), "ä titel:x\n  ^");
}

#[test]
fn queries_have_limits() {
    let deep = |levels: usize| format!("{}a{}", "(".repeat(levels), ")".repeat(levels));
    assert!(Query::parse(&deep(MAX_QUERY_DEPTH)).is_ok());
    assert!(parsed(&deep(MAX_QUERY_DEPTH + 1)).contains("nested"));
    assert!(parsed(&format!("{}a", "NOT ".repeat(100))).contains("nested"));
    assert!(Query::parse(&"a ".repeat(MAX_QUERY_TERMS)).is_ok());
    assert!(parsed(&"a ".repeat(MAX_QUERY_TERMS + 1)).contains("at most 128 terms"));
    assert!(Query::parse(&"a* ".repeat(MAX_QUERY_WILDCARDS)).is_ok());
    assert!(parsed(&"*a* ".repeat(MAX_QUERY_WILDCARDS + 1)).contains("at most 8 wildcards"));
    assert!(parsed(&"ä".repeat(MAX_QUERY_BYTES)).contains("at most 4096 bytes"));
}

#[test]
fn plain_text_becomes_an_any_word_query() {
    let query = Query::any_word("What -is (title:known\" about weirs? Weirs").unwrap();
    assert_eq!(query.to_string(), "title OR known OR weirs OR weirs");
    assert_eq!(query.pairs(), [["title", "known"], ["weirs", "weirs"]]);
    assert_eq!(Query::any_word("What?").unwrap().to_string(), "what");
    assert_eq!(Query::any_word("to be or not").unwrap().to_string(), "to OR be OR or OR not");
    assert_eq!(Query::any_word(" -- "), None);
    let words: String = (0..5_000).map(|number| format!("ä{number} ")).collect();
    let Some(query) = Query::any_word(&words) else { panic!("no words") };
    assert!(matches!(query.condition(), Condition::Any(any) if any.len() == MAX_QUERY_TERMS));
    assert_eq!(Query::parse(&query.to_string()).map(|again| again.condition), Ok(query.condition));
}

#[test]
fn words_without_operators_can_be_relaxed_to_any_of_them() {
    let relaxed = |text: &str| Query::parse(text).unwrap().relaxed().map(|query| query.to_string());
    assert_eq!(relaxed("a b").as_deref(), Some("a OR b"));
    assert_eq!(relaxed("a \"b c\" lang:en -d").as_deref(), Some("(a OR \"b c\") lang:en -d"));
    for strict in ["a", "a AND b", "a lang:en", "a OR b", "-a b"] {
        assert_eq!(relaxed(strict), None, "{strict}");
    }
    let query = Query::parse("a b title:c d e").unwrap();
    assert_eq!(query.pairs(), [["a", "b"], ["d", "e"]]);
}

#[test]
fn a_colon_at_the_end_of_a_word_is_part_of_the_word() {
    for text in ["(note: )", "a (b OR note:)", "(-note:) c", "note:"] {
        let query = Query::parse(text).unwrap();
        let again = Query::parse(&query.to_string()).map(|again| again.condition);
        assert_eq!(again, Ok(query.condition), "{text}");
    }
    assert!(Query::parse("(nite:x)").is_err());
}

fn word() -> impl Strategy<Value = String> {
    "[a-zäöß東0-9][a-zA-Zäéß東&'./+0-9-]{0,6}"
}

fn pattern() -> impl Strategy<Value = WordPattern> {
    prop_oneof![
        word().prop_map(WordPattern::Word),
        "[a-zA-ZäÖ0-9][^\"]{0,12}".prop_map(WordPattern::Phrase),
        (word(), "[a-z0-9ä]{1,3}", 0..4).prop_map(|(word, end, form)| WordPattern::Wildcard(match form {
            0 => format!("{word}*").replace("-*", "-x*").replace(['&', '\'', '.', '/', '+'], "x"),
            1 => format!("*{end}"),
            2 => format!("{end}*{end}"),
            _ => format!("*{end}*"),
        })),
    ]
}

fn near_operand() -> impl Strategy<Value = WordPattern> {
    prop_oneof![word().prop_map(WordPattern::Word), "[a-zA-ZäÖ0-9][^\"]{0,12}".prop_map(WordPattern::Phrase)]
}

fn comparison() -> impl Strategy<Value = Comparison> {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
    prop::sample::select(vec![Equal, Less, LessOrEqual, Greater, GreaterOrEqual])
}

fn leaf() -> impl Strategy<Value = Condition> {
    let field =
        prop::option::of(prop::sample::select(vec![QueryField::Title, QueryField::Url, QueryField::Anchor]));
    let integer = prop::sample::select(vec![
        NumericField::Depth,
        NumericField::Status,
        NumericField::Inlinks,
        NumericField::Outlinks,
        NumericField::Size,
    ]);
    let relation =
        prop::sample::select(vec![LinkRelation::LinksTo, LinkRelation::LinkedFrom, LinkRelation::Related]);
    prop_oneof![
        (field, pattern()).prop_map(|(field, pattern)| Condition::Text { field, pattern }),
        prop::collection::vec((near_operand(), 1..=MAX_NEAR_DISTANCE), 2..4).prop_map(|pairs| {
            let (operands, mut max_distances): (Vec<WordPattern>, Vec<u16>) = pairs.into_iter().unzip();
            max_distances.pop();
            Condition::Near { operands, max_distances }
        }),
        (integer, comparison(), 0_u64..1_000_000_000_000_000).prop_map(|(field, comparison, value)| {
            Condition::Number { field, comparison, value: value as f64 }
        }),
        (comparison(), 0.0..1.0_f64).prop_map(|(comparison, value)| Condition::Number {
            field: NumericField::PageRank,
            comparison,
            value
        }),
        (comparison(), 1_000_u16..9_999, prop::option::of((1_u8..=12, prop::option::of(1_u8..=28))))
            .prop_map(|(comparison, year, rest)| {
                let text = match rest {
                    None => format!("{year}"),
                    Some((month, None)) => format!("{year}-{month:02}"),
                    Some((month, Some(day))) => format!("{year}-{month:02}-{day:02}"),
                };
                Condition::Date { comparison, period: Period::parse(&text).unwrap() }
            }),
        "[a-z0-9][a-z0-9.-]{0,8}".prop_map(Condition::Site),
        "[a-z0-9][a-z0-9.-]{0,8}".prop_map(Condition::Domain),
        "[a-z]{2}".prop_map(Condition::Language),
        "[a-z]{2,5}/[a-z+.-]{1,5}".prop_map(Condition::MimeType),
        (relation, "http://[a-z().?=&ä]{1,12}")
            .prop_map(|(relation, url)| Condition::Link(LinkCondition { relation, url })),
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
    fn formatted_conditions_are_parsed_back(condition in condition()) {
        let text = condition.to_string();
        prop_assume!(text.matches('*').count() <= MAX_QUERY_WILDCARDS);
        let read = Query::parse(&text);
        prop_assert_eq!(read.map(|query| query.condition), Ok(condition), "{}", text);
    }

    #[test]
    fn any_text_is_a_query_or_a_syntax_error(text in any::<String>()) {
        parse_or_locate_error(&text)?;
    }

    #[test]
    fn any_sequence_of_tokens_is_a_query_or_a_syntax_error(
        tokens in prop::collection::vec(prop::sample::select(vec![
            "a", "AND", "OR", "NOT", "NEAR/3", "-", "(", ")", "\"", "*", ":", " ", " ", "title:", "date:>=", "2024-01",
            "size:", "1e400", "0.1", "inf", "links-to:", "site:", "ä", "\u{3000}", "東",
        ]), 0..30)
    ) {
        parse_or_locate_error(&tokens.concat())?;
    }
}

fn parse_or_locate_error(text: &str) -> Result<(), TestCaseError> {
    match Query::parse(text) {
        Ok(query) => {
            let again = Query::parse(&query.to_string()).map(|again| again.condition);
            prop_assert_eq!(again, Ok(query.condition));
        }
        Err(error) => {
            prop_assert!((1..=text.chars().count() + 1).contains(&error.column), "{error}");
            prop_assert!(!error.point_at(text).is_empty());
        }
    }
    Ok(())
}

#[test]
fn link_conditions_are_limited() {
    let few = "links-to:a.test related:b.test ".repeat(4);
    assert!(Query::parse(&few).is_ok());
    let error = Query::parse(&format!("{few} linked-from:c.test")).unwrap_err();
    assert_eq!(error.expected, "at most 8 link conditions");
    assert_eq!(error.column, few.len() + 2);
}

#[test]
fn combined_queries_keep_their_grouping() {
    let query = |text: &str| Query::parse(text).unwrap();
    let joined = Query::all_of(vec![query("a OR b"), query("c d"), query("lang:en")]).unwrap();
    assert_eq!(joined.to_string(), "(a OR b) c d lang:en");
    assert_eq!(Query::all_of(vec![query("a OR b")]), Some(query("a OR b")));
    assert_eq!(Query::all_of(Vec::new()), None);
}
