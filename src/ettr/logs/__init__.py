"""Readers of failure logs, one per format, and of training logs."""

from ettr.logs.formats import formats
from ettr.logs.lifetimes import read_lifetimes
from ettr.logs.reading import from_frame, read
from ettr.logs.training.runs import TrainingRun, is_training_log, read_training

__all__ = ["TrainingRun", "formats", "from_frame", "is_training_log", "read", "read_lifetimes", "read_training"]
