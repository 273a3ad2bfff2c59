import collections
import dataclasses
import enum
import json
import sys

import pytest
import torch
from torch.utils import _pytree as pytree

from etlab import errors
from etlab.exir.emit.nesting import tree_text
from etlab.runtime.nesting import flatten_inputs, unflatten_outputs


class Color(enum.Enum):
    RED = 1


Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class State:
    hidden: int
    cell: int
    note: int | None = None


pytree.register_dataclass(State)


def _text(value):
    return tree_text(pytree.tree_flatten(value)[1])


@pytest.mark.parametrize(
    "value",
    [
        1,
        (1, [2, 3]),
        {"b": 1, "a": (2, None)},
        collections.OrderedDict(x=1, y=[2]),
        collections.defaultdict(list, a=1),
        collections.deque([1, 2]),
        Pair([1, Pair(2, 3)], {"a": (4,)}),
        State(1, 2),
        [State(1, 2, 3), Pair(State(4, 5), 6)],
        torch.return_types.topk((1, 2)),
    ],
)
def test_outputs_come_back_as_they_were(value):
    leaves = pytree.tree_leaves(value)
    assert unflatten_outputs("forward", _text(value), leaves) == value


def test_files_without_nesting_give_flat_lists():
    assert flatten_inputs("forward", "", [1, 2], {}) == [1, 2]
    assert unflatten_outputs("forward", "", [1, 2]) == [1, 2]
    with pytest.raises(errors.InvalidArgumentError, match="give them by position"):
        flatten_inputs("forward", "", [1], {"x": 2})


def test_dictionaries_may_come_in_any_order():
    text = _text((({"p": 1, "q": [2, 3]},), {"k": {"a": 4, "b": 5}, "j": 6}))
    given = ({"q": [2, 3], "p": 1},), {"j": 6, "k": {"b": 5, "a": 4}}
    assert flatten_inputs("forward", text, *given) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("args", [(), (1, 2), ([1, 2],), ({"p": 1},), ({"p": 1, "q": (2, 3)},)])
def test_other_nesting_is_refused(args):
    text = _text((({"p": 1, "q": [2, 3]},), {}))
    with pytest.raises(errors.InvalidArgumentError, match="expected inputs nested as"):
        flatten_inputs("forward", text, args, {})


def test_named_tuples_pass_for_the_plain_ones_of_a_program():
    pair = collections.namedtuple("pair", "a b")
    text = _text((([(1, (2, 3))],), {}))
    assert flatten_inputs("forward", text, ([pair(1, pair(2, 3))],), {}) == [1, 2, 3]


@pytest.mark.parametrize(
    "given",
    [
        (Pair(1, 2), State(3, 4)),
        ((1, 2), State(3, 4)),
        (Pair(1, 2), collections.namedtuple("other", "hidden cell")(3, 4)),
    ],
)
def test_inputs_of_named_classes_pass_with_the_same_fields(given):
    text = _text(((Pair(1, 2), State(3, 4)), {}))
    assert flatten_inputs("forward", text, given, {}) == [1, 2, 3, 4]


def test_a_class_that_is_not_there_becomes_a_named_tuple_of_its_fields():
    for value in (Pair(1, 2), State(1, 2)):
        text = _text(value).replace(__name__, "no_such_module")
        made = unflatten_outputs("forward", text, [1, 2])
        fields = {field: getattr(value, field) for field in made._fields}
        assert (type(made).__name__, made._asdict()) == (type(value).__name__, fields)
        given = flatten_inputs(
            "forward", _text(((value,), {})).replace(__name__, "gone"), [made], {}
        )
        assert given == [1, 2]


def test_other_readers_find_plain_containers_for_named_classes():
    assert pytree.treespec_loads(_text(Pair(1, [2]))) == pytree.tree_structure((1, [2]))
    assert pytree.treespec_loads(_text(State(1, 2))).type is dict


@pytest.mark.parametrize(
    "damage",
    [
        {"fields": ["first"]},
        {"fields": ["first", "import os"]},
        {"fields": ["first", "class"], "module": "gone"},
        {"fields": "first"},
        {"fields": ["first", "first"], "module": "gone"},
        {"name": "no name", "module": "gone"},
    ],
)
def test_damaged_names_of_classes_are_refused_in_words(damage):
    protocol, tree = json.loads(_text(Pair(1, 2)))
    tree["etlab_class"] |= damage
    with pytest.raises(errors.InvalidProgramError, match="cannot be read"):
        unflatten_outputs("forward", json.dumps([protocol, tree]), [1, 2])


def test_a_file_cannot_name_a_class_that_is_no_container():
    for module, name in (("subprocess", "Popen"), ("builtins", "tuple"), ("os", "path.join")):
        protocol, tree = json.loads(_text(Pair(1, 2)))
        tree["etlab_class"] |= {"module": module, "name": name}
        made = unflatten_outputs("forward", json.dumps([protocol, tree]), [1, 2])
        assert made._fields == ("first", "second")


def test_wrong_number_of_outputs_is_refused():
    with pytest.raises(
        errors.InvalidProgramError, match="describes 2 nested outputs but returns 1"
    ):
        unflatten_outputs("forward", _text((1, 2)), [1])


@pytest.mark.parametrize(
    "text", ["{", "[]", "[1, {}]", "[" * 100000, '[9, {"type": null}]', "null"]
)
def test_damaged_text_is_refused_in_words(text):
    with pytest.raises(errors.InvalidProgramError, match=r"use execute\(\) with flat inputs"):
        unflatten_outputs("forward", text, [1])


def test_no_module_is_imported_for_a_file():
    assert "antigravity" not in sys.modules
    factory = _text(collections.defaultdict(list, a=1)).replace("builtins", "antigravity")
    protocol, spec = json.loads(_text({"a": 1}))
    key = {"__enum__": True, "fqn": "antigravity:geohash", "name": "x"}
    spec["context"] = json.dumps([key])
    for text in (factory, json.dumps([protocol, spec])):
        with pytest.raises(errors.InvalidProgramError, match="antigravity"):
            unflatten_outputs("forward", text, [1])
    assert "antigravity" not in sys.modules


def test_keys_of_known_enums_are_read():
    value = {Color.RED: 1}
    assert unflatten_outputs("forward", _text(value), [1]) == value
