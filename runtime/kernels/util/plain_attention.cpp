#include "runtime/kernels/util/plain_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/util/normalize.h"

namespace etlab::util {
namespace {

// Adds a mask's value to a score: one of its floats, or nothing or -Inf for true or false.
class MaskReader {
 public:
  explicit MaskReader(const Tensor* mask)
      : flags_(mask != nullptr && mask->type() == ScalarType::kBool ? mask->data<bool>()
                                                                    : nullptr),
        data_(mask == nullptr ? nullptr : mask->raw()),
        type_(mask == nullptr ? ScalarType::kFloat : mask->type()) {}
  double at(int64_t offset) const {
    if (flags_ != nullptr) {
      return flags_[offset] ? 0.0 : -std::numeric_limits<double>::infinity();
    }
    switch (type_) {
      case ScalarType::kHalf: return static_cast<const Half*>(data_)[offset];
      case ScalarType::kBFloat16: return static_cast<const BFloat16*>(data_)[offset];
      case ScalarType::kFloat: return static_cast<const float*>(data_)[offset];
      case ScalarType::kDouble: return static_cast<const double*>(data_)[offset];
      default: return 0.0;
    }
  }

 private:
  const bool* flags_;
  const void* data_;
  ScalarType type_;
};

// Turns scores into weights, which sum to one; a query that sees nothing has zeros.
void softmax(double* scores, int64_t count) {
  double top = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    if (!(scores[i] <= top)) top = scores[i];  // NaN stays
    if (std::isnan(top)) break;
  }
  if (top == -std::numeric_limits<double>::infinity()) {
    std::fill_n(scores, count, 0.0);
    return;
  }
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    scores[i] = std::exp(scores[i] - top);
    sum += scores[i];
  }
  for (int64_t i = 0; i < count; ++i) scores[i] /= sum;
}

// One query: scores with all keys, their softmax, the mean of the values with it; in double.
template <typename T>
void attend(const AttentionGeometry& g, const T* query, const T* key, const T* value,
            const MaskReader& mask, int64_t mask_offset, int64_t visible, double* scores, T* out) {
  for (int64_t j = 0; j < visible; ++j) {
    double sum = 0;
    for (int64_t k = 0; k < g.depth; ++k) {
      sum += to_product(query[k * g.query.column_stride]) * g.scale *
             to_product(key[j * g.key.row_stride + k * g.key.column_stride]);
    }
    scores[j] = sum + (g.has_mask ? mask.at(mask_offset + j * g.mask.column_stride) : 0.0);
  }
  softmax(scores, visible);
  for (int64_t k = 0; k < g.width; ++k) {
    double sum = 0;
    for (int64_t j = 0; j < visible; ++j) {
      sum += scores[j] *
             to_product(value[j * g.value.row_stride + k * g.value.column_stride]);
    }
    out[k * g.out.column_stride] = from_product<T>(sum);
  }
}

}  // namespace

void attend_plainly(Context& context, const char* who, const AttentionTensors& tensors,
                    const AttentionOptions& options) {
  const Tensor& query = tensors.query;
  const Tensor& key = tensors.key;
  const Tensor& value = tensors.value;
  const Tensor& out = tensors.out;
  const AttentionGeometry g = attention_geometry(who, tensors, options);
  if (g.batches == 0) return;
  const MaskReader reader(tensors.mask);
  double* const scratch =
      context.allocate<double>(g.keys * context.thread_count());  // scores, by worker
  dispatch<FloatTypes>(query.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const int64_t work = std::max<int64_t>(g.keys * (g.depth + g.width), 1);
    const int64_t grain = std::max<int64_t>(1, 65536 / work);
    context.parallel_for(g.batches * g.rows, grain, [&](int64_t begin, int64_t end, int worker) {
      for (int64_t i = begin; i < end; ++i) {
        const AttentionBatch batch = g.batch(i / g.rows);
        const int64_t row = i % g.rows;
        attend(g, query.data<T>() + batch.query + row * g.query.row_stride,
               key.data<T>() + batch.key, value.data<T>() + batch.value, reader,
               batch.mask + row * g.mask.row_stride, g.visible(row), scratch + g.keys * worker,
               out.data<T>() + batch.out + row * g.out.row_stride);
      }
    });
  });
}

}  // namespace etlab::util
