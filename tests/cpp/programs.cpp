#include "tests/cpp/programs.h"

#include <cstring>

namespace etlab::test {

namespace {

constexpr size_t kHeaderBytes = 32;  // inserted behind the file identifier

void write_number(Bytes& bytes, size_t offset, uint64_t number, size_t width) {
  for (size_t i = 0; i < width; ++i) bytes[offset + i] = static_cast<uint8_t>(number >> (8 * i));
}

}  // namespace

PlanBuilder::PlanBuilder(const std::string& name)
    : plan_(std::make_unique<schema::ExecutionPlanT>()) {
  plan_->name = name;
  plan_->chains.push_back(std::make_unique<schema::ChainT>());
  plan_->non_const_buffer_sizes = {0, 1024};
}

template <typename T>
int PlanBuilder::add(T value) {
  auto entry = std::make_unique<schema::EValueT>();
  entry->val.Set(std::move(value));
  plan_->values.push_back(std::move(entry));
  return static_cast<int>(plan_->values.size()) - 1;
}

int PlanBuilder::add_null() { return add(schema::NullT()); }

int PlanBuilder::add_int(int64_t value) {
  schema::IntT number;
  number.int_val = value;
  return add(number);
}

int PlanBuilder::add_bool(bool value) {
  schema::BoolT flag;
  flag.bool_val = value;
  return add(flag);
}

int PlanBuilder::add_int_list(const std::vector<int64_t>& items) {
  schema::IntListT list;
  for (const int64_t item : items) list.items.push_back(add_int(item));
  return add(list);
}

int PlanBuilder::add_tensor_list(const std::vector<int>& items) {
  schema::TensorListT list;
  list.items = items;
  return add(list);
}

schema::TensorT PlanBuilder::plain_tensor(const std::vector<int>& sizes) const {
  schema::TensorT tensor;
  tensor.scalar_type = schema::ScalarType::FLOAT;
  tensor.sizes = sizes;
  for (size_t i = 0; i < sizes.size(); ++i) tensor.dim_order.push_back(static_cast<uint8_t>(i));
  return tensor;
}

int PlanBuilder::add_planned(const std::vector<int>& sizes, uint32_t offset) {
  schema::TensorT tensor = plain_tensor(sizes);
  tensor.allocation_info = std::make_unique<schema::AllocationDetailsT>();
  tensor.allocation_info->memory_id = 1;
  tensor.allocation_info->memory_offset_low = offset;
  return add(std::move(tensor));
}

int PlanBuilder::add_constant(const std::vector<int>& sizes, uint32_t index) {
  schema::TensorT tensor = plain_tensor(sizes);
  tensor.data_buffer_idx = index;
  return add(std::move(tensor));
}

int PlanBuilder::add_unplanned(const std::vector<int>& sizes) { return add(plain_tensor(sizes)); }

void PlanBuilder::call(const std::string& name, const std::string& overload,
                       const std::vector<int>& arguments) {
  auto op = std::make_unique<schema::OperatorT>();
  op->name = name;
  op->overload = overload;
  plan_->operators.push_back(std::move(op));
  schema::KernelCallT kernel;
  kernel.op_index = static_cast<int>(plan_->operators.size()) - 1;
  kernel.args = arguments;
  auto instruction = std::make_unique<schema::InstructionT>();
  instruction->instr_args.Set(std::move(kernel));
  plan_->chains[0]->instructions.push_back(std::move(instruction));
}

void PlanBuilder::move(int from, int to) {
  schema::MoveCallT call;
  call.move_from = from;
  call.move_to = to;
  auto instruction = std::make_unique<schema::InstructionT>();
  instruction->instr_args.Set(call);
  plan_->chains[0]->instructions.push_back(std::move(instruction));
}

void PlanBuilder::jump_if_false(int condition, int target) {
  schema::JumpFalseCallT call;
  call.cond_value_index = condition;
  call.destination_instruction = target;
  auto instruction = std::make_unique<schema::InstructionT>();
  instruction->instr_args.Set(call);
  plan_->chains[0]->instructions.push_back(std::move(instruction));
}

Bytes segment_of(const std::vector<std::vector<float>>& constants) {
  Bytes segment;
  for (const std::vector<float>& constant : constants) {
    segment.resize((segment.size() + 15) / 16 * 16);
    const size_t offset = segment.size();
    segment.resize(offset + constant.size() * sizeof(float));
    std::memcpy(segment.data() + offset, constant.data(), constant.size() * sizeof(float));
  }
  return segment;
}

schema::ProgramT program_of(PlanBuilder& plan, const std::vector<std::vector<float>>& constants) {
  schema::ProgramT program;
  program.execution_plan.push_back(plan.take());
  program.constant_segment = std::make_unique<schema::SubsegmentOffsetsT>();
  program.constant_segment->offsets = {0};
  uint64_t offset = 0;
  for (const std::vector<float>& constant : constants) {
    offset = (offset + 15) / 16 * 16;
    program.constant_segment->offsets.push_back(offset);
    offset += constant.size() * sizeof(float);
  }
  auto segment = std::make_unique<schema::DataSegmentT>();
  segment->size = offset;
  program.segments.push_back(std::move(segment));
  return program;
}

Bytes pack(const schema::ProgramT& program, const Bytes& segments) {
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishProgramBuffer(builder, schema::Program::Pack(builder, &program));
  Bytes bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  bytes.insert(bytes.begin() + 8, kHeaderBytes, 0);
  uint32_t root = 0;
  std::memcpy(&root, bytes.data(), sizeof(root));
  write_number(bytes, 0, root + kHeaderBytes, 4);
  std::memcpy(bytes.data() + 8, "eh00", 4);
  write_number(bytes, 12, kHeaderBytes, 4);
  write_number(bytes, 16, bytes.size(), 8);
  const size_t base = (bytes.size() + 127) / 128 * 128;
  write_number(bytes, 24, base, 8);
  write_number(bytes, 32, segments.size(), 8);
  bytes.resize(base);
  bytes.insert(bytes.end(), segments.begin(), segments.end());
  return bytes;
}

// view_memory copies where the vector is not aligned, so the bytes are always copied here: a
// program must not look into a test's temporary.
std::unique_ptr<const Program> load(const Bytes& bytes) {
  class Owned : public DataSource {
   public:
    explicit Owned(const Bytes& content) : buffer_(content.size(), "test") {
      if (!content.empty()) std::memcpy(buffer_.data(), content.data(), content.size());
    }
    Span<const uint8_t> bytes() const override { return {buffer_.data(), buffer_.size()}; }

   private:
    AlignedBuffer buffer_;
  };
  return Program::load(std::make_unique<Owned>(bytes));
}

Bytes small_program() {
  const std::vector<std::vector<float>> constants = {{1, -2, 3}};
  PlanBuilder plan;
  const int x = plan.add_planned({2, 3}, 0);
  const int weight = plan.add_constant({3}, 1);
  const int alpha = plan.add_int(1);
  const int sum = plan.add_planned({2, 3}, 64);
  const int result = plan.add_planned({2, 3}, 128);
  plan.call("aten::add", "out", {x, weight, alpha, sum, sum});
  plan.call("aten::relu", "out", {sum, result, result});
  plan.set_inputs({x});
  plan.set_outputs({result});
  return pack(program_of(plan, constants), segment_of(constants));
}

Bytes loop_program() {
  PlanBuilder plan;
  const int count = plan.add_int(0);
  const int one = plan.add_int(1);
  const int limit = plan.add_int(5);
  const int is_done = plan.add_bool(false);
  plan.call("executorch_prim::add", "Scalar", {count, one, count});
  plan.call("executorch_prim::eq", "Scalar", {count, limit, is_done});
  plan.jump_if_false(is_done, 0);
  plan.set_outputs({count});
  return pack(program_of(plan));
}

std::vector<float> run(Method& method, const std::vector<Tensor>& inputs,
                       const RunOptions& options) {
  std::vector<Tensor> tensors = inputs;
  std::vector<Value> values;
  for (Tensor& tensor : tensors) values.emplace_back(&tensor);
  std::vector<float> result;
  method.run({values.data(), values.size()}, options, [&](Span<const Value* const> outputs) {
    for (const Value* output : outputs) {
      if (const auto* number = output->get_if<int64_t>()) {
        result.push_back(static_cast<float>(*number));
      }
      Tensor* const* tensor = output->get_if<Tensor*>();
      if (tensor == nullptr || *tensor == nullptr || !(*tensor)->has_memory()) continue;
      if ((*tensor)->type() != ScalarType::kFloat) continue;
      const float* elements = (*tensor)->data<float>();
      result.insert(result.end(), elements, elements + (*tensor)->numel());
    }
  });
  return result;
}

}  // namespace etlab::test
