"""Can the library of the embedded server be loaded here, and what helps when it cannot?"""

from __future__ import annotations

import functools
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable

from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.sandbox.system_packages import can_install, install_packages

_DEBIAN_PACKAGES = {"libgomp.so.1": "libgomp1"}
"""System library that the wheels of ``xllamacpp`` expect -> the Debian package that has it."""
_OTHERWISE = "or name a llama-server binary with the setting 'server'"


def prepare_library(log: Callable[[str], None]) -> None:
    """Install a system library that ``xllamacpp`` lacks, where apt can; say so when it cannot be loaded after all.

    Nothing is done, and nothing said, where ``xllamacpp`` is not installed: a run may use another server. Raises
    HostError when apt fails.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        return
    package = _missing_package(_trouble())
    if package is not None and can_install():
        install_packages((package,), log, f"install {package}")
        _trouble.cache_clear()
    if trouble := _trouble():
        log(f"the embedded server cannot be used: {trouble}")


def require_library() -> None:
    """SettingsError, with what to do, when ``xllamacpp`` cannot be loaded."""
    if importlib.util.find_spec("xllamacpp") is None:
        remedy = f"pip install 'pytest-agentgrade[embedded]', {_OTHERWISE}"
        raise SettingsError("the embedded server needs xllamacpp, which is not installed", remedy)
    if trouble := _trouble():
        package = _missing_package(trouble)
        remedy = f"install it anew, {_OTHERWISE}"
        if package is not None:
            how = "`agentgrade setup`" if can_install() else f"`apt-get install {package}` as root"
            remedy = f"{how}, {_OTHERWISE}"
        raise SettingsError(f"the embedded server needs xllamacpp, which cannot be imported: {trouble}", remedy)


@functools.cache
def _trouble() -> str:
    """What Python says when it imports the library in a process of its own; empty when it can."""
    # Not in this process: the library starts threads and prints.
    program = "try:\n import xllamacpp\nexcept ImportError as error:\n print(error)"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"python ends with exit code {done.returncode}: {done.stderr.strip()[-200:]}"
    return done.stdout.strip()


def _missing_package(trouble: str) -> str | None:
    missing = re.match(r"(?P<name>\S+): cannot open shared object file", trouble)
    return _DEBIAN_PACKAGES.get(missing["name"]) if missing else None
