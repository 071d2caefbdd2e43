"""Adds a MAC by PBMAC1 (RFC 9579) to a PKCS#12 store without one: OpenSSL writes it only from version 3.4."""

import hashlib
import hmac
import sys


def tlv(tag, *parts):
    content = b"".join(parts)
    length = len(content)
    if length < 128:
        return bytes([tag, length]) + content
    octets = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(octets)]) + octets + content


def read(data):
    """Returns the content of the first element, and the bytes behind it."""
    length, start = data[1], 2
    if length >= 128:
        start += length & 127
        length = int.from_bytes(data[2:start], "big")
    return data[start : start + length], data[start + length :]


def oid(text):
    arcs = [int(arc) for arc in text.split(".")]
    out = bytes([arcs[0] * 40 + arcs[1]])
    for arc in arcs[2:]:
        groups = [arc & 127]
        while arc := arc >> 7:
            groups.append(arc & 127 | 128)
        out += bytes(reversed(groups))
    return tlv(6, out)


def main(source, password, target):
    pfx, _ = read(open(source, "rb").read())
    _, after_version = read(pfx)
    content_info, _ = read(after_version)
    _, explicit = read(content_info)
    content, _ = read(read(explicit)[0])
    salt, iterations = bytes(range(16)), 2048
    key = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations, 32)
    hmac_sha256 = tlv(0x30, oid("1.2.840.113549.2.9"), tlv(5))
    parameters = tlv(4, salt), tlv(2, iterations.to_bytes(2, "big")), tlv(2, b"\x20"), hmac_sha256
    derivation = tlv(0x30, oid("1.2.840.113549.1.5.12"), tlv(0x30, *parameters))
    algorithm = tlv(0x30, oid("1.2.840.113549.1.5.14"), tlv(0x30, derivation, hmac_sha256))
    digest = tlv(0x30, algorithm, tlv(4, hmac.digest(key, content, "sha256")))
    mac = tlv(0x30, digest, tlv(4, b"unused"), tlv(2, b"\x01"))
    open(target, "wb").write(tlv(0x30, pfx, mac))


main(*sys.argv[1:])
