#![allow(missing_docs, clippy::unwrap_used)]
use report::{Report, Side};
use store::{PowerLaw, Statistic, Value};
fn st(name: &str, columns: &[&str], rows: Vec<Vec<Value>>) -> Statistic {
    Statistic {
        name: name.into(),
        columns: columns.iter().map(|c| c.to_string()).collect(),
        rows,
        ..Default::default()
    }
}
fn side(name: &str, f: f64) -> Side {
    let mut v = vec![];
    v.push(st(
        "status-codes",
        &["status", "pages"],
        vec![
            vec![200u64.into(), ((9000.0 * f) as u64).into()],
            vec![404u64.into(), 700u64.into()],
            vec![301u64.into(), 423u64.into()],
            vec![0u64.into(), 23u64.into()],
        ],
    ));
    let mut rows = vec![];
    let tot: f64 = (0..60).map(|i| (-((i as f64 - 35.0) / 8.0 * f).powi(2)).exp() * 1000.0).sum();
    let mut left = tot;
    for i in 0..60 {
        let c = ((-((i as f64 - 35.0) / 8.0 * f).powi(2)).exp() * 1000.0).floor();
        let from = 10f64.powf(i as f64 / 10.0);
        rows.push(vec![
            from.into(),
            10f64.powf((i + 1) as f64 / 10.0).into(),
            (c as u64).into(),
            (left / tot).into(),
        ]);
        left -= c;
    }
    let mut s = st("page-size", &["from", "to", "count", "ccdf"], rows);
    s.notes.insert("mean".into(), 4321.0 * f);
    s.notes.insert("median".into(), 3000.0);
    v.push(s);
    let mut rows = vec![];
    let mut from = 1.0f64;
    let alpha = 2.1 * f;
    while from < 20000.0 {
        let to = (from * 1.3).floor().max(from + 1.0);
        let cc = from.powf(1.0 - alpha);
        let n = 100000.0 * (cc - to.powf(1.0 - alpha));
        rows.push(vec![from.into(), to.into(), (n as u64).into(), cc.into()]);
        from = to;
    }
    let mut s = st("in-degree", &["from", "to", "count", "ccdf"], rows);
    s.fit = Some(PowerLaw { alpha, x_min: 3.0, ks: 0.012, tail: 30000, n: 100000 });
    s.notes.insert("mean".into(), 7.31);
    v.push(s);
    v.push(st(
        "structure-pages",
        &["part", "pages"],
        [
            ("main-main", 100u64),
            ("main-norm", 3000),
            ("in", 2000),
            ("out", (2500.0 * f) as u64),
            ("tubes", 10),
            ("tendrils", 500),
            ("islands", 900),
        ]
        .iter()
        .map(|(a, b)| vec![(*a).into(), (*b).into()])
        .collect(),
    ));
    v.push(st(
        "top-pages",
        &["url", "pagerank", "in_degree"],
        (0..30u64)
            .map(|i| {
                vec![
                    format!("http://www.site{i}.test/a/rather/long/path/<b>{i}").into(),
                    (0.01 / (i + 1) as f64).into(),
                    (10000 / (i + 1)).into(),
                ]
            })
            .collect(),
    ));
    v.push(st(
        "fetches-over-time",
        &["minutes", "fetches", "errors"],
        (0..60u64)
            .map(|i| {
                vec![
                    i.into(),
                    (50.0 + 20.0 * (i as f64 * f / 5.0).sin()).into(),
                    (5.0 + 2.0 * (i as f64 / 3.0).sin()).into(),
                ]
            })
            .collect(),
    ));
    Side {
        name: name.into(),
        generation: 12,
        committed_ms: None,
        when: "2026-11-16 00:40:00 UTC".into(),
        statistics: v,
    }
}
fn main() {
    let out = std::path::PathBuf::from(std::env::args().nth(1).unwrap());
    Report::new("The Web of example.test", vec![side("web", 1.0)]).unwrap().write(&out.join("one")).unwrap();
    Report::new("The Web of example.test", vec![side("web", 1.0), side("before", 1.15)])
        .unwrap()
        .write(&out.join("two"))
        .unwrap();
    Report::new("Nothing", vec![Side { name: "web".into(), ..Default::default() }])
        .unwrap()
        .write(&out.join("none"))
        .unwrap();
}
