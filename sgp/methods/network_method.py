"""Base class of methods that train one torch network and save one of its epochs."""

from __future__ import annotations

import logging
import math
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from sgp.datasets.runs import Run, RunDraft, library_versions
from sgp.datasets.store import home, locked, whole_folder
from sgp.errors import ConfigurationError
from sgp.files import read_json, write_json
from sgp.methods.configuration import configure_decoding, from_record
from sgp.methods.contract import Checkpoint, MethodBase
from sgp.models.device import Device, choose_device
from sgp.models.networks import Network
from sgp.planning.pddl import DomainText
from sgp.planning.planner import Planner
from sgp.planning.policy import one_step
from sgp.planning.task import Task, Trajectory
from sgp.policies.decoding import DEFAULT
from sgp.progress import progress
from sgp.training.fit import Epoch, FitContext, identify

logger = logging.getLogger(__name__)

_WEIGHTS = "model.safetensors"
_FACTS = "facts.json"  # facts and check vectors, stored with the best planner so far

Training = TypeVar("Training")
Decoding = TypeVar("Decoding")
Net = TypeVar("Net", bound=Network)
Learned = TypeVar("Learned")  # a policy or model that uses the trained network
Vectors = Mapping[str, NDArray[np.floating[Any]]]


@dataclass(frozen=True)
class _Progress:
    """Progress of a training: completed epochs, least validation loss, wall-clock and CPU seconds so far."""

    epochs: int = 0
    least: float = math.inf
    seconds: float = 0.0
    processor_seconds: float = 0.0


class NetworkMethod(MethodBase, ABC, Generic[Training, Decoding, Net, Learned]):
    """A method that trains one network; every epoch is a planner. An interrupted training resumes."""

    key: str
    libraries: Sequence[str] = ("torch",)
    keeps: ClassVar[Literal["last", "least loss"]] = "least loss"  # which epoch `train` saves
    variants: Mapping[str, Training]
    decodings: Mapping[str, Decoding]

    @abstractmethod
    def build(self, training: Training, domain: DomainText) -> Net:
        """Build the network; its initial weights come from torch's global generator."""

    @abstractmethod
    def fit(self, training: Training, data: Any, network: Net, context: FitContext) -> Iterator[Epoch]:
        """Train a network whose initial weights are those of `build`; yield its epochs."""

    @abstractmethod
    def learned(self, training: Training, domain: DomainText, network: Net, device: Device) -> Learned:
        """Return the policy or model that uses a trained network."""

    def planner(self, training: Training, learned: Learned, decoding: Any) -> Planner:
        """Return a beam search over the training's candidates; raises ConfigurationError for a conflicting decoding."""
        planner: Planner = decoding.planner(learned, getattr(training, "successors", one_step))
        return planner

    def sample(self, training: Training, learned: Any, task: Task) -> Vectors:
        """Return vectors computed from a task's initial state, used to verify a run: the candidates' costs."""
        vectors: Vectors = learned.sample(task, getattr(training, "successors", one_step))
        return vectors

    def network(self, training: Training, domain: DomainText, seed: int) -> Net:
        """Build the network with initial weights from the seed; torch's global generator is not changed."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self.build(training, domain)

    def checkpoints(
        self, training: Training, data: Any, folder: Path, seed: int, device: Device, after: int = 0
    ) -> Iterator[Checkpoint]:
        """Yield the planner after every epoch; `folder` receives the last checkpoints, to resume the training."""
        context = FitContext(seed, device, folder, identify((data.sha256, asdict(training), seed)), after)  # type: ignore[call-overload]
        network = self.network(training, data.train[0].task.domain_text, seed)
        for epoch in self.fit(training, data, network, context):
            save = partial(self._save, training, data, epoch)
            yield Checkpoint(f"epoch {epoch.number}", training, epoch.validation_loss, save)

    def train(self, training: Training, data: Any, draft: RunDraft) -> Planner:
        """Train all epochs and write the last, or the one of least validation loss, into the draft's folder."""
        self._train_epochs(training, data, draft)
        learned = self._read(training, data.train[0].task.domain_text, draft.folder, draft.device)
        _, decoding = configure_decoding(self, getattr(training, "decoding", DEFAULT))  # type: ignore[arg-type]
        return self.planner(training, learned, decoding)

    def load(self, run: Run, decoding: Decoding) -> Planner:
        """Return the planner of a run, verified against the vectors stored in the run."""
        return self.planner(self._training(run), self.load_learned(run), decoding)

    def load_learned(self, run: Run) -> Learned:
        """Return the policy or model of a run, verified against the vectors stored in the run."""
        training, task = self._training(run), Task(run.check_problem)
        learned = self._read(training, task.domain_text, run.folder, choose_device("auto"))
        run.verify(self.sample(training, learned, task))
        return learned

    def _training(self, run: Run) -> Training:
        return from_record(type(next(iter(self.variants.values()))), run.training)

    def _read(self, training: Training, domain: DomainText, folder: Path, device: Device) -> Learned:
        network = self.network(training, domain, seed=0)
        network.read(folder / _WEIGHTS)
        return self.learned(training, domain, network.to(device).eval(), device)

    def _save(self, training: Training, data: Any, epoch: Epoch, draft: RunDraft) -> None:
        task = data.train[0].task
        network = self.network(training, task.domain_text, seed=0)
        network.load_state_dict(epoch.weights)
        network.save(draft.folder / _WEIGHTS)
        draft.facts.update(**epoch.facts, parameters=network.count_parameters())
        learned = self._read(training, task.domain_text, draft.folder, draft.device)
        draft.keep_check(task.problem, self.sample(training, learned, task))

    def _train_epochs(self, training: Training, data: Any, draft: RunDraft) -> None:
        """Train and write the selected epoch; `SGP_HOME/training` stores the best one and the last checkpoints."""
        key, versions = draft.key, library_versions(self.libraries)
        record = asdict(training)  # type: ignore[call-overload]
        of = (key.method, record, data.sha256, key.seed, self.keeps, draft.device, sorted(versions.items()))
        folder = home() / "training" / identify(of)[:16]
        best, progress_file = folder / "planner" / "best", folder / "passed.json"
        epochs: int = training.training.epochs  # type: ignore[attr-defined]
        with locked(folder), progress(f"train {data.domain} {key.variant} seed {key.seed}", epochs) as bar:
            folder.mkdir(exist_ok=True)
            done = _Progress(**read_json(progress_file)) if progress_file.exists() else _Progress()
            if done.epochs:
                logger.info("resuming after epoch %d from %s", done.epochs, folder)
            bar.update(done.epochs)
            started, worked = time.perf_counter() - done.seconds, time.process_time() - done.processor_seconds
            for checkpoint in self.checkpoints(training, data, folder / "epochs", key.seed, draft.device, done.epochs):
                if done.epochs == 0 or self.keeps == "last" or checkpoint.loss < done.least:
                    with whole_folder(best) as temporary:
                        saved = replace(draft, folder=temporary, facts={}, check={})
                        checkpoint.save(saved)
                        write_json(temporary / _FACTS, {"facts": saved.facts, "check": saved.check})
                seconds = round(time.perf_counter() - started, 3), round(time.process_time() - worked, 3)
                done = _Progress(done.epochs + 1, min(done.least, checkpoint.loss), *seconds)
                write_json(progress_file, asdict(done))
                bar.update()
            saved_facts = read_json(best / _FACTS)
            for path in best.iterdir():
                if path.name != _FACTS:
                    shutil.copyfile(path, draft.folder / path.name)
            draft.check = saved_facts["check"]
            times = {"seconds": done.seconds, "processor_seconds": done.processor_seconds}
            draft.facts.update(saved_facts["facts"], **times)
            shutil.rmtree(folder)


def require_readable(trajectories: Sequence[Trajectory], refuses: Callable[[Task], str | None]) -> None:
    """Raise ConfigurationError for a problem that a model cannot read; the largest problems are checked first."""
    for trajectory in sorted(trajectories, key=lambda each: -len(each.task.objects)):
        refusal = refuses(trajectory.task)
        if refusal is not None:
            raise ConfigurationError(
                f"{trajectory.task.name} cannot be trained on: {refusal}; leave it out of the suite"
            )
