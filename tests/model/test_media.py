"""What the first bytes of images and PDF files say, whatever else they claim to be."""

from __future__ import annotations

import random

import pytest
from lumen_pictures import gif, jpeg, pdf, png, webp
from lumen_rows import each_row

from lumen_tui.model import media
from lumen_tui.model.media import BadMedia, Media


def seen(data: bytes) -> Media:
    kind = media.type_of(data[: media.HEAD])
    assert kind
    return media.inspect(kind, data)


@each_row(
    ("data", "words"),
    [
        (png(640, 480), "PNG image, 640 x 480 pixels"), (jpeg(1200, 800), "JPEG image, 1200 x 800 pixels"),
        (jpeg(5, 7, frame=0xC2), "JPEG image, 5 x 7 pixels"), (gif(16, 9), "GIF image, 16 x 9 pixels"),
        (webp(300, 200), "WEBP image, 300 x 200 pixels"), (webp(300, 200, b"VP8L"), "WEBP image, 300 x 200 pixels"),
        (webp(300, 200, b"VP8 "), "WEBP image, 300 x 200 pixels"), (pdf(3), "PDF, 3 pages"), (pdf(1), "PDF, 1 page"),
        (b"%PDF-1.7\npacked", "PDF"),
    ],
)  # fmt: skip
def test_type_and_size_are_those_of_the_content(data, words):
    assert seen(data).words == words
    assert seen(data).size == len(data)


@each_row(
    ("data", "why"),
    [
        (png(50_000, 50_000, whole=False), "50,000 x 50,000 pixels"), (png(8_001, 1, whole=False), "8,001 x 1"),
        (png(8_000, 8_000, whole=False), "million altogether"), (png(2**32 - 1, 2**32 - 1, whole=False), "pixels"),
        (jpeg(65_535, 65_535), "65,535 x 65,535"), (gif(65_535, 65_535), "65,535"), (webp(16_000_000, 2), "pixels"),
        (png(0, 4, whole=False), "no size"), (jpeg(4, 0), "no size"), (png(4, 4)[:20], "damaged"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 30, "damaged"), (b"\xff\xd8\xff\xe0\x00\x01", "damaged"),
        (b"\xff\xd8\xff\xff\xff\xff\xff", "damaged"), (b"\xff\xd8\xff\xda\x00\x02", "damaged"),
        (b"GIF89a\x01", "damaged"), (webp(4, 4, b"ABCD"), "damaged"), (pdf(101), "101 pages"),
        (pdf(1, count=100_000), "100,000 pages"), (pdf() + b"trailer<</Encrypt 9 0 R>>", "password"),
        (png() + bytes(media.MOST_IMAGE), "larger than 3,750,000 bytes"),
        (pdf() + bytes(media.MOST_PDF), "larger than 10,000,000 bytes"),
    ],
)  # fmt: skip
def test_what_is_beyond_the_limits_is_refused_by_its_header(data, why):
    with pytest.raises(BadMedia, match=why):
        seen(data)


@each_row(
    ("head", "name"),
    [
        (b"BM\x36\x00\x0c\x00\x00\x00\x00\x00", "BMP"), (b"II*\0aaaa", "TIFF"), (b"MM\0*aaaa", "TIFF"),
        (b"\0\0\0\x20ftypheic\0\0", "HEIC"), (b"\0\0\0\x20ftypavif\0\0", "AVIF"), (b"\0\0\1\0\1\0", "ICO"),
    ],
)  # fmt: skip
def test_other_pictures_are_named_with_what_to_do(head, name):
    with pytest.raises(BadMedia, match=f"a {name} image.*convert it to PNG"):
        media.type_of(head)


@each_row("head", [b"", b"BM is how this text begins", b"plain text", b"RIFF....WAVE", b"<svg/>", b"\x7fELF"])
def test_everything_else_is_no_media(head):
    assert media.type_of(head) == ""


def test_no_header_of_any_bytes_does_more_than_refuse():
    chance = random.Random(7)  # noqa: S311 - a fixed sample
    begin = [png(9, 9), jpeg(9, 9), gif(9, 9), webp(9, 9), webp(9, 9, b"VP8L"), webp(9, 9, b"VP8 "), pdf(2)]
    for _ in range(3_000):
        data = bytearray(chance.choice(begin))
        for _ in range(chance.randint(1, 8)):
            data[chance.randrange(3, len(data))] = chance.randrange(256)
        cut = bytes(data[: chance.randint(3, len(data))])
        try:
            kind = media.type_of(cut[: media.HEAD])
            found = media.inspect(kind, cut) if kind else None
        except BadMedia:
            continue
        assert found is None or found.tokens <= 480_000


def test_a_name_comes_from_the_content_and_no_other_is_one():
    one = Media("image/png", 9)
    assert media.is_name(media.named(one, "ab" * 32))
    for bad in ("", "outputs/1.txt", "outputs/../spec.json", "outputs/image-" + "a" * 24 + ".png/../x", "/etc/passwd"):
        assert not media.is_name(bad)


def test_tokens_are_those_of_pixels_and_pages():
    assert Media("image/png", 9, width=1000, height=750).tokens == 1001
    assert Media("image/png", 9, width=8000, height=5000).tokens == 4800
    assert Media("application/pdf", 9, pages=2).tokens == 9600
    assert Media("application/pdf", 9_000_000).tokens == 480_000
