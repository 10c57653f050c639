"""Unified diffs that people wrote by hand."""

from __future__ import annotations

from teamster.rehearsal.diffs import names_in, recounted

DIFF = """\
--- a/one.md\t2026-01-14
+++ b/one.md
@@ -1,9 +1 @@ a heading
 first

--- a comment of SQL
+zweite
@@ -7 +7 @@
-x
--- /dev/null
+++ b/two.md
@@ -0,0 +1 @@
+hello"""


def test_the_files_of_a_diff_are_named_once_each_side() -> None:
    """A removed line that looks like a head is none."""
    assert names_in(DIFF) == ("a/one.md", "b/one.md", "/dev/null", "b/two.md")
    assert names_in("--- a/x\n+++ b/x\n") == ()
    assert names_in("hello") == ()


def test_the_lines_of_each_part_are_counted_anew() -> None:
    """Also those of context that lost their blank."""
    assert recounted(DIFF).splitlines() == [
        "--- a/one.md\t2026-01-14",
        "+++ b/one.md",
        "@@ -1,3 +1,3 @@",
        " first",
        " ",
        "--- a comment of SQL",
        "+zweite",
        "@@ -7,1 +7,0 @@",
        "-x",
        "--- /dev/null",
        "+++ b/two.md",
        "@@ -0,0 +1,1 @@",
        "+hello",
    ]
    assert recounted(recounted(DIFF)) == recounted(DIFF)
