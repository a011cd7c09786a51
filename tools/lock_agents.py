"""Write the versions of all that an agent from PyPI needs into its lock: ``python tools/lock_agents.py AGENT``.

For agents whose package leaves these versions open; run it after the version in ``packages.py`` was raised. The lock
holds what pip chooses today, for the Python that runs this.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from pytest_agentgrade.attempt.agents.installing import install_pypi
from pytest_agentgrade.attempt.agents.packages import LOCKS, Registry, find_package


def lock(agent: str) -> Path:
    """Install the agent's package without its present lock, and write down what came."""
    package = find_package(agent)
    if package.registry is not Registry.PYPI:
        raise SystemExit(f"{agent} comes from {package.registry.value}: it needs no lock")
    with tempfile.TemporaryDirectory() as folder:
        found = install_pypi(replace(package, tried=""), Path(folder, "home"), Path(folder))
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    head = f"# {package.package} {package.version} and all it needs, on {python}: made by tools/lock_agents.py\n"
    path = LOCKS / f"{agent}.txt"
    path.write_text(head + "".join(f"{name}=={found[name]}\n" for name in sorted(found)), encoding="utf-8")
    return path


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(lock(name))
