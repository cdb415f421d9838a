"""Who may ask the link: processes of the same user."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lumen_tui.hosts.channel import is_ours

_NOBODY = 65534


@pytest.fixture
def socket_for_all() -> Iterator[socket.socket]:
    """A socket in a folder that everybody may enter: that of the link cannot even be reached by others."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        path = Path(folder, "link.sock")
        server.bind(str(path))
        Path(folder).chmod(0o755)
        path.chmod(0o777)
        server.listen()
        yield server


@pytest.mark.threat("S9", "hosts that are not obeyed, certificates of others")
@pytest.mark.parametrize("user", [_NOBODY, os.geteuid()])
def test_a_process_of_another_user_is_not_answered(socket_for_all: socket.socket, user: int) -> None:
    if user == _NOBODY and os.geteuid() != 0:
        pytest.skip("only root can start a process of another user")
    child = os.fork()
    if not child:
        os.setuid(user)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(socket_for_all.getsockname())
            client.recv(1)
        os._exit(0)
    connection, _ = socket_for_all.accept()
    with connection:
        assert is_ours(connection) == (user == os.geteuid())
    assert os.waitpid(child, 0)[1] == 0
