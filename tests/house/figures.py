"""Print the figures of the house: size, circles, god classes, filler names, `Any`."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
PACKAGE = "lumen_tui"
LAYERS = (
    ("tui", "cli", "headless"), ("engine",), ("actions", "worker"), ("providers", "tools"), ("queries",), ("store",),
    ("storage",), ("model",),
)  # fmt: skip
FILLERS = {"found", "one", "said", "told", "why", "made", "kept", "left", "rest", "what"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Module:
    """One source file."""

    name: str  # dotted
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        return self.text.count("\n")


def modules(root: Path) -> dict[str, Module]:
    read = {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text()
        read[name] = Module(name, text, ast.parse(text))
    return read


def imports(module: Module, known: dict[str, Module]) -> set[str]:
    """The modules of the project that it imports anywhere, for types too."""
    targets = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            targets |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                targets.add(inner if inner in known else node.module)
    return {target for target in targets if target in known} - {module.name}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one node (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    result = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in graph.get(node, ()):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            component = []
            while True:
                last = stack.pop()
                component.append(last)
                if last == node:
                    break
            if len(component) > 1:
                result.append(sorted(component))

    sys.setrecursionlimit(10_000)
    for node in graph:
        if node not in index:
            visit(node)
    return result


def layer(name: str) -> int | None:
    parts = name.split(".")
    if len(parts) < 2:
        return None
    return next((number for number, names in enumerate(LAYERS) if parts[1] in names), None)


def back_up(graph: dict[str, set[str]]) -> list[str]:
    arrows = []
    for source, targets in graph.items():
        for target in targets:
            a, b = layer(source), layer(target)
            if a is not None and b is not None and b < a:
                arrows.append(f"{source} -> {target}")
    return arrows


def class_methods(read: dict[str, Module]) -> dict[str, tuple[int, bool]]:
    """Each class with the number of its methods, those of its project bases included, and whether it is a screen."""
    defined: dict[str, list[tuple[str, ast.ClassDef]]] = defaultdict(list)
    for module in read.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                defined[node.name].append((module.name, node))

    def bases(node: ast.ClassDef) -> Iterator[str]:
        for base in node.bases:
            inner = base.value if isinstance(base, ast.Subscript) else base
            if isinstance(inner, ast.Name):
                yield inner.id
            elif isinstance(inner, ast.Attribute):
                yield inner.attr

    def methods(node: ast.ClassDef, seen: frozenset[str]) -> tuple[set[str], bool]:
        names = {item.name for item in node.body if isinstance(item, FUNCTIONS)}
        screen = any(base == "App" or base.endswith("Screen") for base in bases(node))
        for base in bases(node):
            if base in defined and base not in seen:
                inherited, is_screen = methods(defined[base][0][1], seen | {base})
                names |= inherited
                screen |= is_screen
        return names, screen

    counts = {}
    for name, places in defined.items():
        for place, node in places:
            names, screen = methods(node, frozenset({name}))
            counts[f"{place}.{name}"] = (len(names), screen)
    return counts


def filler_names(read: dict[str, Module]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for module in read.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in FILLERS:
                counts[node.id] += 1
            elif isinstance(node, ast.arg) and node.arg in FILLERS:
                counts[node.arg] += 1
    return counts


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else REPO
    read = modules(root)
    graph = {name: imports(module, read) for name, module in read.items()}
    importers = Counter(target for targets in graph.values() for target in targets)
    lengths = sorted(module.lines for module in read.values())
    rings = circles(graph)
    counts = class_methods(read)
    names = Counter(key.rpartition(".")[2] for key in counts)
    small = [n for n, m in read.items() if m.lines < 60 and importers[n] == 1 and m.text.strip()]
    fillers = filler_names(read)
    rows = [
        ("modules", len(read), "<= 420"),
        ("lines", sum(lengths), "fewer than before"),
        ("circles", len(rings), "0"),
        ("modules in the largest circle", max(map(len, rings), default=0), "0"),
        ("arrows back up", len(back_up(graph)), "0"),
        ("modules under 60 lines with one importer", len(small), "<= 15"),
        ("module length, p90", lengths[int(len(lengths) * 0.9)], "<= 300"),
        ("module length, longest", lengths[-1], "<= 450"),
        ("methods with project bases, most", max(n for n, s in counts.values() if not s), "<= 30"),
        ("methods of a screen, most", max(n for n, s in counts.values() if s), "<= 40"),
        ("fmt: skip", sum(len(re.findall(r"#\s*fmt: skip", m.text)) for m in read.values()), "<= 120"),
        ("filler names", sum(fillers.values()), "<= 300"),
        (
            "Any",
            sum(isinstance(x, ast.Name) and x.id == "Any" for m in read.values() for x in ast.walk(m.tree)),
            "<= 250",
        ),
        ("class names that exist twice", sum(n > 1 for n in names.values()), "<= 15"),
    ]
    for what, figure, goal in rows:
        print(f"{what:<42} {figure:>8,}   {goal}")
    if "-v" in sys.argv:
        for ring in rings:
            print("circle:", *ring)
        print("back up:", *back_up(graph), sep="\n  ")
        print("over:", *(f"{k} {v}" for k, v in counts.items() if v[0] > (40 if v[1] else 30)), sep="\n  ")
        print("long:", *(f"{n} {m.lines}" for n, m in read.items() if m.lines > 300), sep="\n  ")


if __name__ == "__main__":
    main()
