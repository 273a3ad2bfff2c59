#pragma once

#include <string_view>

#include "runtime/core/scalar_type.h"

// What this build of the runtime contains: here everything. A selective build puts a generated file
// of this name before this one on the include path.
namespace etlab::selection {

constexpr bool has_operator(std::string_view) { return true; }
// Whether an operator computes in a dtype; of names that are no operator, whether any does.
constexpr bool has_dtype(const char*, ScalarType) { return true; }
// The end of a message that refuses a dtype.
constexpr const char* kNote = "";

}  // namespace etlab::selection
