"""Goals with their right endings, as a data file: one JSON object a line, `#` begins a comment.

A line is a scene or a goal. Metres and degrees in the base frame: x forward, y left.

    {"scene": "three", "blocks": [["red block", 0.22, 0.09, 0], ["blue block", 0.14, 0.12, 20]]}
    {"scene": "pair", "draw": ["red a", "red b"], "left_to_right": ["red a", "red b"]}
    {"kind": "plain", "scene": "three", "say": "bin the red one", "end": "done",
     "where": {"red block": "bin"}}                        (on one line)

A **scene** lays `blocks` ([label, x, y, yaw_deg]) or draws places for the labels in `draw`, anew
for each goal, the same at each run; `left_to_right` or `near_to_far` puts some of them in that
order. A label begins with a colour (red, green, blue); the camera sees only the colour. The bin
stands at x 0.20, y -0.10.

A **goal** has
- `kind`: any word; goals are counted by it. `say`: the sentence. `scene`: one named above it.
- `end`: the right ending, or a list of them: "done"; "asked" (a question, nothing moved);
  "declined" (a question or a refusal, nothing moved); "stopped" (the arm is stopped).
- `where`: blocks that must be elsewhere afterwards: "bin", "held", "table" (put elsewhere on the
  table), "elsewhere" (bin or table), [x, y], "beside LABEL" or "beside bin". Every other block must
  lie where it lay. `any`: {"count", "of": [labels], "where"}: so many of these, the others still.
- `arm`: "home", "open", "shut" or [x, y] (the hand over that point). `says`: words that the run's
  last sentence must have.
- `codes`: causes that a question may have; any, without it. `answer`: what a person answers to the
  first question; the run must then end in `end`.
- `knowledge`: true when it needs to know more than blocks, places and plain English.
"""

from __future__ import annotations

from armlabd.bench.goals.form import End, Goal, GoalsError, Pick, Wanted, load, parse
from armlabd.bench.goals.scenes import Laid

__all__ = ["End", "Goal", "GoalsError", "Laid", "Pick", "Wanted", "load", "parse"]
