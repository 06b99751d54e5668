"""A row of the table: the work, what is measured of it, and the goals."""
import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Metric:
    """One figure of a row. Where nothing is said, less is better."""
    key: str
    title: str
    unit: str = "ms"
    # The most (or, with at_least, the least) that the quantile `at` of all samples may be.
    median: typing.Optional[float] = None
    # The same of the worst sample.
    worst: typing.Optional[float] = None
    # How many times better than `against`'s it has to be; 0.9 allows 1.11 times its cost.
    ratio: typing.Optional[float] = None
    # How much more than `against`'s it may be.
    more: typing.Optional[float] = None
    # How far from `against`'s it may be, in the metric's unit: where one measure checks another.
    near: typing.Optional[float] = None
    at_least: bool = False
    against: str = "kernel"
    at: float = 0.5

    def goal(self):
        sign = "≥" if self.at_least else "≤"
        words = []
        if self.median is not None:
            words.append(f"{sign} {self.median:g}{self._unit()}")
        if self.worst is not None:
            words.append(f"worst {self.worst:g}{self._unit()}")
        if self.ratio is not None and self.at_least:
            words.append(f"≥ {self.ratio:g} × {self.against}")
        elif self.ratio is not None:
            words.append(f"≤ {1 / self.ratio:.3g} × {self.against}")
        if self.more is not None:
            words.append(f"≤ {self.against} + {self.more:g}{self._unit()}")
        if self.near is not None:
            words.append(f"{self.against} ± {self.near:g}{self._unit()}")
        return ", ".join(words)

    def _unit(self):
        return f" {self.unit}" if self.unit and self.unit != "x" else ""


@dataclasses.dataclass
class Row:
    name: str
    title: str
    metrics: list
    # (lab, contender, number of the run) -> (figures by key, the run's result). A figure is a number, or a list of
    # the samples of a run; None where a run has none.
    run: typing.Callable
    contenders: tuple = ("ours", "kernel")
    most_runs: int = 1000
    # How many runs there are where no number is asked for; None for as many as of the other rows.
    usual: typing.Optional[int] = None
    # The most runs of single contenders, for those that serve only for comparison.
    fewer: dict = dataclasses.field(default_factory=dict)
    # How long a run takes, roughly: for the estimate of the time left.
    seconds: float = 2.5
    # Whether it takes so long that it is only measured where its name or group is asked for.
    is_long: bool = False
    group: str = ""

    def runs(self, contender, runs):
        return min(runs, self.most_runs, self.fewer.get(contender, runs))
