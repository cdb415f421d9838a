"""How many parameters a callback has is read from its code: Textual makes a signature of each, 3 ms of the start."""

from __future__ import annotations

from collections.abc import Callable
from inspect import CO_VARARGS, CO_VARKEYWORDS, signature
from types import FunctionType
from typing import Any

from textual import _callback


def count_parameters(func: Callable[..., Any]) -> int:
    """Return the length of the signature of what can be called and is bound to nothing."""
    if isinstance(func, FunctionType) and not hasattr(func, "__wrapped__"):
        code = func.__code__
        further = bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
        return code.co_argcount + code.co_kwonlyargcount + further
    call = getattr(type(func), "__call__", None)  # noqa: B004 - what its class defines
    if isinstance(call, FunctionType) and not isinstance(func, FunctionType):
        return count_parameters(call) - 1
    return len(signature(func).parameters)


def install() -> None:
    """Count in that way from here on."""
    _callback._count_parameters = count_parameters
