#pragma once

#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/core/method_meta.h"
#include "runtime/core/value.h"
#include "runtime/tools/support/npy.h"

namespace etlab {

// The inputs of one call with the memory behind them.
class CallInputs {
 public:
  // `words` are what stands after --inputs, one an input. Throws kInvalidArgument naming the input.
  CallInputs(const MethodMeta& meta, const std::vector<std::string>& words);
  // Zeros, or normally distributed numbers where the dtype has fractions.
  CallInputs(const MethodMeta& meta, std::optional<unsigned> seed);
  CallInputs(const CallInputs&) = delete;  // values point into the object
  CallInputs& operator=(const CallInputs&) = delete;

  Span<const Value> values() const { return {values_.data(), values_.size()}; }

 private:
  void add(OwnedTensor tensor);

  std::deque<OwnedTensor> tensors_;
  std::vector<Value> values_;
};

}  // namespace etlab
