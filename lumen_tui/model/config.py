"""The operator's intent: lumen.toml with operator.toml layered over it. Every field has a default."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from lumen_tui.model import lanes
from lumen_tui.model.approvals import AllowRule
from lumen_tui.model.decay import DecayRule
from lumen_tui.model.mail_config import MailConfig
from lumen_tui.model.notify_config import NotifyConfig
from lumen_tui.model.outward_config import BackupConfig, HostsConfig, TracesConfig
from lumen_tui.model.tasks import TIERS
from lumen_tui.model.text import one_line
from lumen_tui.model.toolservers import McpConfig

SERVERS = ("anthropic", "openai", "groq", "openrouter", "ollama", "vllm", "lmstudio")  # known without an address
ROUTINE = {"main": "haiku"}  # role -> tier or model
NO_SERVERS = ("offline", "claude")  # back ends that are no server
_Dollars = Annotated[float, Meta(ge=0, le=1_000_000)]
_Id = Annotated[str, Meta(pattern=r"\S")]
_Seconds = Annotated[float, Meta(ge=0.05, le=86_400)]


class ServerConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[models.endpoints.NAME]: a server of models. What is left out is as built in for that name, where it is known."""

    kind: Literal["", "anthropic", "openai"] = ""  # the API that it speaks; empty: openai
    base_url: str = ""
    key_env: str = ""  # the environment variable that holds its key; empty: it needs none
    window: Annotated[int, Meta(ge=0, le=100_000_000)] = 0  # tokens that its models take; 0: not known
    max_output: Annotated[int, Meta(ge=0, le=10_000_000)] = 0  # tokens of one answer; 0: as built in
    takes: tuple[Literal["image", "pdf"], ...] | None = None  # what its models see; left out: as built in, else nothing


class PriceConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[models.prices.MODEL]: dollars per million tokens."""

    input: _Dollars = 0.0
    output: _Dollars = 0.0
    cache_read: _Dollars | None = None  # left out: a tenth of input
    cache_write: _Dollars | None = None  # left out: a quarter more than input


class ClaudeConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[models.claude]: the Claude Code program."""

    program: str = "claude"  # a name on PATH, or a path
    own: dict[str, tuple[Literal["claude_md", "skills", "mcp"], ...]] = field(default_factory=dict)
    # what it has of the operator's own set-up, by role, tier or model id


class ModelsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[models]: model ids by tier; they are the operator's to change. An id may be `endpoint:id`."""

    provider: str = "auto"  # auto | offline | claude | an endpoint: anthropic, openai, groq, ollama, …
    haiku: _Id = "claude-haiku-5-5"
    sonnet: _Id = "claude-sonnet-5-5"
    opus: _Id = "claude-opus-5-5"
    roles: dict[str, str] = field(default_factory=dict)  # role -> tier, id or endpoint:id
    routine: dict[str, str] = field(default_factory=lambda: dict(ROUTINE))  # role -> what its routine begins on
    fallback: dict[str, tuple[str, ...]] = field(default_factory=dict)  # tier or id -> what answers when it does not
    endpoints: dict[str, ServerConfig] = field(default_factory=dict)
    prices: dict[str, PriceConfig] = field(default_factory=dict)
    claude: ClaudeConfig = field(default_factory=ClaudeConfig)
    thinking: dict[str, Literal["off", "adaptive"]] = field(default_factory=dict)  # by role, tier or model id
    effort: dict[str, Literal["default", "low", "medium", "high", "xhigh", "max"]] = field(default_factory=dict)
    tries: Annotated[int, Meta(ge=1, le=20)] = 8  # of one call, where trying again can help
    connect_seconds: _Seconds = 10.0
    first_byte_seconds: _Seconds = 110.0  # until an answer of Anthropic begins; five times that for all others
    silence_seconds: _Seconds = 90.0  # within an answer of Anthropic


def _takes_any_id(config: ModelsConfig) -> bool:
    """Whether the ids of the provider's models are anybody's to choose, colons included: `qwen3:8b` of Ollama."""
    own = config.endpoints.get(config.provider)
    kind = own.kind if own else ""
    if config.provider == "anthropic" or config.provider not in (*SERVERS, *config.endpoints):
        return False
    return kind != "anthropic"


def is_endpoint(config: ModelsConfig, name: str) -> bool:
    """Return whether a model may be behind this name and a colon."""
    return name in (*SERVERS, *NO_SERVERS, *config.endpoints)


def stranger(config: ModelsConfig, text: str) -> str:
    """Why `text` is no model: a sentence where the name before its colon is no endpoint, else the empty string."""
    name, colon, model = text.partition(":")
    if not colon or (model and is_endpoint(config, name)):
        return ""
    place = next((setting for setting, value in settings(config) if value == text), "the model")
    if not model:
        return f"{place}: {one_line(text, 60)!r} names no model behind the colon"
    if _takes_any_id(config):
        return ""
    known = ", ".join(sorted({*SERVERS, *NO_SERVERS, *config.endpoints}))
    return (
        f"{place}: {one_line(text, 60)!r} begins with no known endpoint: one of {known}; describe yours under "
        "[models.endpoints.NAME], and for an id with a colon write the endpoint before it, such as ollama:qwen3:8b"
    )


def doubtful(config: ModelsConfig) -> Iterator[str]:
    """What in the settings of models can hardly be meant, in words: a mistyped tier, a fall-back that never answers."""
    for place, value in settings(config):
        if near := _mistyped(value, TIERS):
            yield f"{place}: {one_line(value, 60)!r} is no tier; did you mean {near}?"
    for key, values in config.fallback.items():
        yield from _doubtful_chain(config, key, values)


def _doubtful_chain(config: ModelsConfig, key: str, values: tuple[str, ...]) -> Iterator[str]:
    place = f"models.fallback.{one_line(key, 64)}"
    if problem := stranger(config, key):
        yield f"{place}: {problem.partition(': ')[2]}"
    elif near := _mistyped(key, TIERS) or _mistyped(key, {value for _, value in settings(config)} - {*values}, 0.85):
        yield f"{place}: no tier and no setting of a model has this name; did you mean {near}?"
    for value in values:
        if value in NO_SERVERS:
            yield f"{place}: {value} cannot take over a conversation: take it out"
        elif not value.strip():
            yield f"{place}: it holds an empty name"
        elif value == key:
            yield f"{place}: {one_line(value, 60)!r} stands by for itself: take it out"


def _mistyped(text: str, known: Iterable[str], likeness: float = 0.7) -> str:
    """The known name that `text` may stand for, which is not it itself; tiers are bare words, ids hardly ever."""
    known = sorted(known)
    if text in known or ":" in text or (likeness < 0.8 and not text.isalpha()):
        return ""
    import difflib  # only where something is doubtful: the hot verbs read settings too

    return next(iter(difflib.get_close_matches(text, known, 1, likeness)), "")


def settings(config: ModelsConfig) -> Iterator[tuple[str, str]]:
    """Yield every setting that names a model, with its value."""
    yield from (("models.haiku", config.haiku), ("models.sonnet", config.sonnet), ("models.opus", config.opus))
    yield from ((f"models.roles.{one_line(role, 64)}", value) for role, value in config.roles.items())
    yield from ((f"models.routine.{one_line(role, 64)}", value) for role, value in config.routine.items() if value)
    for key, values in config.fallback.items():
        yield from ((f"models.fallback.{one_line(key, 64)}", value) for value in values)


class AgentConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[agent]"""

    name: str = "lumen"


class HeartbeatConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[heartbeat]"""

    every_minutes: Annotated[float, Meta(ge=0.1, le=1440)] = 5.0
    jitter: Annotated[float, Meta(ge=0, le=0.9)] = 0.1  # share of the interval, both ways
    settle_seconds: Annotated[float, Meta(ge=0.05, le=3600)] = 5.0  # news brings the next beat this near
    gather_seconds: Annotated[float, Meta(ge=0, le=3600)] = 15.0  # a task that ended is kept so long for others
    group_minutes: Annotated[float, Meta(ge=0, le=1440)] = 10.0  # the same while others made with it are at work


class WorkersConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[workers]"""

    limit: Annotated[int, Meta(ge=1, le=64)] = 3
    retries: Annotated[int, Meta(ge=0, le=10)] = 1  # of a lost worker
    ask_seconds: Annotated[float, Meta(ge=0, le=600)] = 3.0  # between asking a worker to stop and TERM
    term_seconds: Annotated[float, Meta(ge=0, le=600)] = 3.0  # between TERM and KILL
    warm_minutes: Annotated[float, Meta(ge=0, le=1440)] = 10.0  # an idle process for quick starts is kept; 0: none
    check_minutes: Annotated[float, Meta(ge=0.05, le=600)] = 10.0  # for all checks of one task
    deaths: Annotated[int, Meta(ge=0, le=1000)] = 5  # workers of one role that may die within deaths_minutes; 0: any
    deaths_minutes: Annotated[float, Meta(ge=0.1, le=1440)] = 10.0
    conventions_kb: Annotated[int, Meta(ge=0, le=1024)] = 24  # of AGENTS.md and CLAUDE.md in a task's prompt; 0: none
    skills_kb: Annotated[int, Meta(ge=0, le=1024)] = 16  # of names and descriptions of skills in a prompt; 0: none
    isolate: Literal["", "worktree", "copy"] = ""  # where tasks that may change files do so, unless their role says


class RoleBudget(Struct, frozen=True, forbid_unknown_fields=True):
    """[budget.roles.NAME]: what all tasks of a role may spend in a day; 0 means no limit of its own."""

    tokens: Annotated[int, Meta(ge=0, le=1_000_000_000_000)] = 0
    usd: Annotated[float, Meta(ge=0, le=1_000_000)] = 0.0
    minutes: Annotated[float, Meta(ge=0, le=1_000_000)] = 0.0


CLOSED_TOKENS = 1  # as [budget] day_tokens: no call fits below it; what is there, or beside it, cannot be read


class BudgetConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[budget]: 0 means no limit."""

    day_tokens: Annotated[int, Meta(ge=0, le=1_000_000_000_000)] = 2_000_000
    day_usd: Annotated[float, Meta(ge=0, le=1_000_000)] = 5.0
    day_minutes: Annotated[float, Meta(ge=0, le=1_000_000)] = 0.0  # of workers that use a model, added up
    day_starts: Annotated[str, Meta(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$")] = "00:00"  # UTC
    warn_at: Annotated[float, Meta(gt=0, le=1)] = 0.8  # share of a cap
    loop_tokens: Annotated[int, Meta(ge=0, le=1_000_000_000_000)] = 0  # of one loop of the main agent
    loop_usd: Annotated[float, Meta(ge=0, le=1_000_000)] = 0.0
    roles: dict[str, RoleBudget] = field(default_factory=dict)


class DecayConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[memory.decay]"""

    enabled: bool = True
    threshold: Annotated[float, Meta(gt=0, lt=1)] = 0.1
    half_life_days: Annotated[float, Meta(gt=0, le=36_500)] = 30.0
    trigger: Literal["on_done", "manual"] = "on_done"

    @property
    def rule(self) -> DecayRule:
        """The rule these numbers make; numbers that make none fall back to the defaults."""
        if self.half_life_days > 0 and 0 < self.threshold < 1:
            return DecayRule(half_life_days=self.half_life_days, threshold=self.threshold)
        return DecayRule()


class AutoCheckpointConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[memory.enforcement.auto_checkpoint]: by hooks of the agent's own program"""

    enabled: bool = True
    interval_tool_calls: Annotated[int, Meta(ge=0, le=100_000)] = 30


class EnforcementConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[memory.enforcement]"""

    require_checkpoint_for_done: Literal["off", "warn", "block"] = "warn"
    auto_checkpoint: AutoCheckpointConfig = field(default_factory=AutoCheckpointConfig)


class ProgressSignalsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[memory.progress_signals]: signals that are expected of an agent; a missing one needs a person"""

    enabled: bool = False
    frequency: Annotated[int, Meta(ge=0, le=100_000)] = 0  # tool calls after which one is due; 0 for never
    on_milestone: bool = True
    on_tests_pass: bool = True
    before_gates: bool = True  # one at least before a work unit is done
    on_blocked: bool = True
    auto_checkpoint: bool = False  # a checkpoint as well, at milestones and passed tests


class LanesConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[lanes]: how many work units may be in progress in one lane, and how many tasks of it at work."""

    wip: Annotated[int, Meta(ge=1, le=1000)] = 1
    stale_hours: Annotated[float, Meta(ge=0, le=8760)] = (
        24.0  # a lane lock this old no longer counts, where its holder is gone as well
    )
    limits: dict[str, Annotated[int, Meta(ge=1, le=1000)]] = field(default_factory=dict)  # lane name -> its own limit

    def limit(self, lane: str) -> int:
        """Return the limit of one lane, in whatever case it is written."""
        own = {lanes.key(name): limit for name, limit in self.limits.items()}
        return max(1, own.get(lanes.key(lane), self.wip))


class MemoryConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[memory]"""

    checkpoint_interval: Annotated[int, Meta(ge=0, le=10_080)] = 30
    max_checkpoints: Annotated[int, Meta(ge=1, le=1000)] = 10
    auto_checkpoint: bool = True
    triage_days: Annotated[float, Meta(ge=0, le=3650)] = 7.0  # an open discovery this old asks for triage; 0: never
    decay: DecayConfig = field(default_factory=DecayConfig)
    enforcement: EnforcementConfig = field(default_factory=EnforcementConfig)
    progress_signals: ProgressSignalsConfig = field(default_factory=ProgressSignalsConfig)


UNREADABLE = "unreadable"  # as [sandbox] require: what is there is no tier, so that none will do


class SandboxConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[sandbox]: how commands of workers are held, and how much one of them may use at most."""

    tier: Literal["auto", "bubblewrap", "landlock", "ask"] = "auto"  # auto: the strongest that works here
    require: Literal["", "bubblewrap", "landlock"] = ""  # the weakest that will do; below it no command is run
    writable: tuple[str, ...] = ()  # folders that roles with write = true may change
    hidden: tuple[str, ...] = ()  # files and folders that no command reads, besides the usual secrets
    cpu_seconds: Annotated[int, Meta(ge=1, le=86_400)] = 900
    memory_mb: Annotated[int, Meta(ge=64, le=1_048_576)] = 2048
    processes: Annotated[int, Meta(ge=4, le=16_384)] = 256
    open_files: Annotated[int, Meta(ge=32, le=65_536)] = 1024
    file_mb: Annotated[int, Meta(ge=1, le=1_048_576)] = 1024  # one file that it writes
    disk_mb: Annotated[int, Meta(ge=1, le=16_777_216)] = 4096  # all that it writes
    files: Annotated[int, Meta(ge=100, le=1_000_000_000)] = 100_000  # how many it makes
    tmp_mb: Annotated[int, Meta(ge=1, le=1_048_576)] = 512  # its own /tmp, which is memory

    def granted(self, role: tuple[str, ...]) -> tuple[str, ...]:
        """Return the folders that a role with these of its own may change: none while the section is closed."""
        return () if self.require == UNREADABLE else tuple(dict.fromkeys([*self.writable, *role]))


Asks = Literal[
    "write",
    "write_file",
    "edit_file",
    "apply_patch",
    "shell",
    "shell:any",
    "web_fetch",
    "remember",
    "memory_insert",
    "memory_replace",
    "memory_rethink",
    "relay_submit",
    "custom",
    "custom:high",
]


class ApprovalsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[approvals]: which calls of workers need a person's word, beside those that a role's rules name"""

    expires_minutes: Annotated[float, Meta(ge=0.01, le=10_080)] = 60.0  # no answer until then counts as no
    ask: tuple[Asks, ...] = ("custom:high",)


NOWHERE = "-"  # among [web] hosts: no page is fetched from anywhere, whatever else is allowed


class WebConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[web]: where web_fetch may go, for every role that has it; a role and a task may add hosts of their own"""

    hosts: tuple[str, ...] = ()  # names, `*.example.org`, or `*` for all
    private: tuple[str, ...] = ()  # hosts that may be at an address of this machine or network

    @property
    def closed(self) -> bool:
        """Whether no page is fetched, as something in the section could not be understood."""
        return NOWHERE in self.hosts

    def with_those_of(self, role_hosts: tuple[str, ...]) -> tuple[str, ...]:
        """Return where the web_fetch of a role with these hosts may go."""
        return () if self.closed else (*role_hosts, *self.hosts)


class EvolutionConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[evolution]: what is learnt from sessions, and where CLAUDE.md goes"""

    enabled: bool = True  # learn by itself from the sessions of the agent and its workers
    sessions: tuple[str, ...] = ("~/.claude/projects",)  # where `evolve --all` and `--watch` look
    merge_at: Annotated[int, Meta(ge=50, le=100)] = 90  # likeness, in per cent, from which two are one
    file_kb: Annotated[int, Meta(ge=1, le=1024)] = 32  # one file of evolved/
    per_session: Annotated[int, Meta(ge=1, le=10_000)] = 200  # new observations of one session
    seconds: Annotated[float, Meta(ge=0.1, le=600)] = 2.0  # of work in one beat
    extractor: Literal["offline", "model"] = "offline"  # model: the tier haiku reads along, within the budget
    judge: Literal["rules", "model"] = "rules"  # model: the tier haiku sees what the rules let pass, and can object
    proposer: Literal["offline", "model"] = "offline"  # model: the tier haiku proposes paragraphs of prompts as well
    sleep: bool = False  # propose what memory and cases ask for while nothing waits
    versions: Literal["auto", "git", "copies"] = "auto"  # auto: git where there is one
    claude_md: str = ""  # a file; empty: CLAUDE.md in the state folder
    claude_md_kb: Annotated[int, Meta(ge=1, le=1024)] = 12


class FreshnessConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[freshness]: how facts are confirmed in each beat"""

    enabled: bool = True
    seconds: Annotated[float, Meta(ge=0.1, le=60)] = 2.0  # of probes in one beat
    each_seconds: Annotated[float, Meta(ge=0.05, le=60)] = 0.5  # of one probe
    per_beat: Annotated[int, Meta(ge=1, le=1000)] = 32  # probes at most


class CapsuleConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[capsule]: what a loop of the main agent wakes with"""

    tokens: Annotated[int, Meta(ge=200, le=100_000)] = 2000  # at most, estimated at four bytes each
    loops: Annotated[int, Meta(ge=1, le=200)] = 12  # whose packets it is made from
    keep: Annotated[int, Meta(ge=1, le=100_000)] = 50  # capsules on disk


class SchedulingConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[scheduling]: the zone of schedules that name none, and what the agent may schedule for itself"""

    zone: str = ""  # IANA; empty: that of this machine
    agent_schedules: Annotated[int, Meta(ge=0, le=200)] = 10  # in force at once
    agent_minutes: Annotated[float, Meta(ge=1, le=10_080)] = 15.0  # the shortest interval
    agent_runs: Annotated[int, Meta(ge=0, le=10_000)] = 48  # in a day (UTC), the ends of its sleep among them
    agent_usd: Annotated[float, Meta(ge=0, le=1_000_000)] = (
        0.25  # of one task that it schedules; 0: no limit of its own
    )


class ProjectsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[projects]: how far the agent may plan by itself"""

    units: Annotated[int, Meta(ge=0, le=1000)] = 20  # work units that one loop or one task makes
    open_units: Annotated[int, Meta(ge=0, le=100_000)] = 200  # that are not done, beyond which it makes none
    acts: Annotated[int, Meta(ge=0, le=10_000)] = 40  # other changes of units, discoveries and tasks, of one loop


class RoomConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[room]"""

    on_quit: Literal["ask", "stop", "keep"] = "ask"
    theme: str = "lumen"
    accessible: bool = False  # to be read aloud, from the next start
    claim_minutes: Annotated[float, Meta(ge=1, le=10_080)] = 30.0  # after which a claim ends by itself


class OwnCommand(Struct, frozen=True, forbid_unknown_fields=True):
    """[commands.NAME]: a command of the operator's own, which the room runs in a shell."""

    run: str  # {ask:WORDS} asks, and is a quoted variable with the answer
    key: str = ""
    help: str = ""
    pane: str = ""  # in which it works alone: loop, wake, workers, signals, discoveries, decay
    seconds: Annotated[float, Meta(gt=0)] = 60.0


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration."""

    agent: AgentConfig = field(default_factory=AgentConfig)
    heartbeat: HeartbeatConfig = field(default_factory=HeartbeatConfig)
    workers: WorkersConfig = field(default_factory=WorkersConfig)
    models: ModelsConfig = field(default_factory=ModelsConfig)
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    lanes: LanesConfig = field(default_factory=LanesConfig)
    sandbox: SandboxConfig = field(default_factory=SandboxConfig)
    approvals: ApprovalsConfig = field(default_factory=ApprovalsConfig)
    web: WebConfig = field(default_factory=WebConfig)
    mcp: McpConfig = field(default_factory=McpConfig)
    evolution: EvolutionConfig = field(default_factory=EvolutionConfig)
    freshness: FreshnessConfig = field(default_factory=FreshnessConfig)
    capsule: CapsuleConfig = field(default_factory=CapsuleConfig)
    room: RoomConfig = field(default_factory=RoomConfig)
    notify: NotifyConfig = field(default_factory=NotifyConfig)
    mail: MailConfig = field(default_factory=MailConfig)
    scheduling: SchedulingConfig = field(default_factory=SchedulingConfig)
    projects: ProjectsConfig = field(default_factory=ProjectsConfig)
    hosts: HostsConfig = field(default_factory=HostsConfig)
    backup: BackupConfig = field(default_factory=BackupConfig)
    traces: TracesConfig = field(default_factory=TracesConfig)
    schedules: tuple[dict[str, Any], ...] = ()  # [[schedules]]: checked one by one in store/schedules
    allow: tuple[AllowRule, ...] = ()  # what "allow always" saved, in operator.toml
    keys: dict[str, str] = field(default_factory=dict)
    commands: dict[str, OwnCommand] = field(default_factory=dict)
    filters: dict[str, dict[str, str]] = field(default_factory=dict)  # saved ones by pane and name
