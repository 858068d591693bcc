"""What a surrogate must beat: simple predictors fitted on the same training rows."""

from surrogate.validation.baselines.catalogue import BASELINES, baseline
from surrogate.validation.baselines.protocol import Baseline, BaselineAnswer

__all__ = ["BASELINES", "Baseline", "BaselineAnswer", "baseline"]
