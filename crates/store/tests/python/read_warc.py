"""Reads WARC files with FastWARC, and checks every digest that a record has.

    read_warc.py FILE...
"""

import sys

from fastwarc.warc import ArchiveIterator, WarcRecordType

records = wrong = 0
for path in sys.argv[1:]:
    with open(path, "rb") as stream:
        for record in ArchiveIterator(stream, parse_http=False):
            records += 1
            if not record.verify_block_digest():
                print("block digest", path, record.record_id)
                wrong += 1
            # What a revisit record digests is in another record.
            if record.record_type == WarcRecordType.response:
                record.parse_http()
                if not record.verify_payload_digest():
                    print("payload digest", path, record.record_id)
                    wrong += 1
print(f"{records} records, {wrong} wrong digests")
