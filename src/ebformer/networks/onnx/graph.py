"""A graph of ONNX, written as numpy would be: values with operators, loops and branches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ebformer.atomic import replacing

OPSET, IR = 18, 9
"""What onnxruntime from 1.15 on can run."""
END = np.iinfo(np.int64).max
"""Beyond the last entry of any axis."""


class Value:
    """What a node of the graph answers; numbers and arrays beside it become constants."""

    __array_ufunc__ = None  # numpy leaves `array + value` to the value

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __add__(self, other: Any) -> Value:
        return self.graph.of("Add", self, other)

    def __radd__(self, other: Any) -> Value:
        return self.graph.of("Add", other, self)

    def __sub__(self, other: Any) -> Value:
        return self.graph.of("Sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.graph.of("Sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.graph.of("Mul", self, other)

    def __rmul__(self, other: Any) -> Value:
        return self.graph.of("Mul", other, self)

    def __truediv__(self, other: Any) -> Value:
        return self.graph.of("Div", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.graph.of("Div", other, self)

    def __matmul__(self, other: Any) -> Value:
        return self.graph.of("MatMul", self, other)

    def __neg__(self) -> Value:
        return self.graph("Neg", self)

    def __gt__(self, other: Any) -> Value:
        return self.graph.of("Greater", self, other)

    def __lt__(self, other: Any) -> Value:
        return self.graph.of("Less", self, other)

    def __ge__(self, other: Any) -> Value:
        return self.graph.of("GreaterOrEqual", self, other)

    def __le__(self, other: Any) -> Value:
        return self.graph.of("LessOrEqual", self, other)

    def exp(self) -> Value:
        return self.graph("Exp", self)

    def log(self) -> Value:
        return self.graph("Log", self)

    def sqrt(self) -> Value:
        return self.graph("Sqrt", self)

    def floor(self) -> Value:
        return self.graph("Floor", self)

    def ceil(self) -> Value:
        return self.graph("Ceil", self)

    def at_least(self, least: Any) -> Value:
        return self.graph.of("Max", self, least)

    def at_most(self, largest: Any) -> Value:
        return self.graph.of("Min", self, largest)

    def clip(self, least: Any, largest: Any) -> Value:
        return self.at_least(least).at_most(largest)

    def sum(self, axis: int | None = None, keep: bool = False) -> Value:
        return self._reduced("ReduceSum", axis, keep)

    def max(self, axis: int | None = None, keep: bool = False) -> Value:
        return self._reduced("ReduceMax", axis, keep)

    def min(self, axis: int | None = None, keep: bool = False) -> Value:
        return self._reduced("ReduceMin", axis, keep)

    def mean(self, axis: int | None = None, keep: bool = False) -> Value:
        return self._reduced("ReduceMean", axis, keep)

    def _reduced(self, operator: str, axis: int | None, keep: bool) -> Value:
        axes = () if axis is None else (np.array([axis]),)
        return self.graph(operator, self, *axes, keepdims=int(keep))

    def reshape(self, *shape: int) -> Value:
        return self.graph("Reshape", self, np.array(shape))

    def transpose(self, *axes: int) -> Value:
        return self.graph("Transpose", self, perm=axes or None)

    def unsqueeze(self, axis: int) -> Value:
        return self.graph("Unsqueeze", self, np.array([axis]))

    def row(self, index: int) -> Value:
        """The part at this index of the first axis."""
        return self.graph("Gather", self, np.array(index), axis=0)

    def part(self, start: int, stop: int, step: int = 1, axis: int = -1) -> Value:
        """Entries start, start + step, ... before stop; negative numbers count from the end, as numpy has it."""
        return self.graph("Slice", self, *(np.array([each]) for each in (start, stop, axis, step)))

    def reversed(self) -> Value:
        """The last axis the other way round."""
        return self.part(-1, -END, -1)

    def gradient(self) -> Value:
        """Half the distance of the two neighbours of every entry, at either end the distance of the only one."""
        gaps = self.part(1, END) - self.part(0, -1)
        middle = (gaps.part(1, END) + gaps.part(0, -1)) / 2.0
        return self.graph("Concat", gaps.part(0, 1), middle, gaps.part(-1, END), axis=0)

    def cast(self, to: str) -> Value:
        from onnx import TensorProto

        return self.graph("Cast", self, to=getattr(TensorProto, to))


class Graph:
    """Nodes in the order they run; `dtype` is the type of all numbers that are not shapes or indices."""

    def __init__(self, dtype: type) -> None:
        from onnx import TensorProto

        self.dtype, self.type = dtype, TensorProto.FLOAT if dtype is np.float32 else TensorProto.DOUBLE
        self.nodes: list[Any] = []
        self.constants: dict[tuple[str, tuple[int, ...], bytes], tuple[str, Any]] = {}
        self.made = 0

    def __call__(self, operator: str, *inputs: Any, **attributes: Any) -> Value:
        """The result of an operator of ONNX."""
        return self.several(1, operator, *inputs, **attributes)[0]

    def several(self, outputs: int, operator: str, *inputs: Any, **attributes: Any) -> list[Value]:
        """The results of an operator that has as many."""
        from onnx import helper

        results = [self.named() for _ in range(outputs)]
        given = {name: value for name, value in attributes.items() if value is not None}
        names = [self.value(each).name for each in inputs]
        self.nodes.append(helper.make_node(operator, names, [each.name for each in results], **given))
        return results

    def of(self, operator: str, *inputs: Any) -> Value:
        """An operator on numbers: plain whole numbers are meant as such, not as indices."""
        return self(operator, *(each if isinstance(each, Value) else self.number(each) for each in inputs))

    def named(self) -> Value:
        self.made += 1
        return Value(self, f"v{self.made}")

    def value(self, given: Any) -> Value:
        """A value as it is; whole numbers as shapes and indices, other numbers as constants."""
        if isinstance(given, Value):
            return given
        array = np.asarray(given)
        return self._constant(array.astype(np.int64)) if array.dtype.kind == "i" else self.number(array)

    def number(self, given: Any) -> Value:
        return self._constant(np.asarray(given, dtype=self.dtype))

    def stored(self, array: Any) -> Value:
        """Weights of a network, kept in single precision."""
        kept = self._constant(np.asarray(array, dtype=np.float32))
        return kept if self.dtype is np.float32 else kept.cast("DOUBLE")

    def _constant(self, array: Any) -> Value:
        from onnx import numpy_helper

        key = str(array.dtype), array.shape, array.tobytes()
        if key not in self.constants:
            name = f"c{len(self.constants)}"
            self.constants[key] = name, numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        return Value(self, self.constants[key][0])

    def where(self, condition: Value, yes: Any, no: Any) -> Value:
        chosen = (each if isinstance(each, Value) else self.number(each) for each in (yes, no))
        return self("Where", condition, *chosen)

    def stack(self, rows: Sequence[Value]) -> Value:
        return self("Concat", *(each.unsqueeze(0) for each in rows), axis=0)

    def range(self, start: Any, stop: Any) -> Value:
        """start, start + 1, ... before stop, as numbers."""
        ends = (each if isinstance(each, Value) else self.number(each) for each in (start, stop))
        return self("Range", *ends, self.number(1.0))

    def loop(
        self,
        times: int,
        body: Callable[..., tuple[Sequence[Value], Sequence[Value], Value | None]],
        state: Sequence[Value],
        going: Value | None = None,
    ) -> list[Value]:
        """Run `body(step, *state) -> state, kept, going` up to so many times, or while `going`.

        The answers are the last state, and what was kept of every step, stacked.
        """
        from onnx import TensorProto, helper

        step, condition, *inner = (self.named() for _ in range(2 + len(state)))
        with self._inside() as nodes:
            after, kept, go_on = body(step.cast("FLOAT" if self.dtype is np.float32 else "DOUBLE"), *inner)
            results = [self("Identity", condition if go_on is None else go_on)]
            results += [self("Identity", each) for each in (*after, *kept)]
        given = [
            helper.make_tensor_value_info(step.name, TensorProto.INT64, []),
            helper.make_tensor_value_info(condition.name, TensorProto.BOOL, []),
            *(helper.make_tensor_value_info(each.name, self.type, None) for each in inner),
        ]
        asked = [helper.make_tensor_value_info(results[0].name, TensorProto.BOOL, [])]
        asked += [helper.make_tensor_value_info(each.name, self.type, None) for each in results[1:]]
        whole = helper.make_graph(nodes, f"step{self.made}", given, asked)
        first = self._constant(np.array(True)) if going is None else going
        return self.several(len(after) + len(kept), "Loop", np.array(times), first, *state, body=whole)

    def branch(
        self, condition: Value, yes: Callable[[], Sequence[Value]], no: Callable[[], Sequence[Value]]
    ) -> list[Value]:
        """The values of one of two functions; only that one runs."""
        from onnx import helper

        branches = []
        for function in (yes, no):
            with self._inside() as nodes:
                results = [self("Identity", each) for each in function()]
            asked = [helper.make_tensor_value_info(each.name, self.type, None) for each in results]
            branches.append(helper.make_graph(nodes, f"branch{self.made}", [], asked))
        then, otherwise = branches
        return self.several(len(then.output), "If", condition, then_branch=then, else_branch=otherwise)

    @contextmanager
    def _inside(self) -> Iterator[list[Any]]:
        """Nodes written here belong to a graph within this one, which sees all that came before."""
        outside, self.nodes = self.nodes, []
        try:
            yield self.nodes
        finally:
            self.nodes = outside

    def save(
        self,
        path: str | os.PathLike[str],
        inputs: Mapping[str, Sequence[str]],
        outputs: Mapping[str, tuple[Value, Sequence[str]]],
        about: str,
    ) -> None:
        """Write the graph; names and sizes of what goes in and of what comes out."""
        import onnx
        from onnx import helper

        for name, (value, _) in outputs.items():
            self.nodes.append(helper.make_node("Identity", [value.name], [name]))
        given = [helper.make_tensor_value_info(name, self.type, shape) for name, shape in inputs.items()]
        asked = [helper.make_tensor_value_info(name, self.type, shape) for name, (_, shape) in outputs.items()]
        constants = [constant for _, constant in self.constants.values()]
        made = helper.make_graph(self.nodes, "ebformer", given, asked, constants, about)
        model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="ebformer")
        model.ir_version = IR
        onnx.checker.check_model(model, full_check=True)
        with replacing(path) as partial:
            partial.write_bytes(model.SerializeToString())
