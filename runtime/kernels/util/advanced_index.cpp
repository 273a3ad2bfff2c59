#include "runtime/kernels/util/advanced_index.h"

#include <algorithm>

namespace etlab {
namespace {

bool is_mask(const Tensor& index) {
  return index.type() == ScalarType::kBool || index.type() == ScalarType::kByte;
}

// One index tensor and the dimensions it addresses: one, or a mask's all.
struct Entry {
  const Tensor* index;
  size_t dim;
  size_t dim_count;
  const int64_t* mask_offsets;  // (true_count), nullptr for an integer index
  int64_t true_count;

  int64_t rank() const { return mask_offsets != nullptr ? 1 : index->dim(); }
  int64_t size(int64_t dim) const {
    return mask_offsets != nullptr ? true_count : index->sizes()[static_cast<size_t>(dim)];
  }
};

// The element offsets of a mask's true positions.
void read_mask(Context& context, const char* who, const Tensor& self, Entry& entry) {
  const Tensor& mask = *entry.index;
  ETLAB_CHECK(mask.dim() > 0, kNotSupported, who, ": a 0-d mask is no index");
  StridedWalk<2> walk;
  for (size_t i = 0; i < entry.dim_count; ++i) {
    const int64_t size = self.sizes()[entry.dim + i];
    ETLAB_CHECK(mask.sizes()[i] == size, kInvalidArgument, who, ": mask ", describe(mask),
                " does not fit ", describe(self), ": size ", mask.sizes()[i], " instead of ", size,
                " for dimension ", entry.dim + i);
    walk.append(size, {mask.strides()[i], self.strides()[entry.dim + i]});
  }
  const uint8_t* data = mask.data<uint8_t>();
  int64_t count = 0;
  walk.for_each_element([&](const auto& offsets) { count += data[offsets[0]] != 0; });
  int64_t* found = context.allocate<int64_t>(count);
  walk.for_each_element([&, next = found](const auto& offsets) mutable {
    if (data[offsets[0]] != 0) *next++ = offsets[1];
  });
  entry.mask_offsets = found;
  entry.true_count = count;
}

}  // namespace

AdvancedIndex::AdvancedIndex(Context& context, const char* who, const Tensor& self,
                             OptionalTensors indices) {
  std::array<Entry, kMaxRank> entries{};
  size_t entry_count = 0;
  size_t dim = 0;
  size_t broadcast_rank = 0;
  bool are_neighbours = true;
  const size_t self_rank = static_cast<size_t>(self.dim());
  for (const Tensor* index : indices) {
    const size_t dim_count =
        index != nullptr && is_mask(*index) ? static_cast<size_t>(index->dim()) : 1;
    ETLAB_CHECK(dim_count <= self_rank - dim, kInvalidArgument, who, ": too many indices for ",
                describe(self));
    if (index != nullptr) {
      Entry entry = {index, dim, dim_count, nullptr, 0};
      if (is_mask(*index)) read_mask(context, who, self, entry);
      if (entry_count > 0) {
        const Entry& last = entries[entry_count - 1];
        are_neighbours = are_neighbours && last.dim + last.dim_count == dim;
      }
      broadcast_rank = std::max(broadcast_rank, static_cast<size_t>(entry.rank()));
      entries[entry_count++] = entry;
    }
    dim += dim_count;
  }

  std::array<int64_t, kMaxRank> broadcast{};
  std::fill_n(broadcast.begin(), broadcast_rank, 1);
  for (size_t i = 0; i < entry_count; ++i) {
    const size_t lead = broadcast_rank - static_cast<size_t>(entries[i].rank());
    for (size_t d = lead; d < broadcast_rank; ++d) {
      const int64_t size = entries[i].size(static_cast<int64_t>(d - lead));
      ETLAB_CHECK(size == 1 || broadcast[d] == 1 || size == broadcast[d], kInvalidArgument, who,
                  ": the indices do not broadcast together: sizes ", broadcast[d], " and ", size);
      if (size != 1) broadcast[d] = size;
    }
  }

  // The result: dimensions before the indices, the broadcast ones, and those that are left.
  const size_t place = are_neighbours && entry_count > 0 ? entries[0].dim : 0;
  const auto append = [&](int64_t size, int64_t table_stride, int64_t indexed_stride) {
    ETLAB_CHECK(rank < kViewRank, kNotSupported, who, ": a result of more than ", kViewRank,
                " dimensions");
    sizes[rank] = size;
    table_strides[rank] = table_stride;
    indexed_strides[rank++] = indexed_stride;
  };
  int64_t table_size = 1;
  for (size_t d = 0; d < broadcast_rank; ++d) {
    table_size = multiply_sizes(who, table_size, broadcast[d]);
  }
  const auto append_kept = [&](size_t begin, size_t end) {
    for (size_t d = begin; d < end; ++d) {
      const bool is_indexed = std::any_of(
          entries.begin(), entries.begin() + entry_count,
          [d](const Entry& entry) { return d >= entry.dim && d < entry.dim + entry.dim_count; });
      if (!is_indexed) append(self.sizes()[d], 0, self.strides()[d]);
    }
  };
  append_kept(0, place);
  int64_t table_stride = table_size;
  for (size_t d = 0; d < broadcast_rank; ++d) {
    if (table_size > 0) table_stride /= broadcast[d];
    append(broadcast[d], table_stride, 0);
  }
  append_kept(place, self_rank);
  check_rank_limit(who, rank);

  int64_t* offsets = context.allocate<int64_t>(table_size);
  std::fill_n(offsets, table_size, 0);
  table = offsets;
  for (size_t i = 0; i < entry_count; ++i) {
    const Entry& entry = entries[i];
    const size_t lead = broadcast_rank - static_cast<size_t>(entry.rank());
    std::array<int64_t, kMaxRank> strides{};
    for (size_t d = lead; d < broadcast_rank; ++d) {
      const auto own = static_cast<int64_t>(d - lead);
      if (entry.size(own) == 1) continue;
      strides[d] = entry.mask_offsets != nullptr ? 1 : entry.index->strides()[d - lead];
    }
    if (entry.mask_offsets == nullptr) {
      add_index_offsets(who, *entry.index, {strides.data(), broadcast_rank},
                        {broadcast.data(), broadcast_rank},
                        {entry.dim, self.sizes()[entry.dim], self.strides()[entry.dim]},
                        NegativeIndex::kCountsFromEnd, offsets);
      continue;
    }
    const int64_t stride = strides[broadcast_rank - 1];  // a mask's positions vary in the last
    for (int64_t k = 0; k < table_size; ++k) {
      offsets[k] += entry.mask_offsets[k % broadcast[broadcast_rank - 1] * stride];
    }
  }
}

IndexedWalk AdvancedIndex::walk(Span<const int64_t> plain_strides) const {
  IndexedWalk result;
  for (size_t dim = 0; dim < rank; ++dim) {
    result.append(sizes[dim], {plain_strides[dim], table_strides[dim], indexed_strides[dim]});
  }
  return result;
}

}  // namespace etlab
