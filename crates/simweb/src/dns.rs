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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::settings::Settings;
    use crate::world::Ports;

    fn world() -> World {
        let settings = Settings { sites: 300, aliases: 0.2, ..Settings::default() };
        World::new(settings, Ports { http: 80, https: 443 }).unwrap()
    }

    fn ask(world: &World, name: &str, kind: RecordType) -> Message {
        let mut question = Message::query();
        question.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
        Message::from_vec(&respond(world, &question.to_vec().unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn sites_have_one_address_and_no_other_kind() {
        let world = world();
        let site = world
            .site_indexes()
            .map(|index| world.site(index))
            .find(|site| site.copy.is_none() && site.index > 5 && site.health.lives())
            .unwrap();
        // Names are asked for in any case.
        let name = world.name(site.index).to_uppercase() + ".";
        let answer = ask(&world, &name, RecordType::A);
        assert_eq!(answer.metadata.response_code, ResponseCode::NoError);
        let data: Vec<RData> = answer.answers.iter().map(|record| record.data.clone()).collect();
        assert_eq!(data, [RData::A(A(world.address(site.index)))]);
        let none = ask(&world, &name, RecordType::AAAA);
        assert_eq!(
            (none.metadata.response_code, none.answers.len(), none.authorities.len()),
            (ResponseCode::NoError, 0, 1)
        );
    }

    #[test]
    fn aliases_name_their_site() {
        let world = world();
        let alias = world
            .site_indexes()
            .map(|index| world.site(index))
            .find(|site| site.copy == Some(Copied::Alias) && site.health.lives())
            .unwrap();
        let answer = ask(&world, &(world.name(alias.index) + "."), RecordType::A);
        let canonical = Name::from_ascii(world.name(alias.content) + ".").unwrap();
        assert_eq!(answer.answers[0].data, RData::CNAME(CNAME(canonical.clone())));
        assert_eq!(
            (&answer.answers[1].name, &answer.answers[1].data),
            (&canonical, &RData::A(A(world.address(alias.content))))
        );
    }

    #[test]
    fn other_names_do_not_exist_or_are_not_ours() {
        let world = world();
        assert_eq!(ask(&world, "lost12.test.", RecordType::A).metadata.response_code, ResponseCode::NXDomain);
        assert_eq!(ask(&world, "test.", RecordType::A).metadata.response_code, ResponseCode::NoError);
        assert_eq!(ask(&world, "example.com.", RecordType::A).metadata.response_code, ResponseCode::Refused);
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered_or_ignored(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            respond(&world(), &bytes);
        }
    }
}
