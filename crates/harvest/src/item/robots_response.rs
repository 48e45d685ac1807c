//! Response to a request for robots.txt, as it is stored with a site.

use model::Truncation;
use parse::{DecodeEnd, MAX_ROBOTS_BYTES, decode_content};
use serde::{Deserialize, Serialize};

use crate::item::http_head::HttpHead;

/// Response to a request for robots.txt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsResponse {
    /// Time of the response, in Unix seconds.
    pub fetched_s: u32,
    /// Status code; 0 for no response.
    pub status: u16,
    /// Body. It may have any bytes, so JSON stores each byte as the character of the same code point (Latin-1).
    #[serde(with = "latin1_bytes", default)]
    pub text: Vec<u8>,
}

impl RobotsResponse {
    /// Extracts the fields that are stored; the body is cut at [`MAX_ROBOTS_BYTES`].
    pub fn from_response(response: &fetch::Response, fetched_s: u32) -> RobotsResponse {
        let encoding = HttpHead(&response.head).joined("Content-Encoding");
        let (text, end) = match response.status {
            200..=299 => {
                let decoded = decode_content(&response.body, &encoding, MAX_ROBOTS_BYTES);
                (decoded.bytes.into_owned(), decoded.end)
            }
            _ => (Vec::new(), DecodeEnd::Complete),
        };
        let is_whole = match end {
            DecodeEnd::Complete | DecodeEnd::LimitReached => true,
            // The encoding is cut where the maximum size cut the body.
            DecodeEnd::Broken => response.truncation == Some(Truncation::Length),
            DecodeEnd::Undecodable => false,
        };
        // Rules after the point where a truncated file ends are unknown: treat it as unreachable.
        let broken = response.failure.is_some() || !is_whole;
        RobotsResponse { fetched_s, status: if broken { 0 } else { response.status }, text }
    }

    /// Stands for a robots.txt that could not be requested.
    pub fn unreachable(fetched_s: u32) -> RobotsResponse {
        RobotsResponse { fetched_s, status: 0, text: Vec::new() }
    }
}

/// Serialization of any bytes as a JSON string, one Latin-1 character per byte.
pub(crate) mod latin1_bytes {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&bytes.iter().map(|byte| char::from(*byte)).collect::<String>())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let byte =
            |character| u8::try_from(character).map_err(|_| D::Error::custom("a character is above U+00FF"));
        text.chars().map(byte).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_robots_txt_that_cannot_be_decoded_completely_is_unreachable() {
        let text = (0..10_000u64).map(|number| format!("Disallow: /{:x}\n", number.wrapping_pow(7)));
        let body =
            zstd::encode_all(format!("User-agent: *\n{}", text.collect::<String>()).as_bytes(), 1).unwrap();
        let response = |body: &[u8], truncation| fetch::Response {
            status: 200,
            head: b"HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\n".to_vec(),
            body: body.to_vec(),
            truncation,
            ..fetch::Response::default()
        };
        let status =
            |body: &[u8], truncation| RobotsResponse::from_response(&response(body, truncation), 7).status;
        let cut = &body[..body.len() - 12];
        assert_eq!(status(&body, None), 200);
        assert_eq!((status(cut, None), status(cut, Some(Truncation::Length))), (0, 200));
        assert_eq!(status(b"\xff\xfe\0", None), 0);
        assert_eq!(status(b"User-agent: *\nDisallow: /\n", None), 200, "not encoded");
    }
}
