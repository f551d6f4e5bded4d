"""The examples of docs/guide/python.md print what the page shows."""

import doctest
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "guide" / "python.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples():
    """The page's blocks of Python with prompts, as one session. Other lines become empty, so that numbers of lines are
    the page's."""
    text, inside = [], False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            inside = line == "```python"
            line = ""
        text.append(line if inside else "")
    return "\n".join(text) + "\n"


def test_the_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test").symlink_to(ROOT / "test")
    found = doctest.DocTestParser().get_doctest(examples(), {}, "python.md", str(PAGE), 0)
    assert len(found.examples) > 15
    output = []
    results = doctest.DocTestRunner(optionflags=FLAGS).run(found, out=output.append)
    assert results.failed == 0, "".join(output)
