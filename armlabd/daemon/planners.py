"""Which planner turns sentences into plans, and swapping it while the daemon runs.

Whoever plans asks `ModelHouse.planner`: it stays the same object, and hands each plan to whatever
planner is in use at that moment. So a swap during a run counts from the next plan on.
"""

from __future__ import annotations

from armlabd.config import Config
from armlabd.perceive.model_eye import Looker
from armlabd.plan.planner import Planner
from armlabd.plan.rules import RulesPlanner


class ModelHouse:
    """Holds the planner in use."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self.rules = RulesPlanner()
        self.planner: Planner = self.rules
        self.vision: Looker | None = None  # the model that is shown pictures, and its box format

    async def start(self) -> None:
        """Look for the model that is chosen, in the background. Raises nothing, waits for none."""

    async def close(self) -> None:
        """End what belongs to models."""
