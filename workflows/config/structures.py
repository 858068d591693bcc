"""The section `[space]`: molecules by name and structures in files, instead of inputs that are single numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from surrogate.core.errors import ConfigError, InputError
from surrogate.core.structure import Structure, problem
from surrogate.design.atoms import named_molecule
from surrogate.design.structures import Grouping, StructureSet
from surrogate.design.xyz import read_structures
from workflows.config.parts import FileName, Section, Text

Charge = Annotated[int, Field(ge=-100, le=100)]
Multiplicity = Annotated[int, Field(ge=1, le=101)]


class SpaceSection(Section):
    """Inputs that are structures of atoms."""

    kind: Literal["structures"] = Field(description="Kind of the inputs: 'structures'.")
    molecules: tuple[Text, ...] = Field(
        default=(), description="Molecules of the G2 set by name, such as 'CH4', 'H2O' or 'CH3CH2OH'."
    )
    files: tuple[FileName, ...] = Field(
        default=(), description="XYZ or extended XYZ files with structures, in Å; relative to the campaign file."
    )
    charge: Charge | None = Field(
        default=None, description="Total charge of every structure; what the files say, or 0, when left out."
    )
    multiplicity: Multiplicity | None = Field(
        default=None, description="2S + 1 of every structure; what the files say, or the lowest, when left out."
    )
    group: Grouping = Field(
        default="molecule",
        description="What is never divided between training and holdout: all structures of a 'molecule', or each "
        "'structure' by itself.",
    )

    @model_validator(mode="after")
    def _check(self) -> SpaceSection:
        for key in ("molecules", "files"):
            names = getattr(self, key)
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise ValueError(f"'{key}' names {twice[0]!r} twice")
        return self


def read_space(
    section: SpaceSection, where: str, resolve: Callable[[str], Path]
) -> tuple[StructureSet, tuple[Structure, ...]]:
    """Return the molecules of a campaign, and all structures of its files.

    Args:
        section: The section.
        where: Name of the campaign file, for sentences.
        resolve: Turns a path of the campaign file into the file that it means.

    Returns:
        The set, with one structure of each molecule; the structures by name and of the files, in order.

    Raises:
        ConfigError: If a molecule is not known, a file cannot be read, or a structure is impossible; the sentence names
            the file.
        MissingExtraError: If ASE is not installed.
    """
    if not section.molecules and not section.files:
        raise ConfigError(f"In {where}, [space] names no structures; give 'molecules', 'files' or both.")
    try:
        found = [named_molecule(name, section.charge or 0, section.multiplicity) for name in section.molecules]
        for name in section.files:
            path = resolve(name)
            read = read_structures([path], charge=section.charge, multiplicity=section.multiplicity)
            for number, structure in enumerate(read, 1):
                impossible = problem(structure)
                if impossible is not None:
                    raise ConfigError(f"{path}, structure {number}: {impossible}")
            found += read
        return StructureSet(_one_of_each(found), section.group), tuple(found)
    except InputError as error:
        raise ConfigError(f"In {where}, [space]: {error}") from error


def _one_of_each(structures: Sequence[Structure]) -> tuple[Structure, ...]:
    """Return the first structure of each molecule."""
    first: dict[str, Structure] = {}
    for structure in structures:
        first.setdefault(structure.name, structure)
    return tuple(first.values())
