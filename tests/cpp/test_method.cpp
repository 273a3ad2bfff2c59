#include <atomic>
#include <thread>

#include "runtime/core/method_meta.h"
#include "tests/cpp/check.h"
#include "tests/cpp/programs.h"

namespace etlab::test {
namespace {

Tensor floats(std::vector<float>& elements, const std::vector<int64_t>& sizes) {
  return Tensor(ScalarType::kFloat, {sizes.data(), sizes.size()}, {}, elements.data(),
                elements.size() * sizeof(float));
}

ETLAB_TEST(method_computes_and_can_run_again) {
  const auto program = load(small_program());
  const auto method = Method::load(*program, "forward");
  std::vector<float> x = {0, 0, 0, 1, 1, -9};
  const std::vector<float> expected = {1, 0, 3, 2, 0, 0};
  CHECK(run(*method, {floats(x, {2, 3})}) == expected);
  x = {-1, 2, -3, 0, 0, 0};
  CHECK(run(*method, {floats(x, {2, 3})}) == (std::vector<float>{0, 0, 0, 1, 0, 3}));
}

ETLAB_TEST(inputs_of_other_layouts_are_converted) {
  const auto program = load(small_program());
  const auto method = Method::load(*program, "forward");
  std::vector<float> transposed = {0, 1, 0, 1, 0, -9};
  const std::vector<int64_t> sizes = {2, 3};
  const std::vector<int64_t> strides = {1, 2};
  const Tensor x = Tensor::strided(ScalarType::kFloat, {sizes.data(), 2}, {strides.data(), 2},
                                   transposed.data());
  CHECK(run(*method, {x}) == (std::vector<float>{1, 0, 3, 2, 0, 0}));
}

ETLAB_TEST(loop_runs_to_its_end_every_time) {
  const auto program = load(loop_program());
  const auto method = Method::load(*program, "forward");
  for (int i = 0; i < 3; ++i) CHECK_EQUAL(run(*method, {}).at(0), 5.0f);
}

ETLAB_TEST(endless_loops_are_ended) {
  PlanBuilder plan;
  plan.jump_if_false(plan.add_bool(false), 0);
  const auto program = load(pack(program_of(plan)));
  const auto method = Method::load(*program, "forward");
  RunOptions options;
  options.most_instructions = 1000;
  CHECK_ERROR(kInvalidProgram, "did not end after 1000 instructions", run(*method, {}, options));
}

ETLAB_TEST(poller_ends_an_endless_loop) {
  class StopAtOnce : public Poller {
   public:
    bool poll() override { return true; }
  };
  PlanBuilder plan;
  plan.jump_if_false(plan.add_bool(false), 0);
  const auto program = load(pack(program_of(plan)));
  const auto method = Method::load(*program, "forward");
  StopAtOnce poller;
  RunOptions options;
  options.poller = &poller;
  CHECK_ERROR(kInterrupted, "interrupted", run(*method, {}, options));
}

ETLAB_TEST(interrupt_from_another_thread_ends_a_loop) {
  PlanBuilder plan;
  plan.jump_if_false(plan.add_bool(false), 0);
  const auto program = load(pack(program_of(plan)));
  const auto method = Method::load(*program, "forward");
  RunOptions options;
  options.most_instructions = UINT64_MAX;
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) method->interrupt();
  });
  CHECK_ERROR(kInterrupted, "interrupted", run(*method, {}, options));
  is_over = true;
  other.join();
}

ETLAB_TEST(moved_tensor_is_seen_through_lists) {
  PlanBuilder plan;
  const int x = plan.add_planned({2}, 0);
  const int y = plan.add_planned({2}, 64);
  const int slot = plan.add_planned({2}, 128);
  const int list = plan.add_tensor_list({slot, y});
  const int dim = plan.add_int(0);
  const int result = plan.add_planned({4}, 192);
  plan.move(x, slot);
  plan.call("aten::cat", "out", {list, dim, result, result});
  plan.set_inputs({x, y});
  plan.set_outputs({result});
  const auto program = load(pack(program_of(plan)));
  const auto method = Method::load(*program, "forward");
  std::vector<float> a = {1, 2};
  std::vector<float> b = {3, 4};
  for (int i = 0; i < 2; ++i) {
    CHECK(run(*method, {floats(a, {2}), floats(b, {2})}) == (std::vector<float>{1, 2, 3, 4}));
  }
}

ETLAB_TEST(views_of_an_input_see_the_input) {
  // `view` lies where `x` lies and no instruction writes it: x must be copied to its place.
  PlanBuilder plan;
  const int x = plan.add_planned({2, 2}, 0);
  const int view = plan.add_planned({4}, 0);
  const int result = plan.add_planned({4}, 64);
  plan.call("aten::relu", "out", {view, result, result});
  plan.set_inputs({x});
  plan.set_outputs({result});
  const auto program = load(pack(program_of(plan)));
  const auto method = Method::load(*program, "forward");
  CHECK(!method->can_alias_input(0));
  std::vector<float> a = {1, -2, 3, 4};
  CHECK(run(*method, {floats(a, {2, 2})}) == (std::vector<float>{1, 0, 3, 4}));
}

ETLAB_TEST(input_that_is_updated_in_place_is_copied) {
  PlanBuilder plan;
  const int x = plan.add_planned({2}, 0);
  plan.call("aten::relu", "out", {x, x, x});
  plan.set_inputs({x});
  plan.set_outputs({x});
  const auto program = load(pack(program_of(plan)));
  const auto method = Method::load(*program, "forward");
  CHECK(!method->can_alias_input(0));
  std::vector<float> a = {-1, 2};
  CHECK(run(*method, {floats(a, {2})}) == (std::vector<float>{0, 2}));
  CHECK_EQUAL(a[0], -1.0f);
}

ETLAB_TEST(constants_are_never_written) {
  PlanBuilder plan;
  const int x = plan.add_planned({2}, 0);
  const int constant = plan.add_constant({2}, 1);
  plan.call("aten::relu", "out", {x, constant, constant});
  plan.set_inputs({x});
  const std::vector<std::vector<float>> constants = {{7, 8}};
  const auto program = load(pack(program_of(plan, constants), segment_of(constants)));
  const auto method = Method::load(*program, "forward");
  std::vector<float> a = {1, 2};
  CHECK_ERROR(kInvalidArgument, "that may be written", run(*method, {floats(a, {2})}));
}

ETLAB_TEST(tensors_without_memory_are_never_read) {
  PlanBuilder plan;
  const int nothing = plan.add_unplanned({2});
  const int result = plan.add_planned({2}, 0);
  plan.call("aten::relu", "out", {nothing, result, result});
  const auto program = load(pack(program_of(plan)));
  const auto method = Method::load(*program, "forward");
  CHECK_ERROR(kInvalidArgument, "Tensor with memory", run(*method, {}));
}

ETLAB_TEST(unplanned_outputs_get_memory) {
  PlanBuilder plan;
  const int x = plan.add_unplanned({2});
  const int result = plan.add_unplanned({2});
  plan.call("aten::relu", "out", {x, result, result});
  plan.set_inputs({x});
  plan.set_outputs({result, x});
  const auto program = load(pack(program_of(plan)));
  const auto method = Method::load(*program, "forward");
  std::vector<float> a = {-1, 2};
  CHECK(run(*method, {floats(a, {2})}) == (std::vector<float>{0, 2, -1, 2}));
}

ETLAB_TEST(state_is_kept_and_reset) {
  PlanBuilder plan;
  const int x = plan.add_planned({1}, 0);
  const int state = plan.add_planned({1}, 64);
  const int alpha = plan.add_int(1);
  plan.tensor(state).data_buffer_idx = 1;
  plan.call("aten::add", "out", {state, x, alpha, state, state});
  plan.set_inputs({x});
  plan.set_outputs({state});
  schema::ProgramT program = program_of(plan);
  program.segments[0]->size = 4;
  program.mutable_data_segments.push_back(std::make_unique<schema::SubsegmentOffsetsT>());
  program.mutable_data_segments[0]->offsets = {0, 0};
  const auto loaded = load(pack(program, segment_of({{10}})));
  const auto method = Method::load(*loaded, "forward");
  std::vector<float> a = {1};
  CHECK_EQUAL(run(*method, {floats(a, {1})})[0], 11.0f);
  CHECK_EQUAL(run(*method, {floats(a, {1})})[0], 12.0f);
  method->reset_state(nullptr);
  CHECK_EQUAL(run(*method, {floats(a, {1})})[0], 11.0f);
}

ETLAB_TEST(missing_operators_are_listed_together) {
  PlanBuilder plan;
  plan.call("aten::no_such", "out", {});
  plan.call("aten::nor_this", "", {});
  const auto program = load(pack(program_of(plan)));
  CHECK_ERROR(kOperatorMissing, "no operators aten::no_such.out, aten::nor_this",
              Method::load(*program, "forward"));
}

ETLAB_TEST(too_few_arguments_are_an_error) {
  PlanBuilder plan;
  plan.call("aten::relu", "out", {});
  plan.call("aten::add", "out", {plan.add_null()});
  const auto program = load(pack(program_of(plan)));
  const auto method = Method::load(*program, "forward");
  CHECK_ERROR(kInvalidProgram, "instruction 0 of 2, aten::relu.out()", run(*method, {}));
}

ETLAB_TEST(observer_sees_instructions_with_times) {
  class Recorder : public InstructionObserver {
   public:
    int64_t on_instruction(size_t instruction, int64_t begin, int64_t end,
                           Span<Value* const> arguments) override {
      CHECK(end >= begin);
      CHECK(arguments.size() >= 3);
      seen.push_back(instruction);
      return end;
    }
    std::vector<size_t> seen;
  };
  const auto program = load(small_program());
  const auto method = Method::load(*program, "forward");
  Recorder recorder;
  RunOptions options;
  options.observer = &recorder;
  std::vector<float> x(6, 0);
  run(*method, {floats(x, {2, 3})}, options);
  CHECK(recorder.seen == (std::vector<size_t>{0, 1}));
}

ETLAB_TEST(arenas_hold_what_tensors_reach_not_what_the_file_declares) {
  PlanBuilder plan;
  plan.add_planned({2}, 0);
  plan.plan().non_const_buffer_sizes[1] = int64_t{1} << 60;
  const auto program = load(pack(program_of(plan)));
  CHECK(Method::load(*program, "forward")->arena_bytes() < 100000);
}

}  // namespace
}  // namespace etlab::test
