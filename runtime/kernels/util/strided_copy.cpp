#include "runtime/kernels/util/strided_copy.h"

#include <algorithm>
#include <cstring>

namespace etlab {
namespace {

constexpr int64_t kCopyGrain = 64 * 1024;  // bytes a thread should have at least
constexpr int64_t kTile = 16;              // elements a side of a transposed block

// One row, strides in elements. Not memcpy: a damaged program may have planned overlapping memory.
template <typename T>
void copy_row(T* destination, int64_t destination_stride, const T* source, int64_t source_stride,
              int64_t count) {
  if (destination_stride == 1 && source_stride == 1) {
    std::memmove(destination, source, static_cast<size_t>(count) * sizeof(T));
  } else if (destination_stride == 1 && source_stride == 0) {
    std::fill_n(destination, count, *source);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      destination[i * destination_stride] = source[i * source_stride];
    }
  }
}

// destination (rows, columns) with unit column stride from a source with unit row stride, in blocks
// that touch every cache line of either side once: lines a power of two apart evict each other.
template <typename T>
void copy_transposed(T* destination, int64_t destination_row, const T* source,
                     int64_t source_column, int64_t rows, int64_t columns) {
  std::array<std::array<T, kTile>, kTile> block;  // (columns, rows)
  for (int64_t column = 0; column < columns; column += kTile) {
    const int64_t width = std::min(columns - column, kTile);
    for (int64_t j = 0; j < width; ++j) {
      std::copy_n(source + (column + j) * source_column, rows, block[j].data());
    }
    for (int64_t i = 0; i < rows; ++i) {
      T* target = destination + i * destination_row + column;
      for (int64_t j = 0; j < width; ++j) target[j] = block[j][i];
    }
  }
}

// Rows of a walk whose destination is dense but whose source is dense along another dimension:
// that dimension becomes the second innermost and the pair is copied in blocks.
template <typename T>
bool copy_by_blocks(Context& context, StridedWalk<2> walk, T* destination, const T* source) {
  if (walk.rank < 2 || walk.strides[0][walk.rank - 1] != 1) return false;
  size_t dense = walk.rank;
  for (size_t dim = 0; dim + 1 < walk.rank; ++dim) {
    if (walk.strides[1][dim] == 1) dense = dim;
  }
  if (dense == walk.rank) return false;
  const int64_t rows = walk.sizes[dense];
  const int64_t columns = walk.sizes[walk.rank - 1];
  if (rows < 4 || columns < 4) return false;
  const int64_t destination_row = walk.strides[0][dense];
  const int64_t source_column = walk.strides[1][walk.rank - 1];
  // The remaining dimensions, and blocks of rows as the last one.
  StridedWalk<2> outer;
  for (size_t dim = 0; dim + 1 < walk.rank; ++dim) {
    if (dim != dense) outer.append(walk.sizes[dim], {walk.strides[0][dim], walk.strides[1][dim]});
  }
  const int64_t blocks = (rows + kTile - 1) / kTile;
  outer.append(blocks, {kTile * destination_row, kTile});
  outer.append(1, {0, 0});
  const int64_t grain =
      std::max<int64_t>(1, kCopyGrain / (kTile * columns * static_cast<int64_t>(sizeof(T))));
  context.parallel_for(outer.row_count(), grain, [&](int64_t begin, int64_t end) {
    int64_t block = begin % blocks;
    outer.for_each_row(begin, end, [&](const std::array<int64_t, 2>& offsets) {
      copy_transposed(destination + offsets[0], destination_row, source + offsets[1], source_column,
                      std::min(kTile, rows - block * kTile), columns);
      block = block + 1 == blocks ? 0 : block + 1;
    });
  });
  return true;
}

template <typename T>
void copy_walk(Context& context, const StridedWalk<2>& walk, T* destination, const T* source) {
  const auto strides = walk.row_strides();
  const int64_t destination_stride = strides[0];
  const int64_t source_stride = strides[1];
  const int64_t length = walk.row_length();
  constexpr int64_t kElements = kCopyGrain / static_cast<int64_t>(sizeof(T));
  if (walk.rank == 1) {
    context.parallel_for(length, kElements, [&](int64_t begin, int64_t end) {
      copy_row(destination + begin * destination_stride, destination_stride,
               source + begin * source_stride, source_stride, end - begin);
    });
    return;
  }
  if (source_stride != 1 && copy_by_blocks(context, walk, destination, source)) return;
  context.parallel_for(walk.row_count(), std::max<int64_t>(1, kElements / length),
                       [&](int64_t begin, int64_t end) {
                         walk.for_each_row(begin, end, [&](const std::array<int64_t, 2>& offsets) {
                           copy_row(destination + offsets[0], destination_stride,
                                    source + offsets[1], source_stride, length);
                         });
                       });
}

}  // namespace

StridedView::StridedView(const Tensor& tensor)
    : data(tensor.data<std::byte>()),
      element_bytes(element_size(tensor.type())),
      rank(static_cast<size_t>(tensor.dim())) {
  std::copy(tensor.sizes().begin(), tensor.sizes().end(), sizes.begin());
  std::copy(tensor.strides().begin(), tensor.strides().end(), strides.begin());
}

StridedView StridedView::repeated(const void* element, size_t element_bytes,
                                  Span<const int64_t> sizes) {
  StridedView view;
  view.data = static_cast<std::byte*>(const_cast<void*>(element));
  view.element_bytes = element_bytes;
  view.rank = sizes.size();
  std::copy(sizes.begin(), sizes.end(), view.sizes.begin());
  return view;
}

int64_t StridedView::numel() const {
  int64_t count = 1;
  for (size_t dim = 0; dim < rank; ++dim) count *= sizes[dim];
  return count;
}

void StridedView::insert(size_t dim, int64_t size, int64_t stride) {
  ETLAB_CHECK(rank < kViewRank, kNotSupported, "a view of more than ", kViewRank, " dimensions");
  std::copy_backward(sizes.begin() + dim, sizes.begin() + rank, sizes.begin() + rank + 1);
  std::copy_backward(strides.begin() + dim, strides.begin() + rank, strides.begin() + rank + 1);
  sizes[dim] = size;
  strides[dim] = stride;
  ++rank;
}

void StridedView::erase(size_t dim) {
  std::copy(sizes.begin() + dim + 1, sizes.begin() + rank, sizes.begin() + dim);
  std::copy(strides.begin() + dim + 1, strides.begin() + rank, strides.begin() + dim);
  --rank;
}

void StridedView::move(size_t from, size_t to) {
  const int64_t size = sizes[from];
  const int64_t stride = strides[from];
  erase(from);
  insert(to, size, stride);
}

void StridedView::split(size_t dim, int64_t outer, int64_t inner) {
  sizes[dim] = outer;
  insert(dim + 1, inner, strides[dim]);
  strides[dim] *= inner;
}

bool StridedView::reshape(Span<const int64_t> shape) {
  std::array<int64_t, kViewRank> new_strides{};
  size_t target = shape.size();
  size_t dim = rank;
  // Take runs of dimensions that lie behind each other in memory, innermost first; each run must
  // be a product of target dimensions.
  while (dim > 0) {
    const int64_t base = strides[dim - 1];
    int64_t run = sizes[dim - 1];
    int64_t next = base * run;
    --dim;
    while (dim > 0 && (sizes[dim - 1] == 1 || strides[dim - 1] == next)) {
      next *= sizes[dim - 1];
      run *= sizes[dim - 1];
      --dim;
    }
    int64_t stride = base;
    int64_t taken = 1;
    while (target > 0 && (taken < run || shape[target - 1] == 1)) {
      new_strides[--target] = stride;
      stride *= shape[target];
      taken *= shape[target];
    }
    if (taken != run) return false;
  }
  while (target > 0 && shape[target - 1] == 1) --target;
  if (target > 0) return false;
  rank = shape.size();
  std::copy(shape.begin(), shape.end(), sizes.begin());
  strides = new_strides;
  return true;
}

void copy_view(Context& context, const StridedView& source, const StridedView& destination) {
  StridedWalk<2> walk;
  bool is_same = source.data == destination.data;
  for (size_t dim = 0; dim < source.rank; ++dim) {
    walk.append(source.sizes[dim], {destination.strides[dim], source.strides[dim]});
    is_same =
        is_same && (source.sizes[dim] == 1 || source.strides[dim] == destination.strides[dim]);
  }
  if (is_same || walk.is_empty()) return;
  walk.sort();
  walk.coalesce();
  dispatch_bytes(source.element_bytes, [&](auto zero) {
    using T = decltype(zero);
    copy_walk(context, walk, reinterpret_cast<T*>(destination.data),
              reinterpret_cast<const T*>(source.data));
  });
}

void copy_flat(Context& context, const StridedView& source, int64_t source_begin,
               const StridedView& destination, int64_t destination_begin, int64_t count) {
  if (count == 0) return;
  StridedView from = source;
  StridedView to = destination;
  if (source_begin == 0 && destination_begin == 0 && count == from.numel() && count == to.numel()) {
    if (from.reshape(to.shape()) || to.reshape(from.shape())) return copy_view(context, from, to);
  }
  const int64_t from_total = from.numel();
  const int64_t to_total = to.numel();
  if (from.reshape({&from_total, 1}) && to.reshape({&to_total, 1})) {
    from.narrow(0, source_begin, count);
    to.narrow(0, destination_begin, count);
    return copy_view(context, from, to);
  }
  StridedWalk<1> from_walk;
  StridedWalk<1> to_walk;
  for (size_t dim = 0; dim < source.rank; ++dim) {
    from_walk.append(source.sizes[dim], {source.strides[dim]});
  }
  for (size_t dim = 0; dim < destination.rank; ++dim) {
    to_walk.append(destination.sizes[dim], {destination.strides[dim]});
  }
  from_walk.append(1, {0});  // rows of one element
  to_walk.append(1, {0});
  // The two shapes do not fit each other: the source offsets of a few elements at a time are
  // collected, then the elements are stored in the other order.
  dispatch_bytes(source.element_bytes, [&](auto zero) {
    using T = decltype(zero);
    const T* source_data = reinterpret_cast<const T*>(source.data);
    T* destination_data = reinterpret_cast<T*>(destination.data);
    context.parallel_for(count, 8192, [&](int64_t begin, int64_t end) {
      constexpr int64_t kBatch = 256;
      std::array<T, kBatch> batch;
      for (int64_t start = begin; start < end; start += kBatch) {
        const int64_t stop = std::min(end, start + kBatch);
        size_t i = 0;
        from_walk.for_each_row(source_begin + start, source_begin + stop,
                               [&](const auto& offset) { batch[i++] = source_data[offset[0]]; });
        i = 0;
        to_walk.for_each_row(destination_begin + start, destination_begin + stop,
                             [&](const auto& offset) { destination_data[offset[0]] = batch[i++]; });
      }
    });
  });
}

}  // namespace etlab
