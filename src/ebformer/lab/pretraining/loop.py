"""The training loop for any torch network with a loss on batches: schedule, moving average, checkpoints, log.

A run lives in a folder: `state.pt` (weights, average, optimiser, generators, step, log) and `log.csv`. Killed at any
moment and resumed, it gives the same numbers as if it had never stopped, because everything random is drawn from the
generators in the checkpoint and the schedule depends on the step alone. Ctrl-C, SIGTERM and SIGHUP are obeyed after the
step under way and a checkpoint.
"""

from __future__ import annotations

import copy
import csv
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, TypeVar, get_args

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from ebformer.atomic import replacing
from ebformer.errors import EbformerError, InputError
from ebformer.lab.pretraining.code_version import code_version
from ebformer.lab.pretraining.muon import Muon
from ebformer.lab.pretraining.signals import postponed

AnyBatch = TypeVar("AnyBatch")
AnyNetwork = TypeVar("AnyNetwork", bound=nn.Module)
Row = dict[str, float]
Schedule = Literal["cosine", "step"]

CHECKPOINT_SECONDS = 180.0
"""What a kill can cost at most."""
ALWAYS = ("step", "seconds", "core_seconds", "learning_rate", "loss", "gradient_norm")
"""What every row of a log has; the others are the watched figures."""


class DivergenceError(EbformerError, RuntimeError):
    """A loss or gradient is no longer a finite number."""


@dataclass(frozen=True)
class Training:
    """How a network is optimised: Adam, warm-up and decay, clipping, and a moving average of the weights."""

    steps: int
    learning_rate: float = 0.003
    schedule: Schedule = "cosine"
    """After the warm-up: half a cosine down to 0 at `steps`; or times 0.9 every 300 steps, as published."""
    warmup: int = 200
    betas: tuple[float, float] = (0.9, 0.99)
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    muon: float = 0.0
    """Where positive, matrices with 16 rows and columns or more are trained by Muon, at this multiple of the rate."""
    clip: float | None = 1.0
    """Largest norm of the gradient, if it is bounded at all."""
    average: float = 0.999
    """Decay per step of the moving average, which is what is evaluated and shipped."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.schedule not in get_args(Schedule):
            raise InputError(f"the schedule is {self.schedule!r}: choose from {', '.join(get_args(Schedule))}")

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0.

        >>> training = Training(steps=1000, learning_rate=1.0, warmup=100)
        >>> [round(training.rate(step), 3) for step in (0, 99, 100, 550, 1000)]
        [0.01, 1.0, 1.0, 0.5, 0.0]
        """
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        if self.schedule == "step":
            return self.learning_rate * 0.9 ** (step // 300)
        progress = min(1.0, (step - self.warmup) / max(1, self.steps - self.warmup))
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * progress))


@dataclass(frozen=True)
class Task(Generic[AnyBatch, AnyNetwork]):
    """What is learned: batches drawn from a generator, their loss, and figures to watch (larger is worse, by name)."""

    draw: Callable[[np.random.Generator], AnyBatch]
    loss: Callable[[AnyNetwork, AnyBatch], Tensor]
    evaluate: Callable[[AnyNetwork], Row] = lambda network: {}


def train(
    network: AnyNetwork,
    task: Task[AnyBatch, AnyNetwork],
    training: Training,
    folder: Path,
    *,
    watch: Callable[[Row], None] = lambda row: None,
    log_every: int = 50,
    evaluate_every: int = 500,
    checkpoint_every_seconds: float = CHECKPOINT_SECONDS,
) -> AnyNetwork:
    """Train until `training.steps` and return the averaged network; continue where `folder` has a checkpoint.

    Under torchrun every process draws its own batches and gradients are averaged; the first one writes.
    """
    rank, processes = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    run = Run(network, training, folder, rank, processes)
    device = next(network.parameters()).device
    checkpointed = time.monotonic()
    with postponed() as signals:
        while run.step < training.steps:
            started, processor = time.monotonic(), time.process_time()
            batch = task.draw(run.rng)
            loss = task.loss(network, batch)
            network.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            if processes > 1:
                average_gradients(network, processes)
            norm = nn.utils.clip_grad_norm_(network.parameters(), training.clip or math.inf)
            run.take_step(finite(run, loss, norm), float(norm))
            run.seconds += time.monotonic() - started
            run.core_seconds += time.process_time() - processor
            last = run.step == training.steps
            if last or run.step % log_every == 0:
                figures = task.evaluate(run.average) if last or run.step % evaluate_every == 0 else {}
                if rank == 0:
                    watch(run.record(figures))
            due = time.monotonic() - checkpointed > checkpoint_every_seconds
            due, stopped = anyone_finds((due, signals.heard is not None), device, processes)
            if last or due or stopped:
                run.save()
                checkpointed = time.monotonic()
            if stopped:
                signals.take_its_course()
                raise KeyboardInterrupt  # what another process heard
    return run.average


def finite(run: Run[AnyNetwork], loss: Tensor, norm: Tensor) -> float:
    """The loss of a step, if it and the gradient are finite."""
    value = float(loss.detach())
    if not (math.isfinite(value) and math.isfinite(float(norm))):
        kept = f"the last good checkpoint is {run.path}" if run.path.exists() else "there is no checkpoint yet"
        raise DivergenceError(
            f"training diverged at step {run.step} (loss {value:.3g}, gradient norm {float(norm):.3g}); {kept}:"
            " lower the learning rate or lengthen the warm-up"
        )
    return value


def optimisers(network: nn.Module, training: Training) -> list[torch.optim.Optimizer]:
    """Adam for every parameter, or Adam for vectors and thin matrices and Muon (Jordan et al. 2024) for the others."""
    adam, muon = list[Tensor](), list[Tensor]()
    for parameter in network.parameters():
        thick = training.muon > 0 and parameter.ndim == 2 and min(parameter.shape) >= 16
        (muon if thick else adam).append(parameter)
    rate, decay = training.learning_rate, training.weight_decay
    chosen: list[torch.optim.Optimizer] = [torch.optim.AdamW(adam, rate, training.betas, training.epsilon, decay)]
    if muon:
        chosen.append(Muon(muon, rate, decay))
    return chosen


class Run(Generic[AnyNetwork]):
    """The state of a run: everything that the next step depends on."""

    def __init__(
        self, network: AnyNetwork, training: Training, folder: Path, rank: int = 0, processes: int = 1
    ) -> None:
        self.network, self.training, self.folder, self.rank, self.processes = network, training, folder, rank, processes
        self.path = folder / "state.pt"
        self.average = copy.deepcopy(network).requires_grad_(False)
        self.optimisers = optimisers(network, training)
        self.rng = np.random.default_rng([training.seed, rank])
        self.step, self.seconds, self.core_seconds, self.log = 0, 0.0, 0.0, list[Row]()
        self.losses, self.norms = list[float](), list[float]()
        if self.path.exists():
            self.load()

    def take_step(self, loss: float, norm: float) -> None:
        """One step of the optimiser and of the moving average (which starts as a plain mean)."""
        for optimiser, multiple in zip(self.optimisers, (1.0, self.training.muon), strict=False):
            for group in optimiser.param_groups:
                group["lr"] = multiple * self.training.rate(self.step)
            optimiser.step()
        self.step += 1
        keep = min(self.training.average, self.step / (self.step + 10))
        with torch.no_grad():
            torch._foreach_lerp_(list(self.average.parameters()), list(self.network.parameters()), 1 - keep)
        self.losses.append(loss)
        self.norms.append(norm)

    def record(self, figures: Row) -> Row:
        """Add a row to the log: mean loss and gradient norm since the last row, and the watched figures."""
        row: Row = {
            "step": self.step,
            "seconds": round(self.seconds, 1),
            "core_seconds": round(self.core_seconds, 1),
            "learning_rate": self.training.rate(self.step - 1),
            "loss": float(np.mean(self.losses)),
            "gradient_norm": float(np.mean(self.norms)),
            **figures,
        }
        self.losses, self.norms = [], []
        self.log.append(row)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_log(self.log, self.folder / "log.csv")
        return row

    def save(self) -> None:
        """Write the checkpoint whole or not at all."""
        generators = [self.rng.bit_generator.state] * self.processes
        if self.processes > 1:
            dist.all_gather_object(generators, self.rng.bit_generator.state)
        if self.rank:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = {
            "network": self.network.state_dict(),
            "average": self.average.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "generators": generators,
            "progress": {
                name: getattr(self, name) for name in ("step", "seconds", "core_seconds", "log", "losses", "norms")
            },
            "code": code_version(),
        }
        with replacing(self.path) as partial:
            torch.save(kept, partial)

    def load(self) -> None:
        """Continue from the checkpoint."""
        kept = torch.load(self.path, map_location="cpu", weights_only=True)  # whatever device wrote it
        self.network.load_state_dict(kept["network"])
        self.average.load_state_dict(kept["average"])
        for optimiser, state in zip(self.optimisers, kept["optimisers"], strict=True):
            optimiser.load_state_dict(state)
        if len(kept["generators"]) != self.processes:
            raise EbformerError(
                f"{self.path} was written by {len(kept['generators'])} processes and cannot be continued by"
                f" {self.processes}; start the same number"
            )
        self.rng.bit_generator.state = kept["generators"][self.rank]
        for name, value in kept["progress"].items():
            setattr(self, name, value)


def average_gradients(network: nn.Module, processes: int) -> None:
    """Replace every gradient by its mean over the processes, in one message."""
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat)
    torch.nn.utils.vector_to_parameters(flat / processes, gradients)


def anyone_finds(answers: tuple[bool, ...], device: torch.device, processes: int) -> list[bool]:
    """Which of these hold in any process: clocks and signals differ, and all must save and stop at the same step."""
    if processes == 1:
        return list(answers)
    found = torch.tensor(answers, dtype=torch.float32, device=device)
    dist.all_reduce(found, dist.ReduceOp.MAX)
    return [bool(answer) for answer in found]


def watched(row: Row) -> Row:
    """The figures of a row that the task watches.

    >>> watched({"step": 10.0, "loss": 0.5, "neural_128": 0.9})
    {'neural_128': 0.9}
    """
    return {name: value for name, value in row.items() if name not in ALWAYS}


def write_log(log: list[Row], path: Path) -> None:
    """The log as CSV, one row per record; figures that were not watched stay empty."""
    columns = list(dict.fromkeys(name for row in log for name in row))
    with replacing(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(log)
