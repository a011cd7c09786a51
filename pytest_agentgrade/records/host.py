"""What machine a run was made on."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

_SMI_SECONDS = 20.0


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
    """One line for each NVIDIA GPU (name, driver, memory total and used in MiB); empty where none is told of.

    GPUs of other makers are not looked for: nothing is said of them.
    """
    said = _nvidia_smi("--query-gpu=name,driver_version,memory.total,memory.used", "--format=csv,noheader")
    return [line.strip() for line in said or () if line.strip()]


def process_vram_bytes(pid: int) -> int | None:
    """GPU memory that a process and its children hold now, on all GPUs; None where nothing is told of any of them."""
    said = _nvidia_smi("--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits")
    family = {str(pid), *map(str, _children(pid))}
    rows = [[cell.strip() for cell in line.split(",")] for line in said or ()]
    held = [int(row[1]) for row in rows if len(row) == 2 and row[0] in family and row[1].isdecimal()]
    return sum(held) * 1024 * 1024 if held else None


def _nvidia_smi(*arguments: str) -> list[str] | None:
    """Lines of its output; None where it is missing, fails, or hangs as it does with a broken driver."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    try:
        command = [program, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SMI_SECONDS, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return done.stdout.splitlines() if done.returncode == 0 else None


def _children(pid: int) -> set[int]:
    """Direct children; empty when the process is gone."""
    try:
        lists = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return set()
    return {int(child) for text in lists for child in text.split()}
