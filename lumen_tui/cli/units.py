"""The text of systemd units, for a user's own manager or for the machine's: of an engine, of `serve` and of `host`.

What protects an engine must leave workers their sandbox: bubblewrap makes user and mount namespaces and mounts a fresh
/proc, which the kernel refuses where part of /proc is covered. So nothing there restricts namespaces or covers /proc
(RestrictNamespaces, ProtectKernelTunables, ProtectKernelLogs, ProtectProc, @mount in a SystemCallFilter). A server runs
no commands: it gets a few system calls, sockets, and its state folder. A host has workers as an engine has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from lumen_tui.model.patterns import lazy_re

MARK = "# written by `lumen-tui service install`"
_PLAIN = lazy_re(r"[A-Za-z0-9@%+=:,./_-]+")

_TEMPLATE = """\
{mark}; `lumen-tui service remove{option}` takes it away
[Unit]
Description=Lumen {what} {root}
Documentation=man:lumen-tui(1)
StartLimitIntervalSec=10min
StartLimitBurst=5
{after}
[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
{user}
{service}
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
{machine}
[Install]
WantedBy={wanted}
"""
_WITH_WORKERS = """\
EnvironmentFile=-{environment}
# restarted where it crashed or hangs; `lumen-tui {end}` ends it for good
Restart=on-failure
RestartSec=5s
WatchdogSec=3min
SuccessExitStatus=129 130 143
TimeoutStopSec=60s
# workers go on without it, and the next one finds them
KillMode=process
OOMPolicy=continue

SystemCallFilter=~@clock @cpu-emulation @module @obsolete @raw-io @reboot @swap
"""
_SERVER = """\
# restarted where it crashed or its loop hangs
Restart=on-failure
RestartSec=5s
WatchdogSec=1min
# a large state folder is read in before it answers
TimeoutStartSec=5min
TimeoutStopSec=15s
LimitNOFILE=8192

SystemCallFilter=@system-service
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictNamespaces=yes
"""
_MACHINE = """\
CapabilityBoundingSet=
PrivateDevices=yes
ProtectControlGroups=yes
ProtectKernelModules=yes
"""
_WITH_WORKERS_OF_MACHINE = "ProtectSystem=full\n"
_SERVER_OF_MACHINE = """\
ProtectSystem=strict
ProtectHome=read-only
ReadWritePaths={folder} /tmp /var/tmp
ProtectKernelTunables=yes
ProtectKernelLogs=yes
ProtectClock=yes
ProtectHostname=yes
"""


_WHAT = {"": "agent in", "serve": "API of", "host": "host in"}


class ServiceUnit(Struct, frozen=True):
    """What a unit is made of. `user` names who runs it under the machine's manager; empty: the user's own manager."""

    program: Sequence[str]  # the command that is `lumen-tui`, from any folder
    root: str  # the state folder; of a host its own
    user: str = ""
    command: Sequence[str] = ()  # `serve` or `host` with all its words; empty: the engine of the folder

    @property
    def kind(self) -> str:
        """`serve`, `host`, or empty for an engine."""
        return self.command[0] if self.command else ""

    def text(self) -> str:
        """Return the unit file. Raise ValueError where a path or name cannot stand in one."""
        does = self.command if self.kind == "host" else [*(self.command or ["--engine-only"]), "--state", self.root]
        filled = _TEMPLATE.format(
            mark=MARK,
            option=f" --{self.kind}" if self.kind else "",
            what=_WHAT[self.kind],
            root=_line(self.root),
            command=" ".join(_word(word).replace("$", "$$") for word in [*self.program, *does]),
            after="After=network-online.target\nWants=network-online.target\n" if self.user else "",
            user=f"User={_account(self.user)}\n" if self.user else "",
            service=self._service(),
            machine=self._machine() if self.user else "",
            wanted="multi-user.target" if self.user else "default.target",
        )
        return re.sub(r"\n{3,}", "\n\n", filled)

    def _service(self) -> str:
        """Return how it begins and ends, and which system calls it has."""
        if self.kind == "serve":
            return _SERVER
        environment = f"{'/etc' if self.user else '%h/.config'}/lumen/environment"
        return _WITH_WORKERS.format(environment=environment, end="hosts drain NAME" if self.kind else "stop")

    def _machine(self) -> str:
        """Return what only the machine's manager can take away."""
        server = _SERVER_OF_MACHINE.format(folder=_word(self.root))
        return f"{_MACHINE}{server if self.kind == 'serve' else _WITH_WORKERS_OF_MACHINE}"


def _line(text: str) -> str:
    """Return a text for the right side of a setting, in which a per cent sign begins nothing."""
    if any(not char.isprintable() for char in text):
        raise ValueError(f"{text!r} has characters that no unit file takes")
    return text.replace("%", "%%")


def _word(text: str) -> str:
    """Return one word of a list as systemd.syntax(7) takes it; in a command line a dollar sign stands twice."""
    escaped = _line(text)
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
