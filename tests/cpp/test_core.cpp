#include <cstring>

#include "runtime/core/checked.h"
#include "runtime/core/context.h"
#include "runtime/core/strided_copy.h"
#include "runtime/core/tensor.h"
#include "runtime/core/text.h"
#include "tests/cpp/check.h"

namespace etlab::test {
namespace {

ETLAB_TEST(utf8_is_told_from_other_bytes) {
  CHECK(is_utf8(""));
  CHECK(is_utf8("aten::add.out"));
  CHECK(is_utf8("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"));
  for (const char* wrong : {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80",
                            "\xf4\x90\x80\x80", "a\xff"}) {
    CHECK(!is_utf8(wrong));
  }
}

ETLAB_TEST(checked_arithmetic_refuses_to_wrap) {
  CHECK_EQUAL(checked_add(2, 3, "sum"), size_t{5});
  CHECK_EQUAL(checked_multiply(0, SIZE_MAX, "product"), size_t{0});
  CHECK_ERROR(kInvalidProgram, "sum", checked_add(SIZE_MAX, 1, "sum"));
  CHECK_ERROR(kInvalidProgram, "product", checked_multiply(SIZE_MAX / 2, 3, "product"));
}

ETLAB_TEST(resize_keeps_to_memory_and_bound) {
  float memory[6] = {};
  const int64_t sizes[] = {2, 3};
  Tensor tensor(ScalarType::kFloat, sizes, {}, memory, sizeof(memory), ShapeDynamism::kDynamicBound);
  const int64_t smaller[] = {1, 3};
  const int64_t larger[] = {3, 3};
  const int64_t flat[] = {6};
  tensor.resize(smaller);
  CHECK_EQUAL(tensor.numel(), int64_t{3});
  CHECK_ERROR(kInvalidArgument, "cannot grow to [3, 3]", tensor.resize(larger));
  CHECK_ERROR(kInvalidArgument, "cannot be resized to rank 1", tensor.resize(flat));
  tensor.set_dynamism(ShapeDynamism::kStatic);
  CHECK_ERROR(kInvalidArgument, "has a static shape", tensor.resize(sizes));
  tensor.set_data(memory, sizeof(memory), /*is_read_only=*/true);
  CHECK_ERROR(kInvalidArgument, "cannot be written", tensor.resize(smaller));
  tensor.set_data(nullptr, 0);
  CHECK_ERROR(kInvalidArgument, "has memory for 0 bytes", tensor.resize(smaller));
}

ETLAB_TEST(tensors_of_impossible_shape_are_refused) {
  const std::vector<int64_t> deep(17, 1);
  const int64_t negative[] = {2, -1};
  const int64_t huge[] = {INT64_MAX / 2, 8};
  const int64_t sizes[] = {2, 3};
  const uint8_t twice[] = {0, 0};
  CHECK_ERROR(kInvalidArgument, "rank 17",
              Tensor(ScalarType::kFloat, Span<const int64_t>(deep), {}, nullptr, 0));
  CHECK_ERROR(kInvalidArgument, "is negative", Tensor(ScalarType::kFloat, negative, {}, nullptr, 0));
  CHECK_ERROR(kInvalidArgument, "more elements", Tensor(ScalarType::kFloat, huge, {}, nullptr, 0));
  CHECK_ERROR(kInvalidArgument, "no", Tensor(ScalarType::kFloat, sizes, twice, nullptr, 0));
}

ETLAB_TEST(elements_are_copied_between_any_layouts) {
  const int64_t sizes[] = {2, 3, 4};
  std::vector<int32_t> source(24);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<int32_t>(i);
  std::vector<int32_t> target(24, -1);
  const uint8_t order[] = {2, 0, 1};
  const Tensor from(ScalarType::kInt, sizes, {}, source.data(), 96);
  const Tensor to(ScalarType::kInt, sizes, order, target.data(), 96);
  copy_elements(from, to);
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      for (int64_t k = 0; k < 4; ++k) {
        CHECK_EQUAL(target[static_cast<size_t>(k * 6 + i * 3 + j)],
                    source[static_cast<size_t>(i * 12 + j * 4 + k)]);
      }
    }
  }
}

ETLAB_TEST(unaligned_and_broadcast_sources_are_copied) {
  std::vector<uint8_t> bytes(3 * sizeof(double) + 1);
  const double numbers[] = {1.5, -2.5, 3.5};
  std::memcpy(bytes.data() + 1, numbers, sizeof(numbers));
  const int64_t sizes[] = {2, 3};
  const int64_t strides[] = {0, 1};
  const Tensor from = Tensor::strided(ScalarType::kDouble, sizes, strides, bytes.data() + 1);
  double target[6] = {};
  copy_elements(from, Tensor(ScalarType::kDouble, sizes, {}, target, sizeof(target)));
  for (size_t i = 0; i < 6; ++i) CHECK_EQUAL(target[i], numbers[i % 3]);
}

ETLAB_TEST(scratch_is_aligned_and_reused) {
  Context context(ThreadPool::shared());
  void* first = context.allocate(100);
  void* second = context.allocate(5000000);
  CHECK_EQUAL(reinterpret_cast<uintptr_t>(first) % 64, uintptr_t{0});
  CHECK_EQUAL(reinterpret_cast<uintptr_t>(second) % 64, uintptr_t{0});
  std::memset(first, 1, 100);
  std::memset(second, 1, 5000000);
  context.reset();
  CHECK(context.peak_bytes() >= 5000100);
  std::memset(context.allocate(5000000), 1, 5000000);
  CHECK_ERROR(kOutOfMemory, "cannot be had", context.allocate(SIZE_MAX / 2));
}

}  // namespace
}  // namespace etlab::test
