"""What machine a run was made on."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path


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


def process_vram_bytes(pid: int) -> int | None:
    """GPU memory that a process and its children hold now; None without nvidia-smi, or when it names none of them."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    command = [program, "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    if done.returncode != 0:
        return None
    family = {pid, *_children(pid)}
    rows = [line.split(",") for line in done.stdout.splitlines()]
    held = [int(row[1]) for row in rows if len(row) == 2 and row[1].strip().isdigit() and int(row[0]) in family]
    return sum(held) * 1024 * 1024 if held else None


def _children(pid: int) -> set[int]:
    """Direct children; empty when the process is gone."""
    try:
        lists = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return set()
    return {int(child) for text in lists for child in text.split()}
