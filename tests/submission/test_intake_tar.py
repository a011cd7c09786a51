from __future__ import annotations

import io
import tarfile
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentgrade.errors import SubmissionRefused
from pytest_agentgrade.submission.intake_tar import read_tar
from pytest_agentgrade.submission.paths import IntakeLimits
from pytest_agentgrade.submission.tree import Origin, Tree, TreeFile
from tests.submission.trees import BASE, TREES


def member(name: str, kind: bytes = tarfile.REGTYPE, *, link: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.mode = kind, link, mode
    return made


def archive(*members: tarfile.TarInfo, data: bytes = b"x = 1\n", format: int = tarfile.GNU_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format, errors="surrogateescape") as tar:
        for made in members:
            made.size = len(data) if made.isreg() else 0
            tar.addfile(made, io.BytesIO(data) if made.isreg() else None)
    return buffer.getvalue()


def tar_of(tree: Tree) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, file in tree.items():
            made = member(f"./{path}", mode=file.mode)
            made.size = len(file.data)
            tar.addfile(made, io.BytesIO(file.data))
    return buffer.getvalue()


def refused(data: bytes, match: str, limits: IntakeLimits | None = None) -> None:
    with pytest.raises(SubmissionRefused, match=match) as caught:
        read_tar([data], limits)
    assert str(caught.value).isprintable()


def test_tree_comes_back() -> None:
    submission = read_tar([tar_of(BASE)])
    assert submission.tree == BASE
    assert submission.origin is Origin.AGENT
    assert submission.notes == ()


@given(TREES, st.integers(1, 5_000))
@settings(max_examples=50, deadline=None)
def test_chunking_does_not_matter(tree: Tree, size: int) -> None:
    data = tar_of(tree)
    assert read_tar(data[start : start + size] for start in range(0, len(data), size)).tree == tree


def test_all_formats_and_long_names() -> None:
    name = "/".join(["pkg"] + ["deeper"] * 30) + "/é.py"
    for format in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        assert list(read_tar([archive(member(name), format=format)]).tree) == [name]


def test_own_git_and_caches_are_left_out_with_notes() -> None:
    data = archive(
        member(".", tarfile.DIRTYPE), member("./.git", tarfile.DIRTYPE), member("./.git/config"),
        member("./.git/hooks/odd\nname"), member("./.git/link", tarfile.SYMTYPE, link="/etc"),
        member("./a.py"), member("./__pycache__/a.cpython-311.pyc"), member("./lib/x.so"), member("./x.pyd"),
    )  # fmt: skip
    submission = read_tar([data])
    assert submission.tree == Tree({"a.py": TreeFile(b"x = 1\n")})
    assert submission.notes == (
        "the workspace's own .git was left out",
        "left out 3 compiled or cache file(s): __pycache__/a.cpython-311.pyc, lib/x.so, x.pyd",
    )


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        (member("l", tarfile.SYMTYPE, link="/etc/passwd"), "'l' is a symbolic link"),
        (member("l", tarfile.LNKTYPE, link="ok.py"), "'l' is a hard link"),
        (member("pipe", tarfile.FIFOTYPE), "'pipe' is a fifo"),
        (member("c", tarfile.CHRTYPE), "'c' is a device"),
        (member("b", tarfile.BLKTYPE), "'b' is a device"),
        (member("s", b"S"), "'s' is of no kind"),
        (member("../up.py"), r"'\.\.' as a part"),
        (member("/etc/x"), "is absolute"),
        (member("sub/.git/config"), "git's own folder"),
        (member("sub/.git", tarfile.DIRTYPE), "git's own folder"),
        (member(".GIT/config"), "git's own folder"),
        (member(".git2/../.git/config"), r"'\.\.' as a part"),
        (member("a\nb"), "do not print"),
        (member("a\x1b]0;x\x07"), "do not print"),
        (member("a\udcff.py"), "do not print"),
        (member("a\u2066b"), "do not print"),
        (member("__pycache__/l.pyc", tarfile.SYMTYPE, link="x"), "is a symbolic link"),
    ],
)  # fmt: skip
def test_refused_by_name(odd: tarfile.TarInfo, why: str) -> None:
    refused(archive(member("ok.py"), odd), why)


def test_name_that_comes_twice() -> None:
    refused(archive(member("a.py"), member("./a.py")), "'a.py' comes twice")


def test_limits() -> None:
    refused(archive(member("a"), member("b"), member("c", tarfile.DIRTYPE)), "more than 2 files", IntakeLimits(files=2))
    refused(archive(member("a.bin"), data=bytes(2_000)), "'a.bin' has 2000 bytes", IntakeLimits(file_bytes=1_999))
    assert len(read_tar([archive(member("a.so"), data=bytes(2_000))], IntakeLimits(file_bytes=1_999)).tree) == 0
    many = archive(*(member(f"{number}.bin") for number in range(10)), data=bytes(2_000))
    refused(many, "the files have 20000 bytes", IntakeLimits(bytes=19_999))


def test_huge_claim_is_refused_before_a_byte_of_it_is_read() -> None:
    claim = member("sparse.bin")
    claim.size = 1 << 40

    def stream() -> Iterator[bytes]:
        yield claim.tobuf(tarfile.GNU_FORMAT)
        while True:
            yield bytes(1 << 16)

    with pytest.raises(SubmissionRefused, match=r"'sparse\.bin' has 1099511627776 bytes"):
        read_tar(stream())


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, b"5"])
def test_endless_stream_is_cut_with_bounded_memory(kind: bytes) -> None:
    head = member("x", kind)
    head.size = 1 << 40
    limits = IntakeLimits(files=100, bytes=4 << 20)

    def stream() -> Iterator[bytes]:
        yield head.tobuf(tarfile.GNU_FORMAT)
        while True:
            yield bytes(1 << 16)

    tracemalloc.start()
    with pytest.raises(SubmissionRefused):
        read_tar(stream(), limits)
    assert tracemalloc.get_traced_memory()[1] < 3 * limits.bytes
    tracemalloc.stop()


def test_slow_stream_is_cut() -> None:
    ticks = iter(range(0, 10_000, 10))
    data = archive(member("a.py"))
    with pytest.raises(SubmissionRefused, match="took more than 25 s"):
        read_tar((data[i : i + 100] for i in range(0, 5_000, 100)), IntakeLimits(seconds=25), clock=lambda: next(ticks))


def test_source_is_read_to_its_end_so_that_it_can_report_its_own_failure() -> None:
    ended = []

    def stream() -> Iterator[bytes]:
        yield archive(member("a.py"))
        yield bytes(10_240)
        ended.append(True)

    read_tar(stream())
    assert ended == [True]


def test_cut_off_stream() -> None:
    refused(tar_of(BASE)[:700], "tar stream")


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_damaged_streams_are_refused_or_plain_trees(data: st.DataObject) -> None:
    stream = bytearray(archive(member("a.py"), member("é" * 80), member("d/b.py"), format=tarfile.PAX_FORMAT))
    for _ in range(data.draw(st.integers(1, 8))):
        stream[data.draw(st.integers(0, 4_000))] = data.draw(st.integers(0, 255))
    # A header with a wrong check sum would end most attempts: make it right again.
    for start in range(0, len(stream), 512):
        block = stream[start : start + 512]
        if block[257:262] == b"ustar":
            stream[start + 148 : start + 156] = b"%06o\0 " % (sum(block[:148]) + sum(block[156:]) + 256)
    try:
        submission = read_tar([bytes(stream)], IntakeLimits(bytes=100_000))
    except SubmissionRefused as error:
        assert str(error).isprintable()
    else:
        assert all(path.isprintable() and ".." not in path.split("/") for path in submission.tree)


def test_no_stream_at_all() -> None:
    refused(b"", "tar stream")
    refused(b"not a tar" * 1_000, "tar stream")


def test_a_stream_that_ends_within_a_file_it_skips_is_refused_at_once() -> None:
    """tarfile would go on skipping 2**60 bytes that are not there, block by block."""
    made = member("x.pyc")
    made.size = 2**60
    refused(made.tobuf(tarfile.GNU_FORMAT) + bytes(30_000), "not a readable tar stream")
