"""custom-tools/*.py: functions under `@tool`, read without running anything.

What is declared follows from the text alone: annotations become the schema, the docstring the description. So a file
costs a worker a millisecond, and what it says of itself cannot differ from one reading to the next.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.roles import ALL_TOOLS, PythonTool
from lumen_tui.model.toolservers import CALL, FIND, short
from lumen_tui.storage import files
from lumen_tui.storage.frontmatter import BadFile

_NAME = lazy_re(r"[a-z][a-z0-9_]{0,63}")
_PLAIN = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object", "list": "array"}
_KNOWN = 'str, int, float, bool, list[…], dict, Literal[…], … | None and Annotated[…, "what it is"]'
_SETTINGS = ("risk", "risk_text", "writes", "network", "timeout_seconds")
_MOST_BYTES = 256 * 1024

Schema = dict[str, Any]


def find(paths: Iterable[Path], name: str) -> PythonTool | None:
    """Return the tool of that name; None where no file declares it. BadFile where two do, or it cannot be used."""
    tools = [tool for path in paths for tool in _named(path, name)]
    if len(tools) > 1:
        raise BadFile(f"{name} is declared twice: in {tools[0].file} and in {tools[1].file}")
    return tools[0] if tools else None


def _named(path: Path, name: str) -> Iterator[PythonTool]:
    """Yield the tool of that name in one file; what is wrong with a file that does not name it is not its problem."""
    source = files.read(path, _MOST_BYTES) or b""
    if name.encode() in source:
        yield from (tool for tool in tools_in(path.name, source) if tool.name == name)


def tools_in(file: str, source: bytes) -> list[PythonTool]:
    """Return the tools that a file declares. BadFile names the line that cannot be used."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise BadFile(
            f"it is no Python: {getattr(error, 'msg', '') or error}", getattr(error, "lineno", 0) or 0
        ) from error
    digest = short(source)
    declared = [
        (node, mark)
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for mark in node.decorator_list
        if _is_mark(mark)
    ]
    return [_tool(node, mark, file, source, digest) for node, mark in declared]


def _is_mark(mark: ast.expr) -> bool:
    name = mark.func if isinstance(mark, ast.Call) else mark
    return (isinstance(name, ast.Name) and name.id == "tool") or (
        isinstance(name, ast.Attribute) and name.attr == "tool" and isinstance(name.value, ast.Name)
    )


def _tool(
    node: ast.FunctionDef | ast.AsyncFunctionDef, mark: ast.expr, file: str, source: bytes, digest: str
) -> PythonTool:
    if isinstance(node, ast.AsyncFunctionDef):
        raise BadFile(f"{node.name} is async: write it as a plain function", node.lineno)
    if not _NAME.fullmatch(node.name) or node.name in (*ALL_TOOLS, FIND, CALL):
        raise BadFile(f"{node.name} cannot be the name of a tool: a-z, 0-9 and _, and none of our own", node.lineno)
    description = ast.get_docstring(node) or ""
    if not description:
        raise BadFile(f"{node.name} has no docstring: it tells the model what the tool is for", node.lineno)
    fields: dict[str, object] = {
        "name": node.name, "description": description, "command": ["python"], "schema": _schema(node),
        "file": file, "hash": digest, "source": source.decode("utf-8", "replace"), **_settings(mark),
    }  # fmt: skip
    try:
        return msgspec.convert(fields, PythonTool)
    except msgspec.ValidationError as error:
        raise BadFile(f"{node.name}: {error}", mark.lineno) from error


def _settings(mark: ast.expr) -> dict[str, object]:
    if not isinstance(mark, ast.Call):
        return {}
    if mark.args:
        raise BadFile('@tool takes named settings alone, such as risk="low"', mark.lineno)
    settings = {}
    for keyword in mark.keywords:
        if keyword.arg not in _SETTINGS:
            raise BadFile(f"@tool has no setting {keyword.arg!r}: {', '.join(_SETTINGS)}", mark.lineno)
        settings[keyword.arg] = _value(keyword.value)
    return settings


def _value(node: ast.expr) -> object:
    try:
        value: object = ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError) as error:
        raise BadFile("only plain values can be read here: the file is not run", node.lineno) from error
    return value


def _schema(node: ast.FunctionDef) -> Schema:
    """Return the JSON schema of a function's arguments."""
    arguments = node.args
    if arguments.vararg or arguments.kwarg or arguments.posonlyargs:
        raise BadFile(f"{node.name}: name each argument; *, ** and / are not understood", node.lineno)
    named = [*arguments.args, *arguments.kwonlyargs]
    defaults: list[ast.expr | None] = [None] * (len(arguments.args) - len(arguments.defaults))
    given = [*defaults, *arguments.defaults, *arguments.kw_defaults]
    properties: dict[str, Schema] = {}
    for argument, default in zip(named, given, strict=True):
        if argument.annotation is None:
            raise BadFile(f"{node.name}: say what {argument.arg} is: {argument.arg}: str", argument.lineno)
        properties[argument.arg] = _typed(argument.annotation)
        if default is not None:
            properties[argument.arg]["default"] = _value(default)
    required = [argument.arg for argument, default in zip(named, given, strict=True) if default is None]
    return {"type": "object", "properties": properties, "required": required}


def _typed(node: ast.expr) -> Schema:
    """Return the schema of an annotation. BadFile where it is none of those that are understood."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _typed(ast.parse(node.value, mode="eval").body)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and _is_none(node.right):
        return _typed(node.left)  # leaving it out is what its default is for
    name = _name_of(node)
    if name in _PLAIN:
        return {"type": _PLAIN[name]}
    if isinstance(node, ast.Subscript):
        return _generic(_name_of(node.value), node)
    raise BadFile(f"{ast.unparse(node)} is not understood: {_KNOWN}", node.lineno)


def _generic(name: str, node: ast.Subscript) -> Schema:
    inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name == "list" and len(inner) == 1:
        return {"type": "array", "items": _typed(inner[0])}
    if name == "dict":
        return {"type": "object", "additionalProperties": True}
    if name == "Literal":
        values = [_value(part) for part in inner]
        if all(isinstance(value, str) for value in values):
            return {"type": "string", "enum": values}
    if name == "Optional" and len(inner) == 1:
        return _typed(inner[0])
    if name == "Annotated" and len(inner) > 1 and isinstance(text := _value(inner[1]), str):
        return {**_typed(inner[0]), "description": text}
    raise BadFile(f"{ast.unparse(node)} is not understood: {_KNOWN}", node.lineno)


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
