// One test for each class of weakness that loaders of this format have had: the CVEs of ExecuTorch
// and what was fixed there without one. `make sanitize` runs them under the sanitizers.

#include <cstring>
#include <limits>

#include "runtime/core/aligned_buffer.h"
#include "runtime/core/tensor_file.h"
#include "runtime/schema/flat_tensor_generated.h"
#include "tests/cpp/check.h"
#include "tests/cpp/programs.h"

namespace etlab::test {
namespace {

constexpr int kBig = std::numeric_limits<int>::max();
constexpr size_t kHuge = std::numeric_limits<size_t>::max();

// Loads a program of one call and runs it without inputs.
void run_plan(PlanBuilder& plan) {
  const auto program = load(pack(program_of(plan)));
  run(*Method::load(*program, "forward"), {});
}

// CVE-2025-30402: the bytes of a tensor overflow.
ETLAB_TEST(bytes_of_a_tensor_cannot_overflow) {
  PlanBuilder plan;
  plan.add_planned({kBig, kBig, kBig, kBig}, 0);
  CHECK_ERROR(kInvalidProgram, "more bytes than memory", load(pack(program_of(plan))));
  const std::vector<int64_t> sizes(3, int64_t{1} << 31);
  CHECK_ERROR(kInvalidArgument, "more elements than memory",
              Tensor(ScalarType::kFloat, {sizes.data(), sizes.size()}, {}, nullptr, 0));
}

// CVE-2025-30404, CVE-2025-54952: a size wraps and too little is allocated.
ETLAB_TEST(allocations_cannot_wrap) {
  Context context(std::make_shared<ThreadPool>(1));
  for (const size_t bytes : {kHuge, kHuge - 63, kHuge / 2, kHuge / 4 - 1}) {
    CHECK_ERROR(kOutOfMemory, "cannot be had", context.allocate(bytes));
    CHECK_ERROR(kOutOfMemory, "test", AlignedBuffer(bytes, "test"));
  }
  CHECK(context.allocate(1) != nullptr);
}

// CVE-2025-30405: an object lies outside of its arena because offset + size wraps.
ETLAB_TEST(places_cannot_lie_outside_of_their_arena) {
  for (const uint32_t high : {1u, 0x7fffffffu, 0xffffffffu}) {
    PlanBuilder plan;
    const int value = plan.add_planned({4}, 0xfffffff0u);
    plan.tensor(value).allocation_info->memory_offset_high = high;
    CHECK_ERROR(kInvalidProgram, "arena 1 has 1024", load(pack(program_of(plan))));
  }
}

// CVE-2025-54949: copy_index writes past its target.
ETLAB_TEST(copy_index_stays_within_its_target) {
  for (const int64_t row : {int64_t{-1}, int64_t{2}, int64_t{1} << 40}) {
    PlanBuilder plan;
    const int to = plan.add_planned({2, 3}, 0);
    const int from = plan.add_planned({3}, 64);
    const int index = plan.add_int(row);
    plan.call("executorch_prim::et_copy_index", "tensor", {to, from, index});
    CHECK_ERROR(kInvalidArgument, "et_copy_index", run_plan(plan));
  }
  PlanBuilder plan;
  const int to = plan.add_planned({2, 3}, 0);
  const int from = plan.add_planned({100}, 64);
  const int index = plan.add_int(1);
  plan.call("executorch_prim::et_copy_index", "tensor", {to, from, index});
  CHECK_ERROR(kInvalidArgument, "et_copy_index", run_plan(plan));
}

// CVE-2025-54950: primitive operators read arguments that are not there or of another kind.
ETLAB_TEST(primitive_operators_check_their_arguments) {
  PlanBuilder few;
  const int one = few.add_int(1);
  few.call("executorch_prim::add", "Scalar", {one});
  CHECK_ERROR(kInvalidProgram, "expected 2 arguments", run_plan(few));
  PlanBuilder kind;
  const int number = kind.add_int(1);
  const int list = kind.add_int_list({1, 2});
  kind.call("executorch_prim::add", "Scalar", {number, list, number});
  CHECK_ERROR(kInvalidArgument, "expected number, got list of int", run_plan(kind));
  PlanBuilder result;
  const int a = result.add_int(1);
  const int tensor = result.add_planned({2}, 0);
  result.call("executorch_prim::add", "Scalar", {a, a, tensor});
  CHECK_ERROR(kInvalidProgram, "no value for the result", run_plan(result));
}

// CVE-2025-54951: arrays of 16 dimensions overflow.
ETLAB_TEST(ranks_are_limited) {
  PlanBuilder plan;
  plan.add_planned(std::vector<int>(17, 1), 0);
  CHECK_ERROR(kInvalidProgram, "rank 17 is over the limit", load(pack(program_of(plan))));
  PlanBuilder unsqueezed;
  const int x = unsqueezed.add_planned(std::vector<int>(16, 1), 0);
  const int dim = unsqueezed.add_int(0);
  const int out = unsqueezed.add_planned(std::vector<int>(16, 1), 64);
  unsqueezed.call("aten::unsqueeze_copy", "out", {x, dim, out, out});
  CHECK_ERROR(kInvalidArgument, "unsqueeze_copy", run_plan(unsqueezed));
}

// Outputs grow past their memory.
ETLAB_TEST(outputs_cannot_outgrow_their_memory) {
  PlanBuilder plan;
  const int x = plan.add_planned({64}, 0);
  const int non_blocking = plan.add_bool(false);
  const int out = plan.add_planned({2}, 512);
  plan.tensor(out).shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_BOUND;
  plan.call("aten::copy", "out", {x, x, non_blocking, out, out});
  CHECK_ERROR(kInvalidArgument, "cannot grow to [64]", run_plan(plan));
}

// constant_pad_nd and pixel_shuffle compute sizes that overflow.
ETLAB_TEST(sizes_computed_from_arguments_cannot_overflow) {
  for (const int64_t huge : {std::numeric_limits<int64_t>::max(),
                             std::numeric_limits<int64_t>::min(), int64_t{1} << 62}) {
    PlanBuilder pad;
    const int x = pad.add_planned({2, 3}, 0);
    const int widths = pad.add_int_list({huge, huge});
    const int zero = pad.add_int(0);
    const int out = pad.add_planned({2, 3}, 64);
    pad.tensor(out).shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_BOUND;
    pad.call("aten::constant_pad_nd", "out", {x, widths, zero, out, out});
    CHECK_ERROR(kInvalidArgument, "constant_pad_nd", run_plan(pad));
    PlanBuilder shuffle;
    const int image = shuffle.add_planned({1, 4, 2, 2}, 0);
    const int factor = shuffle.add_int(huge);
    const int result = shuffle.add_planned({1, 1, 4, 4}, 128);
    shuffle.call("aten::pixel_shuffle", "out", {image, factor, result, result});
    CHECK_ERROR(kInvalidArgument, "pixel_shuffle", run_plan(shuffle));
  }
}

// Constants are read by an index or offset that the file does not have.
ETLAB_TEST(constants_lie_within_the_file) {
  PlanBuilder index;
  index.add_constant({3}, 7);
  CHECK_ERROR(kInvalidProgram, "constant 7 is referred to", load(pack(program_of(index))));
  PlanBuilder size;
  size.add_constant({3, 100}, 1);
  const std::vector<std::vector<float>> constants = {{1, 2, 3}};
  CHECK_ERROR(kInvalidProgram, "reaches past the end of its segment",
              load(pack(program_of(size, constants), segment_of(constants))));
}

// Tables that may be missing are taken for present.
ETLAB_TEST(missing_tables_are_noticed) {
  const auto load_without = [](const auto& remove) {
    PlanBuilder plan;
    const int x = plan.add_planned({2}, 0);
    plan.call("aten::relu", "out", {x, x, x});
    schema::ProgramT program = program_of(plan);
    remove(program, *program.execution_plan[0]);
    load(pack(program));
  };
  using Program = schema::ProgramT;
  using Plan = schema::ExecutionPlanT;
  load_without([](Program&, Plan&) {});
  load_without([](Program& program, Plan&) { program.constant_segment.reset(); });
  CHECK_ERROR(kInvalidProgram, "no method",
              load_without([](Program& program, Plan&) { program.execution_plan.clear(); }));
  CHECK_ERROR(kInvalidProgram, "chains",
              load_without([](Program&, Plan& plan) { plan.chains.clear(); }));
  CHECK_ERROR(kInvalidProgram, "does not exist",
              load_without([](Program&, Plan& plan) { plan.operators.clear(); }));
  CHECK_ERROR(kInvalidProgram, "arenas 1 to",
              load_without([](Program&, Plan& plan) { plan.non_const_buffer_sizes.clear(); }));
  CHECK_ERROR(kInvalidProgram, "entries of dim order", load_without([](Program&, Plan& plan) {
                plan.values[0]->val.AsTensor()->dim_order.clear();
              }));
  CHECK_ERROR(kInvalidProgram, "it has no content",
              load_without([](Program&, Plan& plan) { plan.values[0]->val.Reset(); }));
  CHECK_ERROR(kInvalidProgram, "it has no data", load_without([](Program&, Plan& plan) {
                plan.delegates.push_back(std::make_unique<schema::BackendDelegateT>());
                plan.delegates[0]->id = "Backend";
              }));
}

// Memory orders that are no permutation.
ETLAB_TEST(dim_orders_are_permutations) {
  for (const std::vector<uint8_t>& order : {std::vector<uint8_t>{0, 0}, {1, 2}, {255, 0}}) {
    PlanBuilder plan;
    const int x = plan.add_planned({2, 3}, 0);
    plan.tensor(x).dim_order = order;
    CHECK_ERROR(kInvalidProgram, "no permutation", load(pack(program_of(plan))));
  }
}

// Moves, frees and jumps to where nothing is.
ETLAB_TEST(targets_of_instructions_exist) {
  for (const int odd : {-1, 1, kBig, std::numeric_limits<int>::min()}) {
    PlanBuilder move;
    const int x = move.add_int(0);
    move.move(x, odd);
    CHECK_ERROR(kInvalidProgram, "moves value", load(pack(program_of(move))));
    PlanBuilder jump;
    jump.jump_if_false(odd, 0);
    CHECK_ERROR(kInvalidProgram, "its condition is value", load(pack(program_of(jump))));
    PlanBuilder release;
    release.add_int(0);
    auto instruction = std::make_unique<schema::InstructionT>();
    schema::FreeCallT call;
    call.value_index = odd;
    instruction->instr_args.Set(call);
    release.plan().chains[0]->instructions.push_back(std::move(instruction));
    CHECK_ERROR(kInvalidProgram, "it frees value", load(pack(program_of(release))));
  }
}

// A program that never ends.
ETLAB_TEST(endless_programs_are_ended) {
  PlanBuilder plan;
  plan.jump_if_false(plan.add_bool(false), 0);
  CHECK_ERROR(kInvalidProgram, "did not end after", run_plan(plan));
}

// Offsets and sizes of segments and of the header wrap.
ETLAB_TEST(segments_lie_within_the_file) {
  for (const uint64_t odd : {UINT64_MAX, UINT64_MAX - 15, uint64_t{1} << 63, uint64_t{4096}}) {
    for (const bool is_offset : {true, false}) {
      PlanBuilder plan;
      schema::ProgramT program = program_of(plan);
      (is_offset ? program.segments[0]->offset : program.segments[0]->size) = odd;
      CHECK_ERROR(kInvalidProgram, "reaches past the end of the file", load(pack(program)));
    }
    for (const size_t field : {size_t{16}, size_t{24}, size_t{32}}) {
      Bytes bytes = small_program();
      std::memcpy(bytes.data() + field, &odd, sizeof(odd));
      CHECK_ERROR(kInvalidProgram, "", load(bytes));
    }
  }
}

// The list of first values other than 0, and first values past the end.
ETLAB_TEST(first_values_of_state_lie_within_the_file) {
  for (const uint64_t list : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
    PlanBuilder plan;
    const int x = plan.add_planned({2}, 0);
    plan.tensor(x).data_buffer_idx = 1;
    plan.tensor(x).extra_tensor_info = std::make_unique<schema::ExtraTensorInfoT>();
    plan.tensor(x).extra_tensor_info->mutable_data_segments_idx = list;
    CHECK_ERROR(kInvalidProgram, "mutable data segment", load(pack(program_of(plan))));
  }
}

// A .ptd file of one tensor "w" of 2 x 3 floats, with its fields bent by `bend`.
template <typename Bend>
void load_tensors(const Bend& bend) {
  schema::ptd::FlatTensorT root;
  root.segments.push_back(std::make_unique<schema::ptd::DataSegmentT>());
  root.segments[0]->size = 24;
  auto item = std::make_unique<schema::ptd::NamedDataT>();
  item->key = "w";
  item->tensor_layout = std::make_unique<schema::ptd::TensorLayoutT>();
  item->tensor_layout->scalar_type = schema::ScalarType::FLOAT;
  item->tensor_layout->sizes = {2, 3};
  item->tensor_layout->dim_order = {0, 1};
  root.named_data.push_back(std::move(item));
  std::vector<uint64_t> header = {0, 40, 0, 0, 0};
  bend(root, header);
  flatbuffers::FlatBufferBuilder builder;
  schema::ptd::FinishFlatTensorBuffer(builder, schema::ptd::FlatTensor::Pack(builder, &root));
  Bytes bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  bytes.insert(bytes.begin() + 8, 40, 0);
  uint32_t root_offset = 0;
  std::memcpy(&root_offset, bytes.data(), sizeof(root_offset));
  root_offset += 40;
  std::memcpy(bytes.data(), &root_offset, sizeof(root_offset));
  std::memcpy(bytes.data() + 8, "FH01", 4);
  const uint32_t length = 40;
  std::memcpy(bytes.data() + 12, &length, sizeof(length));
  const uint64_t base = (bytes.size() + 127) / 128 * 128;
  // Each field is what it should be, changed by what `bend` wrote there.
  const uint64_t fields[] = {48 + header[0], bytes.size() - 48 + header[2], base + header[3],
                             24 + header[4]};
  std::memcpy(bytes.data() + 16, fields, sizeof(fields));
  bytes.resize(static_cast<size_t>(base) + 24);
  const std::unique_ptr<DataSource> source = view_memory({bytes.data(), bytes.size()});
  TensorFile::load(view_memory(source->bytes()));
}

// .ptd files: header fields that wrap, layouts that are wrong or larger than their bytes, no key.
ETLAB_TEST(tensor_files_are_checked_like_programs) {
  using Root = schema::ptd::FlatTensorT;
  using Header = std::vector<uint64_t>;
  load_tensors([](Root&, Header&) {});
  for (const size_t field : {size_t{3}, size_t{4}}) {
    for (const uint64_t odd : {UINT64_MAX - 100, uint64_t{1} << 63, uint64_t{1} << 20}) {
      CHECK_ERROR(kInvalidProgram, "",
                  load_tensors([&](Root&, Header& header) { header[field] = odd; }));
    }
  }
  CHECK_ERROR(kInvalidProgram, "segment 3", load_tensors([](Root& root, Header&) {
                root.named_data[0]->segment_index = 3;
              }));
  CHECK_ERROR(kInvalidProgram, "reaches past the end", load_tensors([](Root& root, Header&) {
                root.segments[0]->offset = UINT64_MAX;
              }));
  CHECK_ERROR(kInvalidProgram, "entries for rank 2", load_tensors([](Root& root, Header&) {
                root.named_data[0]->tensor_layout->dim_order = {0};
              }));
  CHECK_ERROR(kInvalidProgram, "needs", load_tensors([](Root& root, Header&) {
                root.named_data[0]->tensor_layout->sizes = {2, 300};
              }));
  CHECK_ERROR(kInvalidProgram, "more elements", load_tensors([](Root& root, Header&) {
                root.named_data[0]->tensor_layout->sizes = {kBig, kBig, kBig};
                root.named_data[0]->tensor_layout->dim_order = {0, 1, 2};
              }));
}

}  // namespace
}  // namespace etlab::test
