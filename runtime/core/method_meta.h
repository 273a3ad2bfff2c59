#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/program.h"
#include "runtime/core/scalar_type.h"
#include "runtime/core/schema.h"

namespace etlab {

enum class ValueKind { kNone, kInt, kDouble, kBool, kTensor, kString, kList };

// What a program says of one value without running it. Sizes are upper bounds when the shape is
// dynamic; the fields after `kind` are those of a tensor.
struct ValueInfo {
  size_t index = 0;  // among the values of the method
  ValueKind kind = ValueKind::kNone;
  ScalarType type = ScalarType::kFloat;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> dim_order;
  bool is_dynamic = false;
  bool is_memory_planned = false;  // has its place in an arena (or is a constant)
  size_t nbytes = 0;
  std::string name;  // only named state has one
};

struct InstructionInfo {
  std::string kind;  // "kernel", "delegate", "move", "jump if false", "free"
  std::string name;  // operator or backend, else empty
  std::vector<int32_t> arguments;  // indices of values
};

struct MethodMeta {
  std::string name;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> attributes;  // named mutable buffers
  std::vector<int64_t> arena_sizes;   // of arenas 1, 2, …
  std::vector<InstructionInfo> instructions;
  std::vector<std::string> operators;  // sorted
  std::vector<std::string> backends;   // sorted
  std::string input_spec;              // pytree text, empty when unknown
  std::string output_spec;
};

// Throws kNotFound listing the methods there are.
MethodMeta method_meta(const Program& program, std::string_view method);

// Where an instruction stands in the user's source, "file:line function: text" with the innermost
// last; empty when the program was exported without stack traces.
std::vector<std::string> instruction_source(const schema::ExecutionPlan& plan, size_t instruction);

// "aten::add.out" of an operator table entry.
std::string operator_name(const schema::ExecutionPlan& plan, size_t index);

}  // namespace etlab
