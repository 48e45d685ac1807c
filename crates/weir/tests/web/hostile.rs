//! Hostile crawled content: no page of the server may run or load anything of it.

use crate::archive::Sample;
use crate::served::Served;

const HOSTILE: &str = "<!doctype html><html lang=en><head>\
    <title>River </title><script>alert('title')</script><title>\"><img src=x onerror=alert(1)>\u{202e}gpj.exe</title>\
    <meta name=description content='\"><script>alert(2)</script>\u{2066}'>\
    <meta http-equiv=refresh content='0;url=https://evil.example/'>\
    <link rel=stylesheet href=https://evil.example/x.css><link rel=dns-prefetch href=//evil.example>\
    <base href=https://evil.example/></head>\
    <body onload=alert(3) background=https://evil.example/x.png>\
    <p>The river &lt;script&gt;alert(4)&lt;/script&gt; flows past \u{202e}the weir\u{7}\u{1b}[31m and on.</p>\
    <script>alert(5)</script><img src=https://evil.example/p.png onerror=alert(6) alt='\"><script>alert(7)</script>'>\
    <a href=\"javascript:alert(8)\">run</a> <a href='https://b.test/?\"><script>alert(9)</script>'>\"><b>x</a>\
    <iframe src=https://evil.example/frame></iframe><form action=https://evil.example/><input name=q autofocus></form>\
    <svg><script>alert(10)</script><a xlink:href=javascript:alert(11)>y</a></svg>\
    <style>@import url(https://evil.example/y.css);*{background:url(https://evil.example/z)}</style></body></html>";

/// Finds a tag that runs or loads something of a crawled page.
fn active_tag(html: &str) -> Option<&str> {
    let tags = html.split('<').skip(1).map(|tag| &tag[..tag.find('>').unwrap_or(tag.len())]);
    let is_own = |tag: &str| tag.starts_with("script src=\"/assets/script.js\"") || tag == "/script";
    let is_active = |tag: &str| {
        let lower = tag.to_ascii_lowercase();
        let name: String = lower.chars().take_while(|letter| letter.is_alphanumeric()).collect();
        ["script", "img", "object", "embed", "base", "style", "svg onload"].contains(&name.as_str())
            || lower.contains(" onerror") && !lower.contains("&quot;")
            || lower.contains("href=\"javascript:")
            || lower.contains("src=\"http")
    };
    tags.into_iter().find(|tag| is_active(tag) && !is_own(tag))
}

#[test]
fn hostile_pages_are_sanitized() {
    let huge = format!("<title>{}</title><p>river {}", "T".repeat(300_000), "word ".repeat(50_000));
    let towers = format!("<title>Z{}algo</title><p>river", "\u{301}".repeat(5_000));
    let sample = Sample::of(&[
        ("https://a.test/", HOSTILE),
        ("https://a.test/%22%3E%3Cscript%3Ealert(1)%3C/script%3E", HOSTILE),
        ("https://huge.test/", &huge),
        ("https://towers.test/", &towers),
    ]);
    let served = Served::start(&sample.dir(), &[]);
    let pages = [
        "/?q=river",
        "/?q=river&explain=true&collapse=false",
        "/?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
        "/?filter=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
        "/page?page_id=0",
        "/page?page_id=1",
        "/page?url=https://huge.test/",
        "/page?url=https://towers.test/",
        "/page?url=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
        "/cached?page_id=0",
        "/cached?url=https://huge.test/",
        "/similar?page_id=0",
        "/site?site=a.test",
        "/site?site=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
        "/sites",
        "/sites?filter=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
        "/dashboard",
    ];
    for path in pages {
        let reply = served.get(path);
        assert!([200, 400, 404].contains(&reply.status), "{path}: {}", reply.head);
        assert_eq!(active_tag(&reply.body), None, "{path}");
        for character in ['\u{202e}', '\u{2066}', '\u{1b}', '\u{7}'] {
            assert!(!reply.body.contains(character), "{path} has {character:?}");
        }
        assert!(reply.body.len() < 60_000, "{path} has {} bytes", reply.body.len());
    }
    for path in ["/cached/content?page_id=0", "/cached/content?page_id=1"] {
        let reply = served.get(path);
        let (_, body) = reply.body.split_once("</style></head>").unwrap();
        assert_eq!(active_tag(body), None, "{path}: {body}");
        assert!(body.contains("river &lt;script&gt;alert(4)&lt;/script&gt; flows past the weir"), "{body}");
        for removed in
            ["alert(5)", "alert(10)", "onload", "autofocus", "refresh", "y.css", "p.png", "\u{202e}"]
        {
            assert!(!body.contains(removed), "{path} has {removed}: {body}");
        }
        // A link leads to the cached page, and only by a click.
        assert!(!body.contains("\"https://evil.example") && body.contains("href=\"/cached?url="), "{body}");
    }
}

#[test]
fn a_page_of_ten_results_is_small() {
    let sample = Sample::rivers();
    let served = Served::start(&sample.dir(), &[]);
    let reply = served.get("/?q=river");
    assert_eq!(reply.body.matches("<li class=\"hit").count(), 10);
    let style = served.get("/assets/style.css").body.len();
    assert!(reply.body.len() + style < 50_000, "{} + {style}", reply.body.len());
    for outside in ["http-equiv", "<img", "fonts.", "cdn"] {
        assert!(!reply.body.contains(outside), "{outside}");
    }
}
