"""A worker that looks at pictures: their bytes are kept once and are in no record, and a kill loses none of them."""

from __future__ import annotations

import base64
import json

from lumen_apiserver import text, tool
from lumen_pictures import pdf, png


def media_of(request):
    """The images and documents of a request, in order."""
    results = [block for message in request.messages for block in message["content"] if block["type"] == "tool_result"]
    parts = [part for result in results if isinstance(result["content"], list) for part in result["content"]]
    return [base64.b64decode(part["source"]["data"]) for part in parts if "source" in part]


def test_pictures_reach_the_model_through_a_kill_and_are_kept_once(make_task, api, tmp_path):
    picture, paper = png(40, 30, seed=9), pdf(2, seed=9)
    (tmp_path / "chart.txt").write_bytes(picture)  # it is its content that says what it is
    (tmp_path / "paper").write_bytes(paper)
    look, read = tool("read_file", path=str(tmp_path / "chart.txt")), tool("read_file", path=str(tmp_path / "paper"))
    task = make_task("Look at both")
    task.write("run.json", {"attempt": 1, "started_at": "2026-01-01T00:00:00Z"})
    api.say(look, read, text("late", first_byte=60.0))
    child = task.start(warm=True, **api.anthropic_env)
    task.until(lambda: len(task.kinds("result")) == 2 and len(api.asked) == 3)
    child.kill()
    child.wait()
    api.script.main.answers = [look, tool("write_result", text="A grey picture and two pages.")]
    task.write("run.json", {"attempt": 2, "started_at": "2026-01-01T00:00:00Z"})
    assert task.run(warm=True, **api.anthropic_env)["status"] == "done"
    assert [media_of(request) for request in api.asked] == [
        [], [picture], [picture, paper], [picture, paper], [picture, paper, picture],
    ]  # fmt: skip
    kept = sorted((task.folder / "outputs").iterdir())
    assert [path.suffix for path in kept] == [".png", ".pdf"]
    assert [path.read_bytes() for path in kept] == [picture, paper]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in kept)
    assert kept_elsewhere(task.layout.root, kept, picture, paper) == []
    assert [event["text"] for event in task.kinds("result")][:2] == ["PNG image, 40 x 30 pixels", "PDF, 2 pages"]


def kept_elsewhere(root, kept, *contents):
    """The files of the state folder that hold one of these contents, as it is or in base64, but where it is kept."""
    marks = [mark for data in contents for mark in (data[:48], base64.b64encode(data)[:48])]
    files = [path for path in root.rglob("*") if path.is_file() and path not in kept]
    return [str(path) for path in files if any(mark in path.read_bytes() for mark in marks)]


def test_a_bomb_is_refused_by_its_header_and_the_task_goes_on(make_task, api, tmp_path):
    (tmp_path / "bomb.png").write_bytes(png(60_000, 60_000, whole=False))
    (tmp_path / "photo.bmp").write_bytes(b"BM" + bytes(64))
    task = make_task("Look at it")
    api.say(
        tool("read_file", path=str(tmp_path / "bomb.png")),
        tool("read_file", path=str(tmp_path / "photo.bmp")),
        tool("write_result", text="It is too large."),
    )
    assert task.run(warm=True, **api.anthropic_env)["status"] == "done"
    bomb, photo = (event["text"] for event in task.kinds("result")[:2])
    assert "60,000 x 60,000 pixels" in bomb and "make it smaller" in bomb
    assert "a BMP image, which no model takes: convert it to PNG" in photo
    assert not (task.folder / "outputs").exists()


def test_what_was_kept_and_then_altered_is_not_sent(make_task, api, tmp_path):
    (tmp_path / "chart.png").write_bytes(png(40, 30))
    task = make_task("Look at it")
    task.write("run.json", {"attempt": 1, "started_at": "2026-01-01T00:00:00Z"})
    api.say(tool("read_file", path=str(tmp_path / "chart.png")), text("late", first_byte=60.0))
    child = task.start(warm=True, **api.anthropic_env)
    task.until(lambda: len(task.kinds("result")) == 1 and len(api.asked) == 2)
    child.kill()
    child.wait()
    (kept,) = (task.folder / "outputs").iterdir()
    kept.write_bytes(png(41, 31))
    api.script.main.answers = [tool("write_result", text="Gone.")]
    task.write("run.json", {"attempt": 2, "started_at": "2026-01-01T00:00:00Z"})
    assert task.run(warm=True, **api.anthropic_env)["status"] == "done"
    assert media_of(api.asked[-1]) == []
    assert "the file that was kept of it is gone; read it again" in json.dumps(api.asked[-1].messages)
