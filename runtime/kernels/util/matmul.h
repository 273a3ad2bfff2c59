#pragma once

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/gemm.h"

namespace etlab::util {

// A stack of matrices anywhere in memory; strides in elements.
template <typename T>
struct MatrixView {
  T* data;
  int64_t batch_stride;
  int64_t row_stride;
  int64_t column_stride;

  T* at(int64_t batch, int64_t row, int64_t column) const {
    return data + batch * batch_stride + row * row_stride + column * column_stride;
  }
};

// The matrices in the last two dimensions of a tensor of rank 2 or 3.
template <typename T>
MatrixView<T> matrix_view(const Tensor& tensor) {
  return {tensor.data<T>(), tensor.dim() == 3 ? tensor.stride(0) : 0, tensor.stride(-2),
          tensor.stride(-1)};
}

// Two matrices, or stacks of them, that can be multiplied into `out`, all of one dtype and `rank`.
inline void check_matrices(const char* who, const Tensor& left, const Tensor& right,
                           const Tensor& out, int64_t rank) {
  ETLAB_CHECK(left.dim() == rank && right.dim() == rank && left.size(-1) == right.size(-2) &&
                  (rank == 2 || left.size(0) == right.size(0)),
              kInvalidArgument, who, ": matrices of ", describe(left), " and ", describe(right),
              " cannot be multiplied");
  ETLAB_CHECK(left.type() == right.type() && left.type() == out.type(), kInvalidArgument, who,
              ": matrices and out must have one dtype, got ", describe(left), ", ",
              describe(right), " and ", describe(out));
  ETLAB_CHECK(out.dim() == rank, kInvalidArgument, who, ": expected an output of rank ", rank,
              ", got ", describe(out));
}

// out[b, i, j] = finish(b, i, j, sum over k of left[b, i, k] * right[b, k, j]), rounded once.
template <typename T, typename Finish>
void matmul(Context& context, const GemmShape& shape, const MatrixView<T>& left,
            const MatrixView<T>& right, const MatrixView<T>& out, const Finish& finish) {
  using Sum = ProductSum<T>;
  const auto load = [](const T* from, int64_t stride, int64_t count, Sum* to) {
    for (int64_t i = 0; i < count; ++i) to[i] = to_product(from[i * stride]);
  };
  gemm<Sum>(
      context, shape,
      [&](int64_t batch, int64_t row, int64_t k, int64_t count, Sum* to) {
        load(left.at(batch, row, k), left.column_stride, count, to);
      },
      [&](int64_t batch, int64_t k, int64_t column, int64_t count, Sum* to) {
        load(right.at(batch, k, column), right.column_stride, count, to);
      },
      [&](int64_t batch, int64_t row, int64_t column, int64_t count, const Sum* from) {
        for (int64_t j = 0; j < count; ++j) {
          *out.at(batch, row, column + j) =
              from_product<T>(finish(batch, row, column + j, from[j]));
        }
      });
}

}  // namespace etlab::util
