//! Judgement of the pages of a running crawl after a change of its settings.

use std::sync::Arc;

use harvest::settings::crawl_settings::CrawlSettings;
use store::Collection;

use super::CrawlLoop;
use crate::error::Error;
use crate::rejudge::rejudge;
use crate::state::crawl_state::CrawlState;

impl CrawlLoop {
    /// Judges the pages again after a change of the settings, and reports the effect as a warning.
    pub(super) fn judge_again(
        &mut self,
        collection: &mut Collection,
        settings: &Arc<CrawlSettings>,
    ) -> Result<(), Error> {
        if self.judged.as_ref().is_some_and(|judged| Arc::ptr_eq(judged, settings)) {
            return Ok(());
        }
        self.judged = Some(Arc::clone(settings));
        if CrawlState::load(collection)?.setting_digests == settings.setting_digests {
            return Ok(());
        }
        // The links that are judged are those of the last commit.
        self.commit(collection)?;
        let summary = rejudge(collection, settings, self.context.clock.now_ms())?;
        self.commit(collection)?;
        self.schedule.scan_needed = true;
        let (freed, rejected) = summary.pages();
        if freed + rejected > 0 {
            let names = summary.changed_settings.join(", ");
            self.sampler
                .warn(format!("settings changed ({names}): {freed} pages freed, {rejected} pages rejected"));
        }
        Ok(())
    }
}
