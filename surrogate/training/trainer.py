"""The loop over members and epochs: early stopping on tune, best weights kept, checkpoints, a clean stop on request."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from surrogate.core.errors import SurrogateError, TrainingError
from surrogate.core.identity import digest
from surrogate.training.checkpoint import Checkpoint, CheckpointFolder, array_list, list_arrays, pack, unpack
from surrogate.training.config import TrainConfig
from surrogate.training.group import Group
from surrogate.training.input_pipeline import step_keys
from surrogate.training.progress import ProgressLog
from surrogate.training.state import Member, State, Weights, state_from_json
from surrogate.training.steps import Evaluator, Stepper


class Drained(SurrogateError):  # noqa: N818 - a requested stop is not an error of anybody's
    """Training was asked to stop, wrote a checkpoint and left; it can go on from there."""

    exit_code = 75


def member_seed(seed: int, member: int) -> int:
    """Return the seed of a member, below 2⁵³; members of different seeds never share one in practice."""
    return int(digest("member", seed, member)[:13], 16)


class Trainer:
    """Trains the members of an ensemble one after the other."""

    def __init__(
        self,
        stepper: Stepper,
        evaluator: Evaluator,
        initial: Callable[[int], Weights],
        config: TrainConfig,
        group: Group,
        *,
        folder: CheckpointFolder,
        key: str,
        log: ProgressLog,
        stop_requested: Callable[[], bool],
    ) -> None:
        """Prepare.

        Args:
            stepper: Takes steps.
            evaluator: Looks at the tune rows.
            initial: Seed → initial weights of a member.
            config: How to train.
            group: The ranks.
            folder: Where checkpoints are; used by rank 0 only.
            key: Identity of the job, so that no other job's checkpoint is taken up.
            log: Progress.
            stop_requested: Whether this rank was asked to stop.
        """
        self._stepper, self._evaluator, self._initial = stepper, evaluator, initial
        self._config, self._group, self._folder, self._key = config, group, folder, key
        self._log, self._stop_requested = log, stop_requested
        self._saved = time.monotonic()
        self._calls = 0
        self._pace = (0.0, 0)
        self._shortened = False
        per_call = max(1, round(config.steps_per_call / stepper.plan.steps))
        self._epochs_per_call = min(per_call, config.epochs)

    def train(self, members: int, seed: int) -> list[Member]:
        """Train all members, or go on where a checkpoint says.

        Args:
            members: How many.
            seed: The job's seed.

        Raises:
            Drained: If a rank was asked to stop.
            IntegrityError: If checkpoints are there and none is whole.
            TrainingError: If a loss is not finite, or ranks ended with different weights.
        """
        done: list[Member] = []
        for number in range(members):
            stored = self._share(self._folder.member(number) if self._group.rank == 0 else None)
            if stored is not None and stored.record["key"] == self._key:
                done.append(Member(array_list("weights", stored.arrays), state_from_json(stored.record["state"])))
                continue
            limit = 0.0
            if self._config.max_seconds:
                spent = sum(member.state.spent for member in done)
                limit = max(0.1, (self._config.max_seconds - spent) / (members - number))
            done.append(self._train_member(number, member_seed(seed, number), limit))
        return done

    def _share(self, content: bytes | None) -> Checkpoint | None:
        """Return rank 0's checkpoint on every rank, or None when there is none."""
        shared = self._group.share_bytes(content)
        return unpack(shared, "of rank 0") if shared else None

    def _begin(self, number: int, seed: int) -> tuple[State, Weights]:
        """Set up a member, from a checkpoint when there is one; return its state and best weights."""
        content = None
        if self._group.rank == 0:
            content, damaged = self._folder.newest()
            for sentence in damaged:
                self._log.write("checkpoint_refused", sentence=f"{sentence} The one before it is used.")
        stored = self._share(content)
        if stored is not None and stored.record["key"] == self._key and stored.record["state"]["member"] == number:
            self._stepper.set_state(array_list("weights", stored.arrays), array_list("optimizer", stored.arrays))
            return state_from_json(stored.record["state"]), array_list("best", stored.arrays)
        self._stepper.reset(self._initial(seed))
        self._stepper.broadcast()
        return State(number, epochs=self._config.epochs), self._stepper.weights()

    def _train_member(self, number: int, seed: int, limit: float) -> Member:
        """Train one member to its end.

        Args:
            number: Number of the member.
            seed: Its seed.
            limit: Seconds that it may take, or 0.
        """
        state, best = self._begin(number, seed)
        self._log.write("member", member=number, epoch=state.epoch, epochs=state.epochs)
        while state.epoch < state.epochs:
            begun, earlier = time.perf_counter(), state.epoch
            best = self._advance(state, best, seed)
            seconds = time.perf_counter() - begun
            state.spent += seconds
            # The first call compiles, and says nothing about the pace.
            if self._calls:
                self._pace = (self._pace[0] + seconds, self._pace[1] + state.epoch - earlier)
            self._calls += 1
            stopping = self._agree(state, limit)
            patience = self._config.patience
            if patience and state.epoch - state.best_epoch >= patience:
                break
            if stopping and state.epoch < state.epochs:
                self._save(state, best)
                raise Drained(
                    f"The training was asked to stop and wrote a checkpoint after epoch {state.epoch} of member "
                    f"{number}. "
                    "Start it again to go on from there."
                )
            # Rank 0 alone looks at its clock: writing needs no other rank.
            if self._group.rank == 0 and time.monotonic() - self._saved > self._config.checkpoint_every_s:
                self._save(state, best)
        self._check_equal(best, number)
        self._finish(Member(best, state))
        return Member(best, state)

    def _advance(self, state: State, best: Weights, seed: int) -> Weights:
        """Do the epochs of one call and look at the tune rows; return the best weights so far."""
        plan, config = self._stepper.plan, self._config
        count = min(self._epochs_per_call, state.epochs - state.epoch)
        batches = plan.epochs((seed,), state.epoch, count, self._group.rank)
        steps = np.arange(count * plan.steps) + state.epoch * plan.steps
        total = state.epochs * plan.steps
        rates = np.asarray([config.learning_rate_at(int(step), total) for step in steps], dtype=np.float32)
        progress = (steps / total).astype(np.float32)
        train = self._stepper.run(batches, rates, step_keys(seed, steps), progress) / len(steps)
        means = self._group.sums({"train": train, "tune": self._evaluator.partial()})
        if not (math.isfinite(means["train"]) and math.isfinite(means["tune"])):
            raise TrainingError(
                f"The loss of member {state.member} is no longer finite after epoch {state.epoch + count}. Train "
                "with a "
                f"smaller learning rate than {config.learning_rate:g}, or with clip_norm."
            )
        state.epoch += count
        history = state.history
        history.epoch.append(state.epoch)
        history.train.append(means["train"])
        history.tune.append(means["tune"])
        history.rate.append(float(rates[-1]))
        self._log.write(
            "epoch", member=state.member, epoch=state.epoch, epochs=state.epochs, train_loss=means["train"],
            tune_loss=means["tune"], learning_rate=float(rates[-1]),
        )  # fmt: skip
        if means["tune"] < state.best:
            state.best, state.best_epoch = means["tune"], state.epoch
            return self._stepper.weights()
        return best

    def _agree(self, state: State, limit: float) -> bool:
        """Let all ranks agree whether to stop, and on the number of epochs when time is short.

        The schedule is shortened and not cut, so that the learning rate still falls to its end.
        """
        planned = 0.0
        if self._group.rank == 0:
            planned = float(self._config.epochs)
            seconds, epochs = self._pace
            if limit and epochs:
                fitting = state.epoch + max(0.0, limit - state.spent) * epochs / seconds
                planned = min(planned, math.floor(fitting))
        shared = self._group.sums({"stop": float(self._stop_requested()), "epochs": planned})
        state.epochs = int(shared["epochs"])
        if state.epochs < self._config.epochs and not self._shortened:
            self._shortened = True
            self._log.write(
                "shortened",
                sentence=f"Members are trained for about {state.epochs} epochs instead of {self._config.epochs}, "
                f"to end within max_seconds = {self._config.max_seconds:g}.",
            )
        return shared["stop"] > 0

    def _record(self, state: State) -> dict[str, Any]:
        """Return the JSON record of a checkpoint."""
        return {"key": self._key, "state": state.to_json()}

    def _save(self, state: State, best: Weights) -> None:
        """Write a checkpoint, on rank 0."""
        self._saved = time.monotonic()
        if self._group.rank != 0:
            return
        arrays = {
            **list_arrays("weights", self._stepper.weights()),
            **list_arrays("optimizer", self._stepper.optimizer_state()),
            **list_arrays("best", best),
        }
        path = self._folder.save(pack(arrays, self._record(state)))
        self._log.write("checkpoint", member=state.member, epoch=state.epoch, file=path.name)

    def _finish(self, member: Member) -> None:
        """Keep a finished member, on rank 0."""
        if self._group.rank == 0:
            content = pack(list_arrays("weights", member.weights), self._record(member.state))
            self._folder.save_member(member.state.member, content)
        self._log.write(
            "member_finished",
            member=member.state.member,
            tune_loss=member.state.best,
            best_epoch=member.state.best_epoch,
        )

    def _check_equal(self, weights: Weights, number: int) -> None:
        """Refuse ranks whose weights differ.

        Raises:
            TrainingError: If they do.
        """
        state = hashlib.sha256()
        for array in weights:
            state.update(np.ascontiguousarray(array).tobytes())
        own = float(int(state.hexdigest()[:10], 16))
        if self._group.sums({"weights": own})["weights"] != own * self._group.size:
            raise TrainingError(
                f"The ranks ended member {number} with different weights. The machine or its MPI does not do what "
                "it should: "
                "train with ranks = 1 and report this."
            )
