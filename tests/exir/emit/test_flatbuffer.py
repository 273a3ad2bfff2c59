import math
import random
import struct
from dataclasses import dataclass

import pytest

from etlab.errors import InvalidProgramError
from etlab.exir.emit import schema
from etlab.exir.emit.enums import TensorShapeDynamism
from etlab.exir.emit.fields import Bytes, Float64, Float64s, Int8, Int64, table_fields
from etlab.exir.emit.flatbuffer import write_flatbuffer
from etlab.exir.emit.reader import read_flatbuffer
from etlab.exir.emit.scalar_type import ScalarType


def _round_trip(program: schema.Program) -> schema.Program:
    data = write_flatbuffer(program, identifier=b"ET12")
    result: schema.Program = read_flatbuffer(data, schema.Program, identifier=b"ET12")
    return result


def _program() -> schema.Program:
    values = (
        schema.Null(),
        schema.Int(-(2**63)),
        schema.Bool(True),
        schema.Double(math.inf),
        schema.Tensor(
            ScalarType.FLOAT,
            0,
            (2, 3),
            (1, 0),
            False,
            3,
            schema.AllocationDetails(1, 64, 2),
            0,
            TensorShapeDynamism.DYNAMIC_BOUND,
            schema.ExtraTensorInfo(0, "weight ü"),
        ),
        schema.String("text"),
        schema.IntList((0, 1)),
        schema.DoubleList((1.5, -0.0)),
        schema.BoolList((True, False)),
        schema.TensorList((4, 4)),
        schema.OptionalTensorList((4, -1)),
    )
    calls = (
        schema.KernelCall(0, (1, 2, 2)),
        schema.DelegateCall(0, (1,)),
        schema.MoveCall(1, 2),
        schema.JumpFalseCall(1, 5),
        schema.FreeCall(4),
    )
    plan = schema.ExecutionPlan(
        "forward",
        schema.ContainerMetadata("in", ""),
        tuple(schema.EValue(value) for value in values),
        (0,),
        (),
        (schema.Chain((), (), tuple(schema.Instruction(call) for call in calls)),),
        (schema.Operator("aten::add", "out"), schema.Operator("aten::copy_", "")),
        (
            schema.BackendDelegate(
                "Backend",
                schema.BackendDelegateDataReference(schema.DataLocation.SEGMENT, 1),
                (schema.CompileSpec("key", b"\x00\x01"),),
            ),
        ),
        (0, 2**40),
    )
    return schema.Program(
        execution_plan=(plan, plan),
        constant_buffer=(schema.Buffer(b"inline"),),
        backend_delegate_data=(schema.BackendDelegateInlineData(b""),),
        segments=(schema.DataSegment(128, 2**40),),
        constant_segment=schema.SubsegmentOffsets(0, (0, 16)),
        named_data=(schema.NamedData("key", 1),),
    )


def test_what_is_written_is_read_back() -> None:
    assert _round_trip(_program()) == _program()


def test_negative_zero_and_nan_survive() -> None:
    plan = schema.ExecutionPlan(
        values=(
            schema.EValue(schema.Double(-0.0)),
            schema.EValue(schema.Double(math.nan)),
            schema.EValue(schema.DoubleList((0.0,))),
            schema.EValue(schema.DoubleList((-0.0,))),
        )
    )
    back = _round_trip(schema.Program(execution_plan=(plan,)))
    assert back.execution_plan is not None
    first, second, third, fourth = (entry.val for entry in back.execution_plan[0].values or ())
    assert math.copysign(1, first.double_val) == -1  # type: ignore[union-attr]
    assert math.isnan(second.double_val)  # type: ignore[union-attr]
    assert math.copysign(1, third.items[0]) == 1  # type: ignore[union-attr, index]
    assert math.copysign(1, fourth.items[0]) == -1  # type: ignore[union-attr, index]


def test_absent_and_empty_vectors_differ() -> None:
    back = _round_trip(schema.Program(execution_plan=(), segments=None))
    assert back.execution_plan == ()
    assert back.segments is None


def test_equal_vectors_and_strings_are_stored_once() -> None:
    def size(count: int) -> int:
        call = schema.Instruction(schema.KernelCall(0, tuple(range(1000))))
        named = tuple(schema.NamedData("k" * 1000, 0) for _ in range(count))
        plan = schema.ExecutionPlan(chains=(schema.Chain(instructions=(call,) * count),))
        program = schema.Program(execution_plan=(plan,), named_data=named)
        return len(write_flatbuffer(program, identifier=b"ET12"))

    assert size(20) - size(1) < 19 * 100


def test_alignment_holds_for_every_number() -> None:
    @dataclass(frozen=True, slots=True)
    class Mixed:
        small: Int8 = 0
        wide: Int64 = 0
        real: Float64 = 0.0
        reals: Float64s | None = None
        data: Bytes | None = None

    Mixed.__annotations__.update(
        {"small": Int8, "wide": Int64, "real": Float64, "reals": Float64s | None}
    )
    item = Mixed(1, 0x1122334455667788, 2.5, (3.5, 4.5), b"odd")
    for reserved in (0, 32):
        data = bytes(write_flatbuffer(item, identifier=b"TEST", reserved=reserved))
        for pattern in (struct.pack("<q", item.wide), struct.pack("<d", 2.5), b"\x00\x0c@"):
            assert pattern in data
        assert data.index(struct.pack("<q", item.wide)) % 8 == 0
        assert data.index(struct.pack("<d", 2.5)) % 8 == 0
        assert data.index(struct.pack("<dd", 3.5, 4.5)) % 8 == 0


def test_the_librarys_own_reader_understands_the_result() -> None:
    from flatbuffers import encode, number_types, packer, table

    data = write_flatbuffer(schema.Program(version=7), identifier=b"ET12")
    root = table.Table(data, encode.Get(packer.uoffset, data, 0))
    offset = root.Offset(4)
    assert root.Get(number_types.Uint32Flags, offset + root.Pos) == 7


def test_slots_follow_the_order_of_fields_and_a_union_takes_two() -> None:
    assert [field.slot for field in table_fields(schema.Chain)] == [0, 1, 2, 3]
    assert len(table_fields(schema.EValue)) == 1
    data = bytes(write_flatbuffer(schema.EValue(schema.Int(5)), identifier=b"TEST"))
    back = read_flatbuffer(data, schema.EValue, identifier=b"TEST")
    assert back == schema.EValue(schema.Int(5))


def test_foreign_identifier_is_refused_by_name() -> None:
    data = write_flatbuffer(_program(), identifier=b"XXXX")
    with pytest.raises(InvalidProgramError, match="b'XXXX'"):
        read_flatbuffer(data, schema.Program, identifier=b"ET12")


def test_no_truncation_reads_anything_but_the_program() -> None:
    data = bytes(write_flatbuffer(_program(), identifier=b"ET12"))
    for length in range(len(data) - 16):  # up to 15 bytes of padding stand at the end
        with pytest.raises(InvalidProgramError):
            read_flatbuffer(data[:length], schema.Program, identifier=b"ET12")


def test_random_damage_never_raises_anything_else() -> None:
    data = bytes(write_flatbuffer(_program(), identifier=b"ET12"))
    generator = random.Random(0)
    refused = 0
    for _ in range(2000):
        damaged = bytearray(data)
        for _ in range(generator.randint(1, 4)):
            damaged[generator.randrange(8, len(damaged))] = generator.randrange(256)
        try:
            read_flatbuffer(damaged, schema.Program, identifier=b"ET12")
        except InvalidProgramError:
            refused += 1
    assert refused > 100


def test_a_vector_that_points_at_one_table_many_times_stays_small() -> None:
    table = schema.Frame("f")
    back = _round_trip(
        schema.Program(
            execution_plan=(
                schema.ExecutionPlan(
                    chains=(schema.Chain(stacktrace=(schema.FrameList((table,) * 3),)),)
                ),
            )
        )
    )
    assert back.execution_plan is not None
    chain = (back.execution_plan[0].chains or ())[0]
    assert (chain.stacktrace or ())[0].items == (table,) * 3
