"""What a person may say of a file of molecules: units, sign, level of theory."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from surrogate.data.readers.mapping import Strict, Text, Unit


class MoleculeOptions(Strict):
    """Options of the formats `ani`, `rmd17` and `extxyz`. What is given is believed; what is not, is looked for."""

    length_unit: Unit | None = Field(default=None, description="Unit of the coordinates, such as 'angstrom'.")
    energy_unit: Unit | None = Field(default=None, description="Unit of the energies, such as 'hartree' or 'eV'.")
    force_unit: Unit | None = Field(
        default=None, description="Unit of the forces; that of the energies over that of the coordinates otherwise."
    )
    forces: Literal["forces", "gradients", "none"] | None = Field(
        default=None, description="What the file's forces are; 'none' leaves them out."
    )
    level_of_theory: Text | None = Field(default=None, description="Method and basis of the energies.")
    charge: Annotated[int, Field(ge=-100, le=100)] | None = Field(
        default=None, description="Total charge of every structure; what the file says, or 0, otherwise."
    )
    multiplicity: Annotated[int, Field(ge=1, le=101)] | None = Field(
        default=None, description="2S + 1 of every structure; what the file says, or the lowest, otherwise."
    )
    rows_per_run: Annotated[int, Field(ge=1, le=2**20)] = Field(
        default=1000, description="Structures that are taken in together at most."
    )
