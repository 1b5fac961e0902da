"""Every key of `config.toml`: type, range, default. The file `config.toml` explains each in words.

Ends of ranges are inside. Booleans and text are not numbers. Nothing is clamped.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, StringConstraints, model_validator

from armlabd.config.part import Part
from armlabd.config.stop import StopConfig
from armlabd.table import CAMERA, MARKERS, OBJECTS, PLACES, Area, CameraModel, Marker, ObjectKind

MIN_ALIGN_POINTS = 4
Name = Annotated[str, StringConstraints(min_length=1, max_length=40, pattern=r"^[^\x00-\x1f]+$")]
Number = Annotated[float, Field(allow_inf_nan=False)]
Pair = tuple[Number, Number]


class ArmConfig(Part):
    """[arm]: which arm, on which port."""

    port: str = "auto"
    baud: Literal[1_000_000, 500_000, 250_000, 128_000, 115_200] = 1_000_000
    calibration: str = ""

    @model_validator(mode="after")
    def _names_a_port(self) -> Self:
        kind, colon, name = self.port.partition(":")
        identity = colon and kind in ("usb", "usb-path") and name
        if self.port != "auto" and not identity and not self.port.startswith("/"):
            raise ValueError(
                'port is "auto", a path such as "/dev/ttyACM0", "usb:SERIAL" or "usb-path:1-1.2"'
            )
        return self


class AlignPoint(Part):
    """[[align.points]]: a point of the table that the fingertip is put on, in metres."""

    name: Name
    x: Annotated[float, Field(ge=-0.1, le=0.45)]
    y: Annotated[float, Field(ge=-0.45, le=0.45)]
    z: Annotated[float, Field(ge=-0.02, le=0.2)] = 0.0


class AlignConfig(Part):
    """[align]: where `armlabd calibrate --align` touches the table."""

    points: tuple[AlignPoint, ...] = Field(default=(), max_length=20)  # none: the markers

    @model_validator(mode="after")
    def _enough(self) -> Self:
        if 0 < len(self.points) < MIN_ALIGN_POINTS:
            raise ValueError(f"[[align.points]] must be at least {MIN_ALIGN_POINTS}, or none")
        return self


class LimitsConfig(Part):
    """[limits]: may only tighten the ceilings of `arm/limits`."""

    speed_dps: Annotated[float, Field(ge=5, le=60)] = 60.0
    acceleration_dps2: Annotated[float, Field(ge=20, le=400)] = 300.0
    floor_m: Annotated[float, Field(ge=0.012, le=0.05)] = 0.012
    shoulder_pan_deg: Pair = (-110.0, 110.0)
    shoulder_lift_deg: Pair = (-100.0, 100.0)
    elbow_flex_deg: Pair = (-97.0, 97.0)
    wrist_flex_deg: Pair = (-95.0, 95.0)
    wrist_roll_deg: Pair = (-157.0, 160.0)


class KeepOut(Part):
    """[[workspace.keep_out]]: a box that no part of the arm enters, in metres."""

    name: Name
    x: Pair
    y: Pair
    z: Pair = (0.0, 0.5)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for axis, (low, high) in (("x", self.x), ("y", self.y), ("z", self.z)):
            if low >= high:
                raise ValueError(f"{axis} must be [low, high] with low below high")
        return self


class WorkspaceConfig(Part):
    """[workspace]: where the tool may be sent; within 0.10..0.28, +-0.15, 0.02..0.07 m."""

    x_min: Annotated[float, Field(ge=0.10, le=0.28)] = 0.10
    x_max: Annotated[float, Field(ge=0.10, le=0.28)] = 0.28
    y_min: Annotated[float, Field(ge=-0.15, le=0.15)] = -0.15
    y_max: Annotated[float, Field(ge=-0.15, le=0.15)] = 0.15
    z_min: Annotated[float, Field(ge=0.02, le=0.07)] = 0.02
    z_max: Annotated[float, Field(ge=0.02, le=0.07)] = 0.07
    keep_out: tuple[KeepOut, ...] = ()

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for axis in "xyz":
            if getattr(self, f"{axis}_min") >= getattr(self, f"{axis}_max"):
                raise ValueError(f"{axis}_min must be below {axis}_max")
        return self

    def area(self) -> Area:
        """The rectangle of the table that tools may name."""
        return Area(self.x_min, self.x_max, self.y_min, self.y_max)


Pose5 = tuple[Number, Number, Number, Number, Number]


class MotionConfig(Part):
    """[motion]: how the arm moves, holds and leaves."""

    speed_dps: Annotated[float, Field(ge=5, le=60)] = 45.0
    max_tilt_deg: Annotated[float, Field(ge=0, le=25)] = 25.0
    home_pose: Pose5 = (0.0, -90.0, 60.0, 60.0, 0.0)
    view_pose: Pose5 = (100.0, -90.0, 60.0, 60.0, 0.0)
    park_pose: Pose5 = (0.0, -98.0, 86.0, 75.0, 0.0)
    grip_torque_percent: Annotated[float, Field(ge=20, le=50)] = 30.0
    hold_torque_percent: Annotated[float, Field(ge=10, le=50)] = 20.0
    exit: Literal["park", "hold", "release"] = "park"
    orphan_s: Annotated[float, Field(ge=5, le=3600)] = 60.0
    lease_s: Annotated[float, Field(ge=0.3, le=2.0)] = 0.5
    heartbeat_s: Annotated[float, Field(ge=0.1, le=2.0)] = 0.1
    tolerance_deg: Annotated[float, Field(ge=0.3, le=5)] = 1.0
    settle_s: Annotated[float, Field(ge=0.2, le=5)] = 1.0


class CameraConfig(Part):
    """[camera]: where pictures come from."""

    source: str | int = "none"
    max_age_s: Annotated[float, Field(ge=0.1, le=30)] = 2.0
    width_px: Annotated[int, Field(ge=320, le=4096)] = CAMERA.width_px
    height_px: Annotated[int, Field(ge=240, le=3072)] = CAMERA.height_px
    format: Literal["auto", "MJPG", "YUYV"] = "auto"
    focal_px: Annotated[float, Field(ge=50, le=10_000)] = CAMERA.focal_px
    x: Annotated[float, Field(ge=-1, le=1)] = CAMERA.x
    y: Annotated[float, Field(ge=-1, le=1)] = CAMERA.y
    height_m: Annotated[float, Field(ge=0.1, le=3)] = CAMERA.height_m
    distortion: tuple[Number, ...] = ()

    @model_validator(mode="after")
    def _a_known_lens(self) -> Self:
        if len(self.distortion) not in (0, 4, 5, 8):
            raise ValueError(
                "distortion holds 4, 5 or 8 of OpenCV's coefficients (k1, k2, p1, p2, k3), or none"
            )
        return self

    def model(self) -> CameraModel:
        """The camera as a pinhole."""
        return CameraModel(
            self.width_px, self.height_px, self.focal_px, self.x, self.y, self.height_m
        )


class MarkerConfig(Part):
    """[[perceive.markers]]: where a printed tag lies."""

    id: Annotated[int, Field(ge=0, le=49)]
    x: Annotated[float, Field(ge=-1, le=1)]
    y: Annotated[float, Field(ge=-1, le=1)]
    size_m: Annotated[float, Field(ge=0.01, le=0.2)] = 0.05


class PerceiveConfig(Part):
    """[perceive]: how pictures become a scene."""

    block_height_m: Annotated[float, Field(ge=0, le=0.1)] = 0.03
    markers: tuple[MarkerConfig, ...] = Field(
        default=tuple(MarkerConfig(id=m.id, x=m.x, y=m.y, size_m=m.size_m) for m in MARKERS),
        min_length=4,
        max_length=4,
    )

    def marker_table(self) -> tuple[Marker, ...]:
        """The markers as the bottom of the house knows them."""
        return tuple(Marker(m.id, m.x, m.y, m.size_m) for m in self.markers)


HueRange = tuple[Annotated[int, Field(ge=0, le=179)], Annotated[int, Field(ge=0, le=179)]]


class ObjectConfig(Part):
    """[[objects]]: a kind of block."""

    label: Name
    hue: tuple[HueRange, ...] = Field(min_length=1, max_length=4)
    size_m: Annotated[float, Field(ge=0.015, le=0.045)] = 0.03


Tag = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f]*$")]
Variant = Literal["fp32", "fp16", "int8", "uint8", "quantized", "q4", "q4f16", "bnb4"]


class OllamaConfig(Part):
    """[planner.ollama]: the Ollama server and the model that plans. No model: "auto" is rules."""

    url: str = "http://127.0.0.1:11434"
    model: Tag = ""
    load_timeout_s: Annotated[float, Field(ge=1, le=3600)] = 300.0
    answer_timeout_s: Annotated[float, Field(ge=1, le=3600)] = 60.0
    keep_alive_s: Annotated[int, Field(ge=-1, le=604_800)] = 3600
    num_ctx: Annotated[int, Field(ge=1024, le=131_072)] = 8192
    allow_remote: StrictBool = False

    @model_validator(mode="after")
    def _is_an_address(self) -> Self:
        if not re.fullmatch(r"https?://[^\s/?#@]+/?", self.url):
            raise ValueError('url is "http://HOST:PORT", such as "http://127.0.0.1:11434"')
        return self


class SmolVlmConfig(Part):
    """[planner.smolvlm]: a model folder that this board runs itself, in the model worker."""

    model: Tag = ""
    variant: Variant = "int8"
    vision_variant: Variant | Literal[""] = ""
    embed_variant: Variant | Literal[""] = ""
    threads: Annotated[int, Field(ge=0, le=64)] = 0
    providers: tuple[Name, ...] = Field(default=("CPUExecutionProvider",), min_length=1)
    tiles: Annotated[int, Field(ge=1, le=17)] = 1
    window: Annotated[int, Field(ge=1024, le=131_072)] = 4096
    load_timeout_s: Annotated[float, Field(ge=1, le=3600)] = 120.0
    answer_timeout_s: Annotated[float, Field(ge=1, le=3600)] = 60.0
    idle_unload_s: Annotated[float, Field(ge=0, le=86_400)] = 0.0


class PlannerConfig(Part):
    """[planner]: who turns a sentence into a plan."""

    backend: Literal["auto", "rules", "ollama", "smolvlm"] = "auto"
    form: Literal["skills", "tools"] = "skills"
    ollama: OllamaConfig = OllamaConfig()
    smolvlm: SmolVlmConfig = SmolVlmConfig()

    @model_validator(mode="after")
    def _names_its_model(self) -> Self:
        if self.backend == "ollama" and not self.ollama.model:
            raise ValueError('backend = "ollama" needs a model in [planner.ollama] model')
        if self.backend == "smolvlm" and not self.smolvlm.model:
            raise ValueError('backend = "smolvlm" needs a model in [planner.smolvlm] model')
        return self


BoxFormat = Literal[
    "auto",
    "none",
    "pixels",
    "pixels-resized",
    "pixels-padded",
    "unit",
    "unit-resized",
    "unit-padded",
    "thousand",
    "thousand-resized",
    "thousand-padded",
]


class VisionConfig(Part):
    """[vision]: a model that looks at pictures beside the colours; its words are claims only."""

    backend: Literal["none", "ollama", "smolvlm"] = "none"
    model: Tag = ""
    box_format: BoxFormat = "auto"
    patience_s: Annotated[float, Field(ge=1, le=300)] = 20.0

    @model_validator(mode="after")
    def _names_its_model(self) -> Self:
        if self.backend != "none" and not self.model:
            raise ValueError(f'backend = "{self.backend}" needs a model in [vision] model')
        return self


class CheckConfig(Part):
    """[check]: limits on whole plans."""

    strict: StrictBool = False
    max_drop_m: Annotated[float, Field(ge=0.02, le=0.2)] = 0.06
    max_steps: Annotated[int, Field(ge=1, le=200)] = 60
    max_duration_s: Annotated[float, Field(ge=1, le=3600)] = 300.0


class RunConfig(Part):
    """[run]: how long a run waits, how often it tries."""

    answer_timeout_s: Annotated[float, Field(ge=1, le=86_400)] = 600.0
    max_attempts: Annotated[int, Field(ge=1, le=5)] = 2
    max_replans: Annotated[int, Field(ge=0, le=5)] = 3
    keep: Annotated[int, Field(ge=1, le=100_000)] = 200
    keep_mib: Annotated[int, Field(ge=10, le=1_000_000)] = 500
    keep_days: Annotated[int, Field(ge=1, le=36_500)] = 365


class HttpConfig(Part):
    """[http]: the local tool server."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8765
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    max_body_bytes: Annotated[int, Field(ge=1_024, le=1_048_576)] = 65_536
    max_connections: Annotated[int, Field(ge=4, le=1_000)] = 64
    certificate: str = ""
    key: str = ""

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if bool(self.certificate) != bool(self.key):
            raise ValueError("certificate and key switch TLS on together; give both or none")
        return self


class RateConfig(Part):
    """[rate]: calls per sliding second."""

    calls_per_s: Annotated[int, Field(ge=1, le=1_000)] = 5
    reads_per_s: Annotated[int, Field(ge=1, le=1_000)] = 20
    goals_per_s: Annotated[int, Field(ge=1, le=1_000)] = 2
    arm_calls_per_s: Annotated[int, Field(ge=1, le=1_000)] = 20


class GateConfig(Part):
    """[gate]: what an agent may move. None = nothing on a real arm, everything on the virtual."""

    allow: tuple[str, ...] | None = None
    bypass: StrictBool = False


class LogConfig(Part):
    """[log]: how much is told."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    audit_mib: Annotated[int, Field(ge=5, le=10_000)] = 50


class SimConfig(Part):
    """[sim]: the virtual arm of `--sim`."""

    seed: Annotated[int, Field(ge=0, le=2**31)] = 2
    hidden_errors: StrictBool = True
    orphan_s: Annotated[float, Field(ge=5, le=3600)] = 120.0


class Config(Part):
    """The whole file."""

    arm: ArmConfig = ArmConfig()
    align: AlignConfig = AlignConfig()
    limits: LimitsConfig = LimitsConfig()
    workspace: WorkspaceConfig = WorkspaceConfig()
    motion: MotionConfig = MotionConfig()
    stop: StopConfig = StopConfig()
    camera: CameraConfig = CameraConfig()
    perceive: PerceiveConfig = PerceiveConfig()
    objects: tuple[ObjectConfig, ...] = Field(
        default=tuple(ObjectConfig(label=o.label, hue=o.hue, size_m=o.size_m) for o in OBJECTS),
        max_length=50,
    )
    places: dict[Name, Pair] = Field(default_factory=lambda: dict(PLACES), max_length=100)
    planner: PlannerConfig = PlannerConfig()
    vision: VisionConfig = VisionConfig()
    check: CheckConfig = CheckConfig()
    run: RunConfig = RunConfig()
    http: HttpConfig = HttpConfig()
    rate: RateConfig = RateConfig()
    gate: GateConfig = GateConfig()
    log: LogConfig = LogConfig()
    sim: SimConfig = SimConfig()

    @model_validator(mode="after")
    def _places_on_the_table(self) -> Self:
        for name, (x, y) in self.places.items():
            if not (0.10 <= x <= 0.28 and -0.15 <= y <= 0.15):
                raise ValueError(
                    f"places.{name} = [{x:g}, {y:g}] lies where the hand never goes; allowed are "
                    "x 0.10 to 0.28 and y -0.15 to 0.15 m"
                )
        return self

    def object_kinds(self) -> tuple[ObjectKind, ...]:
        """The kinds of block as the bottom of the house knows them."""
        return tuple(ObjectKind(o.label, o.hue, o.size_m) for o in self.objects)


def default_path() -> Path:
    """Where the file lies when nobody names one."""
    return Path("/etc/armlabd/config.toml")
