"""A part of a program that computes one tensor: instructions, and nodes of delegates."""

from dataclasses import dataclass, field

from etlab.numerics.places import Place


@dataclass(slots=True)
class Region:
    """What runs, and what it is given.

    Attributes:
        output: the tensor that comes out.
        inputs: values of the program that are given, each as it is before a step.
        steps: instructions that run as they are.
        given: values inside of delegates that are given, by the step that calls the delegate.
        border: inputs of delegates that the region computes: number to value, by step.
        results: outputs of delegates that the region needs: number to value, by step.
    """

    output: Place
    inputs: list[Place] = field(default_factory=list)
    steps: set[int] = field(default_factory=set)
    given: dict[int, list[int]] = field(default_factory=dict)
    border: dict[int, dict[int, int]] = field(default_factory=dict)
    results: dict[int, dict[int, int]] = field(default_factory=dict)

    @property
    def delegates(self) -> list[int]:
        """The steps whose delegates are cut, in order."""
        found = {*self.given, *self.border, *self.results}
        return sorted(found | ({self.output.step} if self.output.is_inside else set()))

    @property
    def places(self) -> list[Place]:
        """The inputs in order: values of the program, then those of each delegate."""
        inside = [
            Place(step, number, is_inside=True)
            for step in self.delegates
            for number in self.given.get(step, ())
        ]
        return [*self.inputs, *inside]
