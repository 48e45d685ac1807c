//! Who is at work at a site, and when may the next one ask it? Sites are known by their names here, so that a request on
//! behalf of another site (an errand) heeds the clock of a site that is in no batch, or in no collection.
//!
//! A name has one visitor at a time: the harvester that works at the site, or one that runs an errand there. Who else wants
//! to go there joins the former, or waits for the end of the latter. It never sends anything, and reads no clock.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The clocks by name; `W` is what waits for its turn.
#[derive(Debug)]
pub(crate) struct NameClocks<W> {
    /// Who is at a site, and what waits for the end of that.
    at_work: HashMap<Box<str>, (Visitor, Vec<W>)>,
    /// Those whom nobody asks now, by the hash of their names: there may be millions.
    rests: HashMap<u64, Rest>,
    /// With more rests than this, those that are over are forgotten.
    sweep_above: usize,
}

/// How long a site is to be left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rest {
    pub(crate) until_ms: u64,
    /// When it was last asked by somebody who did not know how long it wants to be left alone; 0 if it was not.
    pub(crate) asked_ms: u64,
}

/// Who is at a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visitor {
    /// The harvester that has it in work.
    Harvester(usize),
    /// Somebody on an errand.
    Errand,
}

const FEWEST_SWEPT: usize = 1 << 10;

impl<W> NameClocks<W> {
    pub(crate) fn new(rests: impl IntoIterator<Item = (String, u64)>) -> NameClocks<W> {
        let rests = rests.into_iter();
        let rests: HashMap<u64, Rest> =
            rests.map(|(name, until_ms)| (hash(&name), Rest { until_ms, asked_ms: 0 })).collect();
        NameClocks { at_work: HashMap::new(), sweep_above: FEWEST_SWEPT.max(2 * rests.len()), rests }
    }

    /// Who is there, if anybody is.
    pub(crate) fn visitor(&self, name: &str) -> Option<Visitor> {
        self.at_work.get(name).map(|(visitor, _)| *visitor)
    }

    /// The harvester that has a site in work, if any has.
    pub(crate) fn harvester(&self, name: &str) -> Option<usize> {
        match self.visitor(name) {
            Some(Visitor::Harvester(harvester)) => Some(harvester),
            Some(Visitor::Errand) | None => None,
        }
    }

    /// Keeps what is to be done at a site where somebody is.
    pub(crate) fn wait(&mut self, name: &str, work: W) {
        if let Some((_, waiting)) = self.at_work.get_mut(name) {
            waiting.push(work);
        }
    }

    /// Somebody goes there on an errand, not before this rest is over.
    pub(crate) fn begin_errand(&mut self, name: &str) -> Rest {
        self.begin(name, Visitor::Errand)
    }

    /// A harvester begins with a site, not before this rest is over.
    pub(crate) fn begin_site(&mut self, name: &str, harvester: usize) -> Rest {
        self.begin(name, Visitor::Harvester(harvester))
    }

    fn begin(&mut self, name: &str, visitor: Visitor) -> Rest {
        self.at_work.insert(name.into(), (visitor, Vec::new()));
        self.rests.get(&hash(name)).copied().unwrap_or_default()
    }

    /// Nobody asks a site any more; gives those who have waited for that, in their order.
    pub(crate) fn leave(&mut self, name: &str, rest: Rest, now_ms: u64) -> Vec<W> {
        if self.rests.len() > self.sweep_above {
            // An asked time counts for a while longer, since the longest wait is not known here.
            let counts = |asked_ms: u64| asked_ms > 0 && asked_ms + KEPT_MS > now_ms;
            self.rests.retain(|_, rest| rest.until_ms > now_ms || counts(rest.asked_ms));
            self.sweep_above = FEWEST_SWEPT.max(2 * self.rests.len());
        }
        let known = self.rests.entry(hash(name)).or_default();
        known.until_ms = known.until_ms.max(rest.until_ms);
        known.asked_ms = known.asked_ms.max(rest.asked_ms);
        self.at_work.remove(name).map_or(Vec::new(), |(_, waiting)| waiting)
    }
}

/// How long it is remembered that a site was asked.
const KEPT_MS: u64 = 3_600_000;

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_visitor_at_a_time() {
        let mut clocks = NameClocks::new([("http://a.example".to_owned(), 70)]);
        let a = "http://a.example";
        assert_eq!(clocks.visitor(a), None);
        assert_eq!(clocks.begin_errand(a), Rest { until_ms: 70, asked_ms: 0 });
        assert_eq!(clocks.visitor(a), Some(Visitor::Errand));
        clocks.wait(a, 1);
        clocks.wait(a, 2);
        assert_eq!(clocks.leave(a, Rest { until_ms: 90, asked_ms: 80 }, 80), [1, 2]);
        // Neither of both times goes back.
        assert!(clocks.leave(a, Rest { until_ms: 60, asked_ms: 85 }, 85).is_empty());
        assert_eq!(clocks.begin_site(a, 5), Rest { until_ms: 90, asked_ms: 85 });
        assert_eq!(clocks.harvester(a), Some(5));
        clocks.leave(a, Rest::default(), 100);
        assert_eq!(clocks.visitor(a), None);
    }

    #[test]
    fn rests_that_are_over_are_forgotten() {
        let mut clocks: NameClocks<()> = NameClocks::new([]);
        for number in 0..100_000 {
            clocks.leave(
                &format!("http://{number}.example"),
                Rest { until_ms: number + 100, asked_ms: 0 },
                number,
            );
        }
        assert!(clocks.rests.len() < 5_000, "{}", clocks.rests.len());
    }
}
