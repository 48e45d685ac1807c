//! Where does a name lead? A small authoritative name server over UDP for everything below `test`, so that any number
//! of sites need no entry anywhere; and the same knowledge as a host map, for clients that ask nobody.

use std::sync::Arc;

use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, CNAME, SOA};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use tokio::net::UdpSocket;

use crate::draw::Draw;
use crate::site::{Copied, Health};
use crate::world::World;

const MESSAGE_LIMIT_BYTES: usize = 4096;
/// How long "no such name" may be remembered.
const NEGATIVE_TTL_S: u32 = 60;

/// Answers questions for ever.
pub(crate) async fn serve(socket: UdpSocket, world: Arc<World>) {
    let mut buffer = [0; MESSAGE_LIMIT_BYTES];
    loop {
        // An error here is about some earlier answer that nobody took; the next question is worth waiting for.
        let Ok((length, client)) = socket.recv_from(&mut buffer).await else { continue };
        if let Some(answer) = respond(&world, &buffer[..length]) {
            let _ = socket.send_to(&answer, client).await;
        }
    }
}

/// The answer to a message; `None` for what is no question.
pub(crate) fn respond(world: &World, message: &[u8]) -> Option<Vec<u8>> {
    let question = Message::from_vec(message).ok()?;
    if question.metadata.message_type != MessageType::Query {
        return None;
    }
    let mut answer = Message::response(question.metadata.id, question.metadata.op_code);
    answer.metadata.recursion_desired = question.metadata.recursion_desired;
    answer.metadata.authoritative = true;
    answer.metadata.response_code = match (question.metadata.op_code, question.queries.as_slice()) {
        (OpCode::Query, [query]) if query.query_class == DNSClass::IN => {
            answer.add_query(query.clone());
            resolve(world, query, &mut answer)
        }
        (OpCode::Query, _) => ResponseCode::FormErr,
        _ => ResponseCode::NotImp,
    };
    answer.to_vec().ok()
}

/// Fills in the records for a name.
fn resolve(world: &World, query: &Query, answer: &mut Message) -> ResponseCode {
    let asked = query.name.to_lowercase().to_ascii();
    let asked = asked.trim_end_matches('.');
    if asked != "test" && !asked.ends_with(".test") {
        return ResponseCode::Refused;
    }
    let site = world.site_by_name(asked).map(|index| world.site(index));
    let code = match site.map(|site| site.health) {
        Some(Health::ServFail) => return ResponseCode::ServFail,
        Some(Health::Nameless) | None if !is_parent(world, asked) => ResponseCode::NXDomain,
        _ => ResponseCode::NoError,
    };
    if let (ResponseCode::NoError, Some(site)) = (code, site) {
        let ttl_s = time_to_live_s(site.key);
        let mut owner = query.name.clone();
        if site.copy == Some(Copied::Alias)
            && let Ok(canonical) = Name::from_ascii(world.name(site.content) + ".")
        {
            answer.add_answer(Record::from_rdata(owner, ttl_s, RData::CNAME(CNAME(canonical.clone()))));
            owner = canonical;
        }
        if matches!(query.query_type, RecordType::A | RecordType::ANY) {
            answer.add_answer(Record::from_rdata(owner, ttl_s, RData::A(A(world.address(site.index)))));
        }
    }
    if answer.answers.is_empty() {
        answer.authorities.extend(authority());
    }
    code
}

/// Domains exist even where they are no site themselves.
fn is_parent(world: &World, name: &str) -> bool {
    name == "test" || world.site_by_name(&format!("www.{name}")).is_some()
}

/// A minute to a day, by site.
fn time_to_live_s(key: Draw) -> u32 {
    [60, 300, 3_600, 86_400][key.of(995).below(4) as usize]
}

/// Tells how long a negative answer holds.
fn authority() -> Option<Record> {
    let zone = Name::from_ascii("test.").ok()?;
    let server = Name::from_ascii("portal.test.").ok()?;
    let soa = SOA::new(server.clone(), server, 1, 3600, 600, 86_400, NEGATIVE_TTL_S);
    Some(Record::from_rdata(zone, NEGATIVE_TTL_S, RData::SOA(soa)))
}
