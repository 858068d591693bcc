"""Whether a simple baseline does better than the surrogate: worth a word, also where the gate does not ask for it."""

from __future__ import annotations

from surrogate.validation.verdict import Verdict


def better_baselines(verdict: Verdict) -> str:
    """Return a sentence that names the baselines with a smaller primary metric than the surrogate's, or an empty text.

    Args:
        verdict: The verdict; its details hold the primary metric and what the baselines reached.
    """
    primary = str(verdict.details.get("primary", ""))
    ours = verdict.metrics.get(primary)
    if ours is None:
        return ""
    found = {name: metrics.get(primary) for name, metrics in verdict.details.get("baselines", {}).items()}
    better = sorted((value, name) for name, value in found.items() if value is not None and value < ours)
    if not better:
        return ""
    listed = ", ".join(f"'{name}' ({value:.3g})" for value, name in better)
    is_are, was = ("baselines are", "were") if len(better) > 1 else ("baseline is", "was")
    asked = [name for _, name in better if name not in verdict.beats]
    gate = f" The gate does not ask to beat {' and '.join(asked)}." if asked else ""
    return (
        f"A simple {is_are} better than the surrogate on the same holdout: {listed} against {ours:.3g} in {primary}, "
        f"and {was} fitted in seconds.{gate}"
    )
