"""What makes two attempts a pair, one condition at a time."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_agentgrade.analysis.pairs import PairProof, ProofStatus, prove_pair
from pytest_agentgrade.records.model import ModeDeclaration
from tests.analysis.proven_records import ON, a_full_attempt, a_server, in_run
from tests.records_made_here import a_run, an_attempt

HOST = {"system": "Linux", "machine": "x86_64", "cores": "8", "memory_bytes": "1"}
SETTINGS = {"runtime": None, "server_restart": "attempt"}


def proof(**mtp: Any) -> PairProof:
    return prove_pair(in_run(a_full_attempt("baseline")), in_run(a_full_attempt("mtp", **mtp)))


def differing(found: PairProof) -> list[str]:
    return [difference.what for difference in found.differences]


def test_all_but_the_modes_own_flags_and_the_port_is_equal() -> None:
    assert proof() == PairProof(ProofStatus.PROVEN)


def test_outcome_and_speed_are_what_may_differ() -> None:
    assert proof(passed=1, seconds=7.0, predicted_tokens=5).status is ProofStatus.PROVEN


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"first_request_sha256": "other"}, "first request"),
        ({"sampling": {"temperature": 0.7}}, "sampling"),
        ({"thinking": "medium"}, "thinking"),
        ({"sampling_seed": 1}, "seed sent"),
        ({"task_seconds": 481.0}, "task seconds"),
        ({"turns": 99}, "turns"),
        ({"abort_loops": True}, "live abort of loops"),
        ({"agent_version": "2"}, "agent"),
        ({"image_id": "sha256:66"}, "sandbox image"),
        ({"cached_tokens": 12}, "cached prompt tokens (must be 0)"),
        ({"server": a_server(ON, common=("-ub", "256"))}, "server flags"),
        ({"server": a_server(ON, build="version: 11147")}, "server build"),
        ({"server": a_server(ON, program_sha256="ee" * 32)}, "server program"),
        ({"server": a_server(ON, environment={"GGML_CUDA_FORCE_MMQ": "1"})}, "server environment"),
        ({"made_with": "2"}, "pytest-agentgrade"),
        ({"server": a_server(ON, model_sha256="bb" * 32)}, "model file"),
        ({"server": a_server(ON, demo=True)}, "demo model"),
    ],
)
def test_one_difference_makes_the_pair_invalid_and_is_named(change: dict[str, Any], what: str) -> None:
    found = proof(**change)
    assert (found.status, differing(found)) == (ProofStatus.INVALID, [what])


@pytest.mark.parametrize("field", ["tree_digest", "commit_id", "task_digest", "prompt_sha256"])
def test_the_initial_workspace_and_the_task_are_the_same_bytes(field: str) -> None:
    one = a_full_attempt("mtp")
    assert one.workspace is not None
    other = one.model_copy(update={"workspace": one.workspace.model_copy(update={field: "changed"})})
    assert prove_pair(in_run(a_full_attempt("baseline")), in_run(other)).status is ProofStatus.INVALID


def test_budgets_and_draws_are_the_same() -> None:
    one, other = a_full_attempt("baseline"), a_full_attempt("mtp", budget=16_384, first_request_sha256="42428192")
    assert differing(prove_pair(in_run(one), in_run(other))) == ["response tokens"]
    redrawn = [verdict.model_copy(update={"draw_seed": "ee"}) for verdict in one.verdicts]
    found = prove_pair(in_run(one), in_run(a_full_attempt("mtp").model_copy(update={"verdicts": redrawn})))
    assert differing(found) == ["draws"]


def test_cached_tokens_are_never_fair_even_when_both_have_them() -> None:
    pair = [in_run(a_full_attempt(mode, cached_tokens=3)) for mode in ("baseline", "mtp")]
    assert prove_pair(*pair).status is ProofStatus.INVALID


@pytest.mark.parametrize("untold", [1, None])
def test_a_server_that_is_silent_about_its_cache_proves_nothing(untold: int | None) -> None:
    found = proof(cache_untold=untold)
    assert (found.status, found.missing) == (ProofStatus.UNPROVEN, ("cached prompt tokens",))


def test_a_mode_may_bring_its_own_model() -> None:
    declared = ModeDeclaration(server_args=list(ON), model="q4.gguf")
    assert proof(server=a_server(ON, declared=declared, model_sha256="bb")).status is ProofStatus.PROVEN


def test_a_mode_may_bring_its_own_server_which_may_not_know_every_flag() -> None:
    declared = ModeDeclaration(server_args=list(ON), server="/opt/fork/llama-server")
    told = {"declared": declared, "build": "fork", "omitted": ["--cache-ram 0"], "program_sha256": "ee" * 32}
    fork = a_server(ON, common=("-ub", "512"), **told)
    ours = a_full_attempt("baseline", server=a_server(common=("--cache-ram", "0", "-ub", "512")))
    assert prove_pair(in_run(ours), in_run(a_full_attempt("mtp", server=fork))).status is ProofStatus.PROVEN
    other = fork.model_copy(update={"omitted": []})
    found = prove_pair(in_run(ours), in_run(a_full_attempt("mtp", server=other)))
    assert differing(found) == ["server flags"]


def test_the_embedded_servers_program_is_not_compared() -> None:
    """Two environments have two interpreters; what counts is the build and the flags."""
    servers = []
    for python in ("/tox/baseline/bin/python", "/tox/mtp/bin/python"):
        server = a_server()
        servers.append(server.model_copy(update={"argv": [python, "-P", "-m", "a.module", *server.argv[1:]]}))
    pair = [in_run(a_full_attempt("baseline", server=server)) for server in servers]
    assert prove_pair(*pair).status is ProofStatus.PROVEN


def test_a_url_tells_too_little_for_a_proof() -> None:
    url = a_server(kind="url", argv=[], model_sha256=None, environment=None, program_sha256=None)
    found = prove_pair(*(in_run(a_full_attempt(mode, server=url)) for mode in ("baseline", "mtp")))
    assert found.status is ProofStatus.UNPROVEN
    assert found.missing == ("server flags", "server environment", "model file", "server program")
    assert found.lines() == ["not known: server flags, server environment, model file, server program"]


def test_what_older_records_did_not_tell_proves_nothing_and_is_no_difference() -> None:
    old = a_full_attempt("mtp", made_with=None, server=a_server(ON, environment=None, program_sha256=None))
    for others in (old, a_full_attempt("mtp")):
        mine = old if others is old else a_full_attempt("baseline", made_with=None)
        found = prove_pair(in_run(mine), in_run(others))
        assert found.status is ProofStatus.UNPROVEN and "pytest-agentgrade" in found.missing
    assert prove_pair(in_run(old), in_run(old)).missing == ("pytest-agentgrade", "server environment", "server program")


def test_the_environment_is_shown_as_one_would_type_it() -> None:
    (line,) = proof(server=a_server(ON, environment={"OMP_WAIT_POLICY": "active or not", "GGML_X": "1"})).lines()
    assert line == "server environment: (empty) | GGML_X=1 OMP_WAIT_POLICY='active or not'"


def test_records_without_phases_prove_nothing_and_differ_in_nothing() -> None:
    found = prove_pair(in_run(an_attempt(a_full_attempt("baseline").key)), in_run(an_attempt()))  # type: ignore[arg-type]
    assert found.status is ProofStatus.UNPROVEN and "first request" not in found.missing


def test_runs_on_two_hosts_are_told_apart_but_not_two_runs_on_one() -> None:
    runs = [a_run(run_id=name, host=HOST, settings=SETTINGS) for name in ("r1", "r2")]
    pair = [in_run(a_full_attempt(mode), run) for mode, run in zip(("baseline", "mtp"), runs, strict=True)]
    assert prove_pair(*pair).status is ProofStatus.PROVEN
    elsewhere = a_run(run_id="r3", host=HOST | {"cores": "2"}, settings=SETTINGS | {"server_restart": "mode"})
    assert differing(prove_pair(pair[0], in_run(a_full_attempt("mtp"), elsewhere))) == ["host", "server restart"]


def test_the_diff_shows_the_words_that_differ() -> None:
    (line,) = proof(server=a_server(ON, common=("-b", "512", "-ub", "256", "-fa", "on"))).lines()
    assert line == "server flags: ... 32768 -ub 512 | ... 32768 -b 512 -ub 256 -fa on"
    (line,) = proof(first_request_sha256="c" * 64).lines()
    assert line == "first request: 42428192 | cccccccccccc..."
