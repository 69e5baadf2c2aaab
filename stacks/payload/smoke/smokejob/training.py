"""The run: join the others, resume, step, record, save; all ranks walk through it in step."""

import math
import signal
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from smokejob.backend import Backend, chosen_backend, start_backend
from smokejob.checkpoints import (
    Checkpoint,
    RunFacts,
    checkpoint_to_resume,
    prepare_directory,
    write_checkpoint,
)
from smokejob.corpus import Corpus, load_corpus, windows_of_step
from smokejob.environment import JobEnvironment
from smokejob.errors import InjectedFailureError, InputError, JobError, StoppedError, TrainingError
from smokejob.group import Group
from smokejob.metrics import MetricsFile, step_line
from smokejob.model import PARAMETER_COUNT
from smokejob.options import Options
from smokejob.rendezvous import Meeting, join
from smokejob.signals import StopSignals
from smokejob.state import TrainingState, from_vector, initial_state, to_vector


def say(message: str) -> None:
    """To whoever follows: unbuffered, one line."""
    print(message, flush=True)


def run(environment: JobEnvironment, options: Options, signals: StopSignals) -> None:
    """Raises JobError for anything but a run that came to its last step."""
    if options.global_batch < environment.processes:
        raise InputError(
            f"--batch-size {options.global_batch} is less than one window for each of the processes"
        )
    corpus = load_corpus(environment.data_file)
    backend_name = chosen_backend(options.backend)
    facts = RunFacts(options.seed, options.global_batch, corpus.sha256, environment.processes, backend_name)
    agreed = {"processes": facts.processes, "backend": backend_name, "steps": options.steps, **facts.binding}
    group = join(Meeting(environment, agreed, options.rendezvous_seconds, options.peer_seconds, say))
    say(f"rank {group.rank} of {group.processes} joined run {environment.run_id}")
    reason = ""
    try:
        backend = start_backend(backend_name, group, environment)
        signals.install()  # again: JAX brings a SIGTERM handler of its own
        Training(environment, options, signals, corpus, facts, group).run(backend)
    except JobError as error:
        reason = str(error)
        raise
    finally:
        group.close(reason)


@dataclass(slots=True)
class Training:
    environment: JobEnvironment
    options: Options
    signals: StopSignals
    corpus: Corpus
    facts: RunFacts
    group: Group
    metrics: MetricsFile | None = field(default=None, init=False)
    """Rank 0's; the others write none."""

    def run(self, backend: Backend) -> None:
        state = self._shared(self._resumed() if self.group.is_main else None)
        if self.group.is_main:
            self.metrics = MetricsFile(self.environment.metrics_file, state.step)
            self._introduce(backend, state)
        backend.load(state)
        stopped_by, last_step = 0, state.step
        with self.signals.noted():
            while last_step < self.options.steps and not stopped_by:
                last_step += 1
                stopped_by = self._step(backend, last_step)
            # Nobody leaves before rank 0 has written the last checkpoint, so that its failure is everybody's.
            self.group.share({}, np.zeros(0, dtype=np.float32))
            backend.close()
        if stopped_by and last_step < self.options.steps:
            name = signal.Signals(stopped_by).name
            raise StoppedError(f"stopped by {name} after step {last_step}, which is saved", stopped_by)

    def _resumed(self) -> TrainingState:
        directory = self.environment.checkpoint_dir
        prepare_directory(directory)
        checkpoint = checkpoint_to_resume(directory, self.environment.resume_step, say)
        if checkpoint is None:
            return initial_state(self.options.seed)
        self._check_same_run(checkpoint)
        say(f"resuming from the checkpoint of step {checkpoint.state.step}")
        return checkpoint.state

    def _check_same_run(self, checkpoint: Checkpoint) -> None:
        theirs, ours = checkpoint.facts, self.facts
        for name, value in theirs.binding.items():
            if value != ours.binding[name]:
                raise InputError(
                    f"the checkpoint of step {checkpoint.state.step} is of another run: its {name} is {value}, not "
                    f"{ours.binding[name]}; give what it was made with, or start anew with NEURONKIT_RESUME_STEP=0"
                )
        for name, value in theirs.changeable.items():
            if value != ours.changeable[name]:
                say(
                    f"note: the checkpoint was written with {name} {value}, this run has {ours.changeable[name]}: losses "
                    "agree to rounding, not to the last bit"
                )

    def _shared(self, state: TrainingState | None) -> TrainingState:
        """Rank 0's state, at every rank: only rank 0's checkpoints count."""
        header: dict[str, Any] = {"step": state.step, "loss": state.loss} if state else {}
        header, vector = self.group.share(
            header, to_vector(state) if state else np.zeros(0, dtype=np.float32)
        )
        return from_vector(header["step"], header["loss"], vector)

    def _introduce(self, backend: Backend, state: TrainingState) -> None:
        say(
            f"training {PARAMETER_COUNT} parameters on {self.environment.data_file.name} ({len(self.corpus.data)} bytes), "
            f"{self.options.global_batch} windows a step over {self.group.processes} process(es), {backend.description}"
        )
        if state.step >= self.options.steps:
            say(f"nothing left to do: step {state.step} of {self.options.steps} is reached")

    def _step(self, backend: Backend, step: int) -> int:
        """The number of the signal that some rank got, after which the run ends here, or 0."""
        started = time.monotonic()
        if (step, self.group.rank) == (self.options.fail_at_step, self.options.fail_rank):
            raise InjectedFailureError(f"failing before step {step}, as --fail-at-step asks")
        windows = windows_of_step(self.corpus, self.options.seed, step, self.options.global_batch)
        loss, stopped_by = backend.train_step(step, windows, self.signals.number)
        if not math.isfinite(loss):
            raise TrainingError(f"the loss of step {step} is {loss}")
        if self.metrics is None:
            return stopped_by
        if not stopped_by:
            self.signals.pause(self.options.step_seconds - (time.monotonic() - started))
        self._record(self.metrics, backend, step, loss, time.monotonic() - started)
        if step % self.options.checkpoint_every == 0 or step == self.options.steps or stopped_by:
            path = write_checkpoint(self.environment.checkpoint_dir, backend.state(step, loss), self.facts)
            say(f"checkpoint {path.name}")
        return stopped_by

    def _record(self, metrics: MetricsFile, backend: Backend, step: int, loss: float, seconds: float) -> None:
        tokens = self.options.global_batch
        metrics.write(
            {
                "step": step,
                "loss": loss,
                "tokens": tokens,
                "seconds": round(seconds, 6),
                "backend": self.facts.backend,
                "device": backend.device,
                "processes": self.group.processes,
            }
        )
        say(step_line(step, self.options.steps, loss, tokens, seconds))
