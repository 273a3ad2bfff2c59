#pragma once

#include <string>

#include "runtime/core/span.h"
#include "runtime/core/value.h"

namespace etlab {

// Writes the outputs of a call to a folder, which is made: tensors as output_<n>.npy (those of a list
// as output_<n>_<item>.npy), and outputs.json, which says what each is:
//
//   [{"kind": "tensor", "dtype": "float32", "file": "output_0.npy"}, {"kind": "int", "value": 3},
//    {"kind": "none"}, {"kind": "list", "items": [...]}]
//
// Numbers that JSON does not have are NaN, Infinity and -Infinity. Throws kAccessFailed.
void write_outputs(const std::string& folder, Span<const Value* const> outputs);

}  // namespace etlab
