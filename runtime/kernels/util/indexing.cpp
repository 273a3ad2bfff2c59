#include "runtime/kernels/util/indexing.h"

#include <algorithm>
#include <cstring>

namespace etlab {
namespace {

constexpr int64_t kGrain = 8192;  // elements a thread should have at least

// "[1, 4]": where element `position` of a row-major array of these sizes is.
std::string describe_position(int64_t position, Span<const int64_t> sizes) {
  std::array<int64_t, kViewRank> index{};
  for (size_t dim = sizes.size(); dim-- > 0;) {
    index[dim] = position % sizes[dim];
    position /= sizes[dim];
  }
  return describe(Span<const int64_t>(index.data(), sizes.size()));
}

[[noreturn]] void fail_index(const char* who, int64_t value, int64_t position,
                             Span<const int64_t> sizes, const IndexedDim& dim, int64_t lowest) {
  fail(ErrorKind::kInvalidArgument, who, ": index ", value, " at position ",
       describe_position(position, sizes), " is out of range for dimension ", dim.dim, " of size ",
       dim.size, " (expected ", lowest, " to ", dim.size - 1, ")");
}

template <typename Index>
void add_offsets(const char* who, const Index* index, Span<const int64_t> index_strides,
                 Span<const int64_t> sizes, const IndexedDim& dim, NegativeIndex negative,
                 int64_t* offsets) {
  const int64_t lowest = negative == NegativeIndex::kCountsFromEnd ? -dim.size : 0;
  StridedWalk<1> walk;
  for (size_t i = 0; i < sizes.size(); ++i) walk.append(sizes[i], {index_strides[i]});
  if (walk.is_empty()) return;
  walk.coalesce();
  const int64_t stride = walk.row_strides()[0];
  const int64_t length = walk.row_length();
  const auto range = static_cast<uint64_t>(dim.size - lowest);
  int64_t position = 0;
  walk.for_each_row([&](const std::array<int64_t, 1>& start) {
    const Index* row = index + start[0];
    for (int64_t i = 0; i < length; ++i) {
      const int64_t value = row[i * stride];
      if (static_cast<uint64_t>(value) - static_cast<uint64_t>(lowest) >= range) {
        fail_index(who, value, position + i, sizes, dim, lowest);
      }
      offsets[position + i] += (value < 0 ? value + dim.size : value) * dim.stride;
    }
    position += length;
  });
}

// Both directions of a copy; kGathers says which operand is written.
template <bool kGathers, typename T>
void copy_rows(const IndexedWalk& walk, int64_t begin, int64_t end, T* plain, const int64_t* table,
               T* indexed) {
  const auto strides = walk.row_strides();
  const int64_t plain_stride = strides[0];
  const int64_t table_stride = strides[1];
  const int64_t indexed_stride = strides[2];
  const int64_t length = walk.row_length();
  const bool is_dense = table_stride == 0 && plain_stride == 1 && indexed_stride == 1;
  walk.for_each_row(begin, end,
                    [&, plain_stride = plain_stride, table_stride = table_stride,
                     indexed_stride = indexed_stride](const auto& offsets) {
                      T* plain_row = plain + offsets[0];
                      const int64_t* table_row = table + offsets[1];
                      T* indexed_row = indexed + offsets[2];
                      if (is_dense) {
                        indexed_row += *table_row;
                        std::memmove(kGathers ? plain_row : indexed_row,
                                     kGathers ? indexed_row : plain_row,
                                     static_cast<size_t>(length) * sizeof(T));
                        return;
                      }
                      for (int64_t i = 0; i < length; ++i) {
                        T& there = indexed_row[i * indexed_stride + table_row[i * table_stride]];
                        T& here = plain_row[i * plain_stride];
                        if constexpr (kGathers) {
                          here = there;
                        } else {
                          there = here;
                        }
                      }
                    });
}

}  // namespace

void add_index_offsets(const char* who, const Tensor& index, Span<const int64_t> index_strides,
                       Span<const int64_t> sizes, const IndexedDim& dim, NegativeIndex negative,
                       int64_t* offsets) {
  if (index.type() == ScalarType::kLong) {
    return add_offsets(who, index.data<int64_t>(), index_strides, sizes, dim, negative, offsets);
  }
  check_type(who, "index (unless it is int64)", index, ScalarType::kInt);
  add_offsets(who, index.data<int32_t>(), index_strides, sizes, dim, negative, offsets);
}

const int64_t* index_offsets(Context& context, const char* who, const Tensor& index,
                             const IndexedDim& dim, NegativeIndex negative) {
  int64_t* offsets = context.allocate<int64_t>(index.numel());
  std::fill_n(offsets, index.numel(), 0);
  add_index_offsets(who, index, index.strides(), index.sizes(), dim, negative, offsets);
  return offsets;
}

void copy_from_indexed(Context& context, size_t element_bytes, IndexedWalk walk, void* plain,
                       const int64_t* table, const void* indexed) {
  if (walk.is_empty()) return;
  walk.sort();
  walk.coalesce();
  if (walk.rank == 1) {  // cut a single row into pieces that threads can share
    walk.append(1, {0, 0, 0});
  }
  const int64_t grain = std::max<int64_t>(1, kGrain / walk.row_length());
  dispatch_bytes(element_bytes, [&](auto zero) {
    using T = decltype(zero);
    context.parallel_for(walk.row_count(), grain, [&](int64_t begin, int64_t end) {
      copy_rows<true>(walk, begin, end, static_cast<T*>(plain), table,
                      static_cast<T*>(const_cast<void*>(indexed)));
    });
  });
}

void copy_to_indexed(Context& context, size_t element_bytes, IndexedWalk walk, const void* plain,
                     const int64_t* table, void* indexed) {
  context.check_interrupted();
  if (walk.is_empty()) return;
  walk.coalesce();
  dispatch_bytes(element_bytes, [&](auto zero) {
    using T = decltype(zero);
    copy_rows<false>(walk, 0, walk.row_count(), static_cast<T*>(const_cast<void*>(plain)), table,
                     static_cast<T*>(indexed));
  });
}

void or_to_indexed(IndexedWalk walk, const uint8_t* plain, const int64_t* table, uint8_t* indexed) {
  walk.for_each_element([&](const std::array<int64_t, 3>& offsets) {
    uint8_t& target = indexed[offsets[2] + table[offsets[1]]];
    target = target != 0 || plain[offsets[0]] != 0 ? 1 : 0;
  });
}

IndexedWalk walk_along(const char* who, const Tensor& indexed, int64_t dim, const Tensor& index,
                       const StridedView& plain) {
  const size_t along = wrap_dim(who, dim, indexed.dim());
  const size_t rank = static_cast<size_t>(index.dim());
  ETLAB_CHECK(std::max<int64_t>(index.dim(), 1) == std::max<int64_t>(indexed.dim(), 1) &&
                  std::max<size_t>(rank, 1) == std::max<size_t>(plain.rank, 1),
              kInvalidArgument, who, ": expected an index and operands of rank ", indexed.dim(),
              " as ", describe(indexed), " has, got ", describe(index), " and ",
              describe(plain.shape()));
  IndexedWalk walk;
  int64_t table_stride = index.numel();
  for (size_t i = 0; i < rank && index.numel() > 0; ++i) {
    const int64_t size = index.sizes()[i];
    const bool has_indexed = indexed.dim() > 0;
    const bool has_plain = plain.rank > 0;
    ETLAB_CHECK((i == along || !has_indexed || size <= indexed.sizes()[i]) &&
                    size <= (has_plain ? plain.sizes[i] : 1),
                kInvalidArgument, who, ": index ", describe(index), " is larger than ",
                describe(indexed), " or the other operand ", describe(plain.shape()),
                " in dimension ", i);
    table_stride /= size;
    walk.append(size, {has_plain ? plain.strides[i] : 0, table_stride,
                       i == along || !has_indexed ? 0 : indexed.strides()[i]});
  }
  if (index.numel() == 0) walk.append(0, {});
  return walk;
}

const int64_t* offsets_along(Context& context, const char* who, const Tensor& indexed, int64_t dim,
                             const Tensor& index) {
  const size_t along = wrap_dim(who, dim, indexed.dim());
  const bool is_scalar = indexed.dim() == 0;
  return index_offsets(
      context, who, index,
      {along, is_scalar ? 1 : indexed.sizes()[along], is_scalar ? 1 : indexed.strides()[along]},
      NegativeIndex::kIsRefused);
}

}  // namespace etlab
