//! Key by which CDX indexes of web archives are sorted and searched.
//!
//! The key is the SURT of a normalised URL: without scheme and `www.`, in lower case, with a sorted query, without
//! session ids. Different pages may share a key. The rules are those of the Python package `surt` of the Internet
//! Archive, so that tools based on it find the entries. Hosts must have the form of canonical URLs (ASCII, IP addresses
//! in their usual notation).

/// Computes the key of a URL.
pub fn cdxj_key(url: &str) -> String {
    let url: Vec<u8> = url.trim().bytes().filter(|byte| !matches!(byte, b'\n' | b'\r' | b'\t')).collect();
    if url.is_empty() {
        return "-".to_owned();
    }
    let url = if has_scheme(&url) { url } else { [b"http://", url.as_slice()].concat() };
    let Some(parts) = UrlParts::parse(without_repeated_scheme(&url)) else {
        return ascii(&escape(&url));
    };
    let mut key = Vec::with_capacity(url.len());
    push_host(&parts, &mut key);
    let mut path = escape(&normal_path(&unescape(parts.path)));
    path.make_ascii_lowercase();
    let path = without_path_session(path);
    key.extend_from_slice(path.strip_suffix(b"/").filter(|rest| !rest.is_empty()).unwrap_or(&path));
    let mut query = without_query_session(escape(&unescape(parts.query)));
    query.make_ascii_lowercase();
    if !query.is_empty() {
        key.push(b'?');
        key.extend_from_slice(&sorted_query(&query));
    }
    ascii(&key)
}

/// Converts bytes that are already escaped, and so ASCII.
fn ascii(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

struct UrlParts<'u> {
    host: &'u [u8],
    port: &'u [u8],
    path: &'u [u8],
    query: &'u [u8],
}

impl<'u> UrlParts<'u> {
    /// Returns `None` for a URL without a host, such as `urn:isbn:0`.
    fn parse(url: &'u [u8]) -> Option<UrlParts<'u>> {
        let scheme_end = url.iter().position(|byte| !is_scheme_byte(*byte))?;
        let rest = url[scheme_end..].strip_prefix(b":")?;
        let scheme = url[..scheme_end].to_ascii_lowercase();
        let rest = rest.split(|byte| *byte == b'#').next()?;
        // `http:////www.example.com` is read as `http://www.example.com`.
        let slashes = rest.iter().take_while(|byte| **byte == b'/').count();
        let rest = &rest[if scheme.starts_with(b"http") { slashes } else { slashes.min(2) }..];
        if slashes < 2 {
            return None;
        }
        let (before_query, query) = cut(rest, b'?');
        let slash = before_query.iter().position(|byte| *byte == b'/').unwrap_or(before_query.len());
        let (authority, path) = before_query.split_at(slash);
        let host = authority.rsplit(|byte| *byte == b'@').next()?;
        let port_at = host.iter().rposition(|byte| *byte == b':').filter(|at| !host[*at..].contains(&b']'));
        let (host, port) = host.split_at(port_at.unwrap_or(host.len()));
        let standard = matches!((&scheme[..], port), (b"http", b":80") | (b"https", b":443") | (_, b":"));
        let port = if standard { b"" } else { port };
        (!host.is_empty()).then_some(UrlParts { host, port, path, query })
    }
}

fn has_scheme(url: &[u8]) -> bool {
    let end = url.iter().position(|byte| !is_scheme_byte(*byte));
    url[0].is_ascii_alphabetic() && end.is_some_and(|end| url[end] == b':')
}

fn is_scheme_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

fn cut(bytes: &[u8], at: u8) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| *byte == at);
    end.map_or((bytes, &[]), |end| (&bytes[..end], &bytes[end + 1..]))
}

/// Removes repeated schemes: many web forms prepend one to a URL that has it already (`http://https://a/`).
fn without_repeated_scheme(mut url: &[u8]) -> &[u8] {
    let after = |url: &[u8]| {
        let lengths = [b"http://".as_slice(), b"https://"];
        lengths.iter().find(|scheme| url.starts_with(scheme)).map(|scheme| scheme.len())
    };
    while let Some(length) = after(url).filter(|length| after(&url[*length..]).is_some()) {
        url = &url[length..];
    }
    url
}

fn push_host(parts: &UrlParts<'_>, key: &mut Vec<u8>) {
    let mut host = unescape(parts.host);
    host.make_ascii_lowercase();
    // The brackets of IPv6 addresses are not part of the key.
    let host = escape(host.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]")).unwrap_or(&host));
    let labels = || host.split(|byte| *byte == b'.').filter(|label| !label.is_empty());
    let is_www =
        |label: &[u8]| label.strip_prefix(b"www").is_some_and(|digits| digits.iter().all(u8::is_ascii_digit));
    let mut kept: Vec<&[u8]> = labels().collect();
    if kept.len() > 1 && kept.first().is_some_and(|label| is_www(label)) {
        kept.remove(0);
    }
    kept.reverse();
    key.extend_from_slice(&kept.join(&b','));
    key.extend_from_slice(&escape(parts.port));
    key.push(b')');
}

/// Removes `.`, `..` and empty segments, except an empty one at the end.
fn normal_path(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in path.split(|byte| *byte == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if !kept.is_empty() => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    let last = kept.pop().unwrap_or_default();
    let mut out = vec![b'/'];
    for segment in kept.iter().filter(|segment| !segment.is_empty()) {
        out.extend_from_slice(segment);
        out.push(b'/');
    }
    out.extend_from_slice(last);
    out
}

/// Decodes percent-encoding repeatedly, in one pass: a decoded byte may complete an escape with the bytes before it.
fn unescape(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for byte in bytes {
        out.push(*byte);
        while let [.., b'%', high, low] = out[..]
            && let (Some(high), Some(low)) = ((high as char).to_digit(16), (low as char).to_digit(16))
        {
            out.truncate(out.len() - 3);
            out.push((high << 4 | low) as u8);
        }
    }
    out
}

/// Percent-encodes everything but visible ASCII, and the characters `#` and `%`.
fn escape(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_graphic() && !matches!(byte, b'#' | b'%') {
            out.push(*byte);
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    out
}

/// Sorts the parameters by name, then by value; a name without a value comes first.
fn sorted_query(query: &[u8]) -> Vec<u8> {
    let mut parameters: Vec<(&[u8], Option<&[u8]>)> = query
        .split(|byte| *byte == b'&')
        .map(|parameter| {
            let equals = parameter.iter().position(|byte| *byte == b'=');
            equals.map_or((parameter, None), |at| (&parameter[..at], Some(&parameter[at + 1..])))
        })
        .collect();
    parameters.sort_unstable();
    let texts: Vec<Vec<u8>> = parameters
        .into_iter()
        .map(|(name, value)| value.map_or(name.to_vec(), |value| [name, b"=", value].concat()))
        .collect();
    texts.join(&b'&')
}

/// Removes the ASP.NET session ids `(S(24 letters))/` and `(24 letters)/` before an `.aspx`. The path is in lower case.
fn without_path_session(path: Vec<u8>) -> Vec<u8> {
    let starts = (1..path.len()).rev().filter(|at| path[at - 1] == b'/' && path[*at] == b'(');
    for start in starts {
        let Some(length) = path_session_bytes(&path[start..]) else { continue };
        let after = &path[start + length..];
        // At least one character before the extension, and no `?` there.
        let name = after.windows(5).position(|part| part == b".aspx").filter(|at| *at > 0);
        if name.is_some_and(|at| !after[..at].contains(&b'?')) {
            return [&path[..start], after].concat();
        }
    }
    path
}

fn path_session_bytes(text: &[u8]) -> Option<usize> {
    let id = |text: &[u8]| {
        let letters = text.get(..26)?;
        let inside = &letters[1..25];
        (letters[0] == b'(' && letters[25] == b')' && inside.iter().all(u8::is_ascii_alphanumeric))
            .then_some(26)
    };
    if let Some(length) = id(text) {
        return (text.get(length) == Some(&b'/')).then_some(length + 1);
    }
    let mut at = 1;
    while text.get(at).is_some_and(u8::is_ascii_alphabetic) {
        at += 1 + id(text.get(at + 1..)?)?;
    }
    (at > 1 && text[at..].starts_with(b")/")).then_some(at + 2)
}

/// Removes well-known session parameters, also as the suffix of a parameter name; one of each kind, as `surt` does.
fn without_query_session(mut query: Vec<u8>) -> Vec<u8> {
    for session_bytes in [
        |text: &[u8]| id_bytes(text, b"jsessionid=", 32, u8::is_ascii_alphanumeric),
        |text: &[u8]| id_bytes(text, b"phpsessid=", 32, u8::is_ascii_alphanumeric),
        |text: &[u8]| id_bytes(text, b"sid=", 32, u8::is_ascii_alphanumeric),
        asp_session_bytes,
        coldfusion_session_bytes,
    ] {
        let found = (0..query.len()).rev().find_map(|start| {
            let end = start + session_bytes(&query[start..])?;
            matches!(query.get(end), None | Some(b'&')).then_some((start, end))
        });
        if let Some((start, end)) = found {
            query.drain(start..(end + 1).min(query.len()));
        }
    }
    query
}

fn id_bytes(text: &[u8], name: &[u8], length: usize, letter: fn(&u8) -> bool) -> Option<usize> {
    let start = text.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name))?;
    let id = text.get(start.len()..start.len() + length)?;
    id.iter().all(letter).then_some(name.len() + length)
}

fn asp_session_bytes(text: &[u8]) -> Option<usize> {
    let name = id_bytes(text, b"aspsessionid", 8, u8::is_ascii_alphabetic)?;
    Some(name + id_bytes(&text[name..], b"=", 24, u8::is_ascii_alphabetic)?)
}

fn coldfusion_session_bytes(text: &[u8]) -> Option<usize> {
    let value_bytes = |text: &[u8], name: &[u8]| {
        text.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name))?;
        let value =
            text[name.len()..].iter().position(|byte| *byte == b'&').unwrap_or(text.len() - name.len());
        (value > 0).then_some(name.len() + value)
    };
    let first = value_bytes(text, b"cfid=")?;
    Some(first + value_bytes(&text[first..], b"&cftoken=")?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_equal_those_of_the_internet_archive() {
        // Generated by the Python package surt 0.3.1.
        for line in include_str!("../../tests/data/cdx_keys.tsv").lines() {
            let (url, key) = line.split_once('\t').unwrap();
            assert_eq!(cdxj_key(url), key, "{url}");
        }
    }

    /// Reference implementation: decodes in passes until nothing changes.
    fn unescaped_in_passes(mut bytes: Vec<u8>) -> Vec<u8> {
        loop {
            let mut out = Vec::new();
            let mut at = 0;
            while at < bytes.len() {
                let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
                let byte =
                    hex.filter(|hex| !hex.starts_with('+')).and_then(|hex| u8::from_str_radix(hex, 16).ok());
                let escape = byte.filter(|_| bytes[at] == b'%');
                out.push(escape.unwrap_or(bytes[at]));
                at += if escape.is_some() { 3 } else { 1 };
            }
            if out == bytes {
                return out;
            }
            bytes = out;
        }
    }

    proptest! {
        #[test]
        fn one_pass_equals_repeated_passes(text in "[%2-6a]{0,24}") {
            prop_assert_eq!(unescape(text.as_bytes()), unescaped_in_passes(text.into_bytes()));
        }

        #[test]
        fn any_text_has_a_key_without_spaces(url in ".{0,40}") {
            let key = cdxj_key(&url);
            prop_assert!(key.bytes().all(|byte| byte.is_ascii_graphic()), "{}", key);
        }

        #[test]
        fn any_url_has_a_key_without_spaces(url in "https?://[a-z.@:]{0,6}[/?&=%.();a-z ]{0,30}") {
            let key = cdxj_key(&url);
            prop_assert!(key.bytes().all(|byte| byte.is_ascii_graphic()), "{}", key);
        }
    }
}
