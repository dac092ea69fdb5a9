"""Reads Markdown pages for tests: examples, blocks of code, links and their targets."""

import doctest
import re

from paths import ROOT as ROOT

FENCE = re.compile(r"^( *)(```+)([^\n]*)\n(.*?)^\1\2 *$", re.DOTALL | re.MULTILINE)


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text, language):
    """The fenced blocks of code in a language."""
    return [match[4] for match in FENCE.finditer(text) if match[3].strip() == language]


def run_examples(name):
    """Run all examples of a page in order, including those within directives, and return their number."""
    found = "\n".join(blocks(read(name), "pycon") + blocks(read(name), "{eval-rst}"))
    return run_text(found, name, {})


def run_blocks(name):
    """Run the Python blocks of a page in order, and return the names that they define."""
    names = {}
    for block in blocks(read(name), "python"):
        exec(compile(block, name, "exec"), names)
    return names


def run_text(text, name, names):
    """Run the examples of a text; `names` are the names that are defined before."""
    examples = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    messages = []
    outcome = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples, out=messages.append)
    assert outcome.failed == 0, "".join(messages)
    return outcome.attempted


def prose(text):
    """Return a page without its code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^    .*$", "", FENCE.sub("", text), flags=re.MULTILINE))


def links(text):
    """The targets of links and pictures within the repository: pairs of a path ("" is the same page) and an anchor."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(text).replace("\n", " "))
    inner = [target for target in targets if "://" not in target and not target.startswith("mailto:")]
    return [(path, anchor) for path, _, anchor in (target.partition("#") for target in inner)]


def anchors(text):
    """The anchors that code hosts and Sphinx give to headings."""
    titles = re.findall(r"^#+ (.*)$", FENCE.sub("", text), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.strip().lower()).replace(" ", "-") for title in titles}


def toctrees(text):
    """The entries of the tables of contents."""
    found = []
    for block in blocks(text, "{toctree}"):
        found += [line.strip() for line in block.splitlines() if line.strip() and not line.startswith(":")]
    return found
