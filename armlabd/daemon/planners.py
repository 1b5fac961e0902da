"""Which planner turns sentences into plans."""

from __future__ import annotations

from armlabd.config import Config
from armlabd.execute.goal import Planner
from armlabd.plan.rules import RulesPlanner


def make_planner(config: Config) -> Planner:
    """The configured planner; "auto" is the rules, as no model backend is built in yet."""
    return RulesPlanner()
