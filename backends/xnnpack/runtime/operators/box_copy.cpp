#include "backends/xnnpack/runtime/operators/box_copy.h"

#include <algorithm>
#include <cstring>

#include "backends/xnnpack/runtime/operator.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/gemm_kernels.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/quantized_kernels.h"

namespace etlab {

namespace {

// Rows and columns of a transposition, in square tiles so that both sides stay in the cache.
constexpr int64_t kTile = 16;
constexpr int64_t kDepthOfTile = 64;

// A few planes become one of pixels, as pictures do on their way in.
template <int columns, typename T>
void interleave(const T* source, T* target, int64_t rows, int64_t source_column,
                int64_t target_row) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) target[r * target_row + c] = source[r + c * source_column];
  }
}

// Four bytes of any kind are moved as floats are.
void transpose_plane(const uint32_t* source, uint32_t* target, int64_t columns, int64_t rows,
                     int64_t source_column, int64_t target_row) {
  const auto transpose = ETLAB_FOR_INSTRUCTION_SET(gemm_kernels).transpose;
  for (int64_t row = 0; row < rows; row += kDepthOfTile) {
    transpose(reinterpret_cast<const float*>(source + row), source_column,
              std::min(kDepthOfTile, rows - row), columns,
              reinterpret_cast<float*>(target + row * target_row), target_row);
  }
}

// Three planes of pictures: by vectors of bytes, or of four times four bytes.
void interleave_three(const uint8_t* source, uint8_t* target, int64_t rows,
                      int64_t source_column) {
  ETLAB_FOR_INSTRUCTION_SET(quantized_kernels)
      .interleave_three(source, source_column, target, rows);
}
void interleave_three(const uint32_t* source, uint32_t* target, int64_t rows,
                      int64_t source_column) {
  typedef uint32_t Four __attribute__((vector_size(16)));
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    Four x[3];
    for (int c = 0; c < 3; ++c) std::memcpy(&x[c], source + r + c * source_column, sizeof(Four));
    const Four whole[3] = {
        __builtin_shufflevector(__builtin_shufflevector(x[0], x[1], 0, 4, 0, 1), x[2], 0, 1, 4, 3),
        __builtin_shufflevector(__builtin_shufflevector(x[1], x[0], 1, 0, 6, 2), x[2], 0, 5, 2, 3),
        __builtin_shufflevector(__builtin_shufflevector(x[0], x[1], 0, 3, 7, 0), x[2], 6, 1, 2, 7)};
    std::memcpy(target + 3 * r, whole, sizeof(whole));
  }
  interleave<3>(source + r, target + 3 * r, rows - r, source_column, 3);
}
void interleave_three(const uint16_t* source, uint16_t* target, int64_t rows,
                      int64_t source_column) {
  interleave<3>(source, target, rows, source_column, 3);
}

template <typename T>
void copy_strided_plane(const T* source, T* target, int64_t columns, int64_t rows,
                        int64_t source_column, int64_t source_row, int64_t target_column,
                        int64_t target_row) {
  if (target_column == 1 && source_row == 1 && columns == 3 && target_row == 3) {
    return interleave_three(source, target, rows, source_column);
  }
  if (target_column == 1 && source_row == 1 && columns == 3) {
    return interleave<3>(source, target, rows, source_column, target_row);
  }
  if (target_column == 1 && source_row == 1 && columns == 4) {
    return interleave<4>(source, target, rows, source_column, target_row);
  }
  if constexpr (sizeof(T) == sizeof(float)) {
    if (target_column == 1 && source_row == 1 && columns >= kTile) {
      return transpose_plane(source, target, columns, rows, source_column, target_row);
    }
  }
  for (int64_t row = 0; row < rows; row += kTile) {
    const int64_t row_end = std::min(row + kTile, rows);
    for (int64_t column = 0; column < columns; column += kTile) {
      const int64_t column_end = std::min(column + kTile, columns);
      for (int64_t r = row; r < row_end; ++r) {
        for (int64_t c = column; c < column_end; ++c) {
          target[r * target_row + c * target_column] = source[r * source_row + c * source_column];
        }
      }
    }
  }
}

}  // namespace

BoxCopy::BoxCopy(size_t element_size, Span<const int64_t> sizes,
                 Span<const int64_t> source_strides, Span<const int64_t> target_strides)
    : element_size_(element_size), planes_(1) {
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) {
      planes_ = 0;
      return;
    }
    if (sizes[i] == 1) continue;
    const bool continues = rank_ > 0 &&
                           source_strides[i] == source_[rank_ - 1] * sizes_[rank_ - 1] &&
                           target_strides[i] == target_[rank_ - 1] * sizes_[rank_ - 1];
    if (continues) {
      sizes_[rank_ - 1] *= sizes[i];
      continue;
    }
    sizes_[rank_] = sizes[i];
    source_[rank_] = source_strides[i];
    target_[rank_] = target_strides[i];
    ++rank_;
  }
  // Where the source runs along another dimension than the target, the two make the plane.
  for (size_t i = 1; i < rank_ && source_[0] != 1; ++i) {
    if (source_[i] != 1) continue;
    std::rotate(sizes_.begin() + 1, sizes_.begin() + i, sizes_.begin() + i + 1);
    std::rotate(source_.begin() + 1, source_.begin() + i, source_.begin() + i + 1);
    std::rotate(target_.begin() + 1, target_.begin() + i, target_.begin() + i + 1);
    break;
  }
  for (; rank_ < 2; ++rank_) {
    sizes_[rank_] = 1;
    source_[rank_] = target_[rank_] = rank_ == 0 ? 1 : 0;
  }
  for (size_t i = 2; i < rank_; ++i) planes_ *= sizes_[i];
}

void BoxCopy::copy_plane(const uint8_t* source, uint8_t* target) const {
  if (source_[0] == 1 && target_[0] == 1) {
    const auto bytes = static_cast<size_t>(sizes_[0]) * element_size_;
    const auto size = static_cast<int64_t>(element_size_);
    for (int64_t row = 0; row < sizes_[1]; ++row) {
      std::memcpy(target + row * target_[1] * size, source + row * source_[1] * size, bytes);
    }
    return;
  }
  const auto plane = [&](const auto* from, auto* to) {
    copy_strided_plane(from, to, sizes_[0], sizes_[1], source_[0], source_[1], target_[0],
                       target_[1]);
  };
  if (element_size_ == 4) {
    plane(reinterpret_cast<const uint32_t*>(source), reinterpret_cast<uint32_t*>(target));
  } else if (element_size_ == 2) {
    plane(reinterpret_cast<const uint16_t*>(source), reinterpret_cast<uint16_t*>(target));
  } else {
    plane(source, target);
  }
}

void BoxCopy::run(Context& context, const uint8_t* source, uint8_t* target) const {
  if (planes_ == 0) return;
  // One large plane is cut along its rows.
  const auto size = static_cast<int64_t>(element_size_);
  const int64_t plane = sizes_[0] * sizes_[1];
  constexpr int64_t kRowBlock = 1024;
  const int64_t parts = planes_ == 1 ? (sizes_[1] + kRowBlock - 1) / kRowBlock : 1;
  parallel_near(
      context, planes_ * parts, 1 + (1 << 15) * parts / (plane + 1),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          int64_t rest = i / parts;
          int64_t from = 0;
          int64_t to = 0;
          for (size_t dim = 2; dim < rank_; ++dim) {
            from += rest % sizes_[dim] * source_[dim];
            to += rest % sizes_[dim] * target_[dim];
            rest /= sizes_[dim];
          }
          if (parts == 1) {
            copy_plane(source + from * size, target + to * size);
            continue;
          }
          const int64_t row = i % parts * kRowBlock;
          BoxCopy part = *this;
          part.sizes_[1] = std::min(kRowBlock, sizes_[1] - row);
          part.copy_plane(source + (from + row * source_[1]) * size,
                          target + (to + row * target_[1]) * size);
        }
      });
}

size_t element_bytes(payload::Datatype type) {
  switch (type) {
    case payload::Datatype::FP32:
    case payload::Datatype::INT32:
    case payload::Datatype::QINT32: return 4;
    case payload::Datatype::FP16:
    case payload::Datatype::BF16: return 2;
    case payload::Datatype::QINT8:
    case payload::Datatype::QUINT8: return 1;
    default: break;
  }
  fail(ErrorKind::kNotSupported, "values of ", name_of(type));
}

std::array<int64_t, kMaxPayloadRank> strides_of(const Shape& shape) {
  std::array<int64_t, kMaxPayloadRank> strides{};
  int64_t stride = 1;
  for (size_t i = shape.rank(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

}  // namespace etlab
