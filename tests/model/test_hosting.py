"""Which host a task gets, and why it gets none."""

from __future__ import annotations

import msgspec
import pytest

from lumen_tui.model.hosting import (
    ANY,
    MOST_SLOTS,
    ROOM,
    Host,
    HostBook,
    HostEntry,
    HostFacts,
    HostSighting,
    place,
    resources_of,
)
from lumen_tui.model.tasks import Spec

GOOD = HostFacts("attic", "1.0", 2, (), "landlock", 0.0, "boot", ROOM)


def host(name: str = "attic", cordon: str = "", skew: float = 0.0, trouble: str = "", **facts: object) -> Host:
    described = msgspec.structs.replace(GOOD, name=name, **facts)
    return Host(HostEntry(name, "", "ann", cordon), HostSighting(described, 1.0, skew, trouble))


def placed(
    *hosts: Host,
    on: str = ANY,
    busy: dict[str, int] | None = None,
    held: dict[str, dict[str, int]] | None = None,
    link: str = "",
    **spec: object,
) -> tuple:
    book = HostBook(hosts, busy or {}, held or {}, {"WU-1": "cellar"}, link, "1.0")
    return tuple(place(Spec("tsk-1", "x", host=on, **spec), book))


def test_it_goes_to_the_host_that_it_names():
    assert placed(host(), host("cellar"), on="cellar")[0] == "cellar"


def test_any_is_the_one_with_most_free_slots():
    assert placed(host(), host("cellar", slots=3))[0] == "cellar"
    assert placed(host(), host("cellar", slots=3), busy={"cellar": 2})[0] == "attic"


def test_any_is_the_last_host_of_the_same_work_unit_while_that_has_room():
    assert placed(host(slots=9), host("cellar"), wu_id="WU-1")[0] == "cellar"
    assert placed(host(slots=9), host("cellar"), wu_id="WU-1", busy={"cellar": 2})[0] == "attic"


CLOSED = [
    ({"version": "0.9"}, "it runs version 0.9, and the engine is 1.0: install the same on both"),
    ({"skew": 3600.0}, "its clock is more than 60 s ahead: set it"),
    ({"skew": -3600.0}, "its clock is more than 60 s behind: set it"),
    ({"tier": "ask"}, "it has no sandbox that holds"),
    ({"free": 1024**2}, "its disk is full: less than 256 MiB are free"),
    ({"slots": MOST_SLOTS + 1}, "it says that it has 257 slots, which is not believed"),
    ({"slots": 0}, "it says that it has 0 slots"),
    ({"slots": -5}, "it says that it has -5 slots"),
    ({"cordon": "cordoned by ann: new disk"}, "cordoned by ann: new disk"),
    ({"trouble": "host attic is not connected"}, "host attic is not connected"),
    ({"roles": ("builder",)}, "it has no role researcher"),
]


@pytest.mark.parametrize(("how", "words"), CLOSED)
def test_a_host_that_will_not_do_is_passed_over_by_name(how, words):
    name, short, why = placed(host(**how))
    assert (name, short) == ("", "waits for host") and f"attic: {words}" in why
    assert placed(host(**how), host("cellar"))[0] == "cellar"


def test_several_faults_are_all_named():
    assert len(host(version="0.9", tier="ask", free=0).faults("1.0")) == 3


def test_a_host_that_never_joined_is_none():
    never = Host(HostEntry("attic", "", "ann"))
    assert "attic: it has not joined yet" in placed(never)[2] and never.slots == 0


def test_slots_that_are_taken_are_counted():
    assert "attic: 2 of 2 slots are at work" in placed(host(), busy={"attic": 2})[2]


def test_without_hosts_or_without_a_link_it_waits_and_says_so():
    assert placed()[1:] == ("no host", "it runs on any host, and there is none: `lumen-tui hosts add NAME`")
    assert "host loft alone, and there is no such host" in placed(host(), on="loft")[2]
    assert "no host can be reached: no engine" in placed(host(), link="no engine")[2]


def test_resources_that_are_asked_for_must_be_there_and_free():
    one, two = host(resources={"gpu": 1}), host("cellar", resources={"gpu": 4, "tape": 1})
    assert placed(one, two, resources=("gpu=2",))[0] == "cellar"
    assert placed(one, two, resources=("gpu=1", "tape=1"), busy={"cellar": 1})[0] == "cellar"
    assert placed(one, two, resources=("gpu=1",), held={"attic": {"gpu": 1}})[0] == "cellar"
    why = placed(one, two, resources=("gpu=3",), held={"cellar": {"gpu": 2}})[2]
    assert "attic: it has 1 gpu, and 3 are asked for; cellar: 2 of 4 gpu are at work" in why
    assert "it has no tape" in placed(one, on="attic", resources=("tape=1",))[2]


@pytest.mark.parametrize("word", ["", "GPU", "gpu=0", "gpu=-1", "gpu=1.5", "gpu=999999", "a b", "gpu=", "=1", "g" * 40])
def test_a_word_that_names_no_resource_is_refused(word):
    with pytest.raises(ValueError, match="is no resource"):
        resources_of([word])
    with pytest.raises(ValueError, match="33 resources are too many"):
        resources_of([f"r{number}" for number in range(33)])
    assert resources_of(["gpu", "tape=3"]) == {"gpu": 1, "tape": 3}
