#include "tests/cpp/check.h"
#include "tests/cpp/programs.h"

namespace etlab::test {
namespace {

// Loads a program of one method after `bend` changed it.
template <typename Bend>
void load_bent(const Bend& bend) {
  PlanBuilder plan;
  const int x = plan.add_planned({2, 3}, 0);
  const int list = plan.add_int_list({1});
  const int tensors = plan.add_tensor_list({x});
  plan.call("aten::relu", "out", {x, x, x});
  plan.set_inputs({x});
  plan.set_outputs({x, list, tensors});
  schema::ProgramT program = program_of(plan);
  bend(program, *program.execution_plan[0]);
  load(pack(program));
}

schema::TensorT& first_tensor(schema::ExecutionPlanT& plan) {
  return *plan.values[0]->val.AsTensor();
}

#define CHECK_BENT(kind, part, statement)                                         \
  CHECK_ERROR(kind, part, load_bent([](schema::ProgramT& program,                 \
                                       schema::ExecutionPlanT& plan) {            \
    static_cast<void>(program);                                                   \
    static_cast<void>(plan);                                                      \
    statement;                                                                    \
  }))

ETLAB_TEST(unbent_program_loads) { load_bent([](auto&, auto&) {}); }

ETLAB_TEST(shape_of_a_tensor_is_checked) {
  CHECK_BENT(kInvalidProgram, "rank 17 is over the limit",
             (first_tensor(plan).sizes.assign(17, 1), first_tensor(plan).dim_order.assign(17, 0)));
  CHECK_BENT(kInvalidProgram, "rank 2 but 1 entries", first_tensor(plan).dim_order.pop_back());
  CHECK_BENT(kInvalidProgram, "no permutation", first_tensor(plan).dim_order[0] = 1);
  CHECK_BENT(kInvalidProgram, "no permutation", first_tensor(plan).dim_order[0] = 200);
  CHECK_BENT(kInvalidProgram, "is negative", first_tensor(plan).sizes[1] = -3);
  CHECK_BENT(kInvalidProgram, "more bytes than memory",
             (first_tensor(plan).sizes.assign(4, 2147483647),
              first_tensor(plan).dim_order = {0, 1, 2, 3}));
  CHECK_BENT(kInvalidProgram, "storage offset 4", first_tensor(plan).storage_offset = 4);
  CHECK_BENT(kNotSupported, "dtype qint8 (number 12)",
             first_tensor(plan).scalar_type = schema::ScalarType::QINT8);
  CHECK_BENT(kNotSupported, "no upper bound",
             first_tensor(plan).shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_UNBOUND);
}

ETLAB_TEST(place_of_a_tensor_is_checked) {
  CHECK_BENT(kInvalidProgram, "arena 2", first_tensor(plan).allocation_info->memory_id = 2);
  CHECK_BENT(kInvalidProgram, "arena 0", first_tensor(plan).allocation_info->memory_id = 0);
  CHECK_BENT(kInvalidProgram, "planned at 1008",
             first_tensor(plan).allocation_info->memory_offset_low = 1008);
  CHECK_BENT(kInvalidProgram, "planned at 4294967296",
             first_tensor(plan).allocation_info->memory_offset_high = 1);
  CHECK_BENT(kInvalidProgram, "no multiple of its element size",
             first_tensor(plan).allocation_info->memory_offset_low = 2);
  CHECK_BENT(kInvalidProgram, "initial value", plan.values[0]->val.AsTensor()->data_buffer_idx = 1;
             program.mutable_data_segments.push_back(
                 std::make_unique<schema::SubsegmentOffsetsT>()));
  CHECK_BENT(kInvalidProgram, "arena 1 has -1 bytes", plan.non_const_buffer_sizes[1] = -1);
}

ETLAB_TEST(constants_are_checked) {
  CHECK_BENT(kInvalidProgram, "constant 5 is referred to, the program has 1",
             (first_tensor(plan).allocation_info = nullptr,
              first_tensor(plan).data_buffer_idx = 5));
  CHECK_BENT(kInvalidProgram, "reaches past the end of its segment",
             (first_tensor(plan).allocation_info = nullptr,
              first_tensor(plan).data_buffer_idx = 1,
              program.constant_segment->offsets.push_back(UINT64_MAX)));
  CHECK_BENT(kInvalidProgram, "segment 7 is referred to",
             (first_tensor(plan).allocation_info = nullptr,
              first_tensor(plan).data_buffer_idx = 1, program.constant_segment->offsets.push_back(0),
              program.constant_segment->segment_index = 7));
  CHECK_BENT(kInvalidProgram, "reaches past the end of the file",
             program.segments[0]->offset = UINT64_MAX);
  CHECK_BENT(kInvalidProgram, "both in the FlatBuffer and in a segment",
             program.constant_buffer.push_back(std::make_unique<schema::BufferT>()));
}

ETLAB_TEST(indices_are_checked) {
  CHECK_BENT(kInvalidProgram, "input 0: value 99", plan.inputs[0] = 99);
  CHECK_BENT(kInvalidProgram, "output 0: value -1", plan.outputs[0] = -1);
  CHECK_BENT(kInvalidProgram, "item 0 is value 99", plan.values[2]->val.AsIntList()->items[0] = 99);
  CHECK_BENT(kInvalidProgram, "which is no int", plan.values[2]->val.AsIntList()->items[0] = 0);
  CHECK_BENT(kInvalidProgram, "which is no Tensor",
             plan.values[3]->val.AsTensorList()->items[0] = 1);
  CHECK_BENT(kInvalidProgram, "instruction 0, argument 1: value 70",
             plan.chains[0]->instructions[0]->instr_args.AsKernelCall()->args[1] = 70);
  CHECK_BENT(kInvalidProgram, "operator 3 does not exist",
             plan.chains[0]->instructions[0]->instr_args.AsKernelCall()->op_index = 3);
}

ETLAB_TEST(jumps_may_reach_the_end_and_not_further) {
  const auto load_jump = [](int target) {
    PlanBuilder plan;
    plan.jump_if_false(plan.add_bool(false), target);
    load(pack(program_of(plan)));
  };
  load_jump(0);
  load_jump(1);
  CHECK_ERROR(kInvalidProgram, "it jumps to 2", load_jump(2));
  CHECK_ERROR(kInvalidProgram, "it jumps to -1", load_jump(-1));
}

ETLAB_TEST(names_and_structure_are_checked) {
  CHECK_BENT(kInvalidProgram, "not UTF-8", plan.name = "\xff\xfe");
  CHECK_BENT(kInvalidProgram, "not UTF-8", plan.operators[0]->name = "aten::\xc0\x80");
  CHECK_BENT(kInvalidProgram, "no method", program.execution_plan.clear());
  CHECK_BENT(kInvalidProgram, "newer than the newest", program.version = 1);
  CHECK_BENT(kInvalidProgram, "it has none", plan.chains.clear());
  CHECK_BENT(kNotSupported, "2 chains",
             plan.chains.push_back(std::make_unique<schema::ChainT>()));
  CHECK_BENT(kInvalidProgram, "it has no content", plan.values[0]->val.Reset());
  CHECK_BENT(kInvalidProgram, "two methods are named 'forward'",
             program.execution_plan.push_back(std::make_unique<schema::ExecutionPlanT>(
                 *program.execution_plan[0])));
}

ETLAB_TEST(delegates_and_named_data_are_checked) {
  const auto delegate = [](schema::ExecutionPlanT& plan) -> schema::BackendDelegateT& {
    plan.delegates.push_back(std::make_unique<schema::BackendDelegateT>());
    plan.delegates[0]->id = "Backend";
    plan.delegates[0]->processed = std::make_unique<schema::BackendDelegateDataReferenceT>();
    plan.delegates[0]->processed->location = schema::DataLocation::SEGMENT;
    return *plan.delegates[0];
  };
  load_bent([&](auto&, auto& plan) { delegate(plan); });
  CHECK_ERROR(kInvalidProgram, "segment 9", load_bent([&](auto&, auto& plan) {
                delegate(plan).processed->index = 9;
              }));
  CHECK_ERROR(kInvalidProgram, "it has no data", load_bent([&](auto&, auto& plan) {
                delegate(plan).processed = nullptr;
              }));
  CHECK_ERROR(kInvalidProgram, "stands twice", load_bent([](auto& program, auto&) {
                for (int i = 0; i < 2; ++i) {
                  program.named_data.push_back(std::make_unique<schema::NamedDataT>());
                  program.named_data.back()->key = "weights";
                }
              }));
}

ETLAB_TEST(foreign_and_cut_files_are_refused) {
  const Bytes good = small_program();
  CHECK_ERROR(kInvalidProgram, "0 bytes are too few", load({}));
  Bytes foreign = good;
  foreign[4] = 'X';
  CHECK_ERROR(kInvalidProgram, "a .pte file has 'ET12'", load(foreign));
  for (size_t length = 0; length < good.size(); ++length) {
    test::error_of([&] { load(Bytes(good.begin(), good.begin() + static_cast<long>(length))); },
                   ErrorKind::kInvalidProgram, __FILE__, __LINE__);
  }
}

ETLAB_TEST(shared_lists_cannot_ask_for_unlimited_work) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<schema::EValue>> values;
  const auto number = schema::CreateInt(builder, 1);
  values.push_back(schema::CreateEValue(builder, schema::KernelTypes::Int, number.Union()));
  const auto items = builder.CreateVector(std::vector<int64_t>(4000, 0));
  for (int i = 0; i < 4000; ++i) {
    const auto list = schema::CreateIntList(builder, items);
    values.push_back(schema::CreateEValue(builder, schema::KernelTypes::IntList, list.Union()));
  }
  const auto name = builder.CreateString("forward");
  const auto table = builder.CreateVector(values);
  const auto plan = schema::CreateExecutionPlan(builder, name, 0, table);
  const auto plans = builder.CreateVector(&plan, 1);
  schema::FinishProgramBuffer(builder, schema::CreateProgram(builder, 0, plans));
  const Bytes bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  CHECK_ERROR(kInvalidProgram, "more items than the file has bytes for", load(bytes));
}

}  // namespace
}  // namespace etlab::test
