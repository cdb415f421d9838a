"""The text of the systemd unit that drives a state folder, for a user's own manager or for the machine's.

What protects here must leave workers their sandbox: bubblewrap makes user and mount namespaces and mounts a fresh
/proc, which the kernel refuses where part of /proc is covered. So nothing here restricts namespaces or covers /proc
(RestrictNamespaces, ProtectKernelTunables, ProtectKernelLogs, ProtectProc, @mount in a SystemCallFilter).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

MARK = "# written by `lumen-tui service install`"
_PLAIN = re.compile(r"[A-Za-z0-9@%+=:,./_-]+")

_TEMPLATE = """\
{mark}; `lumen-tui service remove` takes it away
[Unit]
Description=Lumen agent in {root}
Documentation=man:lumen-tui(1)
StartLimitIntervalSec=10min
StartLimitBurst=5
{after}
[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
EnvironmentFile=-{environment}
{user}
# restarted where it crashed or its beats hang; `lumen-tui stop` ends it for good
Restart=on-failure
RestartSec=5s
WatchdogSec=3min
SuccessExitStatus=129 130 143
TimeoutStopSec=60s
# workers go on without their engine, and the next one adopts them
KillMode=process
OOMPolicy=continue

UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=~@clock @cpu-emulation @module @obsolete @raw-io @reboot @swap
SystemCallErrorNumber=EPERM
{machine}
[Install]
WantedBy={wanted}
"""
_MACHINE = """\
CapabilityBoundingSet=
PrivateDevices=yes
ProtectSystem=full
ProtectControlGroups=yes
ProtectKernelModules=yes
"""


class ServiceUnit(Struct, frozen=True):
    """What a unit is made of. `user` names who runs it under the machine's manager; empty: the user's own manager."""

    program: Sequence[str]  # the command that is `lumen-tui`, from any folder
    root: str  # the state folder
    user: str = ""

    def text(self) -> str:
        """Return the unit file. Raise ValueError where a path or name cannot stand in one."""
        command = " ".join(map(_word, [*self.program, "--engine-only", "--state", self.root]))
        filled = _TEMPLATE.format(
            mark=MARK,
            root=_line(self.root),
            command=command,
            after="After=network-online.target\nWants=network-online.target\n" if self.user else "",
            environment="/etc/lumen/environment" if self.user else "%h/.config/lumen/environment",
            user=f"User={_account(self.user)}\n" if self.user else "",
            machine=_MACHINE if self.user else "",
            wanted="multi-user.target" if self.user else "default.target",
        )
        return re.sub(r"\n{3,}", "\n\n", filled)


def _line(text: str) -> str:
    """Return a text for the right side of a setting, in which a per cent sign begins nothing."""
    if any(not char.isprintable() for char in text):
        raise ValueError(f"{text!r} has characters that no unit file takes")
    return text.replace("%", "%%")


def _word(text: str) -> str:
    """Return one word of a command line as systemd.service(5) takes it."""
    escaped = _line(text).replace("$", "$$")
    if _PLAIN.fullmatch(text):
        return escaped
    quoted = escaped.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'


def _account(name: str) -> str:
    """Return the name of who runs the engine. Without its capabilities root can make no namespaces for a sandbox."""
    if name == "root":
        raise ValueError("as root commands would have no sandbox: name an account of its own with --account")
    if not re.fullmatch(r"[a-z_][a-z0-9_-]{0,31}", name):
        raise ValueError(f"{name!r} is no name of an account")
    return name
