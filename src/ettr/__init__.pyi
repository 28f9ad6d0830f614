from . import budget as budget
from . import checkpoint as checkpoint
from . import evidence as evidence
from . import failures as failures
from . import logs as logs
from . import mitigation as mitigation
from . import notebook as notebook
from . import plan as plan
from . import plots as plots
from . import power as power
from . import ranges as ranges
from . import recommendation as recommendation
from . import scaling as scaling
from . import simulation as simulation
from . import sizing as sizing
from . import spares as spares
from . import sweep as sweep
from . import telemetry as telemetry
from . import thermal as thermal
from .core.finishing import Finishing as Finishing
from .core.results import FailureLog as FailureLog
from .core.results import TimeBudget as TimeBudget
from .notebook import record as record
from .scenario import Gpu as Gpu
from .scenario import Scenario as Scenario
from .simulation import simulate as simulate

__version__: str
