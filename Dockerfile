# An engine on a state folder in the volume /state. `docker compose run --rm first-task` runs a first task.
ARG BASE=python:3.13-slim-bookworm
FROM ${BASE} AS build
COPY pyproject.toml README.md LICENSE /source/
COPY lumen_tui /source/lumen_tui
COPY roles /source/roles
COPY prompts /source/prompts
COPY styles /source/styles
COPY share /source/share
COPY state/README.md state/lumen.toml /source/state/
COPY state/evolved/constitution.md /source/state/evolved/constitution.md
RUN python3 -m venv /opt/lumen && /opt/lumen/bin/pip install --no-cache-dir /source

FROM ${BASE}
# Where the runtime lets containers make user namespaces, commands run in bubblewrap, else under Landlock.
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap git tini && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/lumen /opt/lumen
RUN useradd --create-home lumen && install -d -o lumen -g lumen -m 0700 /state
USER lumen
ENV PATH=/opt/lumen/bin:$PATH LUMEN_STATE=/state
RUN lumen-tui init
VOLUME /state
HEALTHCHECK --interval=30s --timeout=10s --start-period=20s CMD ["lumen-tui", "health"]
ENTRYPOINT ["tini", "--", "lumen-tui"]
CMD ["--engine-only"]
