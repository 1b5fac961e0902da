"""RulesPlanner: everyday sentences to plans, with no model.

Words become wishes (grammar), wishes find their objects and places (things, places) on the table
as the plan so far leaves it (desk), and skills write the steps. What is unclear or impossible is
asked. Text seen in a picture never comes here: only the person's sentence and answers do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from armlabd.plan import words as w
from armlabd.plan.aim import aim_grip, aim_spot
from armlabd.plan.context import PlanContext
from armlabd.plan.desk import AskError, Desk, Item
from armlabd.plan.grammar import Wish, wishes_of
from armlabd.plan.phrases import NotUnderstoodError, Thing, Where, parse_where
from armlabd.plan.places import FREE_SPOT, point_of, spot_for, target_of
from armlabd.plan.plan import Plan
from armlabd.plan.planner import Planned, Think
from armlabd.plan.question import Question, Stop, answered
from armlabd.plan.skills import TRAVEL_Z_M, Grip, grasp_z
from armlabd.plan.stops import means_stop
from armlabd.plan.text import MAX_CHARS, tokens_of, vocabulary
from armlabd.plan.things import choose, matches
from armlabd.plan.words import Action
from armlabd.verdict import Code

Answer = Plan | Question | Stop
BLIND = frozenset((Action.HOME, Action.OPEN, Action.CLOSE, Action.LOOK, Action.STATUS))
PUT_IT_DOWN = "put it down"


class RulesPlanner:
    """Turns one sentence into a plan, a question, or a stop. Keeps nothing between sentences."""

    name = "rules"

    async def plan(
        self, goal: str, context: PlanContext, think: Think = asyncio.to_thread
    ) -> Planned:
        """What `answer` says, worked out beside the event loop."""
        return Planned(await think(self.answer, goal, context), self.name)

    def answer(self, goal: str, context: PlanContext) -> Answer:
        """The plan for `goal`. What is unclear or impossible is asked, never guessed."""
        for said in (goal, *context.answers.values()):
            if means_stop(said):
                return Stop(said[:MAX_CHARS])
        goal = context.answers.get("goal", goal)
        try:
            return plan_wishes(_understood(goal, context), context, self.name, goal)
        except NotUnderstoodError:
            return not_understood(goal, context)
        except AskError as ask:
            return ask.question

    def needs_scene(self, goal: str) -> bool:
        """False when the goal can be planned without looking at the table."""
        if means_stop(goal):
            return False
        try:
            wishes = wishes_of(tokens_of(goal, w.KNOWN))
        except NotUnderstoodError:
            return False  # asked about first; nothing moves for it
        return not all(_is_blind(wish) for wish in wishes)


def is_blind(goal: str) -> bool:
    """True when the rules understand the goal and it can be done without looking."""
    return _all_wishes(goal, _is_blind)


def only_looks(goal: str) -> bool:
    """True when the rules understand the goal as nothing but looking or telling."""
    return _all_wishes(goal, lambda wish: wish.action in (Action.LOOK, Action.STATUS))


def _all_wishes(goal: str, fits: Callable[[Wish], bool]) -> bool:
    try:
        return all(map(fits, wishes_of(tokens_of(goal, w.KNOWN))))
    except NotUnderstoodError:
        return False


def _is_blind(wish: Wish) -> bool:
    to_point = wish.where is not None and wish.where.point is not None
    return wish.action in BLIND or (wish.action is Action.GO and to_point)


def _understood(goal: str, context: PlanContext) -> tuple[Wish, ...]:
    if len(goal) > MAX_CHARS:
        raise NotUnderstoodError
    names = [*context.places, *(seen.label for seen in context.scene.objects)]
    return wishes_of(tokens_of(goal, w.KNOWN | vocabulary(names)))


def plan_wishes(wishes: tuple[Wish, ...], context: PlanContext, planner: str, goal: str) -> Plan:
    """The plan that carries out the wishes in order. Raises AskError or NotUnderstoodError."""
    desk = Desk.of(context)
    for wish in wishes:
        slowest = min(context.speed_dps, w.SLOW_DPS)
        desk.speed_dps = slowest if wish.slow else context.speed_dps
        _carry_out(wish, desk)
    return Plan(desk.finished(), planner, goal[:MAX_CHARS])


def not_understood(goal: str, context: PlanContext) -> Question:
    """The question after a sentence that says nothing the rules know."""
    said = goal.strip()[:60]
    text = f"I do not understand {said!r}. Say for example: " + "; ".join(w.EXAMPLES) + "."
    text += " To stop the arm, say stop."
    return Question(text, w.EXAMPLES, Code.NOT_UNDERSTOOD, "goal")


def _carry_out(wish: Wish, desk: Desk) -> None:
    if wish.action is Action.PICK:
        _pick(wish, desk)
    elif wish.action is Action.PUT_DOWN:
        _put_down(wish, desk)
    elif wish.action in (Action.PLACE, Action.ASIDE, Action.THROW_AWAY):
        _place(wish, desk)
    elif wish.action is Action.GO:
        _go(wish, desk)
    elif wish.action is Action.OPEN:
        _open(wish, desk)
    elif wish.action is Action.HOME:
        desk.home()
    elif wish.action is Action.CLOSE:
        desk.close()
    elif wish.action is Action.LOOK:
        desk.look()


def _pick(wish: Wish, desk: Desk) -> None:
    items = [item for thing in wish.things for item in choose(thing, desk)]
    if len(items) != 1:
        raise AskError(_one_at_a_time(items))
    if items[0] is desk.held:
        return  # "take it, then hold it"
    _free_the_hand(desk, items[0].label)
    desk.pick(items[0], grip_of(items[0], desk, wish.things[0]))


def _place(wish: Wish, desk: Desk) -> None:
    where = _where(wish)
    if _means_held(wish.things, desk):
        desk.put(spot_for(where or Where(free=True), desk, "what I hold"))
        return
    target = target_of(where, desk.context)
    items = [item for thing in wish.things for item in choose(thing, desk, target)]
    for item in dict.fromkeys(items):
        if item is not desk.held:
            _free_the_hand(desk, item.label)
            grip = grip_of(item, desk, wish.things[0])
            desk.pick(item, grip)
        desk.put(spot_for(where, desk, f"the {item.label}"))
    desk.mentioned = tuple(items)


def _where(wish: Wish) -> Where | None:
    if wish.action is Action.THROW_AWAY:
        return wish.where or Where(("trash",))
    if wish.action is Action.ASIDE:
        return wish.where or Where(free=True)
    return wish.where


def _means_held(things: tuple[Thing, ...], desk: Desk) -> bool:
    """True when the one thing named is what the hand held before the plan began."""
    if not desk.holding or desk.held is not None or len(things) != 1:
        return False
    if things[0].pronoun:
        return True
    if matches(things[0], desk):
        return False
    name = things[0].text
    text = f"I see no {name} on the table, but I hold something. Is that the {name}?"
    question = Question(text, ("yes", "no"), Code.OBJECT_MISSING, f"held:{name}")
    answer = answered(desk.context.answers, question)
    if answer is None:
        raise AskError(question)
    return answer.lower() in ("yes", "y", "yes please")


def _put_down(wish: Wish, desk: Desk) -> None:
    if not desk.holding:
        if wish.things and not wish.things[0].pronoun:  # "lay down the red block at x 0.2 y 0.1"
            _place(Wish(Action.PLACE, wish.things, wish.where), desk)
            return
        text = "I hold nothing that I could put down. What shall I do?"
        raise AskError(Question(text, w.EXAMPLES, Code.OBJECT_MISSING, "goal"))
    desk.put(spot_for(wish.where or Where(free=True), desk, "what I hold"))


def _free_the_hand(desk: Desk, wanted: str) -> None:
    """Put down first what the hand holds; where to is asked."""
    if not desk.holding:
        return
    held = f"the {desk.held.label}" if desk.held else "something"
    text = f"I hold {held} and can take the {wanted} only with an empty hand. Where shall it go?"
    options = (*desk.context.places, FREE_SPOT)
    question = Question(text, options, Code.UNKNOWN_PLACE, "held-first")
    answer = answered(desk.context.answers, question)
    if answer is None:
        raise AskError(question)
    try:
        desk.put(spot_for(parse_where(answer), desk, held))
    except NotUnderstoodError:
        raise AskError(question) from None


def _open(wish: Wish, desk: Desk) -> None:
    """Open an empty hand; what is held is put down, not dropped."""
    if not desk.holding:
        percent = 100.0 if wish.percent is None else wish.percent
        if not 0.0 <= percent <= 100.0:
            text = f"The hand opens from 0 to 100 percent, not {percent:g}. How far shall it open?"
            raise AskError(Question(text, ("open 50", "open 100"), Code.OUT_OF_RANGE, "goal"))
        desk.open(percent)
        return
    text = "I hold something and would drop it. Where shall I put it down?"
    options = (PUT_IT_DOWN, *desk.context.places)
    question = Question(text, options, Code.AMBIGUOUS, "open-held")
    answer = answered(desk.context.answers, question)
    if answer is None:
        raise AskError(question)
    try:
        where = Where(free=True) if answer == PUT_IT_DOWN else parse_where(answer)
    except NotUnderstoodError:
        raise AskError(question) from None
    desk.put(spot_for(where, desk, "what I hold"))


def _go(wish: Wish, desk: Desk) -> None:
    where = wish.where
    assert where is not None  # grammar lets no such wish pass
    named = Thing(where.name)
    items = choose(named, desk) if where.name and matches(named, desk) else ()
    name, point = point_of(where, desk, items)
    low, high = desk.context.z_m
    z = min(TRAVEL_Z_M, high) if point.z is None else point.z
    if not low <= z <= high:
        text = f"z {z:g} m is outside {low:g} to {high:g}. Which height shall it be?"
        raise AskError(Question(text, w.EXAMPLES, Code.OUT_OF_RANGE, "goal"))
    spot = aim_spot(name, (point.x, point.y), z, desk.context)
    if spot is None:
        text = f"I cannot reach {name} at z {z:g} m. Name a point nearer the middle of the table."
        raise AskError(Question(text, w.EXAMPLES, Code.UNREACHABLE, "goal"))
    desk.hover(spot)


def grip_of(item: Item, desk: Desk, thing: Thing) -> Grip:
    """How an object is gripped. Raises AskError where the hand cannot come to it."""
    z = grasp_z(desk.height_m(item), desk.context.z_m[0])
    others = [at for at in desk.blocks if at != item.at]
    grip = aim_grip(item.label, item.at, z, item.yaw_deg, desk.context, others)
    if grip is None:
        text = (
            f"I cannot reach the {item.text} with the hand pointing down. Move it nearer the "
            "middle of the table and say 'again', or name another object."
        )
        options = tuple(other.text for other in desk.items if other is not item)
        raise AskError(Question(text, options, Code.UNREACHABLE, f"object:{thing.text}"))
    return grip


def _one_at_a_time(items: list[Item]) -> Question:
    text = "I can hold one thing at a time. Which one shall I pick up?"
    options = tuple(f"pick up the {item.text}" for item in items)
    return Question(text, options, Code.AMBIGUOUS, "goal")
