"""Steps of the optimiser, many in one call of a compiled function."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surrogate.models.protocols import DRAW, PROGRESS, Family, Rows, Transforms
from surrogate.training.config import TrainConfig
from surrogate.training.group import Group
from surrogate.training.input_pipeline import Batches, BatchPlan, count_rows

if TYPE_CHECKING:
    import keras


_EVALUATION = -1
"""Key of the draws on the tune split; those of steps are not negative."""


def _batch_of(tf: Any, rows: Mapping[str, Any], index: Any, key: Any, progress: Any) -> dict[str, Any]:
    """Return the rows at `index` `[B]`, each with the seed of its draws and the progress of the training."""
    draw = tf.stack([tf.fill(tf.shape(index), key), index], axis=1)
    done = tf.fill(tf.shape(index), progress)
    return {**{name: tf.gather(array, index) for name, array in rows.items()}, DRAW: draw, PROGRESS: done}


class Stepper:
    """One compiled network and optimiser that all members are trained by, one after the other.

    Members differ in their weights only, so the functions are traced and compiled once.
    """

    def __init__(
        self,
        model: keras.Model,
        loss: Callable[[Any, Mapping[str, Any]], Any],
        rows: Rows,
        config: TrainConfig,
        group: Group,
    ) -> None:
        """Put the rows where the steps can reach them; nothing is compiled yet.

        Args:
            model: The network.
            loss: (network, batch) → loss of each row, `[B]`.
            rows: Training rows.
            config: How to train.
            group: The ranks.
        """
        import keras
        import tensorflow as tf

        self.model, self._loss, self._group, self._config = model, loss, group, config
        self._tf = tf
        self._inputs = [tensor.name for tensor in model.inputs]
        self._rows = {name: tf.constant(array) for name, array in rows.items()}
        self.plan = BatchPlan.of(count_rows(rows), config.global_batch(), group.size)
        self.optimizer = keras.optimizers.AdamW(
            learning_rate=config.learning_rate,
            weight_decay=config.weight_decay,
            global_clipnorm=config.clip_norm or None,
        )
        self.optimizer.build(model.trainable_variables)
        self._fresh = [np.array(variable.value.numpy()) for variable in self.optimizer.variables]
        self._warm = False
        self._gradients, self._apply, self._both = self._compiled()
        self._run = self._many(self._group.sum_gradients)

    def _compiled(self) -> tuple[Any, Any, Any]:
        """Return the compiled parts of a step: gradients on this rank, their application, and both in one."""
        tf, optimizer, variables = self._tf, self.optimizer, self.model.trainable_variables

        def gradients(index: Any, weight: Any, key: Any, progress: Any) -> tuple[Any, list[Any]]:
            batch = _batch_of(tf, self._rows, index, key, progress)
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(self._loss(self._network, batch) * weight)
            found = tape.gradient(loss, variables, unconnected_gradients="zero")
            return loss, [tf.convert_to_tensor(gradient) for gradient in found]

        def apply(found: list[Any], rate: Any) -> None:
            optimizer.learning_rate.assign(rate)
            optimizer.apply(found, variables)

        def both(index: Any, weight: Any, key: Any, progress: Any, rate: Any) -> Any:
            loss, found = gradients(index, weight, key, progress)
            apply(found, rate)
            return loss

        xla = self._config.xla
        return tuple(tf.function(part, jit_compile=xla) for part in (gradients, apply, both))

    def _many(self, joined: Callable[[list[Any]], list[Any]]) -> Any:
        """Return the function (index, weight, keys, progress, rates) → this rank's loss, summed over the steps.

        Args:
            joined: What is done with the gradients between the two compiled parts.
        """
        tf, share, several = self._tf, self.plan.share, self._group.size > 1

        @tf.function(
            input_signature=[
                tf.TensorSpec([None, share], tf.int32),
                tf.TensorSpec([None, share], tf.float32),
                tf.TensorSpec([None], tf.int32),
                tf.TensorSpec([None], tf.float32),
                tf.TensorSpec([None], tf.float32),
            ]
        )
        def run(index: Any, weight: Any, keys: Any, progress: Any, rates: Any) -> Any:
            total = tf.zeros([], tf.float64)
            for place in tf.range(tf.shape(index)[0]):
                given = index[place], weight[place], keys[place], progress[place]
                if several:
                    loss, found = self._gradients(*given)
                    self._apply(joined(found), rates[place])
                else:
                    loss = self._both(*given, rates[place])
                total += tf.cast(loss, tf.float64)
            return total

        return run

    def _network(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Apply the network in training mode."""
        outputs: dict[str, Any] = self.model({name: batch[name] for name in self._inputs}, training=True)
        return outputs

    def run(
        self,
        batches: Batches,
        rates: NDArray[np.float32],
        keys: NDArray[np.int32] | None = None,
        progress: NDArray[np.float32] | None = None,
    ) -> float:
        """Take the steps of `batches`; return the sum over the steps of this rank's part of the loss.

        Args:
            batches: This rank's part.
            rates: `[steps]`, learning rates.
            keys: `[steps]`, seeds of what the family draws (see `surrogate.models.protocols.DRAW`); zeros when None.
            progress: `[steps]`, shares of the training that are done before each step; zeros when None.
        """
        arguments = self._arguments(batches, rates, keys, progress)
        # Tracing and compiling, in the first call, may take long, and the other ranks do the same.
        with self._group.watched(self._steps_done) if self._warm else contextlib.nullcontext():
            total = float(self._run(*arguments))
        self._warm = True
        return total

    def _arguments(
        self,
        batches: Batches,
        rates: NDArray[np.float32],
        keys: NDArray[np.int32] | None = None,
        progress: NDArray[np.float32] | None = None,
    ) -> tuple[Any, ...]:
        """Return the tensors that the compiled steps take."""
        count = len(batches.index)
        keys = np.zeros(count, np.int32) if keys is None else keys
        progress = np.zeros(count, np.float32) if progress is None else progress
        return tuple(map(self._tf.constant, (batches.index, batches.weight, keys, progress, rates)))

    def _steps_done(self) -> float:
        """Return a number that grows with every step, whichever thread asks."""
        return float(self.optimizer.iterations.value.numpy())

    def rehearse(self, batches: Batches) -> tuple[float, float]:
        """Measure a step of all ranks together, and the same on this rank alone; the state is as before afterwards.

        Args:
            batches: Steps to take, the same number on every rank.

        Returns:
            Seconds a step together, and alone.
        """
        state = self.weights(), self.optimizer_state()
        arguments = self._arguments(batches, np.full(len(batches.index), 1e-6, dtype=np.float32))
        seconds = []
        for run in (self._run, self._many(lambda found: found)):
            run(*arguments)
            begin = time.perf_counter()
            run(*arguments)
            seconds.append((time.perf_counter() - begin) / len(batches.index))
        self.set_state(*state)
        return seconds[0], seconds[1]

    def reset(self, weights: list[NDArray[Any]]) -> None:
        """Begin a member: its initial weights, and an optimiser that remembers nothing."""
        self.set_state(weights, self._fresh)

    def set_state(self, weights: list[NDArray[Any]], optimizer: list[NDArray[Any]]) -> None:
        """Set all variables of the network and of the optimiser."""
        for variable, value in zip(self.model.variables, weights, strict=True):
            variable.assign(value)
        for variable, value in zip(self.optimizer.variables, optimizer, strict=True):
            variable.assign(value)

    def weights(self) -> list[NDArray[Any]]:
        """Return copies of all variables of the network."""
        return [np.array(variable.value.numpy()) for variable in self.model.variables]

    def optimizer_state(self) -> list[NDArray[Any]]:
        """Return copies of all variables of the optimiser."""
        return [np.array(variable.value.numpy()) for variable in self.optimizer.variables]

    def broadcast(self) -> None:
        """Give every rank the variables of rank 0."""
        variables = [*self.model.variables, *self.optimizer.variables]
        self._group.broadcast_variables([variable.value for variable in variables])


class Evaluator:
    """The mean loss over fixed rows, computed by all ranks together."""

    def __init__(self, stepper: Stepper, family: Family, transforms: Transforms, rows: Rows, group: Group) -> None:
        """Put the rows where they can be reached.

        Args:
            stepper: Holds the network.
            family: Its loss.
            transforms: Fitted transforms.
            rows: Rows of the tune split.
            group: The ranks.
        """
        import tensorflow as tf

        self._tf, self._group = tf, group
        count = count_rows(rows)
        plan = BatchPlan.of(count, max(stepper.plan.batch, 1024), group.size)
        batches = plan.once(group.rank)
        # Every batch was weighted to 1 by itself; here every row weighs the same.
        weight = (batches.weight > 0).astype(np.float32)
        data = {name: tf.constant(array) for name, array in rows.items()}
        names = [tensor.name for tensor in stepper.model.inputs]

        def network(batch: Mapping[str, Any]) -> dict[str, Any]:
            outputs: dict[str, Any] = stepper.model({name: batch[name] for name in names}, training=False)
            return outputs

        @tf.function
        def evaluate(index: Any, weights: Any) -> Any:
            total = tf.zeros([], tf.float64)
            for place in tf.range(tf.shape(index)[0]):
                batch = _batch_of(tf, data, index[place], tf.constant(_EVALUATION), tf.constant(1.0))
                losses = family.loss(transforms, network, batch) * weights[place]
                total += tf.reduce_sum(tf.cast(losses, tf.float64))
            return total

        self._evaluate, self._arguments, self._count = (
            evaluate,
            (tf.constant(batches.index), tf.constant(weight)),
            count,
        )

    def partial(self) -> float:
        """Return this rank's part of the mean loss; the sum over the ranks is the mean."""
        return float(self._evaluate(*self._arguments)) / self._count
