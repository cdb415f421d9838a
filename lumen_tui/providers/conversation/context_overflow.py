"""How servers say that a conversation does not fit the model's window. They have no error type for it, only words."""

from __future__ import annotations

import re

# Each says that the prompt as a whole has too many tokens. A bare "too long" or "too large" does not: a name, an image,
# a list of tools and `max_tokens` are refused in these words too, and cutting old results would fix none of them.
_SAYINGS = (
    r"prompt (?:is )?too long",  # Anthropic; Ollama
    r"exceed (?:the )?context (?:limit|window)",  # Anthropic, where the room for the answer is what is missing
    r"input is too long for (?:the )?requested model",  # Anthropic's models at Amazon
    r"context_length_exceeded|context length exceeded",  # OpenAI, Groq and many others: the code
    r"maximum (?:context|prompt) length",  # OpenAI, vLLM, Mistral, xAI
    r"reduce the length of the (?:messages|input|prompt)",  # Groq, vLLM
    r"exceeds the (?:model's )?(?:maximum )?context (?:window|length|size)",  # OpenAI
    r"exceeds the available context size|exceed_context_size_error",  # llama.cpp
    r"longer than the (?:maximum model length|model's context length)",  # vLLM, SGLang
    r"input length exceeds (?:the )?(?:maximum )?context length",  # Ollama
    r"input token count .{0,40}exceeds the maximum",  # Google
    r"keep (?:the first \d+ tokens|from the initial prompt is greater than the context length)",  # LM Studio
    r"tokens \+ `max_new_tokens` must be <=",  # Hugging Face
    r"request too large for .{0,200}tokens per min",  # OpenAI, Groq: no wait makes it fit the limit of a minute
)
_SAID = re.compile("|".join(_SAYINGS))


def is_context_overflow(words: str) -> bool:
    """Whether a refusal (the message, or the code) is one of the conversation's length."""
    return _SAID.search(words.lower()) is not None
