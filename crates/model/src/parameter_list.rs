//! Lists of query parameters that describe the visitor, not the page: session ids and tracking.

/// Set of parameter names and name prefixes.
///
/// The lookup runs for each parameter of each link, so a negative result must be cheap: it costs one table access.
/// Names are compared without regard to ASCII case.
#[derive(Debug, Clone)]
pub struct ParameterList {
    names: Vec<Box<str>>,
    prefixes: Vec<Box<str>>,
    /// Bit set of the lengths of the names that start with a letter, indexed by the low five bits of that letter.
    lengths: [u64; 32],
}

impl ParameterList {
    /// Creates a list from patterns: a name, or a prefix followed by a star (`utm_*`).
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> ParameterList {
        let mut list = ParameterList { names: Vec::new(), prefixes: Vec::new(), lengths: [0; 32] };
        for pattern in patterns {
            let (kind, text) = match pattern.strip_suffix('*') {
                Some(prefix) => (&mut list.prefixes, prefix),
                None => (&mut list.names, pattern),
            };
            let Some(&first) = text.as_bytes().first() else { continue };
            let is_prefix = text.len() < pattern.len();
            list.lengths[letter(first)] |=
                if is_prefix { !0 << text.len().min(63) } else { length_bit(text) };
            kind.push(text.to_ascii_lowercase().into());
        }
        list
    }

    /// Reports whether the list contains a parameter name.
    pub fn contains(&self, name: &str) -> bool {
        let Some(&first) = name.as_bytes().first() else { return false };
        self.lengths[letter(first)] & length_bit(name) != 0 && self.matches(name)
    }

    #[cold]
    fn matches(&self, name: &str) -> bool {
        let starts_with = |prefix: &str| {
            name.as_bytes()
                .get(..prefix.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
        };
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
            || self.prefixes.iter().any(|prefix| starts_with(prefix))
    }
}

fn letter(first: u8) -> usize {
    usize::from(first & 31)
}

fn length_bit(name: &str) -> u64 {
    1 << name.len().min(63)
}

/// Parameters that carry a session id and nothing else: the page is the same without them.
pub const SESSION_PARAMETERS: &[&str] = &[
    "PHPSESSID",     // PHP with session.use_trans_sid
    "SESSID",        // PHP applications that renamed it
    "JSESSIONID",    // Java servlets, as a parameter or behind `;` in the path
    "JSESSIONIDSSO", // the same, across applications
    "ASPSESSIONID*", // classic ASP appends eight random letters
    "ASP.NET_SessionId",
    "CFID",         // ColdFusion: client number
    "CFTOKEN",      // ColdFusion: random token of the client
    "osCsid",       // osCommerce
    "XTCsid",       // xt:Commerce
    "zenid",        // Zen Cart
    "MODsid",       // modified eCommerce
    "BV_SessionID", // BroadVision
    "BV_EngineID",
    "_session_id", // Rails
];

/// Parameters that carry a session id on some sites and select the page on others (a story, a section). They are
/// removed only if the value is a hex digest, which is not used to name pages. phpBB writes `sid`, vBulletin `s`.
pub const SESSION_HASH_PARAMETERS: &[&str] = &["sid", "s", "session", "sessionid", "session_id"];

/// Tracking parameters of advertisements, newsletters and social networks.
///
/// The list contains only names that are specific to one system. `ref`, `source`, `from` and `cid` are missing
/// because they select the page on too many sites.
pub const TRACKING_PARAMETERS: &[&str] = &[
    // Google Analytics, Ads, Merchant Center
    "utm_*",
    "gclid",
    "gclsrc",
    "dclid",
    "gbraid",
    "wbraid",
    "gad_source",
    "gad_campaignid",
    "srsltid",
    "_ga",
    "_gl",
    "_gac",
    "_gid",
    // Microsoft, Yahoo
    "msclkid",
    "guccounter",
    "guce_referrer",
    "guce_referrer_sig",
    "soc_src",
    "soc_trk",
    // Meta
    "fbclid",
    "fb_action_ids",
    "fb_action_types",
    "fb_source",
    "fb_ref",
    "igshid",
    "igsh",
    "mibextid",
    // X, TikTok, LinkedIn, Pinterest, Reddit, Snapchat
    "twclid",
    "ref_src",
    "ref_url",
    "ttclid",
    "li_fat_id",
    "epik",
    "rdt_cid",
    "sccid",
    // Yandex, Openstat, Alibaba
    "yclid",
    "ysclid",
    "ymclid",
    "_openstat",
    "spm",
    // Matomo, AT Internet, Webtrends, Adobe
    "mtm_*",
    "matomo_*",
    "pk_campaign",
    "pk_kwd",
    "pk_keyword",
    "pk_source",
    "pk_medium",
    "pk_content",
    "pk_cid",
    "piwik_campaign",
    "piwik_kwd",
    "piwik_keyword",
    "at_campaign",
    "at_medium",
    "wt.mc_id",
    "wt.mc_ev",
    "wt_mc",
    "wt_zmc",
    "s_kwcid",
    "ef_id",
    "mkwid",
    "pcrid",
    // newsletters: Mailchimp, HubSpot, Marketo, Klaviyo, Drip, Vero, Omeda, MailerLite, Dotdigital, Eloqua
    "mc_cid",
    "mc_eid",
    "mc_tc",
    "_hsenc",
    "_hsmi",
    "__hssc",
    "__hstc",
    "__hsfp",
    "hsctatracking",
    "mkt_tok",
    "_ke",
    "_kx",
    "__s",
    "vero_id",
    "vero_conv",
    "oly_enc_id",
    "oly_anon_id",
    "ml_subscriber",
    "ml_subscriber_hash",
    "dm_i",
    "elqtrackid",
    "elqtrack",
    "nr_email_referer",
    "ck_subscriber_id",
    // affiliate and recommendation networks
    "irclickid",
    "irgwc",
    "cjevent",
    "zanpid",
    "tduid",
    "sscid",
    "dicbo",
    "tblci",
    "wickedid",
    "_branch_match_id",
    "_branch_referrer",
    "rb_clickid",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_completely_and_in_any_case() {
        let list = ParameterList::new(["fbclid", "PHPSESSID"]);
        assert!(list.contains("fbclid") && list.contains("FBCLID") && list.contains("phpsessid"));
        assert!(!list.contains("fbclid2") && !list.contains("fbcli") && !list.contains("xfbclid"));
        assert!(!list.contains(""));
    }

    #[test]
    fn a_star_matches_every_suffix_and_the_empty_one() {
        let list = ParameterList::new(["utm_*"]);
        assert!(
            list.contains("utm_source") && list.contains("UTM_") && list.contains(&format!("utm_{:99}", 0))
        );
        assert!(!list.contains("utm") && !list.contains("utmost"));
    }

    #[test]
    fn empty_patterns_match_nothing() {
        let list = ParameterList::new(["", "*"]);
        assert!(!list.contains("") && !list.contains("a") && !list.contains("*"));
    }

    #[test]
    fn the_default_lists_contain_all_their_names_once() {
        for patterns in [SESSION_PARAMETERS, SESSION_HASH_PARAMETERS, TRACKING_PARAMETERS] {
            let list = ParameterList::new(patterns.iter().copied());
            for pattern in patterns {
                assert!(list.contains(&pattern.replace('*', "abc")), "{pattern}");
                assert_eq!(patterns.iter().filter(|other| other.eq_ignore_ascii_case(pattern)).count(), 1);
            }
            for page_choosing in ["id", "q", "page", "p", "ref", "source", "lang", "v", "cid", "t", "utf8"] {
                assert!(!list.contains(page_choosing), "{page_choosing}");
            }
        }
    }

    #[test]
    fn names_outside_ascii_are_accepted() {
        let list = ParameterList::new(["é*", "utm_*"]);
        assert!(list.contains("éa"));
        assert!(!list.contains("utmé"));
    }
}
