import pytest

import etlab
from etlab.choices import as_partitioners, as_quantizer, parse_choice
from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.quantize import find_quantizer


def test_lists_name_what_exists_and_their_parameters():
    quantizers = etlab.list_quantizers()
    assert quantizers.names[0] == "none"
    assert {"int8-weights", "fp16"} <= set(quantizers.names)
    assert dict(zip(quantizers.names, quantizers, strict=True))["int8-weights"].parameters == {
        "min_elements": "1024",
        "per_channel": "True",
    }
    assert etlab.list_partitioners().names[0] == "none"
    assert "min_elements=1024" in quantizers._repr_html_()
    assert "min_elements=1024" in str(quantizers)
    assert list(quantizers.to_dataframe()["name"]) == quantizers.names


def test_none_means_nothing():
    assert as_quantizer(None) is None
    assert as_quantizer("none") is None
    assert as_partitioners("none") == []
    assert as_partitioners([]) == []


def test_parameters_are_given_behind_the_name():
    assert parse_choice("a:b=1,c='x y',d=word") == ("a", {"b": 1, "c": "x y", "d": "word"})
    assert (
        repr(as_quantizer("int8-weights:min_elements=5"))
        == "Int8Weights(min_elements=5, per_channel=True)"
    )
    with pytest.raises(InvalidArgumentError, match="keyword=value"):
        parse_choice("a:b")


def test_unknown_names_and_parameters_say_what_there_is():
    with pytest.raises(NotFoundError, match="int8-weights"):
        as_quantizer("int9")
    with pytest.raises(NotFoundError, match="none"):
        as_partitioners("no-such-backend")
    with pytest.raises(InvalidArgumentError, match="it takes min_elements"):
        find_quantizer("int8-weights", group=3)
    with pytest.raises(InvalidArgumentError, match="expected a name"):
        as_quantizer(3)
    with pytest.raises(InvalidArgumentError, match="expected a name"):
        as_partitioners(3)


def test_parameters_written_as_a_call_are_told_how_they_are_written():
    with pytest.raises(NotFoundError, match="parameters stand behind a colon: '8da4w:keyword="):
        as_quantizer("8da4w(group_size=64)")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("int8-weights:min_elements=a", "min_elements: expected int as in 1024, got 'a'"),
        ("int8:per_channel=3", "per_channel: expected bool as in True, got 3"),
        ("int8:weights=1", "weights: expected str as in 'min-max', got 1"),
    ],
)
def test_parameters_are_of_the_kind_of_their_defaults(given, message):
    with pytest.raises(InvalidArgumentError, match=message):
        as_quantizer(given)


def test_one_name_stands_for_a_tuple():
    assert as_quantizer("int8:keep_float=head").keep_float == ("head",)
