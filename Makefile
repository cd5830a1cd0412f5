# The commands people and CI use. Each one first brings the environment up to date: packages are
# installed again only when pyproject.toml or constraints.txt is newer than the last installation.
#
#   make gaps PYTHON=python3.12          another interpreter
#   make test WORKERS=4 ARGS="-k conic"  more processes, fewer tests

VENV := .venv
CONSTRAINTS := constraints.txt
WORKERS := 2
BIN := $(VENV)/bin
RUN_STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
NOTEBOOK_STAMP := $(VENV)/.installed-notebooks
PIP_INSTALL = $(BIN)/python -m pip install -qq --disable-pip-version-check \
	--constraint $(CONSTRAINTS)

# An empty TIGHTMARGIN_DATA counts as set: it says "no real data".
ifeq ($(origin TIGHTMARGIN_DATA),undefined)
SHARED_DATA := $(shell cd ../shared/data 2>/dev/null && pwd)
ifneq ($(SHARED_DATA),)
export TIGHTMARGIN_DATA := $(SHARED_DATA)
endif
endif

.DEFAULT_GOAL := help
.PHONY: help gaps test test-full check lint fix notebooks docs bench bench-extended-nu bench-ladder bench-long bench-edited bench-busy bench-fitted bench-limits bench-literal bench-concave bks results \
	env test-lowest test-processors

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS='	' read -r name what; do \
		printf '  make %-18s %s\n' "$$name" "$$what"; done

gaps: $(RUN_STAMP)  ## how far each relaxation is from the proven 0-1 optimum: table and picture in out/
	@mkdir -p out && $(BIN)/tightmargin compare --csv out/gaps.csv --latex out/gaps.tex --plot out/gaps.png

# Several processes with one thread each beat one process with many, and results repeat.
test bench bench-extended-nu bench-ladder bench-long bench-edited bench-busy bench-fitted bench-limits bench-literal bks results: export OMP_NUM_THREADS := 1
test bench bench-extended-nu bench-ladder bench-long bench-edited bench-busy bench-fitted bench-limits bench-literal bks results: export OPENBLAS_NUM_THREADS := 1
test bench bench-extended-nu bench-ladder bench-long bench-edited bench-busy bench-fitted bench-limits bench-literal bks results: export MPLBACKEND := Agg

bench-concave: $(DEV_STAMP)  ## concave programs beside SCIP and Gurobi, into benchmarks/CONCAVE.md
	$(BIN)/python -m benchmarks.concave

bks: $(DEV_STAMP)  ## best known values and bounds of 0-1 instances, into benchmarks/BKS.md; resumes
	$(BIN)/python -m benchmarks.bks

results: $(DEV_STAMP)  ## the papers' tables and figures at full size, into docs/results; resumes, in parts
	$(BIN)/python -m benchmarks.results $(ARGS)

# The hundreds of interpreters that tests start compile this project once, also on a machine that sets
# this variable; an empty value counts as unset.
test: export PYTHONDONTWRITEBYTECODE :=

test: $(DEV_STAMP)  ## the tests that a person waits for, about 6 minutes on two cores
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

# Each step exports what it needs. ARGS="--seed 7" searches among other cases.
test-full: $(DEV_STAMP)  ## everything, at most 90 minutes: all products, a long search for false claims, processors, oldest versions; resumes
	$(BIN)/python .ci/full.py --workers $(WORKERS) $(ARGS)

check: lint  ## lint and test, about 11 minutes: what a change must pass
	@$(MAKE) --no-print-directory test

lint: $(DEV_STAMP)  ## format, lint, types, import rules, about a minute
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

fix: $(DEV_STAMP)  ## repair what the linter and the formatter can repair
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

notebooks: $(NOTEBOOK_STAMP)  ## opens the notebooks in the browser
	$(BIN)/jupyter lab notebooks

docs: $(DEV_STAMP)  ## the documentation site, into out/docs/index.html
	$(BIN)/python -m sphinx -E -W -n -q -b html docs out/docs

bench: $(DEV_STAMP)  ## speed and memory beside other routes, into benchmarks/RESULTS.md and docs/guide.md
	$(BIN)/python -m benchmarks

bench-extended-nu: $(DEV_STAMP)  ## certified optima beside SCIP's, into benchmarks/EXTENDED_NU.md
	$(BIN)/python -m benchmarks.extended_nu

bench-limits: $(DEV_STAMP)  ## time limits, and the memory of semidefinite models, into benchmarks/TIME_LIMITS.md
	$(BIN)/python -m benchmarks.time_limits

bench-literal: $(DEV_STAMP)  ## two stops of Algorithm 10 on fifty instances, into benchmarks/LITERAL_STOPS.md
	$(BIN)/python -m benchmarks.literal_stops

bench-ladder: $(DEV_STAMP)  ## the whole ladder of bounds on eleven instances, into benchmarks/LADDER.md and docs/guide.md
	$(BIN)/python -m benchmarks.ladder

bench-edited: $(DEV_STAMP)  ## fifty-seven edited models, proven here and claimed by SCIP and Gurobi, into benchmarks/EDITED_MODELS.md
	$(BIN)/python -m benchmarks.edited_models

bench-busy: $(DEV_STAMP)  ## the same verdicts and trees beside six busy processes, into benchmarks/BUSY.md
	$(BIN)/python -m benchmarks.busy

bench-fitted: $(DEV_STAMP)  ## how far scikit-learn's default fits are from optimal, into benchmarks/FITTED_ESTIMATORS.md
	$(BIN)/python -m benchmarks.fitted_estimators

bench-long: $(DEV_STAMP)  ## the 0-1 loss on published instances, an hour; resumes where it was stopped
	$(BIN)/python -m benchmarks.zero_one

env: $(DEV_STAMP)  ## the environment alone, with the developer's tools

# Each setting names its own number of threads, so none is exported here.
test-processors: $(DEV_STAMP)  ## the tests as older and newer processors compute them, about an hour; resumes
	$(BIN)/python .ci/processors.py --workers $(WORKERS) $(ARGS)

test-lowest:  ## the tests on the oldest versions that pyproject.toml admits, about 12 minutes
	@$(MAKE) --no-print-directory env
	@$(BIN)/python .ci/lowest_constraints.py > .venv-lowest.new
	@cmp -s .venv-lowest.new .venv-lowest.txt || cp .venv-lowest.new .venv-lowest.txt
	@rm .venv-lowest.new
	@$(MAKE) --no-print-directory test VENV=.venv-lowest CONSTRAINTS=.venv-lowest.txt

# An environment holds absolute paths: a copied or moved checkout must not use the old one.
ifneq ($(shell cat $(VENV)/.created 2>/dev/null),$(CURDIR))
.PHONY: $(VENV)/.created
endif

$(VENV)/.created:
	@python='$(PYTHON)'; \
	if [ -z "$$python" ]; then \
		for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do \
			if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
			then python=$$candidate; break; fi; \
		done; \
	fi; \
	if [ -z "$$python" ] || \
		! "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		echo "Python 3.11 or newer is needed: install it, or name one as in" \
			"make PYTHON=/path/to/python3" >&2; \
		exit 1; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
		echo "python3-venv is needed: apt install python3-venv" >&2; \
		exit 1; \
	fi; \
	"$$python" -m venv --clear $(VENV) && printf '%s\n' '$(CURDIR)' > $@

$(RUN_STAMP): $(VENV)/.created pyproject.toml $(CONSTRAINTS)
	@echo "Installing tightmargin into $(VENV), a minute or two the first time ..." >&2
	@$(PIP_INSTALL) --editable .
	@touch $@

$(NOTEBOOK_STAMP): $(RUN_STAMP)
	@$(PIP_INSTALL) --editable '.[notebooks]'
	@touch $@

$(DEV_STAMP): $(VENV)/.created pyproject.toml $(CONSTRAINTS)
	@echo "Installing tightmargin and its developer's tools into $(VENV)," \
		"a minute or two the first time ..." >&2
	@$(PIP_INSTALL) --editable '.[dev]'
	@touch $(RUN_STAMP) $@
