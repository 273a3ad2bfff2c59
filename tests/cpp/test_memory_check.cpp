#include "runtime/core/byte_owners.h"
#include "tests/cpp/check.h"
#include "tests/cpp/programs.h"

namespace etlab::test {
namespace {

std::unique_ptr<Method> checked(const Program& program) {
  auto method = Method::load(program, "forward");
  method->check_memory();
  return method;
}

std::vector<float> run_on(Method& method, std::vector<float> x) {
  const int64_t size = static_cast<int64_t>(x.size());
  return run(method, {Tensor(ScalarType::kFloat, {&size, 1}, {}, x.data(), x.size() * 4)});
}

// y = relu(x), z = x + y with y and z at the given places; x at 0, each of 16 bytes.
Bytes chain(uint32_t y_place, uint32_t z_place) {
  PlanBuilder plan;
  const int x = plan.add_planned({4}, 0);
  const int one = plan.add_int(1);
  const int y = plan.add_planned({4}, y_place);
  const int z = plan.add_planned({4}, z_place);
  plan.call("aten::relu", "out", {x, y, y});
  plan.call("aten::add", "out", {x, y, one, z, z});
  plan.set_inputs({x});
  plan.set_outputs({z});
  return pack(program_of(plan));
}

ETLAB_TEST(memory_check_lets_a_right_plan_run_again_and_again) {
  const auto program = load(chain(16, 32));
  const auto method = checked(*program);
  for (int i = 0; i < 3; ++i) {
    CHECK(run_on(*method, {1, -1, 2, 0}) == (std::vector<float>{2, -1, 4, 0}));
  }
}

ETLAB_TEST(memory_check_finds_a_value_over_a_live_one) {
  PlanBuilder plan;
  const int x = plan.add_planned({4}, 0);
  const int one = plan.add_int(1);
  const int y = plan.add_planned({4}, 16);
  const int late = plan.add_planned({4}, 24);  // over the second half of y, which is read once more
  const int z = plan.add_planned({4}, 64);
  plan.call("aten::relu", "out", {x, y, y});
  plan.call("aten::neg", "out", {x, late, late});
  plan.call("aten::add", "out", {late, y, one, z, z});
  plan.set_inputs({x});
  plan.set_outputs({z});
  const auto program = load(pack(program_of(plan)));
  const auto method = checked(*program);
  CHECK_ERROR(kInvalidProgram,
              "value 2 is read, but bytes 24 to 32 of arena 1 were given to value 3, written by "
              "instruction 1",
              run_on(*method, {1, 2, 3, 4}));
  CHECK_ERROR(kInvalidProgram, "instruction 2 of 3, aten::add.out", run_on(*method, {1, 2, 3, 4}));
}

ETLAB_TEST(memory_check_finds_a_result_over_an_argument) {
  const auto program = load(chain(16, 24));
  const auto method = checked(*program);
  CHECK_ERROR(kInvalidProgram, "is written over value 2, which the same instruction reads",
              run_on(*method, {1, 2, 3, 4}));
}

ETLAB_TEST(memory_check_finds_an_output_that_was_lost) {
  PlanBuilder plan;
  const int x = plan.add_planned({4}, 0);
  const int y = plan.add_planned({4}, 16);
  const int z = plan.add_planned({4}, 16);
  plan.call("aten::relu", "out", {x, y, y});
  plan.call("aten::neg", "out", {x, z, z});
  plan.set_inputs({x});
  plan.set_outputs({y, z});
  const auto program = load(pack(program_of(plan)));
  const auto method = checked(*program);
  CHECK_ERROR(kInvalidProgram, "method 'forward', at its end: memory plan: value 1",
              run_on(*method, {1, 2, 3, 4}));
}

ETLAB_TEST(memory_check_finds_bytes_that_nothing_wrote) {
  PlanBuilder plan;
  const int x = plan.add_planned({4}, 0);
  const int never = plan.add_planned({4}, 64);
  const int one = plan.add_int(1);
  const int z = plan.add_planned({4}, 32);
  plan.call("aten::add", "out", {x, never, one, z, z});
  plan.set_inputs({x});
  plan.set_outputs({z});
  const auto program = load(pack(program_of(plan)));
  const auto method = checked(*program);
  CHECK_ERROR(kInvalidProgram, "nothing has written bytes 64 to 80 of arena 1",
              run_on(*method, {1, 2, 3, 4}));
}

ETLAB_TEST(memory_check_takes_views_for_what_they_show) {
  PlanBuilder plan;
  const int x = plan.add_planned({4}, 0);
  const int y = plan.add_planned({4}, 16);
  const int view = plan.add_planned({2, 2}, 16);  // nothing writes it
  const int z = plan.add_planned({2, 2}, 32);
  plan.call("aten::relu", "out", {x, y, y});
  plan.call("aten::neg", "out", {view, z, z});
  plan.set_inputs({x});
  plan.set_outputs({z});
  const auto program = load(pack(program_of(plan)));
  const auto method = checked(*program);
  CHECK(run_on(*method, {1, -1, 2, 0}) == (std::vector<float>{-1, 0, -2, 0}));
}

ETLAB_TEST(memory_check_lets_loops_run) {
  const auto program = load(loop_program());
  const auto method = checked(*program);
  CHECK_EQUAL(run(*method, {}).at(0), 5.0f);
}

// Two rounds of: rows = [x, x]; late = -x. The place of `late` is given.
Bytes loop_in_a_loop(uint32_t late_place, bool reads_rows_at_the_end) {
  PlanBuilder plan;
  const int x = plan.add_planned({2}, 0);
  const int zero = plan.add_int(0);
  const int one = plan.add_int(1);
  const int two = plan.add_int(2);
  const int round = plan.add_int(0);
  const int row = plan.add_int(0);
  const int is_done = plan.add_bool(false);
  const int rows = plan.add_planned({2, 2}, 16);
  plan.tensor(rows).shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_BOUND;
  const int late = plan.add_planned({2}, late_place);
  const int result = plan.add_planned({2, 2}, 80);
  plan.call("executorch_prim::et_copy_index", "tensor", {rows, x, row});
  plan.call("executorch_prim::add", "Scalar", {row, one, row});
  plan.call("executorch_prim::eq", "Scalar", {row, two, is_done});
  plan.jump_if_false(is_done, 0);
  plan.call("executorch_prim::sub", "Scalar", {row, two, row});
  plan.call("aten::neg", "out", {x, late, late});
  if (reads_rows_at_the_end) plan.call("aten::neg", "out", {rows, result, result});
  plan.call("executorch_prim::add", "Scalar", {round, one, round});
  plan.call("executorch_prim::eq", "Scalar", {round, two, is_done});
  plan.jump_if_false(is_done, 0);
  plan.call("executorch_prim::add", "Scalar", {zero, zero, round});
  plan.set_inputs({x});
  plan.set_outputs({late});
  return pack(program_of(plan));
}

ETLAB_TEST(memory_check_lets_a_loop_in_a_loop_begin_its_rows_anew) {
  const auto program = load(loop_in_a_loop(16, false));  // over the rows, which are over by then
  const auto method = checked(*program);
  for (int i = 0; i < 2; ++i) CHECK(run_on(*method, {1, 2}) == (std::vector<float>{-1, -2}));
}

ETLAB_TEST(memory_check_finds_rows_that_are_overwritten_before_they_are_read) {
  const auto program = load(loop_in_a_loop(16, true));
  const auto method = checked(*program);
  CHECK_ERROR(kInvalidProgram, "value 7 is read, but bytes 16 to 24 of arena 1 were given to value 8",
              run_on(*method, {1, 2}));
}

ETLAB_TEST(memory_check_finds_rows_that_are_overwritten_while_they_grow) {
  PlanBuilder plan;
  const int x = plan.add_planned({2}, 0);
  const int zero = plan.add_int(0);
  const int one = plan.add_int(1);
  const int rows = plan.add_planned({2, 2}, 16);
  const int late = plan.add_planned({2}, 16);
  plan.call("executorch_prim::et_copy_index", "tensor", {rows, x, zero});
  plan.call("aten::neg", "out", {x, late, late});
  plan.call("executorch_prim::et_copy_index", "tensor", {rows, x, one});
  plan.set_inputs({x});
  plan.set_outputs({rows, late});
  const auto program = load(pack(program_of(plan)));
  const auto method = checked(*program);
  CHECK_ERROR(kInvalidProgram, "value 3 is read, but bytes 16 to 24", run_on(*method, {1, 2}));
}

ETLAB_TEST(bytes_go_to_the_last_who_got_them) {
  ByteOwners owners;
  owners.give(0, 10, 1, 0);
  owners.give(4, 6, 2, 1);
  CHECK_EQUAL(owners.owner_of(3), size_t{1});
  CHECK_EQUAL(owners.owner_of(5), size_t{2});
  CHECK_EQUAL(owners.owner_of(9), size_t{1});
  CHECK_EQUAL(owners.owner_of(10), ByteOwners::kNobody);
  const ByteOwners::Piece foreign = owners.first_foreign(0, 10, 1);
  CHECK_EQUAL(foreign.begin, uintptr_t{4});
  CHECK_EQUAL(foreign.end, uintptr_t{6});
  CHECK_EQUAL(owners.first_foreign(8, 12, 1).owner, ByteOwners::kNobody);
  size_t released = 0;
  owners.release([](size_t owner) { return owner == 1; },
                 [&](uintptr_t begin, uintptr_t end) { released += end - begin; });
  CHECK_EQUAL(released, size_t{8});
  size_t free = 0;
  owners.for_each_gap(0, 10, [&](uintptr_t begin, uintptr_t end) { free += end - begin; });
  CHECK_EQUAL(free, size_t{8});
}

}  // namespace
}  // namespace etlab::test
