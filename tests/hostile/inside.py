"""Looks around in a container and says, as JSON, what there is. Runs there; standard library only."""

# No pathlib where a probe should have as few imports as it can:
# ruff: noqa: PTH108, PTH112, PTH118, PTH123, PTH208

import ctypes
import json
import os
import resource
import socket
import stat


def first_line(*names):
    for name in names:
        try:
            with open(name) as file:
                return file.readline().strip()
        except OSError:
            continue
    return ""


def can_write(folder):
    try:
        with open(os.path.join(folder, "probe"), "w") as file:
            file.write("x")
        os.unlink(os.path.join(folder, "probe"))
    except OSError:
        return False
    return True


def can_reach(host, port):
    try:
        with socket.create_connection((host, port), 0.3):
            return True
    except OSError:
        return False


def can_call(function, *arguments):
    return getattr(ctypes.CDLL(None, use_errno=True), function)(*arguments) == 0


def can_mknod():
    try:
        os.mknod("probe-device", stat.S_IFBLK | 0o600, os.makedev(8, 0))
    except OSError:
        return False
    return True


def special_files():
    sockets, setuid = [], []
    for folder, folders, names in os.walk("/"):
        folders[:] = [name for name in folders if folder != "/" or name not in ("proc", "sys")]
        for name in names:
            path = os.path.join(folder, name)
            try:
                mode = os.lstat(path).st_mode
            except OSError:
                continue
            if stat.S_ISSOCK(mode):
                sockets.append(path)
            elif stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
                setuid.append(path)
    return sockets, setuid


def space(folder):
    seen = os.statvfs(folder)
    return [seen.f_blocks * seen.f_frsize, seen.f_files]


def look():
    """Everything, as JSON."""
    with open("/proc/self/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    with open("/proc/self/mountinfo") as file:
        mounts = [line.split() for line in file]
    sockets, setuid = special_files()
    memory, cpu = "/sys/fs/cgroup/memory/memory.", "/sys/fs/cgroup/"
    return json.dumps(
        {
            "ids": [os.getuid(), os.geteuid(), os.getgid(), os.getegid(), *os.getgroups()],
            "status": {
                key: status.get(key, "")
                for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")
            },
            "interfaces": [name for _, name in socket.if_nameindex()],
            "reached": [
                host
                for host in ("8.8.8.8", "172.17.0.1", "169.254.169.254", "10.0.2.2")
                if can_reach(host, 53) or can_reach(host, 22)
            ],
            "sockets": sockets,
            "setuid": setuid,
            "mounts": [[one[4], one[3], one[5], one[one.index("-") + 1]] for one in mounts],
            "writable": [
                one
                for one in (
                    "/",
                    "/etc",
                    "/usr",
                    "/bin",
                    "/dev",
                    "/sys",
                    "/proc/sys/kernel",
                    "/exchange",
                    "/run",
                    "/var",
                )
                if can_write(one)
            ],
            "done": [
                name
                for name, done in (
                    ("mknod", can_mknod()),
                    ("chroot", can_call("chroot", b"/")),
                    ("setuid", can_call("setuid", 0)),
                    ("mount", can_call("mount", b"none", b"/tmp", b"tmpfs", 0, None)),
                    ("unshare", can_call("unshare", 0x10000000)),
                    ("sethostname", can_call("sethostname", b"x", 1)),
                    ("reboot", can_call("reboot", 0)),
                )
                if done
            ],
            "core": list(resource.getrlimit(resource.RLIMIT_CORE)),
            "files": list(resource.getrlimit(resource.RLIMIT_NOFILE)),
            "memory": first_line(memory + "limit_in_bytes", cpu + "memory.max"),
            "swap": first_line(memory + "memsw.limit_in_bytes", cpu + "memory.swap.max"),
            "pids": first_line(cpu + "pids/pids.max", cpu + "pids.max"),
            "quota": first_line(cpu + "cpu/cpu.cfs_quota_us", cpu + "cpu.max"),
            "space": {
                folder: space(folder)
                for folder in ("/work", "/tmp", "/dev/shm", "/scratch")
                if os.path.isdir(folder) and can_write(folder)
            },
            "env": dict(os.environ),
            "hostname": socket.gethostname(),
            "devices": sorted(name for name in os.listdir("/dev") if stat.S_ISBLK(os.lstat("/dev/" + name).st_mode)),
        }
    )
