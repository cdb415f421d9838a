"""Classes of widgets are made faster: what Textual looks for in each base class again is remembered of it.

For every new class Textual goes through all attributes of all of its base classes, some 2,000, for those that are
reactive and for methods that compute one. Of the eighty classes that the first paint needs that takes 14 ms.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from textual.dom import DOMNode
from textual.reactive import Reactive

_COMPUTE = ("_compute_", "compute_")  # how the names of methods begin that compute a reactive attribute


@cache
def _own_reactives(kind: type) -> dict[str, Reactive[Any]]:
    return {name: value for name, value in vars(kind).items() if isinstance(value, Reactive)}


@cache
def _own_computes(kind: type) -> frozenset[str]:
    return frozenset(name.lstrip("_")[8:] for name in vars(kind) if name.startswith(_COMPUTE))


def _init_subclass(
    cls: type[DOMNode],
    inherit_css: bool = True,
    inherit_bindings: bool = True,
    inherit_component_classes: bool = True,
) -> None:
    super(DOMNode, cls).__init_subclass__()
    cls._reactives = {}
    for base in reversed(cls.__mro__):
        cls._reactives.update(_own_reactives(base))
    cls._inherit_css = inherit_css
    cls._inherit_bindings = inherit_bindings
    cls._inherit_component_classes = inherit_component_classes
    bases = cls._css_bases(cls)
    cls._css_type_name = bases[0].__name__
    cls._css_type_names = frozenset(base.__name__ for base in bases)
    cls._merged_bindings = cls._merge_bindings()
    cls._computes = frozenset[str]().union(*map(_own_computes, cls.__mro__))


def install() -> None:
    """Make each class from here on in that way."""
    DOMNode.__init_subclass__ = classmethod(_init_subclass)  # type: ignore[assignment]
