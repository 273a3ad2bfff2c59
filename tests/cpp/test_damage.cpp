#include <random>

#include "runtime/core/method_meta.h"
#include "tests/cpp/check.h"
#include "tests/cpp/programs.h"

namespace etlab::test {
namespace {

constexpr size_t kMostInputBytes = size_t{1} << 22;

// Loads, prepares and runs whatever the bytes are; an Error is a fine answer.
void use(const Bytes& bytes) {
  try {
    const auto program = load(bytes);
    for (const std::string& name : program->method_names()) {
      const MethodMeta meta = method_meta(*program, name);
      const auto method = Method::load(*program, name);
      std::vector<std::vector<uint64_t>> memory;
      std::vector<Tensor> inputs;
      for (const ValueInfo& info : meta.inputs) {
        if (info.kind != ValueKind::kTensor || info.nbytes > kMostInputBytes) continue;
        memory.emplace_back(info.nbytes / sizeof(uint64_t) + 1, 0);
        inputs.emplace_back(info.type, Span<const int64_t>(info.sizes), Span<const uint8_t>(),
                            memory.back().data(), info.nbytes);
      }
      RunOptions options;
      options.most_instructions = 1000;
      for (int i = 0; i < 2; ++i) run(*method, inputs, options);
      method->reset_state(nullptr);
    }
  } catch (const Error&) {
  }
}

void use_damaged(const Bytes& good, uint32_t seed, int count) {
  std::mt19937 random(seed);
  const auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  const uint8_t special[] = {0, 1, 2, 0x7f, 0x80, 0xfe, 0xff};
  for (int i = 0; i < count; ++i) {
    Bytes damaged = good;
    const size_t edits = 1 + below(4);
    for (size_t k = 0; k < edits; ++k) {
      const size_t at = below(damaged.size());
      switch (below(4)) {
        case 0: damaged[at] = special[below(std::size(special))]; break;
        case 1: damaged[at] = static_cast<uint8_t>(damaged[at] ^ (1u << below(8))); break;
        case 2: damaged[at] = static_cast<uint8_t>(random()); break;
        default:
          for (size_t j = at & ~size_t{3}; j < std::min(damaged.size(), (at & ~size_t{3}) + 4); ++j) {
            damaged[j] = good[below(good.size())];
          }
      }
    }
    use(damaged);
  }
}

ETLAB_TEST(damaged_programs_end_in_an_error_or_a_run) {
  use_damaged(small_program(), 1, 4000);
  use_damaged(loop_program(), 2, 4000);
}

ETLAB_TEST(every_byte_of_a_program_may_be_wrong) {
  const Bytes good = small_program();
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int change : {1, 0x80, 0xff}) {
      Bytes damaged = good;
      damaged[at] = static_cast<uint8_t>(damaged[at] ^ change);
      use(damaged);
    }
  }
}

}  // namespace
}  // namespace etlab::test
