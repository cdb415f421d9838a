"""Small pictures and PDF files, made here: whole ones, and headers that claim what they like."""

from __future__ import annotations

import struct
import zlib


def png(width: int = 4, height: int = 3, *, whole: bool = True, seed: int = 0) -> bytes:
    """Return a grey PNG; not `whole`: a header alone, which may claim any size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    rows = zlib.compress((b"\0" + bytes([seed % 256]) * width) * height) if whole else b""
    return head + (chunk(b"IDAT", rows) + chunk(b"IEND", b"") if whole else b"")


def jpeg(width: int, height: int, *, frame: int = 0xC0) -> bytes:
    """Return the headers of a JPEG with a comment and a table before its frame."""
    comment = b"\xff\xfe" + struct.pack(">H", 7) + b"hello"
    table = b"\xff\xff\xc4" + struct.pack(">H", 5) + b"abc"
    size = struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8" + comment + table + bytes([0xFF, frame]) + size + b"\xff\xda\x00\x02"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0;"


def webp(width: int, height: int, form: bytes = b"VP8X") -> bytes:
    """Return the headers of a WebP in one of its three forms."""
    if form == b"VP8X":
        body = b"\0\0\0\0" + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    elif form == b"VP8L":
        body = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)
    else:
        body = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)
    return b"RIFF" + struct.pack("<I", 12 + len(body)) + b"WEBP" + form + struct.pack("<I", len(body)) + body


def pdf(pages: int = 1, *, count: int = 0, seed: int = 0) -> bytes:
    """Return a PDF of empty pages; `count`: what its list of pages claims instead."""
    kids = " ".join(f"{number + 3} 0 R" for number in range(pages))
    parts = [f"%PDF-1.4\n%{seed}\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"]
    parts.append(f"2 0 obj<</Type/Pages/Count {count or pages}/Kids[{kids}]>>endobj\n")
    parts += [f"{number + 3} 0 obj<</Type/Page/Parent 2 0 R>>endobj\n" for number in range(pages)]
    return ("".join(parts) + "trailer<</Root 1 0 R>>\n%%EOF\n").encode()
