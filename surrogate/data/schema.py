"""The column types, under the name by which users of data look for them; they live in `surrogate.core.schema`."""

from surrogate.core.schema import RAGGED, Column, Coordinate, Ragged, Role, SampleTable, Schema, Values

__all__ = ["RAGGED", "Column", "Coordinate", "Ragged", "Role", "SampleTable", "Schema", "Values"]
