"""The driver's program, as it is handed to ``python3 -c``."""

from __future__ import annotations

import binascii
import marshal
import platform
from functools import cache
from importlib.resources import files

_MODULES = ("wire", "driver_channel", "driver_operations", "driver")

_BOOTSTRAP = """
import binascii, builtins, marshal, sys, types
own = dict(vars(builtins))
modules = {}
for name, code in %s:
    module = modules[name] = sys.modules[name] = types.ModuleType(name)
    module.__dict__["__builtins__"] = own
    exec(code, module.__dict__)
for name in modules:
    del sys.modules[name]
main, arguments = module.main, sys.argv[1:]
del module, modules, name, code
main(arguments)
"""
_FROM_BYTECODE = "marshal.loads(binascii.a2b_base64(%r))"
_FROM_SOURCE = "[(name, compile(text, '<' + name + '>', 'exec')) for name, text in %r]"


@cache
def program(python_version: str) -> str:
    """Python source that runs the driver with ``sys.argv[1:]`` = work folder, scratch folder.

    For a Python of the very version that runs us (``3.11.7``) it carries compiled code: compiling is a quarter of a
    driver's start. Any other gets the source.

    The driver's modules run with a private copy of the builtins and are not left in ``sys.modules``: a candidate
    that replaces ``len`` or imports modules by name meets neither.
    """
    package = __name__.rpartition(".")[0]
    texts = [(f"{package}.{name}", (files(package) / f"{name}.py").read_text(encoding="utf-8")) for name in _MODULES]
    if python_version != platform.python_version():
        return _BOOTSTRAP % (_FROM_SOURCE % texts)
    compiled = [(name, compile(text, f"<{name}>", "exec")) for name, text in texts]
    return _BOOTSTRAP % (_FROM_BYTECODE % binascii.b2a_base64(marshal.dumps(compiled), newline=False))


def command(*arguments: str, python: str = "python3", version: str) -> list[str]:
    """The driver's command line: isolated, without site-packages and start-up hooks, writing no bytecode.

    ``version`` is what ``python`` is, such as ``3.11.7``.
    """
    return [python, "-I", "-S", "-B", "-c", program(version), *arguments]
