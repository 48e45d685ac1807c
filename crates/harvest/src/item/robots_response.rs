//! Response to a request for robots.txt, as it is stored with a site.

use parse::{MAX_ROBOTS_BYTES, decode_content};
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
        let text = match response.status {
            200..=299 => decode_content(&response.body, &encoding, MAX_ROBOTS_BYTES).bytes.into_owned(),
            _ => Vec::new(),
        };
        // Rules after the point where a truncated file ends are unknown: treat it as unreachable.
        let broken = response.failure.is_some();
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
