"""Reads pages by Arrow Flight, with pyarrow alone and with the weir package.

    read_flight.py LOCATION PAGES
"""

import sys

import pyarrow.flight

import weir


def main(location, pages):
    client = pyarrow.flight.connect(location)
    descriptor = pyarrow.flight.FlightDescriptor.for_command(b"shards=3&columns=url,status,fetch_time,links,cursor")
    info = client.get_flight_info(descriptor)
    assert len(info.endpoints) == 3, info.endpoints
    tables = [client.do_get(endpoint.ticket).read_all() for endpoint in info.endpoints]
    assert all(table.schema == info.schema for table in tables), tables[0].schema
    urls = sorted(url for table in tables for url in table.column("url").to_pylist())
    assert len(urls) == pages and len(set(urls)) == pages, urls
    assert str(info.schema.field("fetch_time").type) == "timestamp[ms, tz=UTC]", info.schema

    # A client that knows nothing of the server.
    listed = [flight for flight in client.list_flights()]
    assert len(listed) >= 1 and listed[0].schema == client.get_schema(listed[0].descriptor).schema
    assert client.do_get(listed[0].endpoints[0].ticket).read_all().num_rows == pages

    # Cursors of rows and of batches.
    whole = client.do_get(pyarrow.flight.Ticket(b"columns=url,cursor")).read_all().to_pylist()
    ticket = f"columns=url,cursor&after={whole[1]['cursor']}".encode()
    assert client.do_get(pyarrow.flight.Ticket(ticket)).read_all().to_pylist() == whole[2:]
    chunk = client.do_get(pyarrow.flight.Ticket(b"")).read_chunk()
    assert chunk.app_metadata.to_pybytes().decode() == whole[-1]["cursor"]

    batches = list(weir.flight(location, site="a.test", columns=["url", "body"]))
    bodies = [body for batch in batches for body in batch.column("body").to_pylist()]
    assert len(bodies) == 3 and all(body.startswith(b"<html>") for body in bodies)
    missing = list(weir.flight(location, where="status = 404 or url = ''", columns=["url", "status"]))
    assert [status for batch in missing for status in batch.column("status").to_pylist()] == [404]
    for query in (dict(site="nowhere.test"), dict(shard="9/2"), dict(where="status = 9/2")):
        try:
            list(weir.flight(location, **query))
            raise AssertionError(query)
        except weir.StreamError as error:
            assert "nowhere.test" in str(error) or "9/2" in str(error), error
    print(f"{pages} pages")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
