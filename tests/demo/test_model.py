"""The shipped model against the real tasks, prompts and tools: does it still do what it learnt?"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.attempt.server import ProofStatus, RunningServer, ServerConfig, launch, prove_mode
from pytest_agentgrade.demo import demo_model_path
from tests.attempt.server.conftest import BASELINE, MTP
from tools.demo_model.conversations import Conversation, converse
from tools.demo_model.followed import followed
from tools.demo_model.routes import Route, all_routes
from tools.demo_model.variation import varied

SEEDS = (4242, 8675309)
FULL_CAP, SHORT_CAP = 8_192, 1_000
"""The study's token cap, for one seed; a loop that has come so far as the short one goes on, for the other."""
RETRAIN = (
    "the demo model was trained on other texts and may no longer follow; train it again:"
    " pip install -r tools/demo_model/requirements.txt && python -m tools.demo_model"
)
SOLVED = {"expiring_cache": "expiring_cache/cache.py", "sqlite_transfers": "sqlite_transfers/transfers.py"}
ROUTES = {route.task.name: route for route in all_routes()}


class Served(NamedTuple):
    mode: Mode
    server: RunningServer
    talk: Callable[[str, int], Conversation]
    """The conversation on a task with a seed; led once."""


@pytest.fixture(scope="module", params=[BASELINE, MTP], ids=lambda mode: mode.name)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    config = ServerConfig(model=demo_model_path(), threads=1)
    with launch(request.param, config, log_path=folder / "log", lock_dir=folder) as server:

        @functools.cache
        def talk(task: str, seed: int) -> Conversation:
            cap = FULL_CAP if seed == SEEDS[0] else SHORT_CAP
            return converse(server.url, ROUTES[task], seed=seed, cap=cap)

        yield Served(request.param, server, talk)


def test_the_texts_the_model_learnt_are_the_ones_it_will_see() -> None:
    learnt = json.loads(demo_model_path().with_name("followed.json").read_text())
    seen = followed()
    changed = sorted(name for name in learnt.keys() | seen.keys() if learnt.get(name) != seen.get(name))
    assert not changed, f"{', '.join(changed)}: {RETRAIN}"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("task", ROUTES)
def test_the_model_keeps_to_its_route(served: Served, task: str, seed: int) -> None:
    talk = served.talk(task, seed)
    assert not talk.strayed, f"{talk.strayed}: {RETRAIN}"
    assert talk.cached == 0
    path = SOLVED.get(task)
    assert talk.changed == ({path: reference(ROUTES[task], path)} if path else {})


def test_the_loop_ends_at_the_token_cap_alone(served: Served) -> None:
    talk = served.talk("csv_ledger", SEEDS[0])
    assert talk.finish_reasons == ["tool_calls", "length", "tool_calls"]
    assert talk.tokens > FULL_CAP


def test_drafts_are_accepted_in_mtp_and_absent_in_baseline(served: Served) -> None:
    talks = [served.talk(task, SEEDS[1]) for task in ROUTES]
    drafted, accepted = sum(talk.drafted for talk in talks), sum(talk.accepted for talk in talks)
    assert prove_mode(served.mode, served.server.speculating(), drafted, accepted).status is ProofStatus.PROVEN
    assert (accepted > 0.7 * drafted > 0) if served.mode.speculates else drafted == accepted == 0


def test_other_listings_counts_and_times_do_not_lead_it_astray(served: Served) -> None:
    talk = converse(served.server.url, ROUTES["expiring_cache"], seed=7, cap=SHORT_CAP, vary=varied(1_000))
    assert not talk.strayed, talk.strayed


def reference(route: Route, path: str) -> bytes:
    return Path(route.task.checks_folder, "reference", path).read_bytes()
