#include "runtime/kernels/util/cache_attention.h"

#include "runtime/core/strided_copy.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab::util {
namespace {

constexpr int64_t kRank = 4;  // (batch, length, heads, depth)

void check_rank_4(const char* who, const char* what, const Tensor& tensor) {
  ETLAB_CHECK(tensor.dim() == kRank, kInvalidArgument, who, ": expected ", what,
              " (batch, length, heads, depth), got ", describe(tensor));
}

void check_range(const char* who, int64_t start, int64_t count, const Tensor& cache) {
  ETLAB_CHECK(start >= 0 && count <= cache.size(1) && start <= cache.size(1) - count,
              kInvalidArgument, who, ": ", count, " places from ", start,
              " on do not lie in the cache ", describe(cache), "; make the cache longer");
}

void check_fits(const char* who, const Tensor& value, const Tensor& cache) {
  check_rank_4(who, "values", value);
  check_rank_4(who, "a cache", cache);
  check_distinct(who, value, cache);
  ETLAB_CHECK(value.type() == cache.type() && value.size(0) == cache.size(0) &&
                  value.size(2) == cache.size(2) && value.size(3) == cache.size(3),
              kInvalidArgument, who, ": ", describe(value), " do not fit into the cache ",
              describe(cache));
}

// Part of a tensor: `sizes`, from places `batch` and `start` on.
Tensor part(const Tensor& tensor, Span<const int64_t> sizes, int64_t batch, int64_t start) {
  const int64_t offset = batch * tensor.stride(0) + start * tensor.stride(1);
  auto* first = tensor.data<uint8_t>() + offset * static_cast<int64_t>(element_size(tensor.type()));
  return Tensor::strided(tensor.type(), sizes, tensor.strides(), first);
}

// The first `length` places, as (batch, heads, length, depth).
Tensor by_heads(const Tensor& tensor, int64_t length) {
  const int64_t sizes[] = {tensor.size(0), tensor.size(2), length, tensor.size(3)};
  const int64_t strides[] = {tensor.stride(0), tensor.stride(2), tensor.stride(1),
                             tensor.stride(3)};
  return Tensor::strided(tensor.type(), sizes, strides, tensor.raw());
}

}  // namespace

CacheAttention::CacheAttention(const char* who, const Tensor& query, const Tensor& key_cache,
                               const Tensor& value_cache, int64_t start, const Tensor* mask,
                               Tensor& out)
    : mask_(mask), start_(start) {
  check_rank_4(who, "a query", query);
  check_rank_4(who, "a cache of keys", key_cache);
  check_rank_4(who, "a cache of values", value_cache);
  check_rank(who, "the output", out, kRank);
  check_distinct(who, query, out);
  check_distinct(who, key_cache, out);
  check_distinct(who, value_cache, out);
  ETLAB_CHECK(value_cache.size(3) == query.size(3) && value_cache.size(1) == key_cache.size(1),
              kInvalidArgument, who, ": query ", describe(query), ", keys ", describe(key_cache),
              " and values ", describe(value_cache), " do not go together");
  ETLAB_CHECK(mask == nullptr || mask->dim() == 2, kInvalidArgument, who,
              ": expected a mask (queries, places of the cache), got ", describe(*mask));
  check_range(who, start, query.size(1), key_cache);
  out.resize(query.sizes());
  const int64_t keys = mask == nullptr ? start + query.size(1) : key_cache.size(1);
  query_ = by_heads(query, query.size(1));
  key_ = by_heads(key_cache, keys);
  value_ = by_heads(value_cache, keys);
  out_ = by_heads(out, out.size(1));
}

void update_cache(const char* who, const Tensor& value, const Tensor& cache, int64_t start) {
  check_fits(who, value, cache);
  check_range(who, start, value.size(1), cache);
  if (value.numel() > 0) copy_elements(value, part(cache, value.sizes(), 0, start));
}

void update_cache_at(const char* who, const Tensor& value, const Tensor& cache,
                     const Tensor& places) {
  check_fits(who, value, cache);
  const int64_t sizes[] = {value.size(0), value.size(1)};
  ETLAB_CHECK(places.type() == ScalarType::kLong && equal(places.sizes(), Span<const int64_t>(sizes)),
              kInvalidArgument, who, ": expected int64 indices ", describe(sizes), ", got ",
              describe(places));
  const int64_t one[] = {1, 1, value.size(2), value.size(3)};
  for (const bool is_checked : {false, true}) {  // nothing is written before all are right
    for (int64_t batch = 0; batch < sizes[0]; ++batch) {
      for (int64_t i = 0; i < sizes[1]; ++i) {
        const int64_t place =
            places.data<int64_t>()[batch * places.stride(0) + i * places.stride(1)];
        if (!is_checked) {
          check_range(who, place, 1, cache);
        } else if (value.numel() > 0) {
          copy_elements(part(value, one, batch, i), part(cache, one, batch, place));
        }
      }
    }
  }
}

}  // namespace etlab::util
