#include <algorithm>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/indexing.h"
#include "runtime/kernels/util/quantization.h"
#include "runtime/kernels/util/shapes.h"
#include "runtime/kernels/util/walk.h"

namespace etlab {
namespace {

using ParameterTypes = TypeList<float, Half, BFloat16>;

// A table of rows of 8-, 4- or 2-bit values and its scales, one for each group of a row.
struct Table {
  const Tensor& weight;  // (rows, packed columns)
  const Tensor& scales;  // (rows) or (rows, groups)
  const Tensor* zero_points;
  int bits;

  int64_t columns() const { return weight.size(1) * (8 / bits); }
  int64_t groups() const { return scales.dim() == 2 ? scales.size(1) : 1; }
};

// Value j of a packed row. Four bits: the first of two is in the upper half; two bits: the first
// of four is in the lowest bits. Both are stored with their smallest value as 0.
template <int kBits, bool kIsSigned>
int unpack(const uint8_t* row, int64_t stride, int64_t j) {
  if constexpr (kBits == 8) {
    const uint8_t byte = row[j * stride];
    return kIsSigned ? static_cast<int>(static_cast<int8_t>(byte)) : static_cast<int>(byte);
  } else if constexpr (kBits == 4) {
    const uint8_t byte = row[j / 2 * stride];
    return (j % 2 == 0 ? byte >> 4 : byte & 15) - 8;
  } else {
    return ((row[j / 4 * stride] >> (j % 4 * 2)) & 3) - 2;
  }
}

// Dequantized as eager does it: in the scales' dtype P, then converted to the output's.
template <typename P, int kBits, bool kIsSigned>
void read_row(const Table& table, int64_t row, const P* scales, const P* zero_points,
              float* result) {
  const uint8_t* packed = table.weight.data<uint8_t>() + row * table.weight.stride(0);
  const int64_t stride = table.weight.stride(1);
  const int64_t groups = table.groups();
  const int64_t group_size = table.columns() / groups;
  for (int64_t group = 0; group < groups; ++group) {
    const auto scale = static_cast<float>(scales[row * groups + group]);
    const float zero =
        zero_points == nullptr ? 0 : static_cast<float>(zero_points[row * groups + group]);
    for (int64_t j = group * group_size; j < (group + 1) * group_size; ++j) {
      const auto value = static_cast<float>(unpack<kBits, kIsSigned>(packed, stride, j));
      const P difference = static_cast<P>(value - zero);
      result[j] = static_cast<float>(static_cast<P>(static_cast<float>(difference) * scale));
    }
  }
}

template <typename P, int kBits, bool kIsSigned>
void embed(Context& context, const char* op, const Table& table, const Tensor& indices,
           Tensor& out) {
  const P* scales = read_contiguous<P>(context, table.scales);
  const P* zero_points =
      table.zero_points == nullptr ? nullptr : read_contiguous<P>(context, *table.zero_points);
  const int64_t* rows =
      index_offsets(context, op, indices, {0, table.weight.size(0), 1}, NegativeIndex::kIsRefused);
  const int64_t columns = table.columns();
  float* values = context.allocate<float>(out.numel());  // (indices, columns)
  context.parallel_for(indices.numel(), std::max<int64_t>(1, 16384 / std::max<int64_t>(columns, 1)),
                       [&](int64_t begin, int64_t end) {
                         for (int64_t i = begin; i < end; ++i) {
                           read_row<P, kBits, kIsSigned>(table, rows[i], scales, zero_points,
                                                         values + i * columns);
                         }
                       });
  write_contiguous(context, op, values, out);
}

template <int kBits>
void embedding_out(Context& context, const char* op, const Tensor& weight, const Tensor& scales,
                   const Tensor* zero_points, int64_t quant_min, int64_t quant_max,
                   const Tensor& indices, std::optional<ScalarType> dtype, Tensor& out) {
  const bool is_signed = weight.type() == ScalarType::kChar;
  ETLAB_CHECK(weight.type() == ScalarType::kByte || (kBits == 8 && is_signed), kInvalidArgument, op,
              ": expected a weight of uint8", kBits == 8 ? " or int8" : "", ", got ",
              describe(weight));
  check_rank(op, "weight", weight, 2);
  ETLAB_CHECK(kBits == 8 ? quant_min <= quant_max
                         : quant_min == -(1 << (kBits - 1)) && quant_max == (1 << (kBits - 1)) - 1,
              kInvalidArgument, op, ": the quantized range ", quant_min, " to ", quant_max,
              " is not that of ", kBits, " bits");
  const Table table = {weight, scales, zero_points, kBits};
  ETLAB_CHECK((scales.dim() == 1 || scales.dim() == 2) && scales.size(0) == weight.size(0),
              kInvalidArgument, op, ": expected scales for each of ", weight.size(0), " rows, got ",
              describe(scales));
  ETLAB_CHECK(table.groups() > 0 && table.columns() % table.groups() == 0, kInvalidArgument, op,
              ": ", table.groups(), " groups do not divide rows of ", table.columns());
  if (zero_points != nullptr) {
    check_same_type(op, scales, *zero_points);
    check_sizes(op, "zero points", *zero_points, scales.sizes());
  }
  check_type(op, "out", out, dtype.value_or(out.type()));
  ETLAB_CHECK(is_floating(out.type()), kInvalidArgument, op, ": expected a float output, got ",
              describe(out));
  Sizes sizes(indices.sizes());
  sizes.push_back(table.columns());
  out.resize(sizes);
  dispatch<ParameterTypes>(scales.type(), op, [&](auto tag) {
    using P = TypeOf<decltype(tag)>;
    if (is_signed) return embed<P, kBits, true>(context, op, table, indices, out);
    embed<P, kBits, false>(context, op, table, indices, out);
  });
}

#define ETLAB_EMBEDDING(name, bits)                                                          \
  void name##_out(Context& context, const Tensor& weight, const Tensor& weight_scales,       \
                  const Tensor* weight_zero_points, int64_t weight_quant_min,                \
                  int64_t weight_quant_max, const Tensor& indices, Tensor& out) {            \
    embedding_out<bits>(context, #name, weight, weight_scales, weight_zero_points,           \
                        weight_quant_min, weight_quant_max, indices, std::nullopt, out);     \
  }                                                                                          \
  void name##_dtype_out(Context& context, const Tensor& weight, const Tensor& weight_scales, \
                        const Tensor* weight_zero_points, int64_t weight_quant_min,          \
                        int64_t weight_quant_max, const Tensor& indices,                     \
                        std::optional<ScalarType> dtype, Tensor& out) {                      \
    embedding_out<bits>(context, #name, weight, weight_scales, weight_zero_points,           \
                        weight_quant_min, weight_quant_max, indices, dtype, out);            \
  }
ETLAB_EMBEDDING(embedding_byte, 8)
ETLAB_EMBEDDING(embedding_4bit, 4)
ETLAB_EMBEDDING(embedding_2bit, 2)
#undef ETLAB_EMBEDDING

}  // namespace
ETLAB_KERNEL("quantized_decomposed::embedding_byte.out", embedding_byte_out);
ETLAB_KERNEL("quantized_decomposed::embedding_byte.dtype_out", embedding_byte_dtype_out);
ETLAB_KERNEL("quantized_decomposed::embedding_4bit.out", embedding_4bit_out);
ETLAB_KERNEL("quantized_decomposed::embedding_4bit.dtype_out", embedding_4bit_dtype_out);
ETLAB_KERNEL("quantized_decomposed::embedding_2bit.out", embedding_2bit_out);
ETLAB_KERNEL("quantized_decomposed::embedding_2bit.dtype_out", embedding_2bit_dtype_out);
}  // namespace etlab
