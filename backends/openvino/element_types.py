"""The dtypes that OpenVINO has, with its names for them; `runtime/library.cpp` has the numbers."""

import torch

TYPES = {
    torch.bool: "boolean",
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
}
