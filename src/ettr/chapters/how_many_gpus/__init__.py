"""When does the next GPU stop paying?"""

from ettr.chapters.how_many_gpus import (
    charts,
    scaling_option_charts,
    scaling_option_tables,
    scaling_option_words,
    tables,
    words,
)

__all__ = ["charts", "scaling_option_charts", "scaling_option_tables", "scaling_option_words", "tables", "words"]
