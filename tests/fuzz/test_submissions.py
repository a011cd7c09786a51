"""Patches and tar streams: a plain tree of allowed files, or a refusal that can be shown."""

from __future__ import annotations

import io
import tarfile
from contextlib import suppress

from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_agentgrade.errors import SubmissionRefused
from pytest_agentgrade.submission.intake_tar import read_tar
from pytest_agentgrade.submission.patches import apply_patch
from pytest_agentgrade.submission.paths import IntakeLimits, check_path, left_out
from pytest_agentgrade.submission.render import render_patch
from pytest_agentgrade.submission.tree import Submission, Tree, TreeFile

LIMITS = IntakeLimits(files=40, bytes=40_000, file_bytes=10_000, patch_bytes=20_000)
BASE = Tree({"a.py": TreeFile(b"one\ntwo\nthree\n"), "pkg/b.py": TreeFile(b"x = 1"), "run": TreeFile(b"\n", True)})
NAMES = st.one_of(
    st.sampled_from(
        ["a.py", "pkg/b.py", "run", "new.py", "pkg/new.py", "../x", "/etc/x", ".git/config", "a.py/x", ".", ""]
    ),
    st.text(max_size=12),
)
LINES = st.one_of(
    st.builds("diff --git a/{} b/{}".format, NAMES, NAMES), st.builds("--- a/{}".format, NAMES),
    st.builds("+++ b/{}".format, NAMES), st.builds('--- "a/{}"'.format, NAMES),
    st.builds("rename from {}".format, NAMES), st.builds("rename to {}".format, NAMES),
    st.builds("copy from {}".format, NAMES), st.builds("copy to {}".format, NAMES),
    st.builds("@@ -{},{} +{},{} @@".format, *[st.integers(0, 4)] * 4),
    st.sampled_from(
        ["new file mode 100644", "new file mode 120000", "deleted file mode 100644", "old mode 100644",
         "new mode 100755", "index 1111111..2222222 160000", "similarity index 100%", "GIT binary patch",
         "\\ No newline at end of file",
         "--- /dev/null", "+++ /dev/null", " one", "-one", "+one", " two", "-two", "+x", "-- ", "2.39.0", "", "\r"]
    ),
)  # fmt: skip


def assert_plain(submission: Submission) -> None:
    for path, file in submission.tree.items():
        assert check_path(path, LIMITS) == path and not left_out(path)
        assert len(file.data) <= LIMITS.file_bytes
    assert len(submission.tree) <= LIMITS.files
    assert all(note.isprintable() for note in submission.notes)


def tried(patch: bytes) -> None:
    try:
        assert_plain(apply_patch(BASE, patch, LIMITS))
    except SubmissionRefused as refusal:
        assert str(refusal).isprintable() and len(str(refusal)) < 2_000


@given(st.lists(LINES, max_size=14).map("\n".join), st.sampled_from(["\n", "", "\r\n"]))
def test_any_lines_of_a_patch(text: str, end: str) -> None:
    tried((text + end).encode("utf-8", "surrogatepass"))


@given(st.binary(max_size=300))
def test_any_bytes_as_a_patch(data: bytes) -> None:
    tried(data)


GOOD_NAMES = st.lists(st.sampled_from(["a", "b c", "é", "d.py", "x", "-rf", "日本"]), min_size=1, max_size=3).map(
    "/".join
)
CONTENTS = st.lists(
    st.sampled_from(["one\n", "two\n", "three\n", "\n", "-x\n", "\\ x\n", "@@\n", "é\r\n", "\f"]), max_size=9
)
TREES = st.dictionaries(
    GOOD_NAMES, st.builds(TreeFile, CONTENTS.map(lambda lines: "".join(lines).encode()), st.booleans()), max_size=5
).map(Tree)


@given(TREES, TREES)
def test_a_rendered_patch_makes_the_tree(base: Tree, tree: Tree) -> None:
    for path in (*base, *tree):
        assume(not any(other.startswith(f"{path}/") for other in (*base, *tree)))
    assert dict(apply_patch(base, render_patch(base, tree).encode()).tree) == dict(tree)


@given(TREES, TREES, st.data())
def test_a_damaged_patch_is_refused_or_another_tree(base: Tree, tree: Tree, data: st.DataObject) -> None:
    patch = bytearray(render_patch(base, tree).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        if patch:
            place = data.draw(st.integers(0, len(patch) - 1))
            patch[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with suppress(SubmissionRefused):
        assert_plain(apply_patch(base, bytes(patch), LIMITS))


KINDS = [
    tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE,
    tarfile.CHRTYPE, tarfile.GNUTYPE_SPARSE, tarfile.CONTTYPE, b"g", b"x", b"Z",
]  # fmt: skip


class Archive(bytes):
    """A tar file that is shown by its size: hypothesis warns of longer texts."""

    def __repr__(self) -> str:
        return f"<{len(self)} bytes of tar>"


@st.composite
def archives(draw: st.DrawFn) -> Archive:
    buffer = io.BytesIO()
    form = draw(st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT]))
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for _ in range(draw(st.integers(0, 6))):
            member = tarfile.TarInfo(draw(NAMES) or "x")
            member.type = draw(st.sampled_from(KINDS[:6] if draw(st.booleans()) else KINDS))
            member.linkname, member.mode = draw(NAMES), draw(st.sampled_from([0o644, 0o755, 0, 0o7777]))
            content = draw(st.binary(max_size=700)) if member.isreg() else b""
            member.size = len(content)
            with suppress(ValueError, UnicodeEncodeError):
                archive.addfile(member, io.BytesIO(content))
    return Archive(buffer.getvalue())


def tried_tar(data: bytes, step: int) -> None:
    try:
        assert_plain(read_tar((data[at : at + step] for at in range(0, len(data), step)), LIMITS))
    except SubmissionRefused as refusal:
        assert str(refusal).isprintable() and len(str(refusal)) < 2_000


@given(archives(), st.integers(1, 2_000))
def test_any_archive(data: bytes, step: int) -> None:
    tried_tar(data, step)


@given(archives(), st.data())
def test_any_damaged_archive(data: bytes, more: st.DataObject) -> None:
    damaged = bytearray(data)
    for _ in range(more.draw(st.integers(1, 4))):
        place = more.draw(st.integers(0, min(len(damaged), 2_048) - 1))
        damaged[place : place + 1] = more.draw(st.binary(min_size=0, max_size=2))
    tried_tar(bytes(damaged), 512)


@given(st.binary(max_size=1_100))
def test_any_bytes_as_an_archive(data: bytes) -> None:
    tried_tar(data, 100)
