"""The settings: what is in force, which file says so and why; simple ones are changed in place, all in the editor."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from rich.segment import Segment
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.settings import check
from lumen_tui.engine.port import Port
from lumen_tui.model.config import Config
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.engine import ChangeSettings, Undo
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.queries.settings_view import (
    CHOICE,
    DEFAULT,
    NUMBER,
    SWITCH,
    TABLE,
    TEXT,
    Setting,
    read_settings,
    typed_value,
)
from lumen_tui.storage.layout import Layout
from lumen_tui.tui import theme, words
from lumen_tui.tui.host import Host, appearance_of, host_of
from lumen_tui.tui.kit import editor
from lumen_tui.tui.kit.fields import Choice, TextField
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.screen import FormScreen, Invalid, Keys, row
from lumen_tui.tui.kit.sheets import LoadedSheet, ReadingScreen, Rows, act, chosen_row, fill
from lumen_tui.tui.moved_keys import slip_in

_THEME = "room.theme"
_ROOM = "this room"  # the section of what no file says
_WIDE = 100  # columns from which the default has a place


class SettingRows(Rows[Setting]):
    """The name, the value, where it comes from; below the selected one what the seed says of it."""

    def key(self, row: Setting) -> str:
        return row.key

    def line(self, row: Setting, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        text = ink.strong if selected else ink.text if row.changed else ink.muted
        value = ink.bad if row.problem else ink.accent if row.changed else text
        where = f"{row.source}:{row.line}" if row.source != DEFAULT and row.line else row.source
        cells = [Cell(row.key, text, min(44, width * 2 // 5)), Cell(row.value or '""', value)]
        if width >= _WIDE:
            cells.append(Cell(f"default {row.default}" if row.changed and row.default else "", ink.muted, 24))
        return line(width, [*cells, Cell(where, ink.muted, min(20, width // 4), right=True)])

    def more(self, row: Setting, width: int) -> list[Segment]:
        ink = self.look.ink
        parts = [row.problem, f"lumen.toml says {row.below}" if row.below else "", row.comment]
        text = f" {self.look.shapes.sep} ".join(part for part in parts if part) or "lumen.toml says nothing about it"
        return line(width, [Cell("", ink.muted, 2), Cell(text, ink.bad if row.problem else ink.muted)])

    def words(self, row: Setting) -> str:
        return f"{row.key} {row.value} {row.comment} {row.source}"

    def fields(self, row: Setting) -> Mapping[str, str]:
        state = "wrong" if row.problem else "changed" if row.changed else "default"
        return {"section": row.section, "source": row.source, "state": state, "kind": row.kind}


class SettingForm(FormScreen[ChangeSettings]):
    """Answers with the request to change one setting. `preview` is called with each choice while it is open."""

    SEND = "write"

    def __init__(
        self,
        setting: Setting,
        config: Config,
        choices: Sequence[str] = (),
        preview: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(setting.key)
        self._setting, self._config, self._choices, self._preview = setting, config, tuple(choices), preview

    def rows(self) -> Iterable[Widget]:
        setting = self._setting
        if self._choices:
            yield row("value", Choice([(value, value) for value in self._choices], setting.value, id="value"))
        else:
            yield row("value", TextField(setting.value, placeholder=setting.default, id="value"))

    def preview(self) -> Content:
        setting = self._setting
        default = f"default {setting.default}. " if setting.default else ""
        return Content.assemble((f"{setting.comment}\n" if setting.comment else "", "$room-muted"), default,
                                "It is written to operator.toml; undo reverts it.")  # fmt: skip

    def on_choice_changed(self, event: Message) -> None:
        super().on_choice_changed(event)
        if self._preview is not None:
            self._preview(self._typed())

    def _typed(self) -> str:
        if self._choices:
            return self.query_one("#value", Choice).value
        return self.query_one("#value", TextField).text

    def read(self) -> ChangeSettings:
        try:
            change = {self._setting.key: typed_value(self._setting.kind, self._typed())}
            check(self._config, change)
        except ValueError:
            raise Invalid("A number is needed.", "value") from None
        except ActionError as error:
            raise Invalid(f"{error}.", "value") from error
        return ChangeSettings(changes=change)


def room_settings(host: Host, root: Path) -> list[Setting]:
    """Return what flags, the environment and the terminal decide for this room."""

    def setting(name: str, value: str, source: str, comment: str) -> Setting:
        return Setting(key=f"{_ROOM}.{name}", kind="", value=value, default="", source=source, comment=comment)

    environment = {name: f"${name}" for name in ("LUMEN_STATE", "LUMEN_OPERATOR", "NO_COLOR") if os.environ.get(name)}
    own = next((name for name in ("VISUAL", "EDITOR") if os.environ.get(name)), "")
    plain = environment.get("NO_COLOR", "--lean" if host.lean else DEFAULT)
    return [
        setting("state", str(root), environment.get("LUMEN_STATE", "--state or default"), "the state folder"),
        setting("operator", host.operator, environment.get("LUMEN_OPERATOR", "login name"), "who acts here"),
        setting("lean", _on(host.lean), "--lean" if host.lean else DEFAULT, "ASCII only, few bytes"),
        setting("colour", _on(plain == DEFAULT), plain, "without it, marks and weight carry the meaning"),
        setting("read_only", _on(bool(host.room.refusal)), "flag or folder" if host.room.refusal else DEFAULT,
                host.room.refusal or "whether nothing can be written from here"),
        setting("editor", os.environ.get(own, "") or "the first plain one", f"${own}" if own else DEFAULT,
                "what opens texts and files"),
    ]  # fmt: skip


def _on(flag: bool) -> str:
    return "on" if flag else "off"


class SettingsScreen(LoadedSheet[Setting, Sequence[Setting]]):
    """Every setting in the order of lumen.toml, after what decides for this room alone."""

    SCOPE = "settings"
    EMPTY = "No setting can be read."
    TWO_LINES = True

    def __init__(self, port: Port, snapshot: Snapshot, refusal: str = "") -> None:
        super().__init__("Settings", snapshot.taken, lambda: read_settings(Layout(port.root)))
        self._port, self._snapshot, self._refusal = port, snapshot, refusal

    def rows_view(self) -> SettingRows:
        return SettingRows(appearance_of(self.app), self._now)

    def keys(self) -> Keys:
        first, *others = super().keys()
        acts = self.offer("settings_edit", "settings_restore", "undo")
        return ((first[0], "change") if not self._refusal else first, *acts, *others)

    def show(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        super().show(snapshot)

    def _loaded(self, settings: Sequence[Setting]) -> None:
        host = host_of(self.app)
        own = room_settings(host, self._port.root) if host is not None else []
        settings = [self._looked_up(setting) for setting in settings]
        changed, wrong = sum(row.changed for row in settings), sum(bool(row.problem) for row in settings)
        aside = f"{words.plural(len(settings), 'setting')} · {changed} changed" + (f" · {wrong} wrong" if wrong else "")
        fill(self, [*own, *settings], "Settings", aside)

    def _looked_up(self, setting: Setting) -> Setting:
        """Return the setting, with what the room alone knows to be wrong with it."""
        slips = {_THEME: lambda: theme.slip_in(setting.value, self.app.available_themes),
                 "keys": lambda: slip_in(self._snapshot.config.keys)}  # fmt: skip
        slip = slips[setting.key]() if setting.key in slips else ""
        return msgspec.structs.replace(setting, problem=setting.problem or slip) if slip else setting

    def _do(self, request: Request) -> None:
        self.run_worker(act(self, self._port, request), group="act")

    def _refused(self) -> bool:
        if self._refusal:
            self.say(self._refusal, bad=True)
        return bool(self._refusal)

    def opened(self, row: Setting) -> None:
        """Change a simple one; show all of another."""
        if row.section == _ROOM:
            self.say(f"{row.key.partition('.')[2]}: {row.comment}; decided by {row.source}.")
        elif row.kind == TABLE:
            self._read_on(row)
        elif not self._refused():
            self._change(row)

    def _change(self, setting: Setting) -> None:
        if setting.kind == SWITCH:
            self._do(ChangeSettings(changes={setting.key: setting.value != "true"}))
        elif setting.key == _THEME:
            self._choose_theme(setting)
        elif setting.kind in (CHOICE, NUMBER, TEXT):
            form = SettingForm(setting, self._snapshot.config, setting.choices)
            self.app.push_screen(form, lambda request: self._do(request) if request else None)

    def _choose_theme(self, setting: Setting) -> None:
        """Show each theme while it is chosen; the one before comes back where the form is left."""
        host = host_of(self.app)

        def tried(name: str) -> None:
            if host is not None:
                host.choose_theme(name)

        def chosen(request: ChangeSettings | None) -> None:
            if request is None:
                tried(setting.value)
            else:
                self._do(request)

        own = {each.name for each in self._snapshot.themes}
        order = {name: (name not in own, not name.startswith("lumen"), name) for name in self.app.available_themes}
        themes = sorted(order, key=order.__getitem__)
        self.app.push_screen(SettingForm(setting, self._snapshot.config, themes, tried), chosen)

    def _read_on(self, setting: Setting) -> None:
        facts: list[Fact] = [("source", setting.source), ("says", setting.comment), ("default", setting.default)]
        try:
            text = json.dumps(json.loads(setting.value), indent=2, ensure_ascii=False)
        except ValueError:
            text = setting.value
        self.app.push_screen(ReadingScreen(setting.key, text, facts))

    def action_restore(self) -> None:
        """Let lumen.toml, or the default, say it again."""
        setting = None if self._refused() else chosen_row(self)
        if setting is None:
            return
        if setting.source == Layout(self._port.root).operator.name:
            self._do(ChangeSettings(changes={setting.key: None}))
        else:
            self.say("Only an override in operator.toml can be removed here.")

    def action_edit(self) -> None:
        """Open the file that says it in $EDITOR, at its line."""
        setting = None if self._refused() else chosen_row(self)
        if setting is None:
            return
        layout = Layout(self._port.root)
        path = layout.operator if setting.source == layout.operator.name else layout.config
        lender = host_of(self.app) or self.app
        try:
            editor.edit_file(lender, path, setting.line)
        except (editor.NoEditor, OSError) as error:
            self.say(str(error), bad=True)
        self.loader.load()

    def action_undo(self) -> None:
        if not self._refused():
            self._do(Undo())
