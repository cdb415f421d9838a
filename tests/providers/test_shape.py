"""Names from outside cannot act in a result."""

from __future__ import annotations

from lumen_tui.providers.offline.report import code, line, size, table


def test_a_name_cannot_break_out_of_its_code_span():
    assert code("a`b") == "``a`b``"
    assert code("`x`") == "`` `x` ``"
    assert code("a|b") == "`a\\|b`"
    assert code("new\nline\ttab") == "`new␊line␉tab`"
    assert "\x1b" not in code("\x1b]52;c;x\x07")
    assert len(code("x" * 5000)) < 320


def test_text_on_a_line_is_escaped():
    assert line("[a](http://x) <b> *c*\n# d") == r"\[a\](http://x) \<b\> \*c\* \# d"


def test_sizes_and_tables():
    assert [size(n) for n in (0, 1023, 1536, 5 * 1024**3, 3 * 1024**5)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "5.0 GiB",
        "3072.0 TiB",
    ]
    assert table(("a", "b"), [["1", "2"]], right=(0,)) == "| a | b |\n| ---: | --- |\n| 1 | 2 |"
