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

template <typename T>
size_t count(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// Torch's name of an element type of the format that this runtime has no kernels for.
const char* foreign_dtype(int number) {
  switch (number) {
    case 8: return "complex32";
    case 9: return "complex64";
    case 10: return "complex128";
    case 12: return "qint8";
    case 13: return "quint8";
    case 14: return "qint32";
    case 16: return "quint4x2";
    case 17: return "quint2x4";
    case 22: return "bits16";
    case 23: return "float8_e5m2";
    case 24: return "float8_e4m3fn";
    case 25: return "float8_e5m2fnuz";
    case 26: return "float8_e4m3fnuz";
    default: return "unknown";
  }
}

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
    verify_arenas();
    verify_values();
    verify_indices(plan_.inputs(), "input");
    verify_indices(plan_.outputs(), "output");
    verify_operators();
    verify_delegates();
    verify_container();
    verify_chain();
  }

 private:
  // Refuses with the method and the place within it in front of the sentence.
  template <typename... Parts>
  [[noreturn]] void refuse(ErrorKind kind, const Parts&... parts) const {
    fail(kind, "method '", plan_.name()->string_view(), "', ", where_, ": ", parts...);
  }
  template <typename... Parts>
  void require(bool condition, const Parts&... parts) const {
    if (!condition) refuse(ErrorKind::kInvalidProgram, parts...);
  }

  void verify_arenas() {
    where_ = "arenas";
    require(is_aligned(plan_.non_const_buffer_sizes()), kMisaligned);
    for (size_t i = 1; i < arena_count(); ++i) {
      require(arena_size(i) >= 0, "arena ", i, " has ", arena_size(i), " bytes");
    }
    for (uint32_t i = 0; i < count(plan_.non_const_buffer_device()); ++i) {
      const auto& device = *plan_.non_const_buffer_device()->Get(i);
      if (device.device_type() != schema::DeviceType::CPU) {
        refuse(ErrorKind::kNotSupported, "arena ", device.buffer_idx(), " lies on device type ",
               static_cast<int>(device.device_type()), "; this runtime has the CPU only");
      }
    }
  }

  void verify_values() {
    const size_t number = count(plan_.values());
    for (uint32_t i = 0; i < number; ++i) {
      where_ = "value " + std::to_string(i);
      const schema::EValue& value = *plan_.values()->Get(i);
      require(value.val() != nullptr || value.val_type() == schema::KernelTypes::Null,
              "it has no content");
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
        budget_.spend(checked_text(value.val_as_String()->string_val(), where_.c_str(),
                                   kLongestString).size());
        return;
      }
      case schema::KernelTypes::IntList: return verify_int_list(*value.val_as_IntList());
      case schema::KernelTypes::DoubleList:
        require(is_aligned(value.val_as_DoubleList()->items()), kMisaligned);
        return budget_.spend(count(value.val_as_DoubleList()->items()));
      case schema::KernelTypes::BoolList:
        return budget_.spend(count(value.val_as_BoolList()->items()));
      case schema::KernelTypes::TensorList:
        return verify_tensor_list(value.val_as_TensorList()->items(), /*allow_none=*/false);
      case schema::KernelTypes::OptionalTensorList:
        return verify_tensor_list(value.val_as_OptionalTensorList()->items(), /*allow_none=*/true);
      case schema::KernelTypes::NONE: break;
    }
    refuse(ErrorKind::kInvalidProgram, "kind ", static_cast<int>(value.val_type()), " is unknown");
  }

  void verify_int_list(const schema::IntList& list) {
    budget_.spend(count(list.items()));
    require(is_aligned(list.items()), kMisaligned);
    for (uint32_t i = 0; i < count(list.items()); ++i) {
      const int64_t index = list.items()->Get(i);
      require(is_value(index), "item ", i, " is value ", index, ", there are ",
              count(plan_.values()));
      const auto kind = plan_.values()->Get(static_cast<uint32_t>(index))->val_type();
      require(kind == schema::KernelTypes::Int, "item ", i, " is value ", index,
              ", which is no int");
    }
  }

  void verify_tensor_list(const flatbuffers::Vector<int32_t>* items, bool allow_none) {
    budget_.spend(count(items));
    for (uint32_t i = 0; i < count(items); ++i) {
      const int32_t index = items->Get(i);
      if (allow_none && index == -1) continue;
      require(is_value(index), "item ", i, " is value ", index, ", there are ",
              count(plan_.values()));
      const auto kind = plan_.values()->Get(static_cast<uint32_t>(index))->val_type();
      const bool is_none = allow_none && kind == schema::KernelTypes::Null;
      require(kind == schema::KernelTypes::Tensor || is_none, "item ", i, " is value ", index,
              ", which is no Tensor");
    }
  }

  void verify_tensor(const schema::Tensor& tensor) {
    const auto type = static_cast<ScalarType>(tensor.scalar_type());
    if (!is_known(type)) {
      refuse(ErrorKind::kNotSupported, "tensors of dtype ", foreign_dtype(static_cast<int>(type)),
             " (number ", static_cast<int>(type), ") have no kernels in this runtime; export the"
             " model in another dtype");
    }
    require(tensor.storage_offset() == 0, "storage offset ", tensor.storage_offset(),
            ", only 0 is allowed");
    verify_shape(tensor);
    const auto dynamism = tensor.shape_dynamism();
    if (dynamism == schema::TensorShapeDynamism::DYNAMIC_UNBOUND) {
      refuse(ErrorKind::kNotSupported,
             "its shape has no upper bound; export with bounds on every dynamic dimension");
    }
    require(dynamism == schema::TensorShapeDynamism::STATIC ||
                dynamism == schema::TensorShapeDynamism::DYNAMIC_BOUND,
            "shape dynamism ", static_cast<int>(dynamism), " is unknown");
    verify_place(tensor, type);
  }

  void verify_shape(const schema::Tensor& tensor) {
    const size_t rank = count(tensor.sizes());
    require(rank <= kMaxRank, "rank ", rank, " is over the limit of ", kMaxRank);
    require(count(tensor.dim_order()) == rank, "rank ", rank, " but ", count(tensor.dim_order()),
            " entries of dim order");
    uint32_t seen = 0;
    for (uint32_t i = 0; i < rank; ++i) {
      require(tensor.sizes()->Get(i) >= 0, "size ", tensor.sizes()->Get(i), " of dimension ", i,
              " is negative");
      const uint8_t dim = tensor.dim_order()->Get(i);
      require(dim < rank && (seen & (1u << dim)) == 0,
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
      require(size == 0 || bytes <= std::numeric_limits<size_t>::max() / 2 / size,
              "its sizes need more bytes than memory can have");
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
        budget_.spend(checked_text(extra->fully_qualified_name(), where_.c_str()).size());
      }
      if (extra->device_type() != schema::DeviceType::CPU) {
        refuse(ErrorKind::kNotSupported, "it lies on device type ",
               static_cast<int>(extra->device_type()), "; this runtime has the CPU only");
      }
    }
    const schema::AllocationDetails* place = tensor.allocation_info();
    if (place != nullptr) verify_allocation(*place, nbytes, element_size(type));
    if (tensor.extra_tensor_info() != nullptr) {
      const auto location = static_cast<int>(tensor.extra_tensor_info()->location());
      require(location == 0 || location == 1, "location ", location, " of its data is unknown");
    }
    if (is_external(tensor)) {
      require(tensor.extra_tensor_info()->fully_qualified_name() != nullptr,
              "its data is in a tensor file, but it has no name");
    } else if (tensor.data_buffer_idx() > 0 && place != nullptr) {
      data_.initial_value(list, tensor.data_buffer_idx(), nbytes);
    } else if (tensor.data_buffer_idx() > 0) {
      data_.constant(tensor.data_buffer_idx(), nbytes, element_size(type));
    }
  }

  void verify_allocation(const schema::AllocationDetails& place, size_t nbytes, size_t alignment) {
    require(place.memory_id() >= 1 && place.memory_id() < arena_count(), "it is planned in arena ",
            place.memory_id(), ", the method has arenas 1 to ",
            static_cast<int64_t>(arena_count()) - 1);
    const uint64_t offset = uint64_t{place.memory_offset_high()} << 32 | place.memory_offset_low();
    const auto size = static_cast<uint64_t>(arena_size(place.memory_id()));
    require(offset <= size && nbytes <= size - offset, "planned at ", offset, " with ", nbytes,
            " bytes, arena ", place.memory_id(), " has ", size);
    require(offset % alignment == 0, "planned at ", offset,
            ", no multiple of its element size");
  }

  void verify_indices(const flatbuffers::Vector<int32_t>* indices, const char* what) {
    budget_.spend(count(indices));
    for (uint32_t i = 0; i < count(indices); ++i) {
      if (is_value(indices->Get(i))) continue;
      where_ = what + (" " + std::to_string(i));
      require(is_value(indices->Get(i)), "value ", indices->Get(i), " does not exist, there are ",
              count(plan_.values()));
    }
  }

  // Lists count as often as instructions use them: preparing a method walks them each time.
  void verify_arguments(const flatbuffers::Vector<int32_t>* arguments, const std::string& here) {
    verify_indices(arguments, (here + ", argument").c_str());
    for (uint32_t i = 0; i < count(arguments); ++i) {
      const auto& value = *plan_.values()->Get(static_cast<uint32_t>(arguments->Get(i)));
      if (const auto* list = value.val_as_TensorList()) budget_.spend(count(list->items()));
      if (const auto* list = value.val_as_OptionalTensorList()) budget_.spend(count(list->items()));
    }
  }

  void verify_operators() {
    for (uint32_t i = 0; i < count(plan_.operators()); ++i) {
      where_ = "operator " + std::to_string(i);
      const schema::Operator& op = *plan_.operators()->Get(i);
      budget_.spend(checked_text(op.name(), where_.c_str()).size());
      if (op.overload() != nullptr) {
        budget_.spend(checked_text(op.overload(), where_.c_str()).size());
      }
    }
  }

  void verify_delegates() {
    for (uint32_t i = 0; i < count(plan_.delegates()); ++i) {
      where_ = "delegate " + std::to_string(i);
      const schema::BackendDelegate& delegate = *plan_.delegates()->Get(i);
      budget_.spend(checked_text(delegate.id(), where_.c_str()).size());
      require(delegate.processed() != nullptr, "it has no data");
      data_.delegate_payload(*delegate.processed());
      for (uint32_t k = 0; k < count(delegate.compile_specs()); ++k) {
        const schema::CompileSpec& spec = *delegate.compile_specs()->Get(k);
        budget_.spend(checked_text(spec.key(), where_.c_str()).size());
        budget_.spend(count(spec.value()));
      }
    }
  }

  void verify_container() {
    where_ = "nesting of inputs and outputs";
    const schema::ContainerMetadata* container = plan_.container_meta_type();
    if (container == nullptr) return;
    for (const auto* text : {container->encoded_inp_str(), container->encoded_out_str()}) {
      if (text != nullptr) budget_.spend(checked_text(text, where_.c_str(), kLongestString).size());
    }
  }

  void verify_chain() {
    where_ = "chains";
    require(count(plan_.chains()) > 0, "it has none");
    if (count(plan_.chains()) > 1) {
      refuse(ErrorKind::kNotSupported, count(plan_.chains()), " chains; only one is supported");
    }
    const schema::Chain& chain = *plan_.chains()->Get(0);
    // Each delegate looks through the chain for its call.
    budget_.spend(count(plan_.delegates()) * count(chain.instructions()) / 16);
    for (uint32_t i = 0; i < count(chain.instructions()); ++i) {
      where_ = "instruction " + std::to_string(i);
      verify_instruction(*chain.instructions()->Get(i), count(chain.instructions()));
    }
  }

  void verify_instruction(const schema::Instruction& instruction, size_t chain_length) {
    require(instruction.instr_args() != nullptr, "it has no content");
    const std::string here = where_;
    switch (instruction.instr_args_type()) {
      case schema::InstructionArguments::KernelCall: {
        const auto& call = *instruction.instr_args_as_KernelCall();
        require(is_index(call.op_index(), count(plan_.operators())), "operator ", call.op_index(),
                " does not exist, there are ", count(plan_.operators()));
        return verify_arguments(call.args(), here);
      }
      case schema::InstructionArguments::DelegateCall: {
        const auto& call = *instruction.instr_args_as_DelegateCall();
        require(is_index(call.delegate_index(), count(plan_.delegates())), "delegate ",
                call.delegate_index(), " does not exist, there are ", count(plan_.delegates()));
        return verify_arguments(call.args(), here);
      }
      case schema::InstructionArguments::MoveCall: {
        const auto& call = *instruction.instr_args_as_MoveCall();
        require(is_value(call.move_from()) && is_value(call.move_to()), "moves value ",
                call.move_from(), " to ", call.move_to(), ", there are ", count(plan_.values()));
        return;
      }
      case schema::InstructionArguments::JumpFalseCall: {
        const auto& call = *instruction.instr_args_as_JumpFalseCall();
        require(is_value(call.cond_value_index()), "its condition is value ",
                call.cond_value_index(), ", there are ", count(plan_.values()));
        // The end of the chain is a target: it ends the method.
        require(is_index(call.destination_instruction(), chain_length + 1), "it jumps to ",
                call.destination_instruction(), ", the chain has ", chain_length, " instructions");
        return;
      }
      case schema::InstructionArguments::FreeCall: {
        const auto& call = *instruction.instr_args_as_FreeCall();
        require(is_value(call.value_index()), "it frees value ", call.value_index(),
                ", there are ", count(plan_.values()));
        return;
      }
      case schema::InstructionArguments::NONE: break;
    }
    refuse(ErrorKind::kInvalidProgram, "kind ", static_cast<int>(instruction.instr_args_type()),
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
  std::string where_;
};

}  // namespace

void verify_plan(const schema::ExecutionPlan& plan, const ProgramData& data, WorkBudget& budget) {
  PlanVerifier(plan, data, budget).run();
}

}  // namespace etlab
