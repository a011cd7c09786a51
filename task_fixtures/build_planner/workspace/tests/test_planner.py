import os
import tempfile
import unittest

from build_planner import CycleError, WrongOutputs, build


def target(name, inputs, outputs, command="make"):
    return {"name": name, "command": command, "inputs": inputs, "outputs": outputs}


class BuildTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.state = os.path.join(folder.name, "state.json")
        self.files = {"a.c": "1", "b.c": "1"}
        self.targets = [
            target("link", ["a.o", "b.o"], ["app"]),
            target("cc_b", ["b.c"], ["b.o"]),
            target("cc_a", ["a.c"], ["a.o"]),
        ]
        self.version = "v1"

    def runner(self, name, command):
        made = {path: self.version for one in self.targets if one["name"] == name for path in one["outputs"]}
        self.files.update(made)
        return made

    def build(self):
        return build(iter(self.targets), dict(self.files), self.runner, self.state)

    def test_first_build_runs_everything(self):
        self.assertEqual(sorted(self.build()), ["cc_a", "cc_b", "link"])

    def test_second_build_runs_nothing(self):
        self.build()
        self.assertEqual(self.build(), [])

    def test_changed_source(self):
        self.build()
        self.files["b.c"] = "2"
        self.version = "v2"
        self.assertEqual(self.build(), ["cc_b", "link"])

    def test_unchanged_output_stops_the_rebuild(self):
        self.build()
        self.files["b.c"] = "2"
        self.assertEqual(self.build(), ["cc_b"])

    def test_cycle(self):
        self.targets = [target("y", ["x.out"], ["y.out"]), target("x", ["y.out"], ["x.out"])]
        with self.assertRaises(CycleError) as caught:
            self.build()
        self.assertEqual(caught.exception.cycle, ["x", "y"])

    def test_wrong_outputs(self):
        with self.assertRaises(WrongOutputs):
            build(self.targets, self.files, lambda name, command: {}, self.state)


if __name__ == "__main__":
    unittest.main()
