import gc
import io
import os
import pathlib
import sys

import pytest
import torch

import etlab
from etlab import errors
from etlab.runtime import Runtime, Verification, _native
from etlab.testing import assert_same


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview, io.BytesIO])
def test_programs_load_from_memory(compiled, example, wrap):
    module, args, _ = example("mlp")
    program = Runtime.get().load_program(wrap(compiled("mlp")))
    assert_same(program.load_method("forward").execute(args)[0], module(*args).detach())


@pytest.mark.parametrize("memory_map", [False, True])
@pytest.mark.parametrize("kind", [str, pathlib.Path])
def test_programs_load_from_files(compiled, example, tmp_path, kind, memory_map):
    module, args, _ = example("mlp")
    path = tmp_path / "mlp.pte"
    path.write_bytes(compiled("mlp"))
    program = Runtime.get().load_program(kind(path), memory_map=memory_map)
    assert_same(program.load_method("forward").execute(args)[0], module(*args).detach())


def test_rewriting_the_file_does_not_touch_a_loaded_program(compiled, example, tmp_path):
    module, args, _ = example("mlp")
    path = tmp_path / "mlp.pte"
    path.write_bytes(compiled("mlp"))
    method = Runtime.get().load_program(path).load_method("forward")
    path.write_bytes(b"")
    assert_same(method.execute(args)[0], module(*args).detach())


def test_changing_the_buffer_does_not_touch_a_loaded_program(compiled, example):
    module, args, _ = example("mlp")
    buffer = bytearray(compiled("mlp"))
    method = Runtime.get().load_program(buffer).load_method("forward")
    buffer[:] = bytes(len(buffer))
    assert_same(method.execute(args)[0], module(*args).detach())


@pytest.mark.parametrize("verification", list(Verification))
def test_damaged_programs_are_refused_at_every_verification_level(compiled, verification):
    data = bytearray(compiled("mlp"))
    data[60:64] = b"\xff\xff\xff\x7f"
    data[64:120] = bytes(56)
    with pytest.raises(errors.InvalidProgramError):
        Runtime.get().load_program(bytes(data), verification=verification)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"", "0 bytes are too few"),
        (lambda data: b"PK\x03\x04" + data, "'PK|expected|has 'ET12' there"),
        (lambda data: data[:4] + b"ET99" + data[8:], "'ET99', a .pte file has 'ET12' there"),
        (lambda data: data[:60], "truncated"),
        (lambda data: data[:-1], "truncated"),
        (lambda data: data[:16] + b"\xff" * 8 + data[24:], "promises 18446744073709551615 bytes"),
    ],
    ids=["empty", "zip", "other version", "short", "one byte short", "huge size"],
)
def test_foreign_and_truncated_files_say_what_they_are(compiled, damage, message):
    with pytest.raises(errors.InvalidProgramError, match=message):
        Runtime.get().load_program(damage(compiled("mlp")))


def test_missing_files_and_folders_are_access_errors(tmp_path):
    for path in (tmp_path / "no.pte", tmp_path):
        for memory_map in (False, True):
            with pytest.raises(errors.AccessError, match="cannot"):
                Runtime.get().load_program(path, memory_map=memory_map)


def test_other_arguments_are_refused_in_words(compiled):
    with pytest.raises(errors.InvalidArgumentError, match="expected a path, bytes"):
        Runtime.get().load_program(3)
    with pytest.raises(errors.InvalidArgumentError, match="open it with mode 'rb'"):
        Runtime.get().load_program(io.StringIO("text"))
    with pytest.raises(errors.InvalidArgumentError, match="data_path: expected a path"):
        Runtime.get().load_program(compiled("mlp"), data_path=3)
    with pytest.raises(errors.InvalidArgumentError, match="holds a NUL"):
        Runtime.get().load_program("a\0.pte")
    with pytest.raises(errors.InvalidArgumentError, match="expected the name of a method, got int"):
        Runtime.get().load_program(compiled("mlp")).load_method(3)
    with pytest.raises(errors.InvalidArgumentError, match="expected a Verification"):
        Runtime.get().load_program(compiled("mlp"), verification=7)
    with pytest.raises(errors.InvalidArgumentError, match="enable_etdump=True"):
        Runtime.get().load_program(compiled("mlp")).write_etdump_result_to_file("no.etdp")


def test_native_loading_refuses_other_types(load):
    program = load("mlp")._native
    for args in ((program, 3), (3, "forward"), (program, "\udce4")):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _native.Method.load(*args)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text here")
def test_names_of_files_need_not_be_text(compiled, tmp_path):
    path = tmp_path / os.fsdecode(b"\xe4.pte")
    path.write_bytes(compiled("mlp"))
    assert Runtime.get().load_program(path).method_names == {"forward"}


def test_method_keeps_the_program(compiled):
    method = Runtime.get().load_program(compiled("mlp")).load_method("forward")
    gc.collect()
    assert method.execute([torch.zeros(2, 5)])[0].shape == (2, 3)


def test_unknown_method_lists_those_there_are(load):
    with pytest.raises(errors.NotFoundError, match="no method 'backward'; it has: forward"):
        load("mlp").load_method("backward")


def test_metadata_comes_without_loading_the_method(load):
    program = load("dynamic")
    assert program.method_names == {"forward"}
    meta = program.metadata("forward")
    assert (meta.name(), meta.num_inputs(), meta.num_outputs()) == ("forward", 1, 1)
    info = meta.input_tensor_meta(0)
    assert (info.sizes(), info.dtype(), info.nbytes()) == ((8, 5), 6, 160)
    assert info.torch_dtype == torch.float32
    assert info.is_dynamic
    assert info.is_memory_planned()
    assert "up to float32[8, 5]" in repr(meta)
    assert [step.kind for step in meta.instructions] == ["kernel"] * meta.num_instructions()
    with pytest.raises(IndexError, match="input 1 does not exist, there are 1"):
        meta.input_tensor_meta(1)


def test_missing_operators_are_all_named_at_once(compiled):
    data = (
        compiled("mlp")
        .replace(b"aten::relu", b"aten::nope")
        .replace(b"aten::addmm", b"aten::gone_")
    )
    program = Runtime.get().load_program(data)
    with pytest.raises(errors.OperatorMissingError) as caught:
        program.load_method("forward")
    assert "aten::nope.out" in str(caught.value)


def test_registries_name_operators_and_backends():
    runtime = Runtime.get()
    assert "aten::relu.out" in runtime.operator_registry.operator_names
    assert not runtime.backend_registry.is_available("NoSuchBackend")
    assert "NoSuchBackend" not in runtime.backend_registry.registered_backend_names


def _resident(path):
    """Bytes of a mapped file that the process has in memory."""
    lines = pathlib.Path("/proc/self/smaps").read_text().splitlines()
    starts = [index for index, line in enumerate(lines) if line.endswith(str(path))]
    rows = [line for start in starts for line in lines[start : start + 6]]
    return sum(int(row.split()[1]) * 1024 for row in rows if row.startswith("Rss:"))


@pytest.mark.skipif(
    not pathlib.Path("/proc/self/smaps").exists(), reason="needs Linux's /proc/self/smaps"
)
def test_what_delegates_have_packed_is_not_kept_in_memory_twice(tmp_path):
    torch.manual_seed(0)
    model, x = torch.nn.Linear(2048, 2048).eval(), torch.randn(3, 2048)
    path = tmp_path / "linear.pte"
    run = etlab.export(model, (x,), partitioner="xnnpack")
    run.save(path)
    program = Runtime.get().load_program(path, memory_map=True)
    method = program.load_method("forward")
    assert _resident(path) < path.stat().st_size // 3  # a page can be large
    (again,) = method.execute([x])
    torch.testing.assert_close(again, model(x))
