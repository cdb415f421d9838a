"""Every command of the room and of its screens, declared once: keys, footers, palette, help and docs come from here."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from lumen_tui.tui.key_names import DIGITS, operators_key, plain_key
from lumen_tui.tui.room_command import DECAY as DECAY
from lumen_tui.tui.room_command import DISCOVERIES as DISCOVERIES
from lumen_tui.tui.room_command import EVERYWHERE as EVERYWHERE
from lumen_tui.tui.room_command import ROWS as ROWS
from lumen_tui.tui.room_command import SIGNALS as SIGNALS
from lumen_tui.tui.room_command import WORKERS as WORKERS
from lumen_tui.tui.room_command import RoomCommand as RoomCommand
from lumen_tui.tui.room_command import declared as _c
from lumen_tui.tui.room_command import first as _first
from lumen_tui.tui.room_command import on_screen as _on

# In the order in which the footer shows them: what comes first stays longest in a narrow window.
COMMANDS: tuple[RoomCommand, ...] = (
    _c("cancel_task", "c", "cancel", "Cancel the task, running or queued.", WORKERS, writes=True, foot=True),
    _c("retry_task", "R", "retry", "Run the task again as a new task.", WORKERS, writes=True, foot=True),
    _c("dismiss", "d", "dismiss", "Dismiss the task from what needs you; u brings it back.", WORKERS, writes=True,
       foot=True),
    _c("tell_task", "M", "message", "Say something to the task: its next request holds it.", WORKERS, writes=True,
       foot=True),
    _c("answer_signal", "r", "reply", "Reply to the signal.", SIGNALS, writes=True, foot=True),
    _c("read_signal", "a", "read", "Mark the signal as read.", SIGNALS, writes=True, foot=True),
    _c("read_all", "A", "all read", "Mark every signal as read.", SIGNALS, writes=True, foot=True),
    _c("promote", "p", "promote", "Make the discovery a work unit.", DISCOVERIES, writes=True, foot=True),
    _c("archive", "a", "archive", "Archive the discovery, with a reason.", DISCOVERIES, writes=True, foot=True),
    _c("later", "l", "snooze", "Snooze the discovery: it is listed again in 7 days.", DISCOVERIES, writes=True,
       foot=True),
    _c("merge", "m", "merge", "Merge the marked ones, or this one and its duplicate, after a preview.", DISCOVERIES,
       writes=True, foot=True),
    _c("similar", "s", "similar", "Decide once for every similar open discovery, after a look at the list.",
       DISCOVERIES, writes=True, foot=True),
    _c("pin", "K", "pin", "Pin the node so that it never decays, or unpin it.", DECAY, writes=True, foot=True),
    _c("archive_node", "a", "archive", "Archive the node now, with a reason.", DECAY, writes=True, foot=True),
    _c("touch", "T", "touch", "Touch the node: its age counts from now.", DECAY, writes=True, foot=True),
    _c("day_on", "right", "+1 day", "Look a day further ahead: what would be archived by then.", DECAY, foot=True),
    _c("half_life_up", "right_square_bracket", "half-life", "Try a longer half-life, before anything happens.", DECAY,
       foot=True),
    _c("threshold_up", "right_curly_bracket", "threshold", "Try a higher threshold, before anything happens.", DECAY,
       foot=True),
    _c("apply_rule", "equals_sign", "write", "Write the half-life and threshold that you look at to operator.toml.",
       DECAY, writes=True, foot=True),
    _c("run_decay", "D", "decay", "Archive what has decayed now, after showing how many.", DECAY, writes=True,
       foot=True),
    _c("archived_nodes", "x", "archived", "The archived nodes, to bring some back.", DECAY),
    _c("protected_nodes", "number_sign", "protected", "The nodes that never decay, and why.", DECAY),
    _c("present", "0", "today", "Back to today and to the current rule.", DECAY),
    _c("day_back", "left", "-1 day", "Look a day less ahead.", DECAY),
    _c("week_on", "shift+right", "+1 week", "Look a week further ahead.", DECAY),
    _c("week_back", "shift+left", "-1 week", "Look a week less ahead.", DECAY),
    _c("half_life_down", "left_square_bracket", "shorter", "Try a shorter half-life.", DECAY),
    _c("threshold_down", "left_curly_bracket", "lower", "Try a lower threshold.", DECAY),
    _c("undo", "u", "undo", "Undo your last action; this works after a restart too.", writes=True, foot=True),
    _c("open", "enter", "open", "Open the row in full, or the last loop.", ROWS, foot=True),
    _c("mark", "space", "mark", "Mark the row; commands then act on all marked rows.", ROWS, foot=True),
    _c("filter", "slash", "filter", "Narrow the list: fuzzy words, !word leaves out, field:value.", foot=True),
    _c("new_task", "t", "task", "Give a worker a new task.", writes=True, foot=True),
    _c("palette", "colon ctrl+p", "command", "Find any command by name.", foot=True),
    _c("help", "question_mark f1", "help", "Every key and command; type to search, enter runs it.", foot=True),
    _c("next_need", "n", "next", "Go to the next thing that needs you.", foot=True),
    _c("previous_need", "N", "previous", "Go to the previous thing that needs you."),
    _c("needs", "exclamation_mark", "needs you", "The list of all that needs you."),
    _c("send_signal", "i", "signal", "Send a signal.", writes=True, foot=True),
    _c("chat", "I", "chat", "Talk with the main agent: what you say is an order, and it answers at once."),
    _c("roles", "h", "roles", "Hire, fire and adjust the workers' roles.", foot=True),
    _c("redo", "U", "redo", "Redo what you undid.", writes=True),
    _c("why", "w", "why", "What caused the row, or the last loop, and what came of it, with tokens and cost."),
    _c("zoom", "z", "zoom", "Give the pane the whole screen, and back.", foot=True),
    _c("grow", "plus", "bigger", "Give the pane a line more of its column; this is remembered."),
    _c("shrink", "minus", "smaller", "Give the pane a line less of its column; this is remembered."),
    _c("sort", "o", "sort", "Sort the list by the next of its columns."),
    _c("copy", "Y", "copy", "Copy the marked rows, or this one, as text."),
    _c("edit", "e", "edit", "Edit in $EDITOR: a queued task's objective, elsewhere the settings.", writes=True),
    _c("beat", "B", "beat", "Ask the engine for a beat now.", writes=True),
    _c("pause", "P", "pause", "Pause everything, the loop, a role or a worker, or resume it.", writes=True),
    _c("search", "S", "search", "Search memory, archive, signals, tasks and conversations; F2 in it saves a note."),
    _c("engine", "ctrl+e", "start engine", "Start an engine where none is running.", writes=True),
    _c("budget", "dollar_sign", "budget", "Today's cost against its caps; = in it raises today's cap."),
    _c("kill", "ctrl+k", "kill", "End every worker at once, after its name is typed; once killed, resume the agent.",
       writes=True),
    _c("freshness", "F", "freshness", "What the agent takes as facts, when each was last confirmed, what drifted."),
    _c("evolution", "E", "evolution", "What was learnt from sessions, and why; accept, reject, restore a version."),
    _c("blocks", "quotation_mark", "blocks", "The memory blocks: what the agent sees in every loop, and who wrote it."),
    _c("relay", "O", "relays", "What was submitted to relays, and what is held for a person's decision."),
    _c("schedules", "C", "schedules", "What is done by time, on changed files or on signals, and what became of it."),
    _c("changes", "V", "changes", "What tasks changed in folders of their own; accept, drop or edit it."),
    _c("log", "L", "log", "What the engine did."),
    _c("since", "at", "since", "What happened since you last looked; enter goes there."),
    _c("packets", "H", "packets", "What each loop left, what it cost, and the capsule that it woke with."),
    _c("problems", "X", "problems", "The files that cannot be read, and what to do about each."),
    _c("journal", "J", "journal", "What the operators decided, newest first; u takes one of yours back."),
    _c("back", "escape", "back", "Drop the filter, the marks or the zoom."),
    _c("quit", "q", "quit", "Leave the room."),
    _c("how_to_leave", "ctrl+c", "how to leave", "Say which key leaves; this one ends nothing here."),
    _c("pane_1", "1", "loop", "Go to the loop."),
    _c("pane_2", "2", "wake-state", "Go to the wake-state."),
    _c("pane_3", "3", "workers", "Go to the workers."),
    _c("pane_4", "4", "signals", "Go to the signals."),
    _c("pane_5", "5", "discoveries", "Go to the discoveries."),
    _c("pane_6", "6", "decay", "Go to the decay."),
    _c("next_pane", "tab", "next pane", "Go to the next pane."),
    _c("previous_pane", "shift+tab", "previous pane", "Go to the previous pane."),
    _c("down", "j down", "down", "Next row.", ROWS),
    _c("up", "k up", "up", "Previous row.", ROWS),
    _c("top", "g home", "top", "First row.", ROWS),
    _c("bottom", "G end", "bottom", "Last row.", ROWS),
    _c("half_down", "ctrl+d", "half down", "Half a page down.", ROWS),
    _c("half_up", "ctrl+u", "half up", "Half a page up.", ROWS),
    _c("page_down", "pagedown", "page down", "A page down.", ROWS),
    _c("page_up", "pageup", "page up", "A page up.", ROWS),
    _c("range", "v", "range", "Mark a range from here; again to end it.", ROWS),
    _c("mark_all", "asterisk", "mark all", "Mark every row that matches the filter, or none.", ROWS),
)  # fmt: skip

# Before the widget that has the focus: what is typed right behind tab must not end up in the field before.
_AT_ONCE = (
    "chat_send",
    "chat_stop",
    "chat_up",
    "chat_down",
    "chat_half",
    "task_half",
    "task_more",
    "form_send_now",
    "form_next",
    "form_previous",
)


def _s(action: str, keys: str, label: str, help: str, call: str, *, writes: bool = False) -> RoomCommand:
    return RoomCommand(action, tuple(keys.split()), label, help, writes=writes, call=call, priority=action in _AT_ONCE)


def _like(action: str, call: str = "", label: str = "", help: str = "") -> RoomCommand:
    """The room's command with its key, wherever the operator moved that; on a screen it is about what is open there."""
    command = next(command for command in COMMANDS if command.action == action)
    words = {"label": label or command.label, "help": help or command.help}
    return msgspec.structs.replace(command, call=call or action, footer=False, **words)


def _answer(action: str, keys: str, label: str, help: str, verb: str) -> RoomCommand:
    return _s(action, keys, label, help, f"answer('{verb}')", writes=True)


# In the order of the help.
_ANSWERS = (
    _answer("answer_allow", "y", "allow", "Allow the call that waits.", "allow"),
    _answer("answer_deny", "d", "deny", "Deny the call, with a reason that the worker is given.", "deny"),
    _answer("answer_always", "A", "allow always", "Allow the call and those that a rule names.", "always"),
    _answer("answer_snooze", "l", "snooze", "Snooze it: for an hour, or until tomorrow.", "snooze"),
    _like("undo", "answer('undo')"),
)
_LOOP = (_like("why"), _s("loop_capsule", "x", "capsule", "Show what the loop woke with.", "capsule"))

_CHANGES = (
    _s("changes_accept", "a", "accept", "Bring what still fits into your files.", "accept", writes=True),
    _s("changes_drop", "d", "drop", "Decide against the changes.", "drop", writes=True),
    _s("changes_edit", "e", "edit", "Open the file with both sides in $EDITOR, and bring it in.", "edit", writes=True),
    _like("new_task", "give", "to a worker", "Have a worker bring in the file, together with what is there now."),
    _like("undo"),
)
_NO = _s("question_leave", "enter", "cancel", "Leave the question with no.", "leave")
_OPTIONS = (
    _s("option_next", "down j tab", "next", "Go to the next answer.", "step(1)"),
    _s("option_previous", "up k shift+tab", "previous", "Go to the previous answer.", "step(-1)"),
)
_HITS = (  # below a line in which one types
    _s("hit_take", "enter", "open", "Take the chosen one.", "take"),
    _s("hit_down", "down", "choose", "Choose the next one.", "move('down')"),
    _s("hit_up", "up", "choose", "Choose the previous one.", "move('up')"),
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
    ),
    "sheets": _on(
        "sheets",
        _like("next_need", "need('next_need')"),
        _like("previous_need", "need('previous_need')"),
        _like("palette", "room('palette')"),
        _like("needs", "need('needs')"),
        *(_like(f"pane_{number}", f"need('pane_{number}')") for number in range(1, 7)),
        _like("undo"),
        _like("quit", "room('quit')"),
    ),
    ROWS: _on(ROWS, *(_like(row.action, f"row('{row.action}')") for row in COMMANDS if row.scope == ROWS)),
    "lists": _on("lists", _like("filter"), _like("why")),
    "pages": _on(
        "pages",
        _like("copy"),
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
        _s("confirm_yes", "y", "yes", "Answer with yes.", "confirm('confirm_yes')"),
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
        *(msgspec.structs.replace(one, call=f"answer('{one.call}')") for one in _CHANGES[:2]),
        _answer("needs_retry", "R", "retry", "Run the task again as a new task.", "retry"),
        _answer("needs_reply", "r", "reply", "Answer the question, or reply to the signal.", "reply"),
        _answer("needs_tell", "M", "message", "Say something to the worker, for its next request.", "tell"),
        _answer("needs_raise", "equals_sign", "raise the budget", "Make room in the budget for today.", "raise_budget"),
    ),
    "needs": _on(
        "needs",
        _like("next_need", "step(1)"),
        _like("previous_need", "step(-1)"),
        _like("why"),
        _s("needs_snoozed", "x", "snoozed", "Show what is snoozed, or what needs you.", "snoozed"),
        _s("needs_back", "b", "unsnooze", "Put what is snoozed back on the list.", "back", writes=True),
    ),
    "approval": _on(
        "approval",
        *_ANSWERS,
        _like("next_need", "leave_to('next')"),
        _like("previous_need", "leave_to('previous')"),
    ),
    "paper": _on(
        "paper",
        _s("approval_task", "enter", "task", "Open the task that asks.", "task"),
        _like("why"),
        _s("approval_editor", "e", "editor", "Read the request in $EDITOR.", "edit"),
        _s("approval_copy", "Y", "copy", "Copy the request as text.", "copy"),
    ),
    "rule": _on("rule", _s("rule_pattern", "e", "edit its pattern", "Change what the rule allows.", "edit")),
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
        _s("budget_spent", "w", "its tasks, and why", "The tasks that cost most, and what caused each.", "spent"),
    ),
    "alike": _on(
        "alike",
        _s("alike_promote", "p", "promote", "Promote those that are in.", "decide('promote')"),
        _s("alike_archive", "a", "archive", "Archive those that are in.", "decide('archive')"),
        _s("alike_later", "l", "snooze", "Snooze those that are in for 7 days.", "decide('later')"),
    ),
    "chat": _on(
        "chat",
        _s("form_send_now", "f2 ctrl+o", "or enter says it", "Say what is typed; enter does, for one line.", "send"),
        _first(_like("how_to_leave", "stop", "stop", "Stop the answer under way; the agent goes on.")),
        _s("chat_request", "f4", "answer request", "Open the approval request that the turn waits for.", "request"),
        _s("chat_new", "ctrl+n", "new", "Begin a new conversation; this one stays in the file.", "new", writes=True),
        _first(_like("page_up", "page('page_up')", "scroll")),
        _first(_like("page_down", "page('page_down')", "scroll")),
        _s("task_half", "tab shift+tab", "half", "Go to the conversation, or back to the field.", "other_half"),
    ),
    "evolution": _on(
        "evolution",
        _s("evolution_accept", "a", "accept", "Accept what was learnt.", "do('accept')", writes=True),
        _s("evolution_reject", "d", "reject", "Reject what was learnt, with a reason.", "do('reject')", writes=True),
        _s("evolution_edit", "e", "edit", "Change the words of what was learnt.", "do('edit')", writes=True),
        _s("evolution_versions", "H", "versions", "Show the versions, or what was learnt.", "turn('versions')"),
        _s("evolution_rejected", "x", "rejected", "Show what was rejected.", "turn('rejected')"),
        _s("evolution_restore", "b", "restore version", "Go back to a version.", "do('restore')", writes=True),
        _like("undo", "do('undo')"),
    ),
    "facts": _on(
        "facts",
        _s("facts_confirm", "a", "confirm", "Say that the fact is true as of now.", "confirm", writes=True),
        _s("facts_probe", "B", "probe now", "Run the fact's probes now.", "check", writes=True),
        _s("facts_add_probe", "t", "add a probe", "Say how the fact can be checked.", "add_probe", writes=True),
        _s("facts_retire", "d", "retire", "Say that the fact is no fact any more.", "retire", writes=True),
        _like("undo"),
        _s("facts_all", "x", "all", "Show the facts that are retired as well, or leave them out.", "all"),
    ),
    "difference": _on(
        "difference",
        _s("difference_save", "a", "save", "Save the text.", "save"),
        _s("difference_down", "j down", "move", "Scroll a line down.", "scroll(1)"),
        _s("difference_up", "k up", "move", "Scroll a line up.", "scroll(-1)"),
    ),
    "journal": _on("journal", _like("undo", label="undo this one")),
    "lineage": _on(
        "lineage",
        _s("lineage_back", "backspace", "back", "Go back to where you came from.", "back"),
        _like("copy"),
    ),
    "packets": _on("packets", *_LOOP),
    "packet": _on("packet", *_LOOP),
    "node": _on(
        "node",
        _s("node_promote", "p", "promote", "Make the discovery a work unit.", "choose('promote')", writes=True),
        _s("node_later", "l", "snooze", "Snooze the discovery for 7 days.", "choose('later')", writes=True),
        _s("node_archive", "a", "archive", "Archive the node, with a reason.", "choose('archive')", writes=True),
        _s("node_pin", "K", "pin", "Pin the node so that it never decays, or unpin it.", "choose('pin')", writes=True),
    ),
    "archived": _on(
        "archived",
        _s("archived_restore", "b", "bring back", "Bring the node back into memory.", "bring_back", writes=True),
    ),
    "protected": _on("protected", _s("protected_unpin", "K", "unpin", "Let the node decay.", "unpin", writes=True)),
    "relays": _on(
        "relays",
        _s("relays_release", "y", "release", "Let what is held into the relay.", "release", writes=True),
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
        _like("beat", "run", "run now", "Run it now, beside its own times."),
        _like("pause", "pause", "pause/resume", "Skip its runs until you resume it."),
        _s("schedules_remove", "delete", "remove", "Remove the schedule; what it made stays.", "remove", writes=True),
        _like("undo"),
    ),
    "hits": _on("hits", *_HITS),
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
        _s("task_stop", "Q", "stop after step", "End it after its step, with what it has.", "act('stop')", writes=True),
        _s(
            "task_limits",
            "equals_sign",
            "limits",
            "Change how far it may go, while it runs.",
            "ask('limits')",
            writes=True,
        ),
        _s("task_cancel", "c", "cancel", "Cancel the task.", "act('task.cancel')", writes=True),
        _s("task_retry", "R", "retry", "Run the task again as a new task.", "act('task.retry')", writes=True),
        _s("task_replay", "Z", "replay", "Judge its calls again, by the rules of today.", "act('replay')", writes=True),
        _s("task_copy", "Y", "copy result", "Copy the result as text.", "copy"),
        _s("task_editor", "e", "open in $EDITOR", "Open the result in $EDITOR.", "edit"),
        _s("task_expand", "x", "expand", "Show the step whole, or cut it again.", "transcript('expand')"),
        _like("filter", "transcript('filter')"),
        _like("why"),
        _s("task_half", "tab shift+tab", "half", "Go to the other half.", "other_half"),
    ),
    "task_form": _on("task_form", _s("task_more", "f3", "more", "Show the rarer fields, or hide them.", "more")),
}
SCREEN_COMMANDS = tuple(command for commands in SCREENS.values() for command in commands)

BY_ACTION: Mapping[str, RoomCommand] = {command.action: command for command in (*SCREEN_COMMANDS, *COMMANDS)}


def in_scope(scope: str) -> tuple[RoomCommand, ...]:
    """Return the commands of one scope, in footer order."""
    return tuple(command for command in COMMANDS if command.scope == scope)


def shown_key(command: RoomCommand, keys: Mapping[str, str]) -> str:
    """Return the key that works for a command now, as a person reads it."""
    own = operators_key(command.action, keys)
    return plain_key(own.split(",")[0]) if own else command.shown_key
