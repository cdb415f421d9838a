"""A local server that speaks the Anthropic Messages API and the OpenAI chat completions API, from a script.

In a test, the fixture `api` (tests/conftest.py) is a running server:

    from lumen_apiserver import text, tool, fail, use

    def test_something(api):
        api.say(tool("list_dir", path="/tmp"), text("Two entries."))     # one answer after the other, the last repeats
        api.when(lambda request: "title" in request.last_text, text("A title"), again=True)   # asked before `say`
        api.otherwise(lambda request: text(f"you said {request.last_text}"))                  # where nothing is left
        ... api.url, api.anthropic_env, api.openai_url, api.openai_env ...
        assert api.requests[0].tool_names == ("list_dir",)

Both APIs take the same answers, streamed or whole as the request asks. Answers can be slow, held, cut, wrong or huge:
`text("x", first_byte=0.5, between=0.01, cut_after=3)`, `rubbish()`, `fail(429, retry_after=0.01)`, `held(text("x"))`
until `api.release()`. Requests are checked as the real API checks them (`api.check = False` turns that off), prompt
caching is simulated from the `cache_control` marks, and `api.window` is the model's context window in tokens. With
`api.binds` thinking (`think("hm", text("x"))`) must come back, and only where nothing before it has changed.
"""

from lumen_apiserver.answers import Answer, fail, held, huge, rubbish, text, think, tool, tools, use
from lumen_apiserver.request import Request
from lumen_apiserver.server import ApiServer

__all__ = [
    "Answer",
    "ApiServer",
    "Request",
    "fail",
    "held",
    "huge",
    "rubbish",
    "text",
    "think",
    "tool",
    "tools",
    "use",
]
