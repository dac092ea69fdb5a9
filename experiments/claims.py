"""What is claimed and what a run found: a section of RESULTS.md for each experiment, written by its run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

HEAD = """# The paper's claims, and what was found

Written by the runs of `python -m experiments`, a section by each; do not edit. McCarter, The Kernel Density Integral
Transformation, TMLR 2023. What is said of a claim is said of the run that the section names."""


@dataclass(frozen=True)
class Claim:
    """What is claimed, what was found, and whether that bears it out."""

    claimed: str
    found: str
    holds: bool

    @property
    def verdict(self) -> str:
        return "yes" if self.holds else "NO"


def plain(claims: Sequence[Claim]) -> str:
    """For a terminal: two lines a claim, whatever its length."""
    return "\n".join(f"{claim.verdict:>3}  {claim.claimed}\n     {claim.found}" for claim in claims)


def markdown(claims: Sequence[Claim]) -> str:
    lines = [f"| {claim.claimed} | {claim.found} | {claim.verdict} |" for claim in claims]
    return "\n".join(["| claimed | found | holds |", "| --- | --- | --- |", *lines])


def write_section(page: Path, title: str, body: str, order: Iterable[str]) -> None:
    """Put the section of one experiment into the page, in that order of titles, and leave the others as they are."""
    found = sections(page) if page.exists() else {}
    found[title] = body
    written = [f"## {name}\n\n{found[name]}" for name in order if name in found]
    page.write_text("\n\n".join([HEAD, *written]) + "\n", encoding="utf-8")


def sections(page: Path) -> dict[str, str]:
    _, *parts = page.read_text(encoding="utf-8").split("\n## ")
    found = (part.partition("\n\n") for part in parts)
    return {title: body.strip() for title, _, body in found}
