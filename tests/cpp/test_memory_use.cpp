#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "tests/cpp/check.h"
#include "tests/cpp/programs.h"

// What a method says it holds is what it holds: this file replaces the global allocation functions
// of the test program by ones that count.

namespace {

std::atomic<size_t> live_bytes{0};
constexpr size_t kHeader = alignof(std::max_align_t);

void* counted(size_t bytes) {
  auto* memory = static_cast<std::byte*>(std::malloc(bytes + kHeader));
  if (memory == nullptr) throw std::bad_alloc();
  *reinterpret_cast<size_t*>(memory) = bytes;
  live_bytes += bytes;
  return memory + kHeader;
}

void uncounted(void* memory) noexcept {
  if (memory == nullptr) return;
  auto* start = static_cast<std::byte*>(memory) - kHeader;
  live_bytes -= *reinterpret_cast<size_t*>(start);
  std::free(start);
}

}  // namespace

void* operator new(size_t bytes) { return counted(bytes); }
void* operator new[](size_t bytes) { return counted(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return counted(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](size_t bytes, const std::nothrow_t& tag) noexcept {
  return operator new(bytes, tag);
}
void operator delete(void* memory) noexcept { uncounted(memory); }
void operator delete[](void* memory) noexcept { uncounted(memory); }
void operator delete(void* memory, size_t) noexcept { uncounted(memory); }
void operator delete[](void* memory, size_t) noexcept { uncounted(memory); }

namespace etlab::test {
namespace {

// y = relu(x), z = x + y, with a name for everything that has one and a list of integers.
Bytes program_bytes() {
  PlanBuilder plan;
  const int x = plan.add_planned({2, 3}, 0);
  const int one = plan.add_int(1);
  const int y = plan.add_planned({2, 3}, 64);
  const int z = plan.add_planned({2, 3}, 128);
  plan.add_int_list({one, one, one});
  plan.add_tensor_list({x, y});
  plan.call("aten::relu", "out", {x, y, y});
  plan.call("aten::add", "out", {x, y, one, z, z});
  plan.set_inputs({x});
  plan.set_outputs({z});
  return pack(program_of(plan));
}

void run_once(Method& method) {
  std::vector<float> x = {1, -1, 2, -2, 3, -3};
  const std::vector<int64_t> sizes = {2, 3};
  run(method, {Tensor(ScalarType::kFloat, {sizes.data(), 2}, {}, x.data(), 24)});
}

ETLAB_TEST(a_method_holds_the_bytes_that_it_says) {
  const auto program = load(program_bytes());
  run_once(*Method::load(*program, "forward"));  // starts the threads
  const auto account = std::make_shared<MemoryAccount>();
  const size_t before = live_bytes;
  std::unique_ptr<Method> method;
  {
    const MemoryScope scope(account, MemoryKind::kOther);
    method = Method::load(*program, "forward");
    run_once(*method);
  }
  const size_t heap = live_bytes - before;
  const MethodMemory memory = method->memory(nullptr);
  CHECK_EQUAL(memory.arenas.size(), size_t{2});
  CHECK_EQUAL(memory.arenas[1].bytes, size_t{1024});  // as declared
  const size_t temporary_alignment = memory.temporary > 0 ? kBufferAlignment : 0;
  CHECK_EQUAL(heap, memory.structures + memory.temporary + temporary_alignment);
  CHECK_EQUAL(account->total(), memory.arenas[1].bytes + memory.alignment - temporary_alignment);
  CHECK_EQUAL(memory.total(), heap + account->total());
}

ETLAB_TEST(runs_after_the_first_take_no_more_memory) {
  const auto program = load(program_bytes());
  const auto method = Method::load(*program, "forward");
  run_once(*method);
  const size_t before = live_bytes;
  for (int i = 0; i < 3; ++i) run_once(*method);
  CHECK_EQUAL(live_bytes.load(), before);
}

ETLAB_TEST(temporary_memory_is_as_large_as_the_largest_need) {
  Context context(ThreadPool::shared());
  const size_t before = live_bytes;
  for (const size_t bytes : {size_t{100}, size_t{1000}, size_t{640}}) {
    context.allocate(bytes);
    context.allocate(bytes);
    context.reset();
  }
  CHECK_EQUAL(context.peak_bytes(), size_t{2048});
  CHECK_EQUAL(live_bytes - before, size_t{2048} + 64 + 2 * (sizeof(void*) + sizeof(size_t)));
}

ETLAB_TEST(accounts_count_buffers_while_they_live) {
  const auto account = std::make_shared<MemoryAccount>();
  {
    AlignedBuffer kept;
    {
      const MemoryScope scope(account, MemoryKind::kWorkspace);
      AlignedBuffer buffer(100, "a test");
      kept = std::move(buffer);
      const MemoryScope inner(MemoryKind::kPackedWeights);
      const AlignedBuffer gone(50, "a test");
      CHECK_EQUAL(account->bytes(MemoryKind::kPackedWeights), 50 + kBufferAlignment);
    }
    const AlignedBuffer outside(1000, "a test");
    CHECK_EQUAL(account->total(), 100 + kBufferAlignment);
    CHECK_EQUAL(account->bytes(MemoryKind::kWorkspace), 100 + kBufferAlignment);
  }
  CHECK_EQUAL(account->total(), size_t{0});
}

ETLAB_TEST(accounted_containers_count_what_they_hold) {
  const auto account = std::make_shared<MemoryAccount>();
  {
    std::vector<int32_t, AccountedAllocator<int32_t>> kept;
    {
      const MemoryScope scope(account, MemoryKind::kOther);
      std::vector<int32_t, AccountedAllocator<int32_t>> made(100);
      kept = std::move(made);
    }
    CHECK_EQUAL(account->total(), size_t{400});
    kept.resize(150);
    CHECK_EQUAL(account->total(), kept.capacity() * 4);
  }
  CHECK_EQUAL(account->total(), size_t{0});
}

ETLAB_TEST(shared_bytes_count_while_their_owner_lives) {
  const auto account = std::make_shared<MemoryAccount>();
  auto owner = std::make_shared<int>(1);
  account->add_shared(owner, 10);
  account->add_shared(owner, 10);
  CHECK_EQUAL(account->bytes(MemoryKind::kPackedWeights), size_t{10});
  owner.reset();
  CHECK_EQUAL(account->total(), size_t{0});
}

}  // namespace
}  // namespace etlab::test
