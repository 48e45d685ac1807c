//! Authoritative name server over UDP for all names below `test`.

use std::sync::Arc;

use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, CNAME, SOA};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use tokio::net::UdpSocket;

use crate::world::kinds::{Health, ReplicaKind};
use crate::world::random::KeyedRandom;
use crate::world::synthetic_web::World;

const MAX_MESSAGE_BYTES: usize = 4096;
/// Time to live of negative responses.
const NEGATIVE_TTL_S: u32 = 60;

/// Responds to queries until the runtime ends.
pub(crate) async fn serve(socket: UdpSocket, world: Arc<World>) {
    let mut buffer = [0; MAX_MESSAGE_BYTES];
    loop {
        // An error refers to an earlier response that could not be delivered.
        let Ok((length, client)) = socket.recv_from(&mut buffer).await else { continue };
        if let Some(response) = respond(&world, &buffer[..length]) {
            let _ = socket.send_to(&response, client).await;
        }
    }
}

/// Returns the response to a message; `None` if it is not a query.
pub(crate) fn respond(world: &World, message: &[u8]) -> Option<Vec<u8>> {
    let request = Message::from_vec(message).ok()?;
    if request.metadata.message_type != MessageType::Query {
        return None;
    }
    let mut response = Message::response(request.metadata.id, request.metadata.op_code);
    response.metadata.recursion_desired = request.metadata.recursion_desired;
    response.metadata.authoritative = true;
    response.metadata.response_code = match (request.metadata.op_code, request.queries.as_slice()) {
        (OpCode::Query, [query]) if query.query_class == DNSClass::IN => {
            response.add_query(query.clone());
            resolve(world, query, &mut response)
        }
        (OpCode::Query, _) => ResponseCode::FormErr,
        _ => ResponseCode::NotImp,
    };
    response.to_vec().ok()
}

/// Adds the records of a name.
fn resolve(world: &World, query: &Query, response: &mut Message) -> ResponseCode {
    let name = query.name.to_lowercase().to_ascii();
    let name = name.trim_end_matches('.');
    if name != "test" && !name.ends_with(".test") {
        return ResponseCode::Refused;
    }
    let site = world.site_by_name(name).map(|index| world.site(index));
    let code = match site.map(|site| site.health) {
        Some(Health::ServFail) => return ResponseCode::ServFail,
        Some(Health::NxDomain) | None if !is_parent(world, name) => ResponseCode::NXDomain,
        _ => ResponseCode::NoError,
    };
    if let (ResponseCode::NoError, Some(site)) = (code, site) {
        let ttl_s = ttl_s(site.key);
        let mut owner = query.name.clone();
        if site.replica == Some(ReplicaKind::Alias)
            && let Ok(canonical) = Name::from_ascii(world.name(site.content) + ".")
        {
            response.add_answer(Record::from_rdata(owner, ttl_s, RData::CNAME(CNAME(canonical.clone()))));
            owner = canonical;
        }
        if matches!(query.query_type, RecordType::A | RecordType::ANY) {
            response.add_answer(Record::from_rdata(owner, ttl_s, RData::A(A(world.ip_address(site.index)))));
        }
    }
    if response.answers.is_empty() {
        response.authorities.extend(soa_record());
    }
    code
}

/// Reports whether a name is a domain above a site.
fn is_parent(world: &World, name: &str) -> bool {
    name == "test" || world.site_by_name(&format!("www.{name}")).is_some()
}

/// Returns the time to live of a site's records: a minute to a day.
fn ttl_s(key: KeyedRandom) -> u32 {
    [60, 300, 3_600, 86_400][key.child(995).below(4) as usize]
}

/// Returns the SOA record, which contains the time to live of negative responses.
fn soa_record() -> Option<Record> {
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
    use crate::world::synthetic_web::Ports;

    fn world() -> World {
        let settings = Settings { sites: 300, aliases: 0.2, ..Settings::default() };
        World::new(settings, Ports { http: 80, https: 443 }).unwrap()
    }

    fn ask(world: &World, name: &str, kind: RecordType) -> Message {
        let mut request = Message::query();
        request.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
        Message::from_vec(&respond(world, &request.to_vec().unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn a_site_has_one_address_record_and_no_other_types() {
        let world = world();
        let site = world
            .site_indexes()
            .map(|index| world.site(index))
            .find(|site| site.replica.is_none() && site.index > 5 && site.health.responds())
            .unwrap();
        // Names are case-insensitive.
        let name = world.name(site.index).to_uppercase() + ".";
        let response = ask(&world, &name, RecordType::A);
        assert_eq!(response.metadata.response_code, ResponseCode::NoError);
        let data: Vec<RData> = response.answers.iter().map(|record| record.data.clone()).collect();
        assert_eq!(data, [RData::A(A(world.ip_address(site.index)))]);
        let none = ask(&world, &name, RecordType::AAAA);
        assert_eq!(
            (none.metadata.response_code, none.answers.len(), none.authorities.len()),
            (ResponseCode::NoError, 0, 1)
        );
    }

    #[test]
    fn aliases_have_a_cname_record() {
        let world = world();
        let alias = world
            .site_indexes()
            .map(|index| world.site(index))
            .find(|site| site.replica == Some(ReplicaKind::Alias) && site.health.responds())
            .unwrap();
        let response = ask(&world, &(world.name(alias.index) + "."), RecordType::A);
        let canonical = Name::from_ascii(world.name(alias.content) + ".").unwrap();
        assert_eq!(response.answers[0].data, RData::CNAME(CNAME(canonical.clone())));
        assert_eq!(
            (&response.answers[1].name, &response.answers[1].data),
            (&canonical, &RData::A(A(world.ip_address(alias.content))))
        );
    }

    #[test]
    fn other_names_do_not_exist_or_are_refused() {
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
