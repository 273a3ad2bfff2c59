#include "runtime/kernels/util/quantized_cache_attention.h"

#include "runtime/kernels/util/reduce.h"

namespace etlab::util {
namespace {

void check_rows(const char* who, const IntegerRows& rows) {
  const auto& [what, integers, scales, zeros] = rows;
  check_type(who, what, integers, ScalarType::kChar);
  check_rank(who, what, integers, 4);
  ETLAB_CHECK(scales != nullptr && zeros != nullptr, kInvalidArgument, who, ": the ", what,
              " needs scales and zero points");
  check_type(who, "scales", *scales, ScalarType::kFloat);
  check_type(who, "zero points", *zeros, ScalarType::kChar);
  const int64_t sizes[] = {integers.size(0), integers.size(1), integers.size(2), 1};
  check_sizes(who, "scales", *scales, sizes);
  check_sizes(who, "zero points", *zeros, sizes);
}

// The first `length` places of all batches in float, contiguous in the integers' order of
// dimensions. Places behind them are left alone: nothing reads them.
Tensor as_float(Context& context, const IntegerRows& rows, int64_t length) {
  const Tensor& integers = rows.integers;
  const int64_t batch = integers.size(0), places = integers.size(1), heads = integers.size(2),
                depth = integers.size(3);
  float* values = context.allocate<float>(integers.numel());
  const auto* from = integers.data<int8_t>();
  const auto* scales = rows.scales->data<float>();
  const auto* zeros = rows.zeros->data<int8_t>();
  const auto row = [&](int64_t index) {  // of batch * length * heads
    const int64_t head = index % heads;
    const int64_t place = index / heads % length;
    const int64_t one = index / heads / length;
    const auto at = [&](const Tensor& tensor) {
      return one * tensor.stride(0) + place * tensor.stride(1) + head * tensor.stride(2);
    };
    const float scale = scales[at(*rows.scales)];
    const int zero = zeros[at(*rows.zeros)];
    const int8_t* source = from + at(integers);
    const int64_t step = integers.stride(3);
    float* target = values + ((one * places + place) * heads + head) * depth;
    for (int64_t i = 0; i < depth; ++i) {
      target[i] = static_cast<float>(source[i * step] - zero) * scale;
    }
  };
  context.parallel_for(batch * length * heads, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) row(index);
  });
  const int64_t strides[] = {places * heads * depth, heads * depth, depth, 1};
  return Tensor::strided(ScalarType::kFloat, integers.sizes(), strides, values);
}

}  // namespace

CacheAttention QuantizedCacheAttention::prepare(Context& context, const char* who,
                                                Tensor& out) const {
  for (const IntegerRows* rows : {&query, &key, &value}) {
    check_rows(who, *rows);
    check_distinct(who, rows->integers, out);
    check_distinct(who, *rows->scales, out);
    check_distinct(who, *rows->zeros, out);
  }
  check_type(who, "out", out, ScalarType::kFloat);
  const int64_t length = query.integers.size(1);
  const int64_t places = key.integers.size(1);
  ETLAB_CHECK(start >= 0 && length <= places && start <= places - length, kInvalidArgument, who,
              ": ", length, " places from ", start, " on do not lie in the cache ",
              describe(key.integers), "; make the cache longer");
  ETLAB_CHECK(value.integers.size(1) == places, kInvalidArgument, who, ": keys ",
              describe(key.integers), " and values ", describe(value.integers),
              " do not go together");
  const int64_t seen = mask == nullptr ? start + length : places;
  return CacheAttention(who, as_float(context, query, length), as_float(context, key, seen),
                        as_float(context, value, seen), start, mask, out);
}

}  // namespace etlab::util
