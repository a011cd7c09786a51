"""What can be wrong with a build."""


class BuildError(Exception):
    """Base class of the errors of this package."""


class CycleError(BuildError):
    """Targets depend on each other in a circle."""

    def __init__(self, cycle):
        self.cycle = list(cycle)
        super().__init__("cycle: " + " -> ".join([*self.cycle, *self.cycle[:1]]))


class UnknownInput(BuildError):
    """An input is neither an existing file nor the output of a target."""

    def __init__(self, target, path):
        self.target = target
        self.path = path
        super().__init__(f"{target}: nothing makes {path}")


class WrongOutputs(BuildError):
    """A run did not make exactly the declared outputs."""

    def __init__(self, target, missing, extra):
        self.target = target
        self.missing = sorted(missing)
        self.extra = sorted(extra)
        super().__init__(f"{target}: missing {self.missing}, extra {self.extra}")
