#pragma once

#include <string>
#include <vector>

#include "runtime/core/aligned_buffer.h"
#include "runtime/core/tensor.h"

namespace etlab {

// A tensor with its memory.
struct OwnedTensor {
  AlignedBuffer memory;
  Tensor tensor;
};

// NumPy's file of one array. Everything in it is checked; kInvalidArgument says what is wrong, and
// kNotSupported names a dtype or byte order that no program has. Elements of two untyped bytes
// ("V2") are bfloat16, which NumPy does not know.
OwnedTensor parse_npy(Span<const uint8_t> file, const std::string& name);
OwnedTensor read_npy(const std::string& path);

// Throws kAccessFailed. Elements are written row-major whatever the tensor's layout.
void write_npy(const std::string& path, const Tensor& tensor);

}  // namespace etlab
