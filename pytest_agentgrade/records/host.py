"""What machine a run was made on."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess


def describe_host() -> dict[str, str]:
    """Operating system, Python, processor, cores and memory of this host, as far as they can be read."""
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "system": platform.platform(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory_bytes": str(pages * page),
    }


def describe_gpus() -> list[str]:
    """One line for each NVIDIA GPU (name, driver, memory total and used in MiB); empty where there is none."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    query = "--query-gpu=name,driver_version,memory.total,memory.used"
    command = [program, query, "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    return [line.strip() for line in done.stdout.splitlines() if line.strip()] if done.returncode == 0 else []
