//! The option `--set`: settings of the command line, which take precedence over those of the file.

use std::path::Path;

use super::{SetError, Settings};
use crate::exit::UsageError;

/// Settings of the command line.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct SetArgs {
    /// Use another value of a setting, such as politeness.delay=5s or scope.accept=.example.org,.example.net; repeatable.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    overrides: Vec<String>,
}

impl SetArgs {
    /// Reads the settings of a collection, with those of the command line.
    pub(crate) fn load(&self, dir: &Path) -> anyhow::Result<Settings> {
        let mut settings = Settings::load(dir)?;
        self.apply(&mut settings)?;
        Ok(settings)
    }

    /// Applies the settings of the command line.
    pub(crate) fn apply(&self, settings: &mut Settings) -> Result<(), UsageError> {
        self.overrides.iter().try_for_each(|text| apply(settings, text)).map_err(UsageError)
    }
}

fn apply(settings: &mut Settings, text: &str) -> Result<(), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("--set {text}: use NAME=VALUE, such as politeness.delay=5s"))?;
    let (name, value) = (name.trim(), value.trim());
    let (section, setting) = name.split_once('.').unwrap_or((name, ""));
    let mut sections = settings.sections_mut().into_iter();
    let Some(section) = sections.find(|known| known.name() == section) else {
        return Err(format!("--set {name}: {}", super::file::unknown(name)));
    };
    section.set_word(setting, value).map_err(|error| match error {
        SetError::Unknown => format!("--set {name}: {}", super::file::unknown(name)),
        SetError::Invalid(message) => format!("--set {name}: {message}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(settings: &[&str]) -> Result<Settings, String> {
        let args = SetArgs { overrides: settings.iter().map(|text| (*text).to_owned()).collect() };
        let mut changed = Settings::default();
        args.apply(&mut changed).map(|()| changed).map_err(|error| error.0)
    }

    #[test]
    fn values_are_written_as_in_the_file_without_quotes() {
        let settings = set(&[
            "politeness.delay=5s",
            "limits.max_depth_static = 3",
            "crawl.max_requests_per_second=0.5",
            "scope.accept=.example.org,.example.net",
            "scope.reject=[\"/a,b/\"]",
            "quality.weights={ depth = 1 }",
            "fetch.http2=false",
            "fetch.mime_types=*/*",
            "traps.calendar_years=none",
        ]);
        let settings = settings.unwrap();
        assert_eq!((settings.politeness.delay.as_secs(), settings.limits.max_depth_static), (5, 3));
        let rules: Vec<&str> = settings.scope.accept.iter().map(|rule| rule.0.as_str()).collect();
        assert_eq!((rules, settings.scope.reject.len()), (vec![".example.org", ".example.net"], 1));
        assert!(!settings.fetch.http2 && settings.traps.calendar_years.is_none());
        assert_eq!(settings.fetch.mime_types, ["*/*"]);
    }

    #[test]
    fn errors_name_the_setting_and_the_remedy() {
        let error = |text: &str| set(&[text]).unwrap_err();
        assert!(error("politeness.delay").contains("use NAME=VALUE"));
        assert!(error("politeness.dely=1s").contains("did you mean `politeness.delay`?"));
        assert!(error("politeness.delay=fast").starts_with("--set politeness.delay: invalid duration"));
        assert!(error("limits.max_depth_static=many").contains("invalid number"));
    }
}
