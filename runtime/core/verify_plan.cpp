#include <algorithm>
#include <limits>
#include <string>

#include "runtime/core/checked.h"
#include "runtime/core/error.h"
#include "runtime/core/program_data.h"
#include "runtime/core/scalar_type.h"
#include "runtime/core/tensor.h"
#include "runtime/core/text.h"
#include "runtime/core/verify.h"
#include "runtime/schema/program_generated.h"

namespace etlab {

namespace {

constexpr size_t kLongestString = size_t{1} << 24;

bool is_external(const schema::Tensor& tensor) {
  return tensor.extra_tensor_info() != nullptr &&
         tensor.extra_tensor_info()->location() == schema::TensorDataLocation::EXTERNAL;
}

constexpr const char* kMisaligned = "its items do not stand at a multiple of 8 bytes";

class PlanVerifier {
 public:
  PlanVerifier(const schema::ExecutionPlan& plan, const ProgramData& data, WorkBudget& budget)
      : plan_(plan), data_(data), budget_(budget) {}

  void run() {
    try {
      verify_arenas();
      verify_values();
      verify_indices(plan_.inputs(), "input");
      verify_indices(plan_.outputs(), "output");
      verify_operators();
      verify_delegates();
      verify_container();
      verify_chain();
    } catch (const Error& error) {
      fail(error.kind(), "method '", plan_.name()->string_view(), "', ", place(), ": ",
           error.what());
    }
  }

 private:
  // Where the verifier stands, for messages: "arenas", "value 3", "instruction 3, argument 1".
  void enter(const char* what, int64_t number = -1) {
    what_ = what;
    number_ = number;
    enter_part("", -1);
  }
  void enter_part(const char* part, int64_t part_number) {
    part_ = part;
    part_number_ = part_number;
  }
  std::string place() const {
    std::string text = what_;
    if (number_ >= 0) text += concat(" ", number_);
    return part_number_ < 0 ? text : concat(text, part_, part_number_);
  }

  void verify_arenas() {
    enter("arenas");
    ETLAB_CHECK(is_aligned(plan_.non_const_buffer_sizes()), kInvalidProgram, kMisaligned);
    for (size_t i = 1; i < arena_count(); ++i) {
      ETLAB_CHECK(arena_size(i) >= 0, kInvalidProgram, "arena ", i, " has ", arena_size(i),
                  " bytes");
    }
    for (uint32_t i = 0; i < count(plan_.non_const_buffer_device()); ++i) {
      const auto& device = *plan_.non_const_buffer_device()->Get(i);
      if (device.device_type() != schema::DeviceType::CPU) {
        fail(ErrorKind::kNotSupported, "arena ", device.buffer_idx(), " lies on device type ",
               static_cast<int>(device.device_type()), "; this runtime has the CPU only");
      }
    }
  }

  void verify_values() {
    const size_t number = count(plan_.values());
    for (uint32_t i = 0; i < number; ++i) {
      enter("value", i);
      const schema::EValue& value = *plan_.values()->Get(i);
      ETLAB_CHECK(value.val() != nullptr || value.val_type() == schema::KernelTypes::Null,
                  kInvalidProgram, "it has no content");
      verify_value(value);
    }
  }

  void verify_value(const schema::EValue& value) {
    switch (value.val_type()) {
      case schema::KernelTypes::Null:
      case schema::KernelTypes::Int:
      case schema::KernelTypes::Bool:
      case schema::KernelTypes::Double:
        return;
      case schema::KernelTypes::Tensor: return verify_tensor(*value.val_as_Tensor());
      case schema::KernelTypes::String: {
        budget_.spend(checked_text(value.val_as_String()->string_val(), "its text",
                                   kLongestString).size());
        return;
      }
      case schema::KernelTypes::IntList: return verify_int_list(*value.val_as_IntList());
      case schema::KernelTypes::DoubleList:
        ETLAB_CHECK(is_aligned(value.val_as_DoubleList()->items()), kInvalidProgram, kMisaligned);
        return budget_.spend(count(value.val_as_DoubleList()->items()));
      case schema::KernelTypes::BoolList:
        return budget_.spend(count(value.val_as_BoolList()->items()));
      case schema::KernelTypes::TensorList:
        return verify_tensor_list(value.val_as_TensorList()->items(), /*allow_none=*/false);
      case schema::KernelTypes::OptionalTensorList:
        return verify_tensor_list(value.val_as_OptionalTensorList()->items(), /*allow_none=*/true);
      case schema::KernelTypes::NONE: break;
    }
    fail(ErrorKind::kInvalidProgram, "kind ", static_cast<int>(value.val_type()), " is unknown");
  }

  void verify_int_list(const schema::IntList& list) {
    budget_.spend(count(list.items()));
    ETLAB_CHECK(is_aligned(list.items()), kInvalidProgram, kMisaligned);
    for (uint32_t i = 0; i < count(list.items()); ++i) {
      const int64_t index = list.items()->Get(i);
      ETLAB_CHECK(is_value(index), kInvalidProgram, "item ", i, " is value ", index, ", there are ",
                  count(plan_.values()));
      const auto kind = plan_.values()->Get(static_cast<uint32_t>(index))->val_type();
      ETLAB_CHECK(kind == schema::KernelTypes::Int, kInvalidProgram, "item ", i, " is value ",
                  index, ", which is no int");
    }
  }

  void verify_tensor_list(const flatbuffers::Vector<int32_t>* items, bool allow_none) {
    budget_.spend(count(items));
    for (uint32_t i = 0; i < count(items); ++i) {
      const int32_t index = items->Get(i);
      if (allow_none && index == -1) continue;
      ETLAB_CHECK(is_value(index), kInvalidProgram, "item ", i, " is value ", index, ", there are ",
                  count(plan_.values()));
      const auto kind = plan_.values()->Get(static_cast<uint32_t>(index))->val_type();
      const bool is_none = allow_none && kind == schema::KernelTypes::Null;
      ETLAB_CHECK(kind == schema::KernelTypes::Tensor || is_none, kInvalidProgram, "item ", i,
                  " is value ", index, ", which is no Tensor");
    }
  }

  void verify_tensor(const schema::Tensor& tensor) {
    const auto type = static_cast<ScalarType>(tensor.scalar_type());
    if (!is_known(type)) {
      fail(ErrorKind::kNotSupported, "tensors of dtype ", foreign_dtype(static_cast<int>(type)),
           " (number ", static_cast<int>(type), ") have no kernels in this runtime; export the",
           " model in another dtype");
    }
    ETLAB_CHECK(tensor.storage_offset() == 0, kInvalidProgram, "storage offset ",
                tensor.storage_offset(), ", only 0 is allowed");
    verify_shape(tensor);
    const auto dynamism = tensor.shape_dynamism();
    if (dynamism == schema::TensorShapeDynamism::DYNAMIC_UNBOUND) {
      fail(ErrorKind::kNotSupported,
             "its shape has no upper bound; export with bounds on every dynamic dimension");
    }
    ETLAB_CHECK(dynamism == schema::TensorShapeDynamism::STATIC ||
                dynamism == schema::TensorShapeDynamism::DYNAMIC_BOUND, kInvalidProgram,
                "shape dynamism ", static_cast<int>(dynamism), " is unknown");
    verify_place(tensor, type);
  }

  void verify_shape(const schema::Tensor& tensor) {
    const size_t rank = count(tensor.sizes());
    ETLAB_CHECK(rank <= kMaxRank, kInvalidProgram, "rank ", rank, " is over the limit of ",
                kMaxRank);
    ETLAB_CHECK(count(tensor.dim_order()) == rank, kInvalidProgram, "rank ", rank, " but ",
                count(tensor.dim_order()), " entries of dim order");
    uint32_t seen = 0;
    for (uint32_t i = 0; i < rank; ++i) {
      ETLAB_CHECK(tensor.sizes()->Get(i) >= 0, kInvalidProgram, "size ", tensor.sizes()->Get(i),
                  " of dimension ", i, " is negative");
      const uint8_t dim = tensor.dim_order()->Get(i);
      ETLAB_CHECK(dim < rank && (seen & (1u << dim)) == 0, kInvalidProgram,
                  "its dim order is no permutation of the dimensions");
      seen |= 1u << dim;
    }
  }

  size_t verified_nbytes(const schema::Tensor& tensor, ScalarType type) const {
    size_t bytes = element_size(type);
    bool is_empty = false;
    for (uint32_t i = 0; i < count(tensor.sizes()); ++i) {
      const auto size = static_cast<size_t>(tensor.sizes()->Get(i));
      if (size == 0) is_empty = true;
      // Half of the range, so that offsets can be added without another check.
      ETLAB_CHECK(size == 0 || bytes <= std::numeric_limits<size_t>::max() / 2 / size,
                  kInvalidProgram, "its sizes need more bytes than memory can have");
      if (size != 0) bytes *= size;
    }
    return is_empty ? 0 : bytes;
  }

  void verify_place(const schema::Tensor& tensor, ScalarType type) {
    const size_t nbytes = verified_nbytes(tensor, type);
    size_t list = 0;
    if (const schema::ExtraTensorInfo* extra = tensor.extra_tensor_info()) {
      list = extra->mutable_data_segments_idx();
      if (extra->fully_qualified_name() != nullptr) {
        budget_.spend(checked_text(extra->fully_qualified_name(), "its name").size());
      }
      if (extra->device_type() != schema::DeviceType::CPU) {
        fail(ErrorKind::kNotSupported, "it lies on device type ",
               static_cast<int>(extra->device_type()), "; this runtime has the CPU only");
      }
    }
    const schema::AllocationDetails* place = tensor.allocation_info();
    if (place != nullptr) verify_allocation(*place, nbytes, element_size(type));
    if (tensor.extra_tensor_info() != nullptr) {
      const auto location = static_cast<int>(tensor.extra_tensor_info()->location());
      ETLAB_CHECK(location == 0 || location == 1, kInvalidProgram, "location ", location,
                  " of its data is unknown");
    }
    if (is_external(tensor)) {
      ETLAB_CHECK(tensor.extra_tensor_info()->fully_qualified_name() != nullptr, kInvalidProgram,
                  "its data is in a tensor file, but it has no name");
    } else if (tensor.data_buffer_idx() > 0 && place != nullptr) {
      data_.initial_value(list, tensor.data_buffer_idx(), nbytes);
    } else if (tensor.data_buffer_idx() > 0) {
      data_.constant(tensor.data_buffer_idx(), nbytes, element_size(type));
    }
  }

  void verify_allocation(const schema::AllocationDetails& place, size_t nbytes, size_t alignment) {
    ETLAB_CHECK(place.memory_id() >= 1 && place.memory_id() < arena_count(), kInvalidProgram,
                "it is planned in arena ", place.memory_id(), ", the method has arenas 1 to ",
                static_cast<int64_t>(arena_count()) - 1);
    const uint64_t offset = uint64_t{place.memory_offset_high()} << 32 | place.memory_offset_low();
    const auto size = static_cast<uint64_t>(arena_size(place.memory_id()));
    ETLAB_CHECK(offset <= size && nbytes <= size - offset, kInvalidProgram, "planned at ", offset,
                " with ", nbytes, " bytes, arena ", place.memory_id(), " has ", size);
    ETLAB_CHECK(offset % alignment == 0, kInvalidProgram, "planned at ", offset,
                ", no multiple of its element size");
  }

  void verify_indices(const flatbuffers::Vector<int32_t>* indices, const char* what) {
    budget_.spend(count(indices));
    for (uint32_t i = 0; i < count(indices); ++i) {
      enter(what, i);
      verify_index(indices->Get(i));
    }
  }

  void verify_index(int32_t value) {
    ETLAB_CHECK(is_value(value), kInvalidProgram, "value ", value, " does not exist, there are ",
                count(plan_.values()));
  }

  // Lists count as often as instructions use them: preparing a method walks them each time.
  void verify_arguments(const flatbuffers::Vector<int32_t>* arguments) {
    budget_.spend(count(arguments));
    for (uint32_t i = 0; i < count(arguments); ++i) {
      enter_part(", argument ", i);
      verify_index(arguments->Get(i));
      const auto& value = *plan_.values()->Get(static_cast<uint32_t>(arguments->Get(i)));
      if (const auto* list = value.val_as_TensorList()) budget_.spend(count(list->items()));
      if (const auto* list = value.val_as_OptionalTensorList()) budget_.spend(count(list->items()));
    }
  }

  void verify_operators() {
    for (uint32_t i = 0; i < count(plan_.operators()); ++i) {
      enter("operator", i);
      const schema::Operator& op = *plan_.operators()->Get(i);
      budget_.spend(checked_text(op.name(), "its name").size());
      if (op.overload() != nullptr) {
        budget_.spend(checked_text(op.overload(), "its overload").size());
      }
    }
  }

  void verify_delegates() {
    for (uint32_t i = 0; i < count(plan_.delegates()); ++i) {
      enter("delegate", i);
      const schema::BackendDelegate& delegate = *plan_.delegates()->Get(i);
      budget_.spend(checked_text(delegate.id(), "its name").size());
      ETLAB_CHECK(delegate.processed() != nullptr, kInvalidProgram, "it has no data");
      data_.delegate_payload(*delegate.processed());
      for (uint32_t k = 0; k < count(delegate.compile_specs()); ++k) {
        const schema::CompileSpec& spec = *delegate.compile_specs()->Get(k);
        budget_.spend(checked_text(spec.key(), "a compile spec's key").size());
        budget_.spend(count(spec.value()));
      }
    }
  }

  void verify_container() {
    enter("nesting of inputs and outputs");
    const schema::ContainerMetadata* container = plan_.container_meta_type();
    if (container == nullptr) return;
    for (const auto* text : {container->encoded_inp_str(), container->encoded_out_str()}) {
      if (text != nullptr) budget_.spend(checked_text(text, "its text", kLongestString).size());
    }
  }

  void verify_chain() {
    enter("chains");
    ETLAB_CHECK(count(plan_.chains()) > 0, kInvalidProgram, "it has none");
    if (count(plan_.chains()) > 1) {
      fail(ErrorKind::kNotSupported, count(plan_.chains()), " chains; only one is supported");
    }
    const schema::Chain& chain = *plan_.chains()->Get(0);
    // Each delegate looks through the chain for its call.
    budget_.spend(count(plan_.delegates()) * count(chain.instructions()) / 16);
    for (uint32_t i = 0; i < count(chain.instructions()); ++i) {
      enter("instruction", i);
      verify_instruction(*chain.instructions()->Get(i), count(chain.instructions()));
    }
  }

  void verify_instruction(const schema::Instruction& instruction, size_t chain_length) {
    ETLAB_CHECK(instruction.instr_args() != nullptr, kInvalidProgram, "it has no content");
    switch (instruction.instr_args_type()) {
      case schema::InstructionArguments::KernelCall: {
        const auto& call = *instruction.instr_args_as_KernelCall();
        ETLAB_CHECK(is_index(call.op_index(), count(plan_.operators())), kInvalidProgram,
                    "operator ", call.op_index(), " does not exist, there are ",
                    count(plan_.operators()));
        return verify_arguments(call.args());
      }
      case schema::InstructionArguments::DelegateCall: {
        const auto& call = *instruction.instr_args_as_DelegateCall();
        ETLAB_CHECK(is_index(call.delegate_index(), count(plan_.delegates())), kInvalidProgram,
                    "delegate ", call.delegate_index(), " does not exist, there are ",
                    count(plan_.delegates()));
        return verify_arguments(call.args());
      }
      case schema::InstructionArguments::MoveCall: {
        const auto& call = *instruction.instr_args_as_MoveCall();
        ETLAB_CHECK(is_value(call.move_from()) && is_value(call.move_to()), kInvalidProgram,
                    "moves value ", call.move_from(), " to ", call.move_to(), ", there are ",
                    count(plan_.values()));
        return;
      }
      case schema::InstructionArguments::JumpFalseCall: {
        const auto& call = *instruction.instr_args_as_JumpFalseCall();
        ETLAB_CHECK(is_value(call.cond_value_index()), kInvalidProgram, "its condition is value ",
                    call.cond_value_index(), ", there are ", count(plan_.values()));
        // The end of the chain is a target: it ends the method.
        ETLAB_CHECK(is_index(call.destination_instruction(), chain_length + 1), kInvalidProgram,
                    "it jumps to ", call.destination_instruction(), ", the chain has ",
                    chain_length, " instructions");
        return;
      }
      case schema::InstructionArguments::FreeCall: {
        const auto& call = *instruction.instr_args_as_FreeCall();
        ETLAB_CHECK(is_value(call.value_index()), kInvalidProgram, "it frees value ",
                    call.value_index(), ", there are ", count(plan_.values()));
        return;
      }
      case schema::InstructionArguments::NONE: break;
    }
    fail(ErrorKind::kInvalidProgram, "kind ", static_cast<int>(instruction.instr_args_type()),
           " is unknown");
  }

  static bool is_index(int64_t index, size_t number) {
    return index >= 0 && static_cast<uint64_t>(index) < number;
  }
  bool is_value(int64_t index) const { return is_index(index, count(plan_.values())); }
  size_t arena_count() const { return count(plan_.non_const_buffer_sizes()); }
  int64_t arena_size(size_t index) const {
    return plan_.non_const_buffer_sizes()->Get(static_cast<uint32_t>(index));
  }

  const schema::ExecutionPlan& plan_;
  const ProgramData& data_;
  WorkBudget& budget_;
  const char* what_ = "";
  int64_t number_ = -1;
  const char* part_ = "";
  int64_t part_number_ = -1;
};

}  // namespace

void verify_plan(const schema::ExecutionPlan& plan, const ProgramData& data, WorkBudget& budget) {
  PlanVerifier(plan, data, budget).run();
}

}  // namespace etlab
