"""Bodies that decimation could not make as coarse as a level was to be, and why, in words."""

from __future__ import annotations

from dataclasses import dataclass

MOST = 1.5  # times the vertices that were asked for with which a level can still stand for what was asked

CURVED = "lie where the surface bends too much for larger triangles"
# what the edges do that a rule of decimation holds back
WORDS = {
    "group": "lead across the border of a pin or a region, which keeps its vertices",
    "locked": "join vertices that have to stay, such as corners and ends of seams",
    "bridge": "lead from one boundary, seam or border to another",
    "ear": "lie in narrow tips of boundaries, seams or borders",
    "link": "go around thin parts or holes, which would be pinched shut",
    "hub": "end at vertices with too many neighbours",
    "fold": CURVED,
    "sliver": "could only go if thin triangles were left behind",
    "inverted": CURVED,
    "stretched": CURVED,
    "pattern": "could only go if triangles of the rest shape were folded or thin",
}
OTHER = "cannot go"  # where a rule has no words of its own


@dataclass(frozen=True)
class Miss:
    """A body with more vertices on a level than it was to have.

    body: its number. vertices: what it has; wanted: what it was to have; finest: what its finest mesh has. refused: of
    each rule, how many of the remaining edges it holds back.
    """

    body: int
    level: int
    vertices: int
    wanted: int
    finest: int
    refused: dict[str, int]

    @property
    def is_grave(self) -> bool:
        """Whether the level is too fine to stand for what was asked for."""
        return self.vertices > MOST * self.wanted

    @property
    def reason(self) -> str:
        """What holds most of the remaining edges: "most of the remaining edges go around …"."""
        counts: dict[str, int] = {}
        for rule, count in self.refused.items():
            words = WORDS.get(rule, OTHER)
            counts[words] = counts.get(words, 0) + count
        words = max(counts, key=lambda each: counts[each], default=OTHER)
        most = 2 * counts.get(words, 0) > sum(counts.values())
        return f"{'most' if most else 'many'} of the remaining edges {words}"
