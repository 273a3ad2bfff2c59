#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

#include "runtime/core/context.h"
#include "runtime/core/tensor.h"
#include "runtime/kernels/util/cast.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/walk.h"

namespace etlab {

// An input of an elementwise loop, read as T whatever its dtype, after rounding to dtype `common`.
template <typename T>
struct ReadAs {
  const Tensor& tensor;
  ScalarType common;
};
template <typename T>
ReadAs<T> as(const Tensor& tensor, ScalarType common = kScalarTypeOf<T>) {
  return {tensor, common};
}

// The output of an elementwise loop, where eager's result is of dtype `computed`.
struct WriteTo {
  WriteTo(Tensor& out) : out(out), computed(out.type()) {}  // NOLINT: mostly that is all
  WriteTo(Tensor& out, ScalarType computed) : out(out), computed(computed) {}
  Tensor& out;
  ScalarType computed;
};

namespace util {

constexpr int64_t kElementwiseBlock = 512;  // elements converted at a time, on the stack
// Elements per thread; a function of some tens of nanoseconds pays for the hand-over from here.
constexpr int64_t kElementwiseGrain = 16384;

// One block: the loop that the compiler vectorises.
template <typename Result, typename Function, typename... Ts>
inline void apply_block(int64_t count, Result* result, const Function& function, const Ts*... x) {
  for (int64_t i = 0; i < count; ++i) result[i] = static_cast<Result>(function(x[i]...));
}

template <typename Result, typename Function, size_t... I, typename... Ts>
void elementwise(Context& context, const char* op, const WriteTo& output, const Function& function,
                 std::index_sequence<I...>, const ReadAs<Ts>&... inputs) {
  const Writer<Result> writer(op, output.out, output.computed);
  const std::tuple<Reader<Ts>...> readers{
      Reader<Ts>(inputs.tensor, Walk(op, inputs.tensor, output.out), inputs.common)...};
  context.parallel_for(output.out.numel(), kElementwiseGrain, [&](int64_t begin, int64_t end) {
    std::tuple<std::array<Ts, kElementwiseBlock>...> buffers;
    std::array<Result, kElementwiseBlock> results;
    for (; begin < end; begin += kElementwiseBlock) {
      const int64_t count = std::min(kElementwiseBlock, end - begin);
      apply_block<Result>(
          count, writer.target(begin, results.data()), function,
          std::get<I>(readers).read(begin, count, std::get<I>(buffers).data())...);
      writer.finish(begin, count, results.data());
    }
  });
}

}  // namespace util

// out[i] = function(inputs[i]…) with broadcasting to the sizes that `out` already has; inputs may
// have any layout and dtype, the result is converted to the dtype of `out`:
//
//   out.resize(broadcast_sizes(op, a.sizes(), b.sizes()));  // first: it also checks `out`
//   elementwise<bool>(context, op, out, [](float a, float b) { return a < b; },
//                     as<float>(a), as<float>(b));
template <typename Result, typename Function, typename... Ts>
void elementwise(Context& context, const char* op, const WriteTo& output, const Function& function,
                 ReadAs<Ts>... inputs) {
  util::elementwise<Result>(context, op, output, function, std::index_sequence_for<Ts...>(),
                            inputs...);
}

}  // namespace etlab
