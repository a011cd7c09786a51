"""The text of the driver's program, as it is handed to ``python3 -c``."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_MODULES = ("wire", "driver_channel", "driver_operations", "driver")

_BOOTSTRAP = """
import builtins, sys, types
own = dict(vars(builtins))
modules = {}
for name, text in %r:
    module = modules[name] = sys.modules[name] = types.ModuleType(name)
    module.__dict__["__builtins__"] = own
    exec(compile(text, "<" + name + ">", "exec"), module.__dict__)
for name in modules:
    del sys.modules[name]
main, arguments = module.main, sys.argv[1:]
del module, modules, name, text
main(arguments)
"""


@cache
def program() -> str:
    """Python source that runs the driver with ``sys.argv[1:]`` = work folder, scratch folder.

    The driver's modules run with a private copy of the builtins and are not left in ``sys.modules``: a candidate
    that replaces ``len`` or imports modules by name meets neither.
    """
    package = __name__.rpartition(".")[0]
    texts = [(f"{package}.{name}", (files(package) / f"{name}.py").read_text(encoding="utf-8")) for name in _MODULES]
    return _BOOTSTRAP % (texts,)


def command(*arguments: str, python: str = "python3") -> list[str]:
    """The driver's command line: isolated, without site-packages and start-up hooks, writing no bytecode."""
    return [python, "-I", "-S", "-B", "-c", program(), *arguments]
