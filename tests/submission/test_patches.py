"""What is accepted as a patch, and that everything else is refused whole."""

from __future__ import annotations

import tracemalloc
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentgrade.errors import SubmissionRefused
from pytest_agentgrade.submission.patches import apply_patch
from pytest_agentgrade.submission.paths import IntakeLimits
from pytest_agentgrade.submission.render import render_patch
from pytest_agentgrade.submission.tree import Origin, TreeFile
from tests.submission.trees import BASE, tree

GOOD = b"""diff --git a/pkg/a.py b/pkg/a.py
index 1111111..2222222 100644
--- a/pkg/a.py
+++ b/pkg/a.py
@@ -1,4 +1,5 @@
 line 1
-line 2
+line two
+line two and a half
 line 3
 line 4
@@ -18,3 +19,2 @@ class X:
 line 18
-line 19
 line 20
"""
CHANGED = BASE["pkg/a.py"].data.replace(b"line 2\n", b"line two\nline two and a half\n", 1).replace(b"line 19\n", b"")


def creation(path: bytes, mode: bytes = b"100644") -> bytes:
    return b"diff --git a/%b b/%b\nnew file mode %b\n--- /dev/null\n+++ b/%b\n@@ -0,0 +1 @@\n+x\n" % (
        path,
        path,
        mode,
        path,
    )


def refused(patch: bytes, match: str, limits: IntakeLimits | None = None) -> None:
    with pytest.raises(SubmissionRefused, match=match) as caught:
        apply_patch(BASE, patch, limits)
    assert str(caught.value).isprintable()


def test_git_style_patch() -> None:
    submission = apply_patch(BASE, GOOD)
    assert submission.tree == tree(pkg__a_py=CHANGED)
    assert submission.origin is Origin.PATCH
    assert submission.notes == ()


def test_plain_unified_diff_with_and_without_prefixes() -> None:
    body = b"".join(GOOD.splitlines(keepends=True)[4:])
    stamps = b"--- a/pkg/a.py\t2026-01-01 00:00:00.000000000 +0000\n+++ b/pkg/a.py\t2026-01-02 00:00:00 +0000\n"
    for head in (stamps, b"diff -ru a/pkg/a.py b/pkg/a.py\n" + stamps, b"--- pkg/a.py\n+++ pkg/a.py\n"):
        assert apply_patch(BASE, head + body).tree == tree(pkg__a_py=CHANGED)


def test_create_delete_rename_copy_and_mode() -> None:
    patch = (
        creation(b"new.py")
        + b"diff --git a/empty b/empty\nnew file mode 100755\nindex 0000000..e69de29\n"
        + b"diff --git a/README.md b/README.md\ndeleted file mode 100644\n--- a/README.md\n+++ /dev/null\n"
        + b"@@ -1,3 +0,0 @@\n-# Title\n-\n-Text.\n"
        + b"diff --git a/pkg/end.py b/pkg/last.py\nsimilarity index 90%\n"
        + b"rename from pkg/end.py\nrename to pkg/last.py\n"
        + b"--- a/pkg/end.py\n+++ b/pkg/last.py\n@@ -1,2 +1,2 @@\n first\n-last\n\\ No newline at end of file\n+last\n"
        + b"diff --git a/run.sh b/again.sh\nsimilarity index 100%\ncopy from run.sh\ncopy to again.sh\n"
        + b"diff --git a/run.sh b/run.sh\nold mode 100755\nnew mode 100644\n"
    )
    assert apply_patch(BASE, patch).tree == BASE.with_files(
        {
            "new.py": TreeFile(b"x\n"),
            "empty": TreeFile(b"", executable=True),
            "README.md": None,
            "pkg/end.py": None,
            "pkg/last.py": TreeFile(b"first\nlast\n"),
            "again.sh": BASE["run.sh"],
            "run.sh": TreeFile(BASE["run.sh"].data),
        }
    )


def test_names_swapped_by_two_renames() -> None:
    section = b"diff --git a/%b b/%b\nsimilarity index 100%%\nrename from %b\nrename to %b\n"
    there, back = (b"README.md", b"run.sh"), (b"run.sh", b"README.md")
    swapped = apply_patch(BASE, section % (there * 2) + section % (back * 2)).tree
    assert swapped == BASE.with_files({"README.md": BASE["run.sh"], "run.sh": BASE["README.md"]})


def test_names_as_git_quotes_them() -> None:
    quoted = b'diff --git "a/\\303\\251.py" "b/\\303\\251.py"\nnew file mode 100644\n--- /dev/null\n'
    quoted += b'+++ "b/\\303\\251.py"\n@@ -0,0 +1 @@\n+x\n'
    assert apply_patch(BASE, quoted).tree["é.py"] == TreeFile(b"x\n")


def test_mail_by_format_patch_is_read_with_a_note() -> None:
    mail = b"From 123 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\n---\n pkg/a.py | 3 ++-\n\n" + GOOD
    submission = apply_patch(BASE, mail + b"-- \n2.39.5\n\n")
    assert submission.tree == tree(pkg__a_py=CHANGED)
    assert submission.notes == ("text before the first file of the patch was passed over",)


def test_crlf_everywhere_is_the_same_patch_and_crlf_somewhere_is_refused() -> None:
    submission = apply_patch(BASE, GOOD.replace(b"\n", b"\r\n"))
    assert submission.tree == apply_patch(BASE, GOOD).tree
    assert "CRLF" in submission.notes[0]
    lines = GOOD.splitlines(keepends=True)
    for number in range(len(lines)):
        mixed = b"".join([*lines[:number], lines[number].replace(b"\n", b"\r\n"), *lines[number + 1 :]])
        try:
            changed = apply_patch(BASE, mixed).tree.changed_paths(BASE)
        except SubmissionRefused:
            continue
        # Only a new line's content and the free text of a hunk's heading may end with CR.
        assert lines[number].startswith((b"+line", b"@@ -18,3 +19,2 @@ class")), lines[number]
        assert changed == ("pkg/a.py",)


def test_crlf_files_are_patched_with_lf_headers() -> None:
    base = tree(pkg__a_py=b"one\r\ntwo\r\n")
    patch = b"--- a/pkg/a.py\n+++ b/pkg/a.py\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+three\r\n"
    assert apply_patch(base, patch).tree["pkg/a.py"].data == b"one\r\nthree\r\n"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (b"../up.py", r"'\.\.' as a part"),
        (b"pkg/../../up.py", r"'\.\.' as a part"),
        (b"/etc/passwd", "is absolute"),
        (b".git/hooks/post-checkout", "git's own folder"),
        (b"pkg/.git/config", "git's own folder"),
        (b".GIT/config", "git's own folder"),
        (b".Git", "git's own folder"),
        (b"git~1/config", "git's own folder"),
        (b".git /config", "spaces at the edge"),
        (b".git./config", "git's own folder"),
        (b".git::$INDEX_ALLOCATION/config", "git's own folder"),
        (".g\u200cit/config".encode(), "do not print"),
        ("\uff0egit/config".encode(), "git's own folder"),
        (".g\u0456t/config".encode(), "git's own folder"),
        (b"a\x1b[31mb.py", "do not print"),
        ("a\u202eb.py".encode(), "do not print"),
        (b'a\\b.py', "quote or a backslash"),
        (b"a//b.py", "'' as a part"),
        (b"./a.py", r"'\.' as a part"),
        (b"x" * 300, "longer than 240 bytes"),
        (b"\xff\xfe.py", "is not UTF-8"),
    ],
)  # fmt: skip
def test_odd_paths_are_refused(path: bytes, why: str) -> None:
    refused(creation(path), why)
    refused(GOOD + creation(path), why)
    plain = b"--- /dev/null\n+++ b/" + path + b"\n@@ -0,0 +1 @@\n+x\n"
    refused(plain, why)


@pytest.mark.parametrize("quoted", ["a\\nb", 'a\\"b', "a\\\\b", "a\\033[1m", "a\\377", "..\\057x", "a\\x41", "a\\8"])
def test_odd_names_in_git_quotes_are_refused(quoted: str) -> None:
    name = quoted.encode()
    patch = b'diff --git "a/%b" "b/%b"\nnew file mode 100644\n--- /dev/null\n+++ "b/%b"\n@@ -0,0 +1 @@\n+x\n'
    refused(patch % (name, name, name), "path|not understood")


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (creation(b"link", b"120000"), "'link' is a symbolic link"),
        (creation(b"sub", b"160000"), "'sub' is a submodule"),
        (creation(b"dev", b"060644"), "'dev' is of mode '060644'"),
        (b"diff --git a/run.sh b/run.sh\nold mode 100755\nnew mode 120000\n", "'run.sh' is a symbolic link"),
        (GOOD.replace(b"2222222 100644", b"2222222 120000"), "'pkg/a.py' is a symbolic link"),
        (GOOD.replace(b" line 3\n", b" line 33\n"), "hunk 1 of 'pkg/a.py' does not match the workspace at line 1"),
        (GOOD.replace(b"@@ -18,3 +19,2", b"@@ -17,3 +18,2"), "hunk 2 of 'pkg/a.py' does not match"),
        (GOOD.replace(b"@@ -18,3 +19,2", b"@@ -2,3 +2,2"), "hunk 2 of 'pkg/a.py' does not match"),
        (b"--- a/pkg/a.py\n+++ b/pkg/a.py\n@@ -900,0 +901 @@\n+x\n", "hunk 1 of 'pkg/a.py' does not match"),
        (GOOD.replace(b"a/pkg/a.py", b"a/pkg/z.py"), "not understood"),
        (GOOD.replace(b"pkg/a.py", b"pkg/none.py"), "changes 'pkg/none.py', which is not there"),
        (creation(b"pkg/a.py"), "creates 'pkg/a.py', which is there already"),
        (creation(b"run.sh/x"), "both a file and the folder"),
        (GOOD + GOOD, "changed in two places"),
        (creation(b"n.py") + creation(b"n.py"), "changed in two places"),
        (GOOD + b"diff --git a/pkg/a.py b/b.py\nsimilarity index 100%\nrename from pkg/a.py\nrename to b.py\n",
         "changed in two places"),
        (b"diff --git a/run.sh b/run.sh\ndeleted file mode 100755\n", "leaves some of its content"),
        (GOOD + b"diff --git a/b\n", "not understood"),
        (GOOD + b"diff --git a/run.sh b/run.sh\n", "changes nothing"),
        (GOOD + b"diff --git a/run.sh b/run.sh\nindex 111111..222222 100755\n", "changes nothing"),
        (GOOD + b"diff --cc run.sh\n", "belongs to no change"),
        (GOOD + b"Only in b/pkg: c.py\n", "belongs to no change"),
        (GOOD + b"rubbish\n", "line 16 of the patch belongs to no change of a file: 'rubbish'"),
        (GOOD + b"rubbish\n" + creation(b"n.py"), "belongs to no change"),
        (GOOD + b"\n\n\n\n", "belongs to no change"),
        (GOOD + b" line 21\n", "belongs to no change"),
        (GOOD.replace(b" line 20\n", b""), "line 15 .* hunk 2 is not complete"),
        (GOOD[:-1], "does not end with a line break"),
        (GOOD.replace(b"@@ -1,4 +1,5 @@", b"@@ -1,4 +1,5"), "is no hunk header"),
        (GOOD.replace(b"@@ -1,4 +1,5 @@", b"@@ -1,99999999999 +1,5 @@"), "is no hunk header"),
        (GOOD.replace(b"index 1111111..2222222 100644\n", b"new mode 100755\n"), "half a change of mode"),
        (GOOD.replace(b"index 1111111", b"index zzz"), "no index line"),
        (GOOD.replace(b"+++ b/pkg/a.py", b"+++ b/run.sh"), "do not name the files"),
        (GOOD.replace(b"+++ b/pkg/a.py\n", b""), "should start with '\\+\\+\\+ '"),
        (b"diff --git a/run.sh b/run.sh\nindex 1111..2222 100755\nGIT binary patch\nliteral 0\nHcmV?d00001\n\n",
         "binary changes are not accepted"),
        (b"diff --git a/x b/x\nnew file mode 100644\nBinary files /dev/null and b/x differ\n", "binary changes"),
        (b"just some text\n", "holds text but no change"),
        (b"--- a/run.sh\n+++ b/pkg/a.py\n@@ -1 +1 @@\n-x\n+y\n", "into 'pkg/a.py'"),
        (b"--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+x\n", "change of nothing"),
        (b"diff --git run.sh run.sh\n--- run.sh\n+++ run.sh\n@@ -1 +1 @@\n-x\n+y\n", "not understood"),
    ],
)  # fmt: skip
def test_refused_whole(patch: bytes, why: str) -> None:
    refused(patch, why)


def test_line_said_to_have_no_end_in_the_middle() -> None:
    patch = b"--- a/pkg/end.py\n+++ b/pkg/end.py\n@@ -1 +1,2 @@\n first\n+x\n\\ No newline at end of file\n"
    refused(patch, "text follows a line")


def test_limits() -> None:
    refused(GOOD, "the patch has .* bytes, 100 are allowed", IntakeLimits(patch_bytes=100))
    refused(creation(b"a") + creation(b"b"), "more than 1 files", IntakeLimits(files=1))
    refused(creation(b"a"), "6 files, 5 are allowed", IntakeLimits(files=5))
    refused(GOOD, "'pkg/a.py' would have", IntakeLimits(file_bytes=50))


def test_many_copies_do_not_fill_memory() -> None:
    base = tree(big=b"x" * 900_000 + b"\n")
    section = b"diff --git a/big b/c%d\ncopy from big\ncopy to c%d\n--- a/big\n+++ b/c%d\n@@ -0,0 +1 @@\n+%d\n"
    patch = b"".join(section % ((number,) * 4) for number in range(2_000))
    tracemalloc.start()
    with pytest.raises(SubmissionRefused, match="more than 33554432 bytes"):
        apply_patch(base, patch)
    assert tracemalloc.get_traced_memory()[1] < 100 << 20
    tracemalloc.stop()


def test_inflating_patch_is_never_inflated() -> None:
    import base64

    packed = base64.b85encode(zlib.compress(bytes(64 << 20)))[:3_000]
    patch = b"diff --git a/x b/x\nnew file mode 100644\nindex 000000..111111\nGIT binary patch\nliteral 67108864\n"
    tracemalloc.start()
    refused(patch + b"z" + packed + b"\n\n", "binary")
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_bytecode_is_left_out_with_a_note() -> None:
    submission = apply_patch(BASE, creation(b"pkg/__pycache__/a.cpython-311.pyc") + creation(b"x.so.1"))
    assert submission.tree == BASE
    assert submission.notes == (
        "left out 2 compiled or cache file(s): pkg/__pycache__/a.cpython-311.pyc, x.so.1",
    )  # fmt: skip


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_damaged_patches_are_refused_or_change_only_what_they_name(data: st.DataObject) -> None:
    target = BASE.with_files({"pkg/a.py": TreeFile(CHANGED), "README.md": None, "n/w.py": TreeFile(b"1\n2")})
    patch = bytearray(render_patch(BASE, target).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(patch) - 1))
        end = data.draw(st.integers(start, min(len(patch), start + 40)))
        patch[start:end] = data.draw(st.sampled_from([b"", b"\n", b"-", b"+x\n", b"@@ -1 +1 @@\n", b"diff ", b"\xff"]))
        if not patch:
            return
    try:
        result = apply_patch(BASE, bytes(patch)).tree
    except SubmissionRefused as error:
        assert str(error).isprintable()
    else:
        text = bytes(patch).decode("utf-8", "replace")
        assert all(path in text for path in result.changed_paths(BASE))
