"""Images and PDF files: what their first bytes say of them. Nothing is decoded: a picture that is a bomb stays packed.

Kind and size are those of the content, whatever a file is called. What a header claims beyond the limits is refused.
"""

from __future__ import annotations

import struct

from msgspec import Struct

from lumen_tui.model.patterns import lazy_re

IMAGE, PDF = "image", "pdf"
MOST_IMAGE = 3_750_000  # bytes: in base64 just below the 5 MB that vendors take
MOST_PDF = 10_000_000
MOST_SIDE = 8_000  # pixels, as vendors take it
MOST_PIXELS = 40_000_000
MOST_PAGES = 100
HEAD = 32  # bytes that tell the type
_TOKENS_IMAGE = 4_800  # of one image at most: what is larger is made smaller by the vendor
_PIXELS_A_TOKEN = 750
_TOKENS_PAGE = 4_800  # of a page of a PDF at most: its text and its picture
_BYTES_A_PAGE = 3_000  # where nothing says how many there are
_BYTES_A_TOKEN = 3.5
_ENDINGS = {
    "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "application/pdf": "pdf",
}  # fmt: skip
# Pictures that no vendor takes, by their first bytes or by the brand in an ISO container.
_OTHERS = ((b"BM", "BMP"), (b"II*\0", "TIFF"), (b"MM\0*", "TIFF"), (b"\0\0\1\0", "ICO"), (b"8BPS", "Photoshop"))
_BRANDS = {b"avif": "AVIF", b"avis": "AVIF", b"heic": "HEIC", b"heix": "HEIC", b"mif1": "HEIF"}
_NAME = lazy_re(r"outputs/(?:image|pdf)-[0-9a-f]{24}\.(?:png|jpg|gif|webp|pdf)")
_PAGE = lazy_re(rb"/Type\s*/Page(?![A-Za-z])")
_COUNT = lazy_re(rb"/Count\s+(\d{1,9})")


class BadMedia(ValueError):
    """An image or a PDF that is not taken; the text says why and what to do."""


class Media(Struct, frozen=True, omit_defaults=True):
    """An image or a PDF that a tool returned. Its bytes are in the task's folder, once, as `name`, and nowhere else."""

    type: str  # image/png, application/pdf, ...
    size: int  # bytes
    name: str = ""  # outputs/image-HASH.png: the first 24 letters of the content's SHA-256
    width: int = 0  # pixels
    height: int = 0
    pages: int = 0  # 0: not known

    @property
    def kind(self) -> str:
        return PDF if self.type == "application/pdf" else IMAGE

    @property
    def tokens(self) -> int:
        """The tokens of a prompt that it has at most, about."""
        if self.kind == IMAGE:
            return min(_TOKENS_IMAGE, self.width * self.height // _PIXELS_A_TOKEN + 1)
        return _TOKENS_PAGE * min(MOST_PAGES, self.pages or self.size // _BYTES_A_PAGE + 1)

    @property
    def weight(self) -> int:
        """As many bytes of text as would have these tokens."""
        return round(self.tokens * _BYTES_A_TOKEN)

    @property
    def words(self) -> str:
        """What it is: `PNG image, 640 x 480 pixels`."""
        if self.kind == PDF:
            return f"PDF, {self.pages} page{'' if self.pages == 1 else 's'}" if self.pages else "PDF"
        return f"{self.type.partition('/')[2].upper()} image, {self.width} x {self.height} pixels"


def is_name(name: str) -> bool:
    """Return whether a name is one that `named` gives: a journal may have been written by somebody else."""
    return _NAME.fullmatch(name) is not None


def named(media: Media, digest: str) -> str:
    """Return the name in the task's folder for content with this SHA-256 in hexadecimal."""
    return f"outputs/{media.kind}-{digest[:24]}.{_ENDINGS.get(media.type, 'bin')}"


def type_of(head: bytes) -> str:
    """Return the media type that the first bytes of a file say, or empty. BadMedia for pictures that no model takes."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    if head.startswith(b"%PDF-"):
        return "application/pdf"
    other = _BRANDS.get(head[8:12], "") if head[4:8] == b"ftyp" else ""
    other = other or next((name for begin, name in _OTHERS if head.startswith(begin) and b"\0" in head), "")
    if other:
        raise BadMedia(f"a {other} image, which no model takes: convert it to PNG or JPEG first")
    return ""


def most_bytes(kind: str) -> int:
    """Return how large a file of this media type may be."""
    return MOST_PDF if kind == "application/pdf" else MOST_IMAGE


def inspect(kind: str, data: bytes) -> Media:
    """Return what the header of a whole file says. BadMedia where it is too large, or where it makes no sense."""
    if len(data) > most_bytes(kind):
        raise BadMedia(f"larger than {most_bytes(kind):,} bytes: make it smaller first")
    if kind == "application/pdf":
        return _pdf(data)
    try:
        width, height = _SIZES[kind](data)
    except (struct.error, IndexError) as error:
        raise BadMedia("an image whose header is damaged") from error
    if not (width and height):
        raise BadMedia("an image whose header says no size")
    if max(width, height) > MOST_SIDE or width * height > MOST_PIXELS:
        raise BadMedia(
            f"an image of {width:,} x {height:,} pixels: at most {MOST_SIDE:,} a side and {MOST_PIXELS // 1_000_000} "
            "million altogether are taken; make it smaller first"
        )
    return Media(kind, len(data), width=width, height=height)


def _png(data: bytes) -> tuple[int, int]:
    if data[12:16] != b"IHDR":
        raise BadMedia("an image whose header is damaged")
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _gif(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _jpeg(data: bytes) -> tuple[int, int]:
    """Return the size in the frame header. Segments before it are stepped over by their lengths."""
    at = 2
    while True:
        if data[at] != 0xFF:
            raise BadMedia("an image whose header is damaged")
        while data[at] == 0xFF:
            at += 1
        marker = data[at]
        at += 1
        if marker in (0x01, *range(0xD0, 0xD8)):
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 3)
            return width, height
        (length,) = struct.unpack_from(">H", data, at)
        if length < 2 or marker in (0xD9, 0xDA):
            raise BadMedia("an image whose header is damaged")
        at += length


def _webp(data: bytes) -> tuple[int, int]:
    form = data[12:16]
    if form == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if form == b"VP8L" and data[20] == 0x2F:
        (bits,) = struct.unpack_from("<I", data, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if form == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    raise BadMedia("an image whose header is damaged")


_SIZES = {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp}


def _pdf(data: bytes) -> Media:
    """Count the pages where the file says it in plain bytes; packed lists of pages stay packed."""
    if b"/Encrypt" in data[-4096:]:
        raise BadMedia("a PDF with a password: give it without one")
    pages = max([len(_PAGE.findall(data)), *map(int, _COUNT.findall(data)[:1000])])
    if pages > MOST_PAGES:
        raise BadMedia(f"a PDF of {pages:,} pages: at most {MOST_PAGES} are taken; split it first")
    return Media("application/pdf", len(data), pages=pages)
