"""What is kept of an agent's HOME: files that match, within limits, whatever the archive holds."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Generator, Mapping

import pytest

from pytest_agentgrade.attempt.agents import keepsakes
from pytest_agentgrade.attempt.agents.keepsakes import keep_files
from pytest_agentgrade.errors import HostError


def home(files: Mapping[str, bytes], *others: tarfile.TarInfo) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for member in others:
            tar.addfile(member)
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def in_pieces(data: bytes, size: int = 700) -> Generator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def names(kept: bytes) -> list[str]:
    if not kept:
        return []
    with tarfile.open(fileobj=io.BytesIO(kept), mode="r:gz") as tar:
        return tar.getnames()


def test_files_that_match_are_kept_with_their_content() -> None:
    kept = keep_files(
        in_pieces(home({"./log/a.txt": b"a" * 3_000, "./cache/b": b"b", "./log/deep/c": b""})), ("log/*",)
    )
    assert names(kept) == ["log/a.txt", "log/deep/c"]
    with tarfile.open(fileobj=io.BytesIO(kept)) as tar:
        content = tar.extractfile("log/a.txt")
        assert content is not None and content.read() == b"a" * 3_000


def test_nothing_is_kept_without_a_match_or_a_pattern() -> None:
    data = home({"./log/a": b"a"})
    assert keep_files(in_pieces(data), ()) == b"" and keep_files(in_pieces(data), ("other/*",)) == b""


@pytest.mark.parametrize("name", ["../log/a", "/log/a", "log/../../a", "log/a\nb"])
def test_names_that_lead_elsewhere_are_left_out(name: str) -> None:
    assert names(keep_files(in_pieces(home({name: b"x", "log/good": b"y"})), ("*",))) == ["log/good"]


def test_links_are_left_out() -> None:
    link = tarfile.TarInfo("log/link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    assert names(keep_files(in_pieces(home({"log/good": b"y"}, link)), ("log/*",))) == ["log/good"]


def test_limits_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keepsakes, "MAX_FILE_BYTES", 100)
    monkeypatch.setattr(keepsakes, "MAX_BYTES", 150)
    files = {"big": b"x" * 101, "a": b"x" * 100, "b": b"x" * 60, "c": b"x"}
    assert names(keep_files(in_pieces(home(files)), ("*",))) == ["a"]


@pytest.mark.parametrize("data", [b"", b"no tar at all" * 100, home({"a": b"x" * 5_000})[:1_000]])
def test_a_stream_that_is_no_tar_keeps_nothing_and_fails_nobody(data: bytes) -> None:
    assert keep_files(in_pieces(data), ("*",)) == b""


def huge(size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo("huge")
    member.size = size
    return member


def test_a_file_with_holes_larger_than_any_disk_ends_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keepsakes, "MAX_STREAM_BYTES", 100_000)
    archive = home({"log/a": b"x"})[:1024] + huge(2**60).tobuf(tarfile.GNU_FORMAT)

    def endless() -> Generator[bytes]:
        yield archive
        while True:
            yield bytes(10_000)

    chunks = endless()
    assert names(keep_files(chunks, ("log/*",))) == ["log/a"]
    assert next(chunks, None) is None, "nobody reads on"
    assert names(keep_files(in_pieces(archive), ("log/*",))) == ["log/a"], "nor what has come to its end"


def test_a_stream_that_goes_on_for_too_long_ends_what_is_kept() -> None:
    times = iter([0.0, 1.0, 2.0, 61.0])
    pieces = in_pieces(home({"a": b"x", "b": bytes(40_000)}), 10_240)
    assert names(keep_files(pieces, ("*",), clock=lambda: next(times))) == ["a"]


def test_what_the_sidecar_cannot_read_ends_what_is_kept() -> None:
    def broken() -> Generator[bytes]:
        yield home({"a": b"x", "b": bytes(40_000)})[:30_000]
        raise HostError("`tar` in the workspace's sidecar ended with 137")

    assert names(keep_files(broken(), ("*",))) == ["a"]
