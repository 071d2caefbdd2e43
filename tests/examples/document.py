"""Code blocks of the project's documents."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```([\w,]*)\n(.*?)^```$", re.M | re.S)


def blocks(name, heading):
    """Returns the code blocks below a heading of a document, up to the next heading of its level or a higher one, as
    (language, text)."""
    text = (ROOT / "docs" / name).read_text()
    # A code block may contain lines that look like headings.
    blanked = BLOCK.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text)
    start = re.search(rf"^(#+) {re.escape(heading)}$", blanked, re.M)
    if not start:
        raise AssertionError(f"{name} has no heading {heading!r}")
    end = re.compile(rf"^#{{1,{len(start[1])}}} ", re.M).search(blanked, start.end())
    return BLOCK.findall(text[start.end():end.start() if end else len(text)])


def single(found, language):
    """Returns the text of the only block of a language."""
    texts = [text for kind, text in found if kind == language]
    if len(texts) != 1:
        raise AssertionError(f"{len(texts)} blocks of {language or 'no language'}, not 1")
    return texts[0]
