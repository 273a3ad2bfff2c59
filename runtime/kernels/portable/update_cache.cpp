#include <cstring>

#include "runtime/kernels/util/cache_attention.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

// The outputs say nothing, in one element: the operators are called for what they do to the cache.
void clear(const char* who, const Tensor& value, const Tensor& cache, Tensor& out) {
  util::check_distinct(who, value, out);
  util::check_distinct(who, cache, out);
  const int64_t sizes[] = {1};
  out.resize(sizes);
  std::memset(out.raw(), 0, out.nbytes());
}

void update_cache_out(Context&, const Tensor& value, Tensor& cache, int64_t start, Tensor& out) {
  constexpr const char* kWho = "llama::update_cache.out";
  util::update_cache(kWho, value, cache, start);
  clear(kWho, value, cache, out);
}

void update_cache_with_indices_out(Context&, const Tensor& value, Tensor& cache, int64_t,
                                   const Tensor& indices, Tensor& out) {
  constexpr const char* kWho = "llama::update_cache_with_indices.out";
  util::check_distinct(kWho, indices, out);
  util::check_distinct(kWho, indices, cache);
  util::update_cache_at(kWho, value, cache, indices);
  clear(kWho, value, cache, out);
}

}  // namespace
ETLAB_KERNEL("llama::update_cache.out", update_cache_out);
ETLAB_KERNEL("llama::update_cache_with_indices.out", update_cache_with_indices_out);
}  // namespace etlab
