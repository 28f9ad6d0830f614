"""When does the next GPU stop paying?"""

from ettr_book.chapters.how_many_gpus.given import assumptions, given_by_tokens
from ettr_book.chapters.how_many_gpus.sizes import answer, cost, in_time, returns, step
from ettr_book.chapters.how_many_gpus.training_methods import methods, peak, peaks_of_ways, ways

__all__ = [
    "answer",
    "assumptions",
    "cost",
    "given_by_tokens",
    "in_time",
    "methods",
    "peak",
    "peaks_of_ways",
    "returns",
    "step",
    "ways",
]
