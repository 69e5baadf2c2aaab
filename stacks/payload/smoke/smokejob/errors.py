"""What ends a run, and the exit code that it ends with. Each is printed as one line, never as a traceback."""


class JobError(Exception):
    """A run cannot go on; the message is for a person. The exit code is the subclass's."""

    exit_code = 1


class InputError(JobError):
    """The environment, an argument, the data file or a checkpoint asked for by name is wrong."""

    exit_code = 2


class PeerError(JobError):
    """Another process of the run could not be reached, is gone, or does not belong to this run."""

    exit_code = 3


class TrainingError(JobError):
    """The computation itself failed: a loss that is not finite, or an error of the accelerator's runtime."""

    exit_code = 4


class StorageError(JobError):
    """A checkpoint or a metrics line could not be written."""

    exit_code = 5


class InjectedFailureError(JobError):
    """The failure that `--fail-at-step` asks for."""

    exit_code = 17


class StoppedError(JobError):
    """A signal ended the run; the exit code is the shell's 128 + signal number (143 for SIGTERM)."""

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + signal_number
