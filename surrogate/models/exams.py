"""Families that are asked something else than they learn from: a detector learns waveforms and is asked strain.

Such a family turns samples into an exam: a table whose inputs are what a surrogate of it is asked, whose outputs are
the known answers, and whose facts are what measures need beside. Calibration, validation and prediction see the exam's
columns; fitting and training see the samples themselves.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from surrogate.core.schema import SampleTable
from surrogate.models.protocols import Family, Transforms


@runtime_checkable
class HasExam(Protocol):
    """What a family offers that is asked something else than it learns from."""

    def exam(self, transforms: Transforms, table: SampleTable, seed: int) -> SampleTable:
        """Return questions with known answers, made of samples.

        Args:
            transforms: What `fit` gave.
            table: N samples as a simulator made them.
            seed: Of whatever is drawn. Equal samples give equal questions.

        Returns:
            Any number of rows in the same columns for every table; those of one sample, or of one group of samples, are
            of one group.
        """
        ...


def exam_table(family: Family, transforms: Transforms, table: SampleTable, seed: int) -> SampleTable:
    """Return what a family is examined by: the samples themselves, unless it has an exam of its own."""
    return family.exam(transforms, table, seed) if isinstance(family, HasExam) else table
