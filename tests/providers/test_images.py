"""Images and PDF files on their way to a model: whole, within the limits, and a sentence where it takes none."""

from __future__ import annotations

import base64

import pytest
from lumen_apiserver import fail, text, tool
from lumen_pictures import pdf, png

from lumen_tui.model.media import Media, inspect, named
from lumen_tui.providers.base import Reserve, Spent
from lumen_tui.providers.conversation.attachments import fitted, without_media
from lumen_tui.providers.conversation.compaction import compact
from lumen_tui.providers.conversation.history import ResultMessage, ResultMessages, UserMessage, characters

TAKES = ("image", "pdf")


class Album:
    """The pictures of a conversation by their names, as a task's folder has them."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def add(self, kind: str, data: bytes) -> Media:
        one = inspect(kind, data)
        name = named(one, f"{len(self.kept):024x}")
        self.kept[name] = data
        return Media(one.type, one.size, name, one.width, one.height, one.pages)

    def load(self, media: Media) -> bytes | None:
        return self.kept.get(media.name)


@pytest.fixture
def album() -> Album:
    return Album()


@pytest.fixture
def shows(desk, album, reply):
    """Hold a conversation whose calls give one picture each."""

    def show(*kinds: str):
        left = list(kinds)
        desk.job["load"] = album.load

        def answer(call):
            kind = left.pop(0)
            data = pdf(2) if kind == "application/pdf" else png(64, 48, seed=len(left))
            return reply(f"a {kind}", media=(album.add(kind, data),))

        return desk.talk(answer)

    return show


def blocks(request, place=-1):
    return request.messages[place]["content"][0]["content"]


def test_an_image_and_a_pdf_go_to_the_model_as_they_are(shows, api, album):
    api.say(tool("other"), tool("other", n=2), text("seen"))
    talk = shows("image/png", "application/pdf")
    assert talk.outcome.text == "seen"
    first, second = blocks(api.asked[1]), blocks(api.asked[2])
    assert first[0] == {"type": "text", "text": "a image/png"}
    assert first[1]["type"] == "image" and first[1]["source"]["media_type"] == "image/png"
    assert second[1]["type"] == "document" and second[1]["source"]["media_type"] == "application/pdf"
    sent = [base64.b64decode(one[1]["source"]["data"]) for one in (first, second)]
    assert sent == list(album.kept.values())
    assert blocks(api.asked[2], -3) == first


def test_what_they_cost_is_set_aside_before_and_counted_after(shows, api):
    api.say(tool("other"), tool("other", n=2), text("seen"))
    talk = shows("image/png", "application/pdf")
    for most, real in zip(talk.of(Reserve), talk.of(Spent), strict=True):
        assert most.usage.usd >= real.usage.usd > 0
    before, _, after = (step.usage.input_tokens for step in talk.of(Spent))
    assert after - before > 1_500
    assert talk.of(Reserve)[2].usage.input_tokens < 60_000


def test_a_server_for_text_alone_gets_a_sentence(desk, shows, api):
    desk.server()
    desk.settings["provider"] = "box"
    api.say(tool("other"), text("I see."))
    shows("image/png")
    (told,) = [message for message in api.asked[1].messages if message["role"] == "tool"]
    assert told["content"].startswith("a image/png\n[not shown: box claude-haiku-4-5 is sent no images here")


def test_an_openai_server_that_takes_images_gets_them_behind_the_results(desk, shows, api, album):
    desk.server(takes=("image",))
    desk.settings["provider"] = "box"
    api.say(tool("other"), tool("other", n=2), text("seen"))
    shows("image/png", "application/pdf")
    told, shown = api.asked[1].messages[-2:]
    assert (told["role"], told["content"]) == ("tool", "a image/png")
    data = base64.b64encode(next(iter(album.kept.values()))).decode()
    assert shown == {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}],
    }
    assert "sent no PDF files" in api.asked[2].messages[-1]["content"]


def test_a_pdf_for_an_openai_server_is_a_file(desk, shows, api):
    desk.server(takes=TAKES)
    desk.settings["provider"] = "box"
    api.say(tool("other"), text("seen"))
    shows("application/pdf")
    (part,) = api.asked[1].messages[-1]["content"]
    assert part["type"] == "file" and part["file"]["file_data"].startswith("data:application/pdf;base64,JVBERi0")


def test_what_a_server_refuses_is_left_out_and_the_conversation_goes_on(shows, api):
    refused = fail(400, "messages.1: Could not process image", kind="invalid_request_error")
    api.say(tool("other"), refused, text("Without it then."))
    talk = shows("image/png")
    assert talk.outcome.ok and len(api.asked) == 3
    assert blocks(api.asked[2]) == (
        "a image/png\n[not shown: the server refused it: messages.1: Could not process image]"
    )
    assert any("goes on without images" in note for note in talk.said("note"))


def test_a_refusal_of_something_else_still_ends_it(shows, api):
    refused = fail(400, "temperature: must be below 1", kind="invalid_request_error")
    api.say(tool("other"), refused, refused)
    assert "temperature" in shows("image/png").error


def test_a_file_that_is_gone_is_a_sentence(shows, api, desk, album):
    api.say(tool("other"), text("seen"))
    album.load = lambda media: None
    shows("image/png")
    assert "the file that was kept of it is gone" in blocks(api.asked[1])


def results(count, size=1_000, kind="image/png"):
    media = [Media(kind, size, f"outputs/image-{n:024x}.png", 1_000, 750) for n in range(count)]
    return tuple(ResultMessages((ResultMessage(f"c{n}", "read_file", "a", media=(m,)),)) for n, m in enumerate(media))


def shown(entries):
    return [bool(entry.results[0].media) for entry in entries]


def test_the_newest_are_sent_within_number_and_bytes():
    assert shown(fitted(results(25), TAKES, "m")) == [False] * 5 + [True] * 20
    assert shown(fitted(results(10, 3_000_000), TAKES, "m")) == [False] * 5 + [True] * 5
    assert "read it again" in fitted(results(25), TAKES, "m")[0].results[0].text
    plain = (UserMessage("x"), ResultMessages((ResultMessage("a", "ls", "b"),)))
    assert fitted(plain, (), "m") == plain == without_media(plain, "no")


def test_old_ones_make_room_and_say_so():
    entries = (UserMessage("x"), *results(12))
    assert characters(entries[1]) > 3_500
    shrunk = compact(entries, 10_000)
    assert shown(shrunk.entries[1:]) == [False, False, False, *[True] * 9]
    assert "cut to make room; read it again" in shrunk.entries[1].results[0].text
