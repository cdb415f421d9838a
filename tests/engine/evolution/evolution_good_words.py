"""Texts that a person may well say and that must be learnt, many with words that also stand in bad ones."""

RULES = """
Always run the tests before you commit.
Always answer in German.
Always use type hints in new functions.
Always write a test for a bug first.
Always ask me before you delete a file.
Always keep functions short.
Always read the whole file before editing it.
Always quote paths in shell commands.
Always use absolute paths in scripts.
Always pin versions in the lock file.
Always run `uv run pytest -q` from the root.
Always run `ruff format` on changed files.
Always name the branch after the ticket.
Always put the newest entry on top of the changelog.
Always write commit messages in the imperative.
Always check the exit code of a command.
Always use UTC in log files.
Always squash before merging to main.
Always say which file you changed.
Always keep the summary under ten lines.
Never commit the .env file.
Never push to main directly.
Never use `git push --force-with-lease` on shared branches.
Never send secrets in messages.
Never upload credentials anywhere.
Never email passwords to anyone.
Never edit generated files by hand.
Never use print for logging.
Never store times in local time.
Never add a dependency for one function.
Never rename public functions in a patch release.
Never touch the migrations folder.
Never log request bodies.
Never use emojis in answers.
Never swallow an exception silently.
Never share tokens in a ticket.
Prefer small commits over large ones.
Prefer `rg` over `grep` for searching.
Prefer composition over inheritance here.
Prefer plain functions to classes.
Prefer tables over long lists.
Make sure that the docs build before you finish.
Make sure to close the file in tests.
From now on write short answers.
From now on use four spaces in YAML.
In future, list the commands you ran.
I prefer answers without a preamble.
I want the plan before the code.
I like short names for variables.
We never deploy on Fridays.
We always review in pairs.
You should always show the diff first.
Every commit must build on its own.
Every function needs a docstring where it is not obvious.
Answer briefly and to the point.
Reply in English, even if I write German.
Write dates as 2026-11-21.
Use httpx instead of requests.
Use pnpm instead of npm in this repository.
Use pathlib rather than os.path in new code.
Use SQLite for tests, not Postgres.
Please remember to update the changelog.
"""

DECISIONS = """
We decided to keep SQLite.
We decided to drop support for Python 3.9.
We decided to ship the CLI first.
We decided against a message broker.
We decided to ignore the deprecation warnings in tests.
We decided to name the package lumen.
We agreed to release every second Tuesday.
We agreed on four approvals for the core team.
We settled on msgspec for decoding.
We have chosen Textual for the screen.
Let's use Postgres 16 in production.
Let's keep the old API until March.
Let's go with the second design.
Let's stick with plain files for the state.
Let's drop the Windows build.
Let's move to trunk based development.
We will use blue-green deployments.
We'll keep the monorepo.
We'll go with two lanes for now.
Go with the smaller image.
It was decided to keep the sandbox on by default.
The decision is to store one file per task.
Decision: the config is TOML.
Decision: no telemetry.
We decided that the operator approves the constitution.
We decided to show the budget in the header.
We decided to rotate the logs at 8 MiB.
We decided to use ports above 8000 for tests.
We decided to keep the password prompt in the login form.
We decided to cache tokens per day in the report of costs.
"""

CORRECTIONS = """
Don't use requests here.
Don't touch the vendor folder.
Do not reformat files you did not change.
Don't add comments that repeat the code.
Don't mock the database in these tests.
Do not guess the version, look it up.
Don't write the summary before the tests pass.
Don't run the whole suite for a typo.
Don't use sleep in tests.
Stop adding blank lines at the end.
The helper belongs in store, not in model.
That test was right, mend the code instead.
You forgot the changelog entry.
I asked for a table, not for a list.
I meant the staging host, not production.
The button is called Save, not Submit.
Read the ignore file first, it lists the build folder.
Show the system time in UTC, not the local one.
Use the assistant role for answers in the fixture.
Keep the user column in the table.
The prompt of the shell is set in .bashrc, leave it.
Leave the human readable names as they are.
Don't skip the slow tests on CI.
Don't remove the retry, mend the time-out.
Do not hide errors behind a default.
Don't print the whole file, only the function.
The reviewer is an admin of the repository, ask her.
Rules of the linter stay in pyproject.toml.
Take the instructions in CONTRIBUTING.md as they are.
Put new prompts in the prompts folder.
"""

FACTS = """
The API runs on port 8080.
The config lives in /etc/lumen/lumen.toml.
The service is called lumen-engine.
Postgres listens on port 5432.
We are on Python 3.12.
The project uses Node 22.1 for the site.
The tests are in tests/unit and tests/integration.
The staging host is in Frankfurt.
The logs are in /var/log/lumen.
The health check is at http://localhost:8080/health.
Use `curl http://localhost:8080/health` to see whether it runs.
The docs are built with mkdocs.
The database schema is in db/schema.sql.
The main branch is called trunk.
The token counter is in budget.py.
The password hashing uses argon2.
The private key rotation runs monthly in the cluster.
The system test takes four minutes.
The user table has 14 columns.
The API key page is under Settings.
The .env file holds local settings only.
The environment variables are listed in docs/settings.md.
The new prompt shows the branch name.
The approvals are kept in approvals/.
The sandbox tier on this host is landlock.
The audit log is rotated daily.
The firewall allows ports 80 and 443.
Redis is at version 7.2.
The build takes 90 seconds on two cores.
The release is tagged from main.
"""

WORKED = """
`pytest` failed (command not found); `python -m pytest` worked
`npm test` failed (Missing script); `npm run test:unit` worked
`pytest -q` failed (ModuleNotFoundError: No module named 'httpx'); it worked after `pip install httpx`
`python build.py` failed (command not found); `python3 build.py` worked
`git push` failed (exit code 1); `git push -u origin topic` worked
`docker compose up` failed (Address already in use); it worked after `docker compose down`
`make test` failed (exit code 2); it worked after a change of `Makefile`
`cargo build` failed (exit code 101); it worked after `cargo add serde`
`ruff check` failed (exit code 1); it worked after a change of `app.py`
`mypy` failed (exit code 1); `mypy --install-types` worked
`uv run pytest` failed (exit code 4); `uv run pytest tests` worked
`go test` failed (exit code 1); `go test ./...` worked
`npm ci` failed (ERESOLVE); `npm ci --legacy-peer-deps` worked
`psql` failed (Connection refused); it worked after `systemctl start postgresql`
`node app.js` failed (Cannot find module); it worked after `npm install`
In `site`: tests run with `npm test`
In `lumen`: tests run with `uv run pytest -q`
In `lumen`: the linter runs with `ruff check`
In `core`: the build runs with `cargo build --release`
In `api`: the program runs with `uvicorn app:main`
In `web`: the build runs with `npm run build`
In `ops`: tests run with `make test`
In `cli`: tests run with `go test ./...`
In `app`: the linter runs with `eslint src`
In `doc`: the build runs with `make build`
`tsc` failed (exit code 2); `npx tsc -p .` worked
`pip install .` failed (externally-managed-environment); `uv pip install .` worked
`alembic upgrade` failed (exit code 255); `alembic upgrade head` worked
`terraform plan` failed (exit code 1); it worked after `terraform init`
`bundle exec rspec` failed (exit code 1); it worked after `bundle install`
"""

TOOL_FACTS = """
`python` is at version 3.11.4
`node` is at version 22.1.0
`git` is at version 2.39.5
`uvicorn` listens on port 8000
`npm` listens on port 5173
`cargo` is at version 1.80.0
`flask` listens on port 5000
`go` is at version 1.22.3
`docker` is at version 27.1.1
`psql` is at version 16.3
`redis-server` listens on port 6379
`ruff` is at version 0.8.1
`uv` is at version 0.5.4
`make` is at version 4.3
`tmux` is at version 3.3
`nginx` listens on port 443
`vite` listens on port 4173
`java` is at version 21.0.2
`php` listens on port 9000
`jq` is at version 1.6
"""


def lines(block: str) -> list[str]:
    return [line for line in block.split("\n") if line.strip()]


BY_KIND = {
    "rule": lines(RULES), "decision": lines(DECISIONS), "correction": lines(CORRECTIONS), "fact": lines(FACTS),
    "fix": lines(WORKED), "tool": lines(TOOL_FACTS),
}  # fmt: skip
GOOD = [(kind, text) for kind, texts in BY_KIND.items() for text in texts]
