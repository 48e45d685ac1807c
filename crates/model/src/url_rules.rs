//! How does what people write become a canonical URL?

use url::{Host, Url};

use crate::parameter_list::{DIGEST_PARAMETERS, SESSION_PARAMETERS, TRACKING_PARAMETERS};
use crate::{CanonicalUrl, ParameterList, Rejected, Scheme, fast_join, rule};

/// The settings of canonicalisation. Two URLs are comparable only if the same rules made them.
///
/// What can not be switched off (fragment, user, host, port, dot segments, percent-encoding) is part of what
/// [`CanonicalUrl`] promises. The rules are idempotent: a canonical URL is its own canonical form.
#[derive(Debug, Clone)]
pub struct UrlRules {
    /// Whether session ids are dropped, from path and query.
    pub drop_session_ids: bool,
    /// Parameters that always carry a session.
    pub session_parameters: ParameterList,
    /// Parameters that carry a session where their value is a digest in hex.
    pub digest_parameters: ParameterList,
    /// Whether tracking parameters are dropped.
    pub drop_tracking: bool,
    /// Parameters that tell where the visitor came from.
    pub tracking_parameters: ParameterList,
    /// Whether the parameters of the query are ordered by name. Off: for some programs the order matters.
    pub sort_query: bool,
    /// The longest canonical URL. A reference of four times this length is rejected unread.
    pub max_length_bytes: u16,
}

impl Default for UrlRules {
    fn default() -> UrlRules {
        UrlRules {
            drop_session_ids: true,
            session_parameters: ParameterList::new(SESSION_PARAMETERS.iter().copied()),
            digest_parameters: ParameterList::new(DIGEST_PARAMETERS.iter().copied()),
            drop_tracking: true,
            tracking_parameters: ParameterList::new(TRACKING_PARAMETERS.iter().copied()),
            sort_query: false,
            max_length_bytes: 2048,
        }
    }
}

impl UrlRules {
    /// The canonical form of an absolute URL.
    pub fn canonical(&self, input: &str) -> Result<CanonicalUrl, Rejected> {
        let mut out = CanonicalUrl::blank();
        if fast_join::absolute(self, input, &mut out) { Ok(out) } else { self.by_parser(None, input) }
    }

    /// The canonical form of what `reference` means on the page `base`.
    pub fn join(&self, base: &CanonicalUrl, reference: &str) -> Result<CanonicalUrl, Rejected> {
        let mut out = CanonicalUrl::blank();
        self.join_into(base, reference, &mut out).map(|()| out)
    }

    /// As [`join`](UrlRules::join), into the memory of a URL that is no longer wanted. For the links of a page, start
    /// with a clone of `base`. A rejection leaves `out` as it was.
    pub fn join_into(
        &self,
        base: &CanonicalUrl,
        reference: &str,
        out: &mut CanonicalUrl,
    ) -> Result<(), Rejected> {
        if !fast_join::join(self, base, reference, out) {
            out.copy_from(&self.by_parser(Some(base), reference)?);
        }
        Ok(())
    }

    /// Whether this parameter, `name=value`, carries a session.
    pub(crate) fn is_session(&self, parameter: &str) -> bool {
        let name = rule::name_of(parameter);
        self.session_parameters.contains(name)
            || (self.digest_parameters.contains(name)
                && parameter.get(name.len() + 1..).is_some_and(rule::is_digest))
    }

    /// The way that takes anything: the URL standard's parser, then every rule.
    pub(crate) fn by_parser(
        &self,
        base: Option<&CanonicalUrl>,
        reference: &str,
    ) -> Result<CanonicalUrl, Rejected> {
        reject_other_scheme(reference)?;
        let reference = rule::without_fragment(reference);
        let limit_bytes = usize::from(self.max_length_bytes);
        if reference.len() > 4 * limit_bytes {
            return Err(Rejected::TooLong { length_bytes: reference.len(), limit_bytes });
        }
        let base = base.map(|base| Url::parse(base.as_str())).transpose()?;
        let parsed = Url::options().base_url(base.as_ref()).parse(reference)?;
        let canonical = self.apply(&parsed)?;
        let length_bytes = canonical.as_str().len();
        if length_bytes > limit_bytes {
            return Err(Rejected::TooLong { length_bytes, limit_bytes });
        }
        Ok(canonical)
    }

    /// All rules, in order. User and fragment are dropped by not being asked for.
    fn apply(&self, parsed: &Url) -> Result<CanonicalUrl, Rejected> {
        let scheme =
            Scheme::of_name(parsed.scheme()).ok_or_else(|| Rejected::Scheme(parsed.scheme().to_owned()))?;
        let port = rule::explicit_port(scheme, parsed.port())?;
        let mut out = CanonicalUrl::blank();
        match host(parsed)? {
            Host::Domain(name) => out.start_site(scheme, rule::dns_name(&name)?, port),
            address => out.start_site(scheme, &address.to_string(), port),
        }
        let text = out.text_mut();
        let root = text.len();
        text.push('/');
        let path = rule::percent_normal_form(parsed.path());
        let segments = path.strip_prefix('/').unwrap_or(&path).split('/');
        let segments = segments.map(|segment| rule::without_path_session(self, segment));
        rule::resolve_dot_segments(text, root, segments);
        let path_end = text.len();
        rule::push_query(self, text, &rule::percent_normal_form(parsed.query().unwrap_or_default()));
        out.finish(path_end);
        Ok(out)
    }
}

/// The host as the URL standard reads it for HTTP. For gopher, no longer one of its special schemes, the parser
/// leaves the host as written, so it is read here.
fn host(parsed: &Url) -> Result<Host<String>, Rejected> {
    match parsed.host() {
        None | Some(Host::Domain("")) => Err(Rejected::NoHost),
        Some(Host::Domain(name)) if parsed.scheme() == "gopher" => Ok(Host::parse(name)?),
        Some(host) => Ok(host.to_owned()),
    }
}

/// A link to `javascript:`, `mailto:` or `data:` is refused by its first bytes, however many follow.
fn reject_other_scheme(reference: &str) -> Result<(), Rejected> {
    /// No registered scheme is longer, and nobody wants to read a longer one.
    const SHOWN_BYTES: usize = 32;
    let reference = reference.trim_start_matches(|c| c <= ' ');
    let is_scheme_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let length = reference.bytes().take_while(|&byte| is_scheme_byte(byte)).count();
    let name = &reference[..length];
    let is_scheme =
        reference[length..].starts_with(':') && name.starts_with(|c: char| c.is_ascii_alphabetic());
    if is_scheme && Scheme::of_name(name).is_none() {
        return Err(Rejected::Scheme(name[..length.min(SHOWN_BYTES)].to_ascii_lowercase()));
    }
    Ok(())
}
