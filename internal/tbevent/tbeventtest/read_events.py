"""Prints the events of TensorBoard event files as JSON lines.

    python3 read_events.py FILE...

It uses nothing but the standard library and shares no code with the writer: checksums are computed bit by bit, protocol buffers
decoded by hand. A wrong checksum or an unknown field ends it with status 1 after the events before. A file whose last record is
cut short makes the status 3 in the end. Numbers that are not finite are printed as strings.
"""

import json
import math
import struct
import sys


class Torn(Exception):
    """The file ends within a record."""


def crc32c(data):
    """CRC-32C (Castagnoli), least significant bit first."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0

    def take(n):
        nonlocal at
        if at + n > len(data):
            raise Torn(f"byte {at}: {len(data) - at} bytes left, want {n}")
        at += n
        return data[at - n:at]

    def check(what, content):
        where = at
        (told,) = struct.unpack("<I", take(4))
        if told != masked(content):
            raise ValueError(f"byte {where}: checksum of {what} is {told:08x}, want {masked(content):08x}")

    while at < len(data):
        length = take(8)
        check("length", length)
        (n,) = struct.unpack("<Q", length)
        content = take(n)
        check("data", content)
        yield content


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind in (1, 5):
            form, size = ("<d", 8) if kind == 1 else ("<f", 4)
            (value,) = struct.unpack(form, data[at:at + size])
            at += size
        elif kind == 2:
            n, at = varint(data, at)
            if at + n > len(data):
                raise ValueError(f"field {key >> 3} of {n} bytes, {len(data) - at} are left")
            value, at = data[at:at + n], at + n
        else:
            raise ValueError(f"field {key >> 3} has type {kind}")
        yield key >> 3, kind, value


def message(data, schema):
    """schema: field number -> (name, type of field, decoder, repeated)."""
    out = {}
    for number, kind, value in fields(data):
        if number not in schema or schema[number][1] != kind:
            raise ValueError(f"field {number} of type {kind} is not expected among {sorted(schema)}")
        name, _, decode, repeated = schema[number]
        if repeated:
            out.setdefault(name, []).append(decode(value))
        elif name in out:
            raise ValueError(f"{name} comes twice")
        else:
            out[name] = decode(value)
    return out


def number(x):
    return x if math.isfinite(x) else str(x)


def signed(x):
    return x - (1 << 64) if x >> 63 else x


def text(b):
    return b.decode("utf-8")


def doubles(b):
    return [number(x) for (x,) in struct.iter_unpack("<d", b)]


HISTO = {
    1: ("min", 1, number, False), 2: ("max", 1, number, False), 3: ("num", 1, number, False), 4: ("sum", 1, number, False),
    5: ("sum_squares", 1, number, False), 6: ("bucket_limit", 2, doubles, False), 7: ("bucket", 2, doubles, False),
}
PLUGIN = {1: ("plugin_name", 2, text, False)}
METADATA = {
    1: ("plugin_data", 2, lambda b: message(b, PLUGIN), False), 3: ("summary_description", 2, text, False),
    4: ("data_class", 0, int, False),
}
VALUE = {
    1: ("tag", 2, text, False), 2: ("simple_value", 5, number, False), 5: ("histo", 2, lambda b: message(b, HISTO), False),
    9: ("metadata", 2, lambda b: message(b, METADATA), False),
}
SUMMARY = {1: ("value", 2, lambda b: message(b, VALUE), True)}
SESSION = {1: ("status", 0, int, False)}
EVENT = {
    1: ("wall_time", 1, number, False), 2: ("step", 0, signed, False), 3: ("file_version", 2, text, False),
    5: ("summary", 2, lambda b: message(b, SUMMARY), False), 7: ("session_log", 2, lambda b: message(b, SESSION), False),
}


def show(path):
    with open(path, "rb") as f:
        data = f.read()
    for record in records(data):
        print(json.dumps(message(record, EVENT), allow_nan=False))


def main(paths):
    if crc32c(b"123456789") != 0xE3069283:  # the check value of CRC-32C
        raise AssertionError("crc32c is wrong")
    status = 0
    for path in paths:
        try:
            show(path)
        except Torn as e:
            print(f"{path}: torn: {e}", file=sys.stderr)
            status = 3
        except ValueError as e:
            sys.exit(f"{path}: {e}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) if len(sys.argv) > 1 else __doc__)
