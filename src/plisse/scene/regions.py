"""Parts of a shell whose material differs: hems, patches, painted stiffness."""

from dataclasses import dataclass, replace
from typing import ClassVar

from plisse.core.errors import SceneError
from plisse.core.record import like, table, word
from plisse.scene.materials import Material
from plisse.scene.pins import Selection

VALUES = ("density", "thickness", "E", "nu", "E_bend", "damping", "strain_limit")


@dataclass(frozen=True)
class Region(Selection):
    """A part of a shell with a material of its own: exactly one selection of vertices, or one painted weight."""

    what: ClassVar[str] = "region"
    selectors: ClassVar[tuple[str, ...]] = (*Selection.selectors, "attribute", "weights")

    attribute: str | None = word(
        "painted weights: name of a vertex property in the PLY mesh file, from 0 to 1 (`uchar`, as colours are: 0 to "
        "255)",
        default=None, shown="none",
    )  # fmt: skip
    weights: str | None = word(
        "painted weights: text file with a number from 0 to 1 for each vertex, in the order of the mesh, relative to "
        "the scene; `#` begins a comment",
        default=None, shown="none",
    )  # fmt: skip
    material: Material | None = table(
        Material, "what the region is made of: a preset's name, or a table", default=None, shown="the shell's"
    )
    density: float | None = like(Material, "density", "ρ in the region")
    thickness: float | None = like(Material, "thickness", "τ in the region; counts for the default of `contact.offset`")
    E: float | None = like(Material, "E", "Young's modulus of the membrane in the region")
    nu: float | None = like(Material, "nu", "Poisson's ratio in the region")
    E_bend: float | None = like(Material, "E_bend", "Young's modulus in bending in the region")
    damping: float | None = like(Material, "damping", "damping time in the region")
    strain_limit: float | bool | None = like(
        Material, "strain_limit", "largest principal stretch of triangles that lie inside of the region; `false`: none"
    )

    def check(self) -> None:
        super().check()
        if self.material is None and all(getattr(self, name) is None for name in VALUES):
            raise SceneError(f"A region changes nothing: give material, {', '.join(VALUES[:-1])} or {VALUES[-1]}.")

    def over(self, material: Material) -> Material:
        """The region's material, where the shell's is this one."""
        given = {name: value for name in VALUES if (value := getattr(self, name)) is not None}
        return replace(self.material or material, **given)

    def gives(self, value: str, material: Material) -> bool:
        """Whether a value of a Material, by its name, is the region's own; material: the shell's."""
        if value == "bending_modulus" and material.E_bend is None and self.E is not None:
            return True
        # the onset of a strain limit was checked together with it
        key = {"bending_modulus": "E_bend", "strain_onset": "strain_limit"}.get(value, value)
        return self.material is not None or getattr(self, key) is not None
