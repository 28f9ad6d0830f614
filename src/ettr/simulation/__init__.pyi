from .outcome import Simulation as Simulation
from .runs import MOST_FAILURES as MOST_FAILURES
from .runs import MOST_RUNS as MOST_RUNS
from .runs import simulate as simulate
