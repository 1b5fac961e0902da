"""Cause code -> HTTP status. One table; no door ever searches the words of a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from armlabd.verdict import Code

STATUS: Mapping[Code, int] = {
    Code.OK: 200,
    # the request itself
    Code.BAD_JSON: 400,
    Code.NOT_AN_OBJECT: 400,
    Code.MISSING: 400,
    Code.UNKNOWN_PARAMETER: 400,
    Code.WRONG_TYPE: 400,
    Code.OUT_OF_RANGE: 400,
    Code.BAD_PLAN: 400,
    Code.UNKNOWN_TOOL: 404,
    Code.NOT_FOUND: 404,
    Code.METHOD: 405,
    Code.TOO_LARGE: 413,
    Code.BAD_MEDIA_TYPE: 415,
    # who
    Code.BAD_KEY: 401,
    Code.HOST: 403,
    Code.ORIGIN: 403,
    Code.ROLE: 403,
    Code.NOT_ALLOWED: 403,
    Code.RATE: 429,
    Code.SLOW_DOWN: 429,
    # geometry: the request names a place that the arm cannot or may not take
    Code.UNREACHABLE: 400,
    Code.JOINT_LIMIT: 400,
    Code.PATH_BLOCKED: 400,
    Code.TOO_FAST: 400,
    Code.BAD_PROGRAM: 500,
    # state: wait, or ask a person
    Code.STOPPED: 409,
    Code.BUSY: 409,
    Code.CANNOT_CLEAR: 409,
    Code.CANCELLED: 409,
    Code.STALLED: 409,
    Code.GRASP_FAILED: 409,
    Code.EXPECTATION: 409,
    Code.LEASE_LOST: 409,
    Code.NOT_CALIBRATED: 409,
    Code.OLD_STATE: 409,
    Code.ANSWER_TIMEOUT: 409,
    # something is missing
    Code.NO_ARM: 503,
    Code.SERVO_FAULT: 503,
    Code.BUS_LOST: 503,
    Code.CORE_LOST: 503,
    Code.NO_CAMERA: 503,
    Code.NO_MARKERS: 503,
    Code.DISK: 503,
    # plans and goals: such codes end runs, they answer no request by themselves
    Code.NO_STATUS_FIRST: 400,
    Code.CLOSED_ON_APPROACH: 400,
    Code.NO_GRASP_CHECK: 400,
    Code.DRAGS: 400,
    Code.DROPS: 400,
    Code.STOP_IN_PLAN: 400,
    Code.TOO_LONG: 400,
    Code.NOT_UNDERSTOOD: 400,
    Code.OBJECT_MISSING: 409,
    Code.AMBIGUOUS: 409,
    Code.UNKNOWN_PLACE: 400,
    Code.IMPOSSIBLE: 409,
    # models
    Code.NO_MODEL: 404,
    Code.MODEL_MEMORY: 409,
    Code.MODEL_LOST: 503,
    Code.MODEL_TIMEOUT: 503,
    Code.MODEL_ANSWER: 503,
    # the daemon
    Code.BAD_CONFIG: 500,
    Code.INTERNAL: 500,
}
