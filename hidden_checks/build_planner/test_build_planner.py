"""Ten checks of the incremental build planner, and four that go beyond them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pytest_agentgrade.checks import Candidate, beyond, kills

Made = dict[str, str]
"""Path -> content hash, as a runner returns it."""


class Project:
    """Targets, files and a runner, all on the host: what was run, and how often, is the host's own count."""

    def __init__(self, candidate: Candidate) -> None:
        self.candidate, self.draw = candidate, candidate.draw
        self.words = iter(self.draw.identifiers(200))
        self.targets: dict[str, dict[str, Any]] = {}
        self.files: Made = {}
        self.made: Made = {}
        self.steady: set[str] = set()
        """Names of the targets that make the same again when they are run again."""
        self.instead: dict[str, Callable[[Made], Made]] = {}
        """Name -> what the runner returns instead of what it made."""
        self.faults: dict[str, OSError] = {}
        """Name -> what the runner raises."""
        self.asked: list[str] = []
        self.commands: list[Any] = []
        self.forget()

    def forget(self) -> None:
        """Begin with a new state file, as if nothing had ever been built."""
        self.state = self.candidate.scratch.path(f"{next(self.words)}.json")

    def hash(self) -> str:
        return self.draw.bytes(12).hex()

    def source(self) -> str:
        path = next(self.words)
        self.files[path] = self.hash()
        return path

    def target(self, *inputs: str, outputs: int = 1) -> str:
        name = next(self.words)
        paths = [f"{name}.{next(self.words)}" for _ in range(outputs)]
        self.targets[name] = {"name": name, "command": self.draw.text(), "inputs": list(inputs), "outputs": paths}
        return name

    def chain(self, source: str, length: int) -> list[str]:
        names: list[str] = []
        for _ in range(length):
            names.append(self.target(self.output(names[-1]) if names else source))
        return names

    def output(self, name: str, number: int = 0) -> str:
        path: str = self.targets[name]["outputs"][number]
        return path

    def touch(self, *paths: str) -> None:
        self.files.update({path: self.hash() for path in paths})

    def run(self, name: Any, command: Any) -> Made:
        name = name.expect(str)
        assert name in self.targets
        self.asked.append(name)
        self.commands.append(command)
        if name in self.faults:
            raise self.faults[name]
        same = self.made if name in self.steady else {}
        made = {path: same.get(path) or self.hash() for path in self.targets[name]["outputs"]}
        made = self.instead.get(name, dict)(made)
        self.files.update(made)
        self.made.update(made)
        return made

    def build(self, targets: Iterable[object] | None = None) -> list[str]:
        """Build, compare what ``build`` says with what the host saw, return the names in the order they were run."""
        self.asked, self.commands = [], []
        given = self.draw.shuffled(list(self.targets.values())) if targets is None else targets
        runner = self.candidate.callback(self.run)
        answer = self.candidate.call("build_planner:build", given, self.files, runner, self.state)
        assert answer == self.asked
        assert self.commands == [self.targets[name]["command"] for name in self.asked]
        return self.asked

    def fail(self, faults: dict[str, OSError], targets: Iterable[object] | None = None) -> list[str]:
        """Build with a runner that raises for some targets, expect that error, return the names it was asked for."""
        self.faults = faults
        with self.candidate.raises(OSError) as caught:
            self.build(targets)
        assert caught.args == next(iter(faults.values())).args
        self.faults = {}
        return self.asked


def smallest_first(project: Project) -> list[str]:
    """The order of rule 4, in the slow and obvious way."""
    makers = {path: name for name, target in project.targets.items() for path in target["outputs"]}
    needs = {name: {makers.get(path) for path in target["inputs"]} - {None} for name, target in project.targets.items()}
    order: list[str] = []
    while len(order) < len(needs):
        order.append(min(name for name in needs if name not in order and needs[name] <= set(order)))
    return order


def long_chain(project: Project, length: int) -> list[str]:
    """A chain of many targets whose names say nothing of their place; its source is the first input of the first."""
    word, path = next(project.words), project.source()
    names = [f"{word}{number}" for number in project.draw.shuffled(range(length))]
    for name in names:
        project.targets[name] = {"name": name, "command": name, "inputs": [path], "outputs": [f"{name}.out"]}
        path = f"{name}.out"
    return names


def one_by_one(project: Project) -> Any:
    """The targets in any order, as an iterator: ten thousand are too many for one message."""
    return project.candidate.iterator(iter(project.draw.shuffled(list(project.targets.values()))), batch=500)


def spoil(missing: list[str], extra: list[str]) -> Callable[[Made], Made]:
    """A runner's mistake: some files are not made, some others are."""
    return lambda made: dict.fromkeys({*made, *extra} - {*missing}, "0")


@kills("untouched", "insertion_order", "level_by_level", "depth_first", "set_order", "skips_first")
def test_smallest_ready_name_goes_first(candidate: Candidate) -> None:
    """The next target to run or skip is the one with the smallest name among those whose dependencies are settled."""
    project, draw = Project(candidate), candidate.draw
    base = [project.target(project.source()) for _ in range(draw.integer(12, 16))]
    middle = [project.target(project.output(name)) for name in draw.sample(base, draw.integer(6, 9))]
    last = []
    for _ in range(draw.integer(14, 18)):
        above = draw.sample(base + middle, draw.integer(1, 2))
        last.append(project.target(project.source(), *map(project.output, above)))
    order = smallest_first(project)
    assert project.build() == order
    changed = draw.sample(last, 12)
    project.touch(*(project.targets[name]["inputs"][0] for name in changed))
    assert project.build() == [name for name in order if name in changed]


@kills("untouched", "hashes_without_paths")
def test_changed_source_runs_its_dependents_only(candidate: Candidate) -> None:
    """A build without a change runs nothing; a changed source, or two that swap contents, run what depends on them."""
    project = Project(candidate)
    one, two, other = project.source(), project.source(), project.source()
    mixed = project.target(one, two)
    after = project.target(project.output(mixed))
    project.chain(other, candidate.draw.integer(2, 4))
    assert len(project.build()) == len(project.targets)
    assert project.build() == []
    project.touch(candidate.draw.choice([one, two]))
    assert project.build() == [mixed, after]
    project.files[one], project.files[two] = project.files[two], project.files[one]
    assert project.build() == [mixed, after]
    assert project.build() == []


@kills("untouched", "command_not_in_key", "commands_as_a_set", "new_inputs_ignored", "new_outputs_ignored")
def test_changed_recipe_runs_the_target(candidate: Candidate) -> None:
    """A target whose command, set of inputs or set of outputs has changed is run, and no other."""
    project = Project(candidate)
    names = [project.target(project.source()) for _ in range(candidate.draw.integer(5, 8))]
    assert sorted(project.build()) == sorted(names)
    one, two, three, four = (project.targets[name] for name in candidate.draw.sample(names, 4))
    one["command"] = candidate.draw.text(13, 20)
    assert project.build() == [one["name"]]
    two["inputs"].append(*three["inputs"])
    assert project.build() == [two["name"]]
    four["outputs"].append(next(project.words))
    assert project.build() == [four["name"]]
    one["command"], three["command"] = three["command"], one["command"]
    assert sorted(project.build()) == sorted([one["name"], three["name"]])
    assert project.build() == []


@kills("untouched", "outputs_never_looked_at", "first_output_only", "existing_output_is_enough")
def test_missing_or_altered_output_is_made_again(candidate: Candidate) -> None:
    """A target is run if one of its outputs is not in `files` with the hash the runner returned for it."""
    project, many = Project(candidate), candidate.draw.integer(3, 6)
    names = [project.target(project.source(), outputs=many) for _ in range(candidate.draw.integer(3, 6))]
    assert sorted(project.build()) == sorted(names)
    gone, altered = candidate.draw.sample(names, 2)
    del project.files[project.output(gone, candidate.draw.integer(1, many - 1))]
    assert project.build() == [gone]
    project.touch(project.output(altered, candidate.draw.integer(1, many - 1)))
    assert project.build() == [altered]
    assert project.build() == []


@kills("untouched", "no_cutoff", "cutoff_one_late", "cutoff_for_whole_targets")
def test_output_with_the_same_hash_is_no_reason_to_run(candidate: Candidate) -> None:
    """If an output of a target that is run again has the same hash as before, what uses only that is not run."""
    project = Project(candidate)
    source = project.source()
    chain = project.chain(source, candidate.draw.integer(5, 8))
    fork = project.target(source, outputs=2)
    same, other = candidate.draw.shuffled(project.targets[fork]["outputs"])
    skipped, user = project.target(same), project.target(other)
    assert sorted(project.build()) == sorted([*chain, fork, skipped, user])
    project.instead[fork] = lambda made: {**made, same: project.made[same]}
    for stop in (candidate.draw.integer(1, len(chain) - 3), 0):
        project.steady = {chain[stop]}
        project.touch(source)
        assert sorted(project.build()) == sorted([*chain[: stop + 1], fork, user])
    assert project.build() == []


@kills("untouched", "diamond_twice", "first_dependency_decides", "all_dependencies_must_change")
def test_diamond_is_closed_once(candidate: Candidate) -> None:
    """A target is run at most once, after all it depends on, however many of these have changed."""
    project = Project(candidate)
    source = project.source()
    top, _ = project.target(source), project.target(project.source())
    sides = [project.target(project.output(top)) for _ in range(candidate.draw.integer(4, 8))]
    bottom = project.target(*map(project.output, sides))
    assert sorted(project.build()) == sorted(project.targets)
    for changed in candidate.draw.shuffled([1, candidate.draw.integer(2, len(sides) - 1), len(sides)]):
        project.steady = {*candidate.draw.sample(sides, len(sides) - changed)}
        project.touch(source)
        ran = project.build()
        assert sorted(ran[1:-1]) == sorted(sides)
        assert (ran[0], ran[-1]) == (top, bottom)


@kills(
    "untouched",
    "cycle_with_bystanders",
    "cycle_backwards",
    "cycle_from_anywhere",
    "cycle_found_late",
    "self_use_ignored",
)
def test_cycle_is_named(candidate: Candidate) -> None:
    """A cycle raises before anything is run: its members only, each depending on the next, the smallest name first."""
    for length in (1, candidate.draw.integer(4, 8)):
        project = Project(candidate)
        source = project.source()
        before = project.chain(source, candidate.draw.integer(2, 4))
        members = [project.target(project.output(before[-1])) for _ in range(length)]
        project.chain(project.output(members[0]), candidate.draw.integer(8, 12))
        first = members.index(min(members))
        members = members[first:] + members[:first]
        for name, needed in zip(members, members[1:] + members[:1], strict=True):
            project.targets[name]["inputs"].append(project.output(needed))
        with candidate.raises("build_planner.errors:CycleError") as caught:
            project.build()
        assert caught.attr("cycle") == members
        assert project.asked == []
        project.targets[candidate.draw.choice(members)]["inputs"] = [source]
        assert sorted(project.build()) == sorted(project.targets)


@kills("untouched", "recursive_order")
def test_chain_of_ten_thousand(candidate: Candidate) -> None:
    """A chain of 10,000 targets is run in its order, as far as the runner gets; a shorter one to its end."""
    project = Project(candidate)
    chain, reached = long_chain(project, 10_000), candidate.draw.integer(1_050, 1_300)
    error = OSError(5, candidate.draw.text())
    assert project.fail({chain[reached]: error}, one_by_one(project)) == chain[: reached + 1]
    project.forget()
    project.targets = {name: project.targets[name] for name in chain[: candidate.draw.integer(100, 200)]}
    assert project.build() == list(project.targets)


@kills("untouched", "saved_on_success_only", "unreached_forgotten", "failed_target_remembered", "this_call_only")
def test_failed_run_keeps_what_was_done(candidate: Candidate) -> None:
    """The runner's exception comes out unchanged; the next call knows all but the failed target."""
    project, error = Project(candidate), OSError(5, candidate.draw.text())
    calm = [project.target(project.source()) for _ in range(candidate.draw.integer(8, 12))]
    source, lone = project.source(), candidate.draw.choice(calm)
    head = project.chain(source, candidate.draw.integer(2, 4))
    users = [project.target(project.output(head[-1])) for _ in range(candidate.draw.integer(2, 4))]
    assert sorted(project.build()) == sorted(project.targets)
    project.touch(source)
    assert project.fail(dict.fromkeys(users, error))[:-1] == head
    assert sorted(project.build()) == sorted(users)
    (path,) = project.targets[lone]["inputs"]
    before = project.files[path]
    project.touch(path)
    assert project.fail({lone: error}) == [lone]
    project.files[path] = before
    assert project.build() == [lone]
    assert project.build() == []


@kills("missing_outputs_accepted", "extra_outputs_accepted", "wrong_outputs_remembered")
def test_runner_must_return_the_declared_outputs(candidate: Candidate) -> None:
    """Other paths than the declared outputs raise WrongOutputs with what is missing and extra; that run has failed."""
    project = Project(candidate)
    first = project.target(project.source())
    wrong = project.target(project.output(first), outputs=candidate.draw.integer(4, 8))
    last = project.target(project.output(wrong))
    few = sorted(candidate.draw.sample(project.targets[wrong]["outputs"], candidate.draw.integer(1, 3)))
    more = sorted(next(project.words) for _ in range(candidate.draw.integer(1, 3)))
    for missing, extra in candidate.draw.shuffled([(few, []), ([], more), (few, more)]):
        project.instead[wrong] = spoil(missing, extra)
        with candidate.raises("build_planner.errors:WrongOutputs") as caught:
            project.build()
        assert caught.attr("target") == wrong
        assert caught.attr("missing") == missing
        assert caught.attr("extra") == extra
        assert project.asked[-1:] == [wrong]
    project.instead.clear()
    assert project.build()[-2:] == [wrong, last]


@beyond
@kills("untouched", "unknown_input_late", "unknown_input_accepted")
def test_unknown_source_is_refused_before_anything_is_run(candidate: Candidate) -> None:
    """A source that is not in `files` raises UnknownInput before anything is run; once it is there, all is built."""
    project = Project(candidate)
    chain = project.chain(project.source(), candidate.draw.integer(3, 6))
    name, path = candidate.draw.choice(chain[1:]), next(project.words)
    project.targets[name]["inputs"].append(path)
    with candidate.raises("build_planner.errors:UnknownInput") as caught:
        project.build()
    assert caught.attr("target") == name
    assert caught.attr("path") == path
    assert project.asked == []
    project.touch(path)
    assert project.build() == chain


@beyond
@kills("untouched", "removed_targets_kept")
def test_removed_target_is_forgotten(candidate: Candidate) -> None:
    """A target that was no longer in `targets` and comes back is run."""
    project = Project(candidate)
    chain = project.chain(project.source(), candidate.draw.integer(3, 6))
    assert project.build() == chain
    removed = project.targets.pop(chain[-1])
    assert project.build() == []
    project.targets[chain[-1]] = removed
    assert project.build() == chain[-1:]


@beyond
@kills("untouched", "every_recipe_remembered")
def test_content_that_comes_back_is_a_change(candidate: Candidate) -> None:
    """Only the last run counts: a source that is again what it was two builds ago runs its dependents."""
    project = Project(candidate)
    source = project.source()
    name, other = project.target(source), project.target(project.source())
    assert sorted(project.build()) == sorted([name, other])
    first = project.files[source]
    project.steady = {name}
    project.touch(source)
    assert project.build() == [name]
    project.files[source] = first
    assert project.build() == [name]
    assert project.build() == []


@beyond
@kills("untouched", "recursive_order", "recursive_cycle")
def test_cycle_of_ten_thousand(candidate: Candidate) -> None:
    """A cycle of 10,000 targets is named as any other, and built once it is open."""
    project = Project(candidate)
    chain = long_chain(project, 10_000)
    opened = list(project.targets[chain[0]]["inputs"])
    project.targets[chain[0]]["inputs"] = [project.output(chain[-1])]
    with candidate.raises("build_planner.errors:CycleError") as caught:
        project.build(one_by_one(project))
    first = chain.index(min(chain))
    assert caught.attr("cycle") == [*chain[first::-1], *chain[:first:-1]]
    assert project.asked == []
    project.targets = {name: project.targets[name] for name in chain[: candidate.draw.integer(3, 9)]}
    project.targets[chain[0]]["inputs"] = opened
    assert project.build() == list(project.targets)
