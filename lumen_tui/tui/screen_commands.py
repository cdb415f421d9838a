"""The commands of screens, dialogs and forms, declared once, by the scope that binds them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from lumen_tui.tui.key_names import DIGITS
from lumen_tui.tui.room_command import ROWS, RoomCommand
from lumen_tui.tui.room_command import first as _first
from lumen_tui.tui.room_command import on_screen as _on
from lumen_tui.tui.room_commands import COMMANDS

# What is decided of a discovery, wherever it stands.
TRIAGE = ("promote", "archive", "later", "merge", "similar", "less_urgent", "more_urgent", "retype")

# Before the widget that has the focus: what is typed right behind tab must not end up in the field before, and in the
# past the arrows move in time, whichever pane has the focus.
_AT_ONCE = (
    "chat_send", "chat_stop", "chat_up", "chat_down", "chat_half", "task_half",
    "task_more", "form_send_now", "form_next", "form_previous", "moment_back", "moment_on",
    "minute_back", "minute_on", "hour_back", "hour_on", "past_day_back", "past_day_on",
)  # fmt: skip
_MINUTE, _HOUR, _DAY = 60, 3600, 86400  # seconds


def _s(action: str, keys: str, label: str, help: str, call: str, *, writes: bool = False) -> RoomCommand:
    return RoomCommand(action, tuple(keys.split()), label, help, writes=writes, call=call, priority=action in _AT_ONCE)


def _like(action: str, call: str = "", label: str = "", help: str = "") -> RoomCommand:
    """The room's command with its key, wherever the operator moved that; on a screen it is about what is open there."""
    command = next(command for command in COMMANDS if command.action == action)
    words = {"label": label or command.label, "help": help or command.help}
    return msgspec.structs.replace(command, call=call or action, footer=False, **words)


def _answer(action: str, keys: str, label: str, help: str, verb: str) -> RoomCommand:
    return _s(action, keys, label, help, f"answer('{verb}')", writes=True)


def _verb(action: str, keys: str, label: str, help: str, verb: str) -> RoomCommand:
    return _s(action, keys, label, help, f"verb('{verb}')", writes=True)


_CAUSES = "What caused it, and what came of it, with tokens and cost."

# In the order of the help.
_ANSWERS = (
    _answer("answer_allow", "y", "allow", "Allow the call that waits.", "allow"),
    _answer("answer_deny", "d", "deny", "Deny the call, with a reason that the worker is given.", "deny"),
    _answer("answer_always", "A", "allow always", "Allow the call and those that a rule names.", "always"),
    _answer("answer_snooze", "l", "snooze", "Snooze it: for an hour, or until tomorrow.", "snooze"),
    _like("undo", "answer('undo')"),
)
_LOOP = (_like("why", help=_CAUSES), _s("loop_capsule", "x", "capsule", "Show what the loop woke with.", "capsule"))

_CHANGES = (
    _verb("changes_accept", "a", "accept", "Apply what still fits to your files.", "accept"),
    _verb("changes_drop", "d", "drop", "Reject the changes.", "drop"),
    _verb("changes_edit", "e", "edit", "Open the file with both sides in $EDITOR, and bring it in.", "edit"),
    _like("new_task", "verb('give')", "to a worker", "Have a worker merge the file with what is there now."),
    _like("undo", "verb('undo')"),
)
_NO = _s("question_leave", "enter", "cancel", "Answer no.", "leave")
_OPTIONS = (
    _s("option_next", "down j tab", "next", "Go to the next answer.", "step(1)"),
    _s("option_previous", "up k shift+tab", "previous", "Go to the previous answer.", "step(-1)"),
)
_HITS = (  # below a line in which one types
    _s("hit_take", "enter", "open", "Open the selected one.", "take"),
    _s("hit_down", "down", "choose", "Select the next one.", "move('down')"),
    _s("hit_up", "up", "choose", "Select the previous one.", "move('up')"),
    _s("hit_page_down", "pagedown", "choose", "Choose a page further down.", "move('page_down')"),
    _s("hit_page_up", "pageup", "choose", "Choose a page further up.", "move('page_up')"),
)

# By the scope of a screen or of a widget in it, in the order of its help.
SCREENS: Mapping[str, tuple[RoomCommand, ...]] = {
    "dialogs": _on(
        "dialogs",
        _like("back", "leave", help="Leave what is open here."),
        _like("help", "room('help')", help="Every key that works here; F1 where one types."),
        _like("kill", "room('kill')"),
        _like("redraw", "room('redraw')"),
    ),
    "sheets": _on(
        "sheets",
        _like("next_need", "room('next_need')"),
        _like("previous_need", "room('previous_need')"),
        _like("palette", "room('palette')"),
        _like("needs", "room('needs')"),
        *(_like(f"pane_{number}", f"room('pane_{number}')") for number in range(1, 7)),
        _like("undo"),
        _like("quit", "room('quit')"),
        _like("go_back", "room('go_back')"),
        _like("go_forward", "room('go_forward')"),
        _like("command_log", "room('command_log')"),
        _like("black_box", "room('black_box')"),
        _like("repeat", "room('repeat')", help="Repeat your last command on what is selected or open here."),
        _like(
            "claim",
            "room('claim')",
            help="Tell the others that you are at what is selected or open here, or release it.",
        ),
    ),
    ROWS: _on(ROWS, *(_like(row.action, f"row('{row.action}')") for row in COMMANDS if row.scope == ROWS)),
    "lists": _on("lists", _like("filter"), _like("why", help=_CAUSES)),
    "pages": _on(
        "pages",
        _like("copy", help="Copy the text."),
        _s("line_down", "j", "move", "Scroll a line down.", "scroll(1)"),
        _s("line_up", "k", "move", "Scroll a line up.", "scroll(-1)"),
    ),
    "filter": _on(
        "filter",
        _like("back", "drop", "all rows", "Go back to the whole list."),
        _s("filter_keep", "down up tab", "back to the list", "Go back to the list, narrowed.", "keep"),
    ),
    "form": _on(
        "form",
        _s("form_send", "enter", "send", "Send the form.", "send"),
        _s("form_send_now", "f2 ctrl+o", "send", "Send the form from any field.", "send"),
        _s("form_next", "tab", "next field", "Go to the next field.", "app.focus_next"),
        _s("form_previous", "shift+tab", "field before", "Go to the previous field.", "app.focus_previous"),
    ),
    "choice": _on(
        "choice",
        _s("choice_next", "right down space", "choose", "Choose the next word.", "step(1)"),
        _s("choice_previous", "left up", "choose", "Choose the previous word.", "step(-1)"),
    ),
    "toggles": _on("toggles", _s("toggle", "space", "on/off", "Turn the word on or off.", "turn")),
    "offers": _on(
        "offers",
        _s("offer_next", "down", "offered", "Take the next of the offered answers.", "offer(1)"),
        _s("offer_previous", "up", "offered", "Take the previous of the offered answers.", "offer(-1)"),
        _s("offer_number", " ".join(DIGITS), "offered", "Take the answer of that number, if none is typed.", ""),
    ),
    "options": _on("options", *_OPTIONS),
    "menu": _on(
        "menu",
        _s("menu_take", "enter", "choose", "Give the selected answer.", "take"),
        _s("menu_number", " ".join(DIGITS), "choose", "Give the answer of that number.", ""),
        _s("verdict_write", "r", "reason", "Write a reason of your own, where a verdict asks for one.", ""),
    ),
    "quit": _on(
        "quit",
        _s("quit_keep", "q", "keep it running", "Leave the room and no more.", "choose('quit_keep')"),
        _s("quit_stop", "c", "stop the engine", "Stop the engine and leave the room.", "choose('quit_stop')"),
    ),
    "draft": _on(
        "draft",
        _s("draft_edit", "e", "edit it again", "Edit the text again.", "choose('draft_edit')"),
        _s("draft_drop", "d", "drop the text", "Drop the text.", "choose('draft_drop')"),
    ),
    "confirm": _on(
        "confirm",
        _NO,
        # Each is another key than those that ask: a key that is hit twice answers nothing.
        _s("confirm_yes", "y", "yes", "Answer yes.", "confirm('confirm_yes')"),
        _s("confirm_allow", "a", "allow", "Allow it.", "confirm('confirm_allow')"),
        _like("down", "scroll('scroll_down')"),
        _like("up", "scroll('scroll_up')"),
        _like("top", "scroll('scroll_home')"),
        _like("bottom", "scroll('scroll_end')", "end"),
    ),
    "merge": _on("merge", _NO, *_OPTIONS, _s("merge_yes", "y", "merge", "Merge into the chosen one.", "merge")),
    "answers": _on(
        "answers",
        *_ANSWERS,
        _answer("needs_dismiss", "d", "dismiss", "Dismiss it from what needs you.", "deny"),
        *(msgspec.structs.replace(one, call=one.call.replace("verb", "answer")) for one in _CHANGES[:2]),
        _answer("needs_retry", "R", "retry", "Run the task again as a new task.", "retry"),
        _answer("needs_reply", "r", "reply", "Answer the question, or reply to the signal.", "reply"),
        _answer("needs_tell", "M", "message", "Say something to the worker, for its next request.", "tell"),
        _answer("needs_raise", "equals_sign", "raise budget", "Make room in the budget for today.", "raise_budget"),
    ),
    "needs": _on(
        "needs",
        _like("next_need", "step(1)"),
        _like("previous_need", "step(-1)"),
        _like("why", help=_CAUSES),
        _s("needs_snoozed", "x", "snoozed", "Show what is snoozed, or what needs you.", "snoozed"),
        _s("needs_back", "b", "unsnooze", "Put what is snoozed back on the list.", "back", writes=True),
        _s("needs_history", "H", "history", "What needed you before, and who answered it.", "history"),
    ),
    "operators": _on(
        "operators", _s("operators_note", "e", "hand-over note", "Write the note for the next.", "note", writes=True)
    ),
    "log": _on("log", _s("log_needs", "H", "history", "What needed you, and who answered it.", "history")),
    "approval": _on(
        "approval",
        *_ANSWERS,
        _like("next_need", "leave_to('next')"),
        _like("previous_need", "leave_to('previous')"),
    ),
    "paper": _on(
        "paper",
        _s("approval_task", "enter", "task", "Open the task that asks.", "task"),
        _like("why", help=_CAUSES),
        _s("approval_expand", "x", "expand", "Show the raw call with its hash, or fold it again.", "expand"),
        _s("approval_editor", "e", "editor", "Read the request in $EDITOR.", "edit"),
        _s("approval_copy", "Y", "copy", "Copy the request as text.", "copy"),
    ),
    "rule": _on("rule", _s("rule_pattern", "e", "edit pattern", "Change what the rule allows.", "edit")),
    "blocks": _on(
        "blocks",
        _s("blocks_history", "H", "history", "Show the steps of the block, or all blocks.", "history"),
        _s("blocks_edit", "e", "edit", "Edit the block in $EDITOR.", "do('edit')", writes=True),
        _s("blocks_lock", "K", "lock", "Lock the block against the agent, or unlock it.", "do('lock')", writes=True),
        _s("blocks_restore", "b", "restore", "Restore the text as it was at a step.", "do('restore')", writes=True),
        _s("blocks_new", "t", "new", "Make a new block.", "alone('new')", writes=True),
        _like("undo", "alone('undo')"),
    ),
    "budget": _on(
        "budget",
        _s(
            "budget_raise", "equals_sign", "raise for today", "Make room in the budget for today.", "raise", writes=True
        ),
        _like("undo"),
        _s("budget_spent", "w", "tasks and why", "The tasks that cost most, and what caused each.", "spent"),
    ),
    "alike": _on(
        "alike",
        _s("alike_promote", "p", "promote", "Promote the marked ones.", "decide('promote')"),
        _s("alike_archive", "a", "archive", "Archive the marked ones.", "decide('archive')"),
        _s("alike_later", "l", "snooze", "Snooze the marked ones for 7 days.", "decide('later')"),
    ),
    "chat": _on(
        "chat",
        _s("form_send_now", "f2 ctrl+o", "say it", "Say what is typed; enter does, for one line.", "send"),
        _first(_like("how_to_leave", "stop", "stop", "Stop the answer under way; the agent goes on.")),
        _s("chat_request", "f4", "answer request", "Open the approval request that the turn waits for.", "request"),
        _s("chat_new", "ctrl+n", "new", "Begin a new conversation; this one stays in the file.", "new", writes=True),
        _first(_like("page_up", "page('page_up')", "scroll")),
        _first(_like("page_down", "page('page_down')", "scroll")),
        _s("task_half", "tab shift+tab", "other pane", "Go to the conversation, or back to the field.", "other_half"),
    ),
    "evolution": _on(
        "evolution",
        _s("evolution_accept", "a", "accept", "Accept what was learnt.", "do('accept')", writes=True),
        _s("evolution_reject", "d", "reject", "Reject what was learnt, with a reason.", "do('reject')", writes=True),
        _s("evolution_edit", "e", "edit", "Change the words of what was learnt.", "do('edit')", writes=True),
        _s("evolution_versions", "H", "versions", "Show the versions, or what was learnt.", "turn('versions')"),
        _s("evolution_rejected", "x", "rejected", "Show what was rejected.", "turn('rejected')"),
        _s("evolution_restore", "b", "restore version", "Go back to a version.", "do('restore')", writes=True),
        _s("evolution_trials", "Z", "trials", "Show changes that have to prove themselves.", "trials"),
        _like("undo", "do('undo')"),
    ),
    "trials": _on(
        "trials",
        _s("trials_try", "B", "run now", "Try it against what is in force.", "do('try')", writes=True),
        _s("trials_stop", "c", "stop the trial", "Stop the one that asks a model.", "do('stop')", writes=True),
        _s("trials_promote", "p", "promote", "Bring it into force, where it passed.", "do('promote')", writes=True),
        _s("trials_take", "a", "accept", "Accept it, where nothing can measure it.", "do('take')", writes=True),
        _s("trials_split", "f", "A/B test", "Divide real tasks by it, or end that.", "do('split')", writes=True),
        _s("trials_rollback", "b", "bring back", "Go back to the version before.", "do('rollback')", writes=True),
        _s("trials_withdraw", "d", "drop", "Take it back: it is tried no more.", "do('withdraw')", writes=True),
        _like("undo", "do('undo')"),
    ),
    "facts": _on(
        "facts",
        _s("facts_confirm", "a", "confirm", "Confirm that the fact is true now.", "confirm", writes=True),
        _s("facts_probe", "B", "probe now", "Run the fact's probes now.", "check", writes=True),
        _s("facts_add_probe", "t", "add a probe", "Say how the fact can be checked.", "add_probe", writes=True),
        _s("facts_retire", "d", "retire", "Retire the fact: it no longer holds.", "retire", writes=True),
        _like("undo"),
        _s("facts_all", "x", "all", "Show the facts that are retired as well, or leave them out.", "all"),
    ),
    "difference": _on(
        "difference",
        _s("difference_save", "a", "save", "Save the text.", "save"),
        _s("difference_down", "j down", "move", "Scroll a line down.", "scroll(1)"),
        _s("difference_up", "k up", "move", "Scroll a line up.", "scroll(-1)"),
    ),
    "black_box": _on(
        "black_box",
        _s("moment_back", "left", "before", "Go back to what happened before.", "events(-1)"),
        _s("moment_on", "right", "after", "Go on to what happened next.", "events(1)"),
        _s("moment_sort", "T", "type", "Step through one sort of event alone: the next sort at each press.", "sort"),
        _s("minute_back", "ctrl+left", "minute", "Go back a minute.", f"go(-{_MINUTE})"),
        _s("minute_on", "ctrl+right", "minute", "Go on a minute.", f"go({_MINUTE})"),
        _s("hour_back", "shift+left", "hour", "Go back an hour.", f"go(-{_HOUR})"),
        _s("hour_on", "shift+right", "hour", "Go on an hour.", f"go({_HOUR})"),
        _s("past_day_back", "shift+up", "day", "Go back a day.", f"go(-{_DAY})"),
        _s("past_day_on", "shift+down", "day", "Go on a day.", f"go({_DAY})"),
        _like("black_box", "ask", "another moment", "Ask for another moment."),
        _like("since", "since", help="What appeared, changed and went since then, pane by pane."),
        _s("past_save", "f2", "save as text", "Save the room as it was as a text file.", "save"),
    ),
    "since_then": _on(
        "since_then", _s("since_save", "f2", "save as text", "Save what is shown as a text file.", "save")
    ),
    "command_log": _on("command_log", _like("copy", help="Copy the command line.")),
    "journal": _on("journal", _like("undo", label="undo this one", help="Undo the selected action, if it is yours.")),
    "lineage": _on(
        "lineage",
        _s("lineage_back", "backspace", "back", "Go back to where you came from.", "back"),
        _like("copy", help="Copy the trace as text."),
    ),
    "packets": _on("packets", *_LOOP),
    "packet": _on("packet", *_LOOP),
    "triage": _on(
        "triage",
        *(_like(action, f"judge('{action}')") for action in TRIAGE),
        _s("triage_title", "e", "edit", "Change the title.", "judge('rename')", writes=True),
        _like("sort"),
        _like("undo"),
        _s("task_half", "tab shift+tab", "other pane", "Go to the other pane.", "other_half"),
    ),
    "node": _on(
        "node",
        _s("node_archive", "a", "archive", "Archive the node, with a reason.", "choose('archive_node')", writes=True),
        _s("node_pin", "K", "pin", "Pin the node so that it never decays, or unpin it.", "choose('pin')", writes=True),
    ),
    "archived": _on(
        "archived",
        _s("archived_restore", "b", "bring back", "Bring the node back into memory.", "bring_back", writes=True),
    ),
    "protected": _on("protected", _s("protected_unpin", "K", "unpin", "Let the node decay.", "unpin", writes=True)),
    "relays": _on(
        "relays",
        _s("relays_release", "y", "release", "Release what is held into the relay.", "release", writes=True),
        _s("relays_drop", "d", "drop", "Drop what is held, with a reason.", "drop", writes=True),
        _like("undo"),
    ),
    "changes": _on("changes", *_CHANGES),
    "change_lines": _on(
        "change_lines",
        *_CHANGES,
        _like("next_need", "step(1)", "next hunk", "Go to the next hunk."),
        _like("previous_need", "step(-1)", "previous", "Go to the hunk before."),
    ),
    "roles": _on(
        "roles",
        _s("roles_hire", "h", "hire", "Hire a role: a copy, from a template or a new one.", "do('hire')", writes=True),
        _s("roles_fire", "d", "fire", "Fire the role, with a reason.", "do('fire')", writes=True),
        _s("roles_rehire", "R", "rehire", "Hire the role again.", "do('rehire')", writes=True),
        _s("roles_adjust", "equals_sign", "adjust", "Change what the role may do.", "do('adjust')", writes=True),
        _s("roles_edit", "e", "edit", "Edit the role's file in $EDITOR.", "do('edit')", writes=True),
        _like("new_task", "do('try')", "task", "Give the role a task: its example is filled in."),
        _like("undo", "do('undo')"),
    ),
    "schedules": _on(
        "schedules",
        _like("new_task", "add", "new", "Make a new schedule."),
        _like("beat", "run", "run now", "Run it now, in addition to its schedule."),
        _like("pause", "pause", "pause/resume", "Skip its runs until you resume it."),
        _s("schedules_remove", "delete", "remove", "Remove the schedule; what it made stays.", "remove", writes=True),
        _like("undo"),
    ),
    "hosts": _on(
        "hosts",
        _s(
            "hosts_cordon",
            "P",
            "cordon",
            "Let no task begin there, or let them again.",
            "cordon",
            writes=True,
        ),
        _s("hosts_drain", "c", "drain", "Let what runs there end, then the host itself.", "drain", writes=True),
        _s("hosts_remove", "delete", "remove", "Forget the host; nothing may run there.", "remove", writes=True),
        _like("undo"),
    ),
    "output": _on("output", _like("copy", help="Copy the output.")),
    "filters": _on(
        "filters",
        _s("filters_save", "t", "save", "Save the filter in force under a name.", "save", writes=True),
        _s("filters_drop", "d", "drop", "Delete the saved filter.", "drop", writes=True),
        _like("undo"),
    ),
    "charts": _on(
        "charts",
        _s("span_shorter", "left_square_bracket", "shorter", "Look at a shorter span.", "span(-1)"),
        _s("span_longer", "right_square_bracket", "longer", "Look at a longer span.", "span(1)"),
    ),
    "settings": _on(
        "settings",
        _s("settings_edit", "e", "edit", "Open the file that says it in $EDITOR, at its line.", "edit", writes=True),
        _s("settings_restore", "b", "restore", "Remove the override in operator.toml.", "restore", writes=True),
        _like("undo"),
    ),
    "unit": _on(
        "unit",
        _like("new_task", "verb('task')", help="Give a worker a task on the work unit."),
        _like("send_signal", "verb('signal')", help="Send a signal about the work unit."),
        _verb("unit_done", "a", "done", "Finish the work unit: its lane becomes free.", "done"),
        _like("claim", "verb('claim')", help="Claim the work unit, or release it."),
        _verb("unit_block", "P", "block", "Block the work unit with a reason, or unblock it.", "block"),
        _like("undo", "verb('undo')"),
    ),
    "units": _on(
        "units",
        _like("sort", help="Sort by state, priority, lane, last checkpoint or number."),
        _s("units_all", "x", "all", "Show the work units that are done as well, or leave them out.", "all"),
    ),
    "hits": _on("hits", *_HITS),
    "command_line": _on("command_line", _s("line_complete", "tab", "complete", "Complete the line.", "complete")),
    "search": _on(
        "search",
        *_HITS,
        _s("search_why", "f3", "what caused it", "What caused the hit, and what came of it.", "why"),
        _s("search_note", "f2", "save a note", "Save the hit as a note in memory.", "note", writes=True),
    ),
    "signal": _on("signal", _s("signal_reply", "r", "reply", "Reply to the signal.", "reply")),
    "task": _on(
        "task",
        _s("task_answer", "r", "reply", "Answer the question that it asks.", "answer", writes=True),
        _s("task_tell", "M", "message", "Say something to it, for its next request.", "ask('tell')", writes=True),
        _s(
            "task_stop",
            "Q",
            "stop after step",
            "Stop it after this step; what it has is kept.",
            "act('stop')",
            writes=True,
        ),
        _s(
            "task_limits",
            "equals_sign",
            "limits",
            "Change its limits while it runs.",
            "ask('limits')",
            writes=True,
        ),
        _s("task_cancel", "c", "cancel", "Cancel the task.", "act('task.cancel')", writes=True),
        _s("task_retry", "R", "retry", "Run the task again as a new task.", "act('task.retry')", writes=True),
        _s("task_replay", "Z", "replay", "Replay its calls against today's rules.", "act('replay')", writes=True),
        _s("task_copy", "Y", "copy result", "Copy the result as text.", "copy"),
        _s("task_editor", "e", "open in $EDITOR", "Open the result in $EDITOR.", "edit"),
        _s("task_expand", "x", "expand", "Show the step whole, or cut it again.", "transcript('expand')"),
        _like("filter", "transcript('filter')"),
        _like("why", help=_CAUSES),
        _s("task_half", "tab shift+tab", "other pane", "Go to the other pane.", "other_half"),
    ),
    "task_form": _on("task_form", _s("task_more", "f3", "more", "Show the less common fields, or hide them.", "more")),
}
