"""Pages of Markdown as the tests read them: examples that run, blocks of code, links and what they lead to."""

import doctest
import re

from paths import ROOT as ROOT

FENCE = re.compile(r"^( *)(```+)([^\n]*)\n(.*?)^\1\2 *$", re.DOTALL | re.MULTILINE)


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text, language):
    """The blocks of code in a language, as they are fenced."""
    return [match[4] for match in FENCE.finditer(text) if match[3].strip() == language]


def run_examples(name):
    """Run all examples of a page, one after the other in the root of the repository; returns how many there are.

    Those of directives, which Sphinx shows as they are, are examples too.
    """
    found = "\n".join(blocks(read(name), "pycon") + blocks(read(name), "{eval-rst}"))
    return run_text(found, name, {})


def run_blocks(name):
    """Run the blocks of Python of a page as if they were pasted one after the other; what they have defined."""
    names = {}
    for block in blocks(read(name), "python"):
        exec(compile(block, name, "exec"), names)
    return names


def run_text(text, name, names):
    """Run the examples of a text; `names` are what it knows from before."""
    examples = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    messages = []
    outcome = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples, out=messages.append)
    assert outcome.failed == 0, "".join(messages)
    return outcome.attempted


def prose(text):
    """A page without code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^    .*$", "", FENCE.sub("", text), flags=re.MULTILINE))


def links(text):
    """Where links and pictures lead, but for other sites: pairs of a path, empty for the page itself, and an anchor."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(text).replace("\n", " "))
    inner = [target for target in targets if "://" not in target and not target.startswith("mailto:")]
    return [(path, anchor) for path, _, anchor in (target.partition("#") for target in inner)]


def anchors(text):
    """The names that code hosts and Sphinx give to headings."""
    titles = re.findall(r"^#+ (.*)$", FENCE.sub("", text), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.strip().lower()).replace(" ", "-") for title in titles}


def toctrees(text):
    """The entries of the tables of contents."""
    found = []
    for block in blocks(text, "{toctree}"):
        found += [line.strip() for line in block.splitlines() if line.strip() and not line.startswith(":")]
    return found
