#include "runtime/kernels/util/attention.h"

#include <cmath>

#include "runtime/core/checked.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab::util {
namespace {

Span<const int64_t> batch_of(const Tensor& tensor) {
  return tensor.sizes().subspan(0, tensor.sizes().size() - 2);
}

// The batch dimensions as the query's heads see them: grouped ones repeated.
Sizes seen_batch(const char* who, const char* what, const Tensor& tensor, const Tensor& query,
                 bool enable_gqa, int64_t& repeats) {
  Sizes sizes(batch_of(tensor));
  repeats = 1;
  if (!enable_gqa) return sizes;
  ETLAB_CHECK(tensor.dim() >= 3 && query.dim() >= 3, kInvalidArgument, who,
              ": enable_gqa needs a dimension of heads, got ", what, " ", describe(tensor),
              " and query ", describe(query));
  const int64_t own = tensor.size(-3);
  const int64_t heads = query.size(-3);
  ETLAB_CHECK(own > 0 && heads % own == 0, kInvalidArgument, who, ": the ", heads,
              " heads of query ", describe(query), " are no multiple of those of ", what, " ",
              describe(tensor));
  repeats = heads / own;
  sizes[sizes.size() - 1] = heads;
  return sizes;
}

AttentionOperand operand(const Tensor& tensor, const Sizes& batch, int64_t rank) {
  AttentionOperand result;
  const int64_t missing = static_cast<int64_t>(batch.size()) - (tensor.dim() - rank);
  for (int64_t i = 0; i < static_cast<int64_t>(batch.size()); ++i) {
    const bool is_broadcast = i < missing || tensor.size(i - missing) == 1;
    result.batch_strides.push_back(is_broadcast ? 0 : tensor.stride(i - missing));
  }
  result.column_stride = tensor.size(-1) == 1 ? 0 : tensor.stride(-1);
  result.row_stride = rank < 2 || tensor.size(-2) == 1 ? 0 : tensor.stride(-2);
  return result;
}

void check_mask(const char* who, const AttentionTensors& tensors, const Sizes& batch) {
  const Tensor& mask = *tensors.mask;
  ETLAB_CHECK(mask.type() == ScalarType::kBool || mask.type() == ScalarType::kFloat ||
                  mask.type() == tensors.query.type(),
              kInvalidArgument, who,
              ": expected a mask of bool, float32 or the query's dtype, got ", describe(mask));
  Sizes scores = batch;
  scores.push_back(tensors.query.size(-2));
  scores.push_back(tensors.key.size(-2));
  const Sizes broadcast = broadcast_sizes(who, mask.sizes(), scores);
  ETLAB_CHECK(mask.dim() >= 1 && equal(broadcast.span(), scores.span()), kInvalidArgument, who,
              ": the mask ", describe(mask), " does not broadcast to ", describe(scores));
}

}  // namespace

int64_t AttentionOperand::offset(Span<const int64_t> batch_index) const {
  int64_t offset = 0;
  for (size_t i = 0; i < batch_index.size(); ++i) {
    const int64_t index = i + 1 == batch_index.size() ? batch_index[i] / repeats : batch_index[i];
    offset += index * batch_strides[i];
  }
  return offset;
}

AttentionBatch AttentionGeometry::batch(int64_t index) const {
  Sizes place = batch_sizes;
  for (size_t i = place.size(); i-- > 0;) {
    place[i] = index % batch_sizes[i];
    index /= batch_sizes[i];
  }
  return {query.offset(place), key.offset(place), value.offset(place),
          has_mask ? mask.offset(place) : 0, out.offset(place)};
}

AttentionGeometry attention_geometry(const char* who, const AttentionTensors& tensors,
                                     const AttentionOptions& options) {
  const auto& [query, key, value, mask, out] = tensors;
  for (const Tensor* input : {&query, &key, &value, mask}) {
    if (input == nullptr) continue;
    check_distinct(who, *input, out);
    if (input == mask) continue;
    check_type(who, "every tensor", *input, out.type());
    ETLAB_CHECK(input->dim() >= 2, kInvalidArgument, who,
                ": expected matrices (*, length, features), got ", describe(*input));
  }
  ETLAB_CHECK(options.dropout == 0.0, kNotSupported, who, ": dropout ", options.dropout,
              " is not served by this operator; export the model in eval mode, or without extended "
              "operators");
  ETLAB_CHECK(mask == nullptr || !options.is_causal, kInvalidArgument, who,
              ": is_causal and a mask exclude each other; put the triangle into the mask");
  ETLAB_CHECK(key.size(-1) == query.size(-1) && key.size(-2) == value.size(-2), kInvalidArgument,
              who, ": query ", describe(query), ", key ", describe(key), " and value ",
              describe(value), " do not go together");
  AttentionGeometry g{};
  const Sizes of_key = seen_batch(who, "key", key, query, options.enable_gqa, g.key.repeats);
  const Sizes of_value =
      seen_batch(who, "value", value, query, options.enable_gqa, g.value.repeats);
  const int64_t key_repeats = g.key.repeats;
  const int64_t value_repeats = g.value.repeats;
  g.batch_sizes = broadcast_sizes(who, batch_of(query), of_key.span(), of_value.span());
  g.rows = query.size(-2);
  g.keys = key.size(-2);
  g.depth = query.size(-1);
  g.width = value.size(-1);
  g.scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(g.depth)));
  g.has_mask = mask != nullptr;
  g.is_causal = options.is_causal;
  g.first_row = options.first_row;
  if (g.has_mask) check_mask(who, tensors, g.batch_sizes);
  Sizes sizes = g.batch_sizes;
  sizes.push_back(g.rows);
  sizes.push_back(g.width);
  check_rank(who, "the output", out, static_cast<int64_t>(sizes.size()));
  out.resize(sizes);
  g.batches = out.numel() == 0 ? 0 : count_elements(g.batch_sizes, 0, g.batch_sizes.size());
  checked_multiply(static_cast<size_t>(g.keys), size_t{1} << 20, who);
  g.query = operand(query, g.batch_sizes, 2);
  g.key = operand(key, g.batch_sizes, 2);
  g.value = operand(value, g.batch_sizes, 2);
  g.key.repeats = key_repeats;
  g.value.repeats = value_repeats;
  g.out = operand(out, g.batch_sizes, 2);
  if (g.has_mask) g.mask = operand(*mask, g.batch_sizes, std::min<int64_t>(mask->dim(), 2));
  return g;
}

}  // namespace etlab::util
