"""Custom tools, under the same rules, sandbox and approvals as the others, and the JSON Schema of all tools."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from lumen_tui.model.ids import BadId
from lumen_tui.model.requests.base import Request, declared_fields
from lumen_tui.model.roles import CustomTool, PythonTool, Role
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings import roles
from lumen_tui.tools.base import BadRules, Context, Effect, Tool, ToolError, ToolResult
from lumen_tui.tools.shell import process, python_tools
from lumen_tui.tools.shell.tool import command_output, home

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list, tuple),
    "object": (dict,), "null": (type(None),),
}  # fmt: skip
_ANNOTATIONS = {"description", "title", "default", "examples"}
_DEEPEST = 20

JsonSchema = dict[str, Any]


def bad_schema(schema: object, at: str = "schema", depth: int = 0) -> str:
    """Return what is wrong with a schema, or an empty string. An unknown keyword is an error."""
    if not isinstance(schema, dict):
        return f"{at} must be a table"
    if depth > _DEEPEST:
        return f"{at} is nested too deep"
    if unknown := [word for word in schema if word not in _ANNOTATIONS and word not in _WORDS and word != "type"]:
        return f"{at} uses {unknown[0]!r}, which is not understood: of type, {', '.join(_WORDS)}"
    if schema.get("type") not in _TYPES:
        return f"{at}.type must be one of {', '.join(_TYPES)}"
    if depth == 0 and schema["type"] != "object":
        return f"{at}.type must be object: a tool takes named arguments"
    return next(_bad_words(schema, at, depth), "")


def _bad_words(schema: JsonSchema, at: str, depth: int) -> Iterator[str]:
    for word in schema:
        if word in _WORDS and not isinstance(schema[word], _WORDS[word]):
            yield f"{at}.{word} has the wrong kind of value"
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and not _compiles(pattern):
        yield f"{at}.pattern is no regular expression"
    for name, inner in _inner(schema):
        if problem := bad_schema(inner, f"{at}.{name}", depth + 1):
            yield problem


def _inner(schema: JsonSchema) -> Iterator[tuple[str, object]]:
    if isinstance(schema.get("properties"), dict):
        yield from schema["properties"].items()
    if "items" in schema:
        yield "items", schema["items"]


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


_WORDS: dict[str, tuple[type, ...]] = {
    "properties": (dict,), "required": (list,), "additionalProperties": (bool,), "enum": (list,), "items": (dict,),
    "minimum": (int, float), "maximum": (int, float), "minLength": (int,), "maxLength": (int,), "minItems": (int,),
    "maxItems": (int,), "pattern": (str,),
}  # fmt: skip


def misfit(schema: JsonSchema, value: object, at: str = "") -> str:
    """Return why a value does not fit a valid schema, or an empty string.

    Unknown fields fit only where the schema allows them.
    """
    name = at or "the arguments"
    kind = schema["type"]
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind in ("integer", "number")):
        return f"{name}: {kind} is needed"
    if "enum" in schema and value not in schema["enum"]:
        return f"{name}: one of {', '.join(map(str, schema['enum']))} is needed"
    return next(filter(None, (check(schema, value, at) for check in _CHECKS)), "")


def _size(schema: JsonSchema, value: object, at: str) -> str:
    size: float
    if isinstance(value, str):
        low, high, size = "minLength", "maxLength", len(value)
    elif isinstance(value, list | tuple):
        low, high, size = "minItems", "maxItems", len(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        low, high, size = "minimum", "maximum", value
    else:
        return ""
    if size < schema.get(low, size):
        return f"{at}: at least {schema[low]} is needed"
    return f"{at}: at most {schema[high]} is allowed" if size > schema.get(high, size) else ""


def _pattern(schema: JsonSchema, value: object, at: str) -> str:
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        return f"{at}: it must match {schema['pattern']}"
    return ""


def _items(schema: JsonSchema, value: object, at: str) -> str:
    if "items" not in schema or not isinstance(value, list | tuple):
        return ""
    parts = (misfit(schema["items"], part, f"{at}[{number}]") for number, part in enumerate(value))
    return next(filter(None, parts), "")


def _fields(schema: JsonSchema, value: object, at: str) -> str:
    if not isinstance(value, dict):
        return ""
    known = schema.get("properties", {})
    if missing := [name for name in schema.get("required", ()) if name not in value]:
        return f"{missing[0]} is missing"
    if not schema.get("additionalProperties", False) and (unknown := [name for name in value if name not in known]):
        return f"{unknown[0]!r} is unknown"
    parts = (misfit(known[name], part, f"{at}.{name}".lstrip(".")) for name, part in value.items() if name in known)
    return next(filter(None, parts), "")


_CHECKS = (_size, _pattern, _items, _fields)


def schema_of(arguments: type[Struct], request: type[Request] | None = None) -> JsonSchema:
    """Return the JSON schema of a tool's arguments, a msgspec Struct type, without references.

    A field that says nothing of itself is described as that of the same name in `request`.
    """
    _, components = msgspec.json.schema_components([arguments], ref_template="{name}")
    schema = _resolved(components[arguments.__name__], components)
    if not isinstance(schema, dict):
        raise TypeError(f"{arguments.__name__} is no record")
    for name, field in declared_fields(request).items() if request else ():
        if name in schema["properties"]:  # what is in brackets holds where a command leaves the option out
            schema["properties"][name].setdefault("description", field.arg.help.partition(" [")[0])
    return schema


def _resolved(schema: object, components: JsonSchema) -> object:
    """Return a schema with its references resolved and without the titles that name our types."""
    if isinstance(schema, list):
        return [_resolved(inner, components) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolved(components[schema["$ref"]], components)
    named = {key: inner for key, inner in schema.items() if key != "title" or not isinstance(inner, str)}
    return {key: _resolved(inner, components) for key, inner in named.items()}


_CHECKED_HERE = (
    *("maxLength", "minLength", "maxItems", "minItems", "maximum", "minimum", "exclusiveMinimum", "pattern"),
    "additionalProperties",
)


def lean(schema: JsonSchema, described_before: set[tuple[str, str]], name: str = "") -> JsonSchema:
    """Return a schema as a model is sent it in each request: without what it pays for and hardly uses.

    Bounds and unknown arguments are checked here, and a refusal names them; where one matters before, a description
    says so. An option that is left out is empty unless a default is given. `described_before` takes the name and the
    description of each argument: where several tools have one in the same words, the first of them alone has these. A
    description that only names the choices is left out.
    """
    reduced = {key: value for key, value in schema.items() if key not in _CHECKED_HERE}
    for key in ("default", "required"):
        if key in reduced and not reduced[key]:
            del reduced[key]
    described = (name, str(reduced.get("description", "")))
    if described in described_before or _only_names(described[1], reduced.get("enum")):
        reduced.pop("description", None)
    elif name and described[1]:
        described_before.add(described)
    if isinstance(fields := reduced.get("properties"), dict):
        reduced["properties"] = {inner: lean(field, described_before, inner) for inner, field in fields.items()}
    if isinstance(items := reduced.get("items"), dict):
        reduced["items"] = lean(items, described_before, name)
    return reduced


def _only_names(description: str, choices: object) -> bool:
    """Return whether a description has no words but the choices, which stand beside it: `P0 to P3`."""
    return isinstance(choices, list) and {*re.findall(r"\w+", description)} <= {*map(str, choices), "to", "or"}


_KEEP = 200_000  # bytes of output
_MOST = 100_000  # bytes of arguments: they are one argument of the program
_HIGH = "The operator marked this tool as risky."


def load(layout: Layout, role: Role) -> dict[str, CustomTool]:
    """Return the custom tools of a role. BadRules where one cannot be used: then the role cannot either."""
    tools = {}
    for name in role.custom_tools:
        try:
            tools[name] = roles.load_custom_tool(layout, name)
        except (BadFile, BadId, files.StoreError, OSError) as error:
            line = getattr(error, "line", 0)
            where = f"custom-tools/{name}.toml" + (f" line {line}" if line else "")
            raise BadRules(f"the custom tool {one_line(name, 60)!r} cannot be used: {where}: {error}") from error
        if problem := _unfit(tools[name], role):
            raise BadRules(f"the custom tool {name!r} cannot be used: {problem}")
    return tools


def _unfit(tool: CustomTool, role: Role) -> str:
    if problem := bad_schema(tool.schema):
        return f"custom-tools/{tool.name}.toml: {problem}"
    if tool.writes and not role.write:
        return f"it changes something, and the role {role.name} has no write = true"
    if tool.network and not role.network:
        return f"it needs the network, and the role {role.name} has no network = true"
    return ""


def as_tool(custom: CustomTool, layout: Layout) -> Tool[dict[str, object]]:
    """Return a custom tool as the toolbox takes it."""
    return Tool(
        name=custom.name,
        description=custom.description,
        arguments=None,
        run=_runner(custom, layout),
        describe=lambda arguments: f"{custom.name} {one_line(msgspec.json.encode(arguments).decode(), 160)}",
        target=lambda context, arguments: msgspec.json.encode(arguments, order="deterministic").decode(),
        risk=(custom.risk_text or _HIGH) if custom.risk == "high" else "",
        effect=Effect.OWN,
        schema=custom.schema,
    )


def _program(custom: CustomTool, layout: Layout) -> list[str]:
    first, *arguments = custom.command
    if first.startswith(("./", "../")):
        first = os.path.normpath(os.path.join(layout.custom_tools, first))
    return [first, *arguments]


def _runner(custom: CustomTool, layout: Layout) -> Callable[[Context, dict[str, object]], ToolResult]:
    def run(context: Context, arguments: dict[str, object]) -> ToolResult:
        if custom.writes and not context.rules.write:
            raise ToolError("it changes something, and this task may not")
        if custom.network and not context.rules.network:
            raise ToolError("it needs the network, and this task may not use it")
        data = msgspec.json.encode(arguments).decode()
        if len(data) > _MOST:
            raise ToolError(f"arguments of {len(data):,} bytes are too many: {_MOST:,} at most")
        cwd = home(context)
        if isinstance(custom, PythonTool):
            return python_tools.run(context, custom, data, cwd)
        result = process.run(
            context,
            [*_program(custom, layout), data],
            cwd,
            process.environment(context),
            seconds=custom.timeout_seconds,
            keep=_KEEP,
            trusted=not custom.writes,
        )
        return command_output(result, custom.timeout_seconds)

    return run
