"""Claims and what a run found: one section of RESULTS.md per experiment, written by its run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

HEAD = """# The paper's claims, and what was found

Each section is written by a run of `python -m experiments`; do not edit. The paper: McCarter, The Kernel Density
Integral Transformation, TMLR 2023. Each verdict is about the run that its section names."""


@dataclass(frozen=True)
class Claim:
    """A claim, what was found, and whether the claim holds."""

    claimed: str
    found: str
    holds: bool

    @property
    def verdict(self) -> str:
        return "yes" if self.holds else "NO"


def plain(claims: Sequence[Claim]) -> str:
    """Format for a terminal: two lines per claim, whatever its length."""
    return "\n".join(f"{claim.verdict:>3}  {claim.claimed}\n     {claim.found}" for claim in claims)


def markdown(claims: Sequence[Claim]) -> str:
    """Format as a table in Markdown."""
    lines = [f"| {claim.claimed} | {claim.found} | {claim.verdict} |" for claim in claims]
    return "\n".join(["| claimed | found | holds |", "| --- | --- | --- |", *lines])


def write_section(page: Path, title: str, body: str, order: Iterable[str]) -> None:
    """Write the section of one experiment into the page, in that order of titles; other sections stay as they are."""
    found = sections(page) if page.exists() else {}
    found[title] = body
    written = [f"## {name}\n\n{found[name]}" for name in order if name in found]
    page.write_text("\n\n".join([HEAD, *written]) + "\n", encoding="utf-8")


def sections(page: Path) -> dict[str, str]:
    """Read the sections of the page, by title."""
    _, *parts = page.read_text(encoding="utf-8").split("\n## ")
    found = (part.partition("\n\n") for part in parts)
    return {title: body.strip() for title, _, body in found}
