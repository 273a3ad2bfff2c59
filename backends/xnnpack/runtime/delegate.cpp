#include <cstring>
#include <new>

#include "backends/xnnpack/runtime/subgraph.h"
#include "runtime/core/error.h"
#include "runtime/core/strided_copy.h"

namespace etlab {

namespace {

using payload::Datatype;

// The sizes of a tensor in the order of its memory.
Shape memory_shape(const Tensor& tensor) {
  int64_t sizes[kMaxRank];
  for (size_t i = 0; i < tensor.dim_order().size(); ++i) {
    sizes[i] = tensor.size(tensor.dim_order()[i]);
  }
  return Shape({sizes, tensor.dim_order().size()});
}

bool is_dense(const Tensor& tensor) {
  int64_t expected = 1;
  for (size_t i = tensor.dim_order().size(); i-- > 0;) {
    const uint8_t dim = tensor.dim_order()[i];
    if (tensor.size(dim) != 1 && tensor.stride(dim) != expected) return false;
    expected *= tensor.size(dim);
  }
  return true;
}

// Elements of the input one behind the other: where they stand, or copied.
uint8_t* dense_data(Context& context, const Tensor& tensor) {
  if (is_dense(tensor) || tensor.numel() == 0) return tensor.data<uint8_t>();
  void* memory = context.allocate(tensor.nbytes());
  Tensor copy(tensor.type(), tensor.sizes(), tensor.dim_order(), memory, tensor.nbytes());
  copy_elements(tensor, copy);
  return static_cast<uint8_t*>(memory);
}

// Four-byte indices become eight-byte ones where they stand, last first.
void widen(uint8_t* data, int64_t count) {
  for (int64_t i = count - 1; i >= 0; --i) {
    int32_t narrow;
    std::memcpy(&narrow, data + 4 * i, sizeof(narrow));
    const int64_t wide = narrow;
    std::memcpy(data + 8 * i, &wide, sizeof(wide));
  }
}

// A table that could not be had is an Error like any other memory.
template <typename Body>
auto with_memory_errors(const Body& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::kOutOfMemory, "tables of an XNNPACK delegate: the memory cannot be had");
  }
}

class XnnpackDelegate : public Delegate {
 public:
  explicit XnnpackDelegate(const DelegateDescription& description) : subgraph_(description) {}

  void execute(Context& context, Span<Value* const> arguments) override {
    with_memory_errors([&] { run(context, arguments); });
  }
  void observe(NodeObserver* observer) override { observer_ = observer; }

 private:
  void run(Context& context, Span<Value* const> arguments) {
    std::vector<Shape> shapes;
    std::vector<uint8_t*> inputs;
    for (const size_t value : subgraph_.inputs()) {
      const Tensor& tensor = argument(arguments, value);
      shapes.push_back(memory_shape(tensor));
      inputs.push_back(dense_data(context, tensor));
    }
    subgraph_.reshape(shapes, context.thread_count());
    std::vector<uint8_t*> outputs;
    for (const size_t value : subgraph_.outputs()) {
      Tensor& tensor = argument(arguments, value);
      resize(tensor, value);
      outputs.push_back(tensor.data<uint8_t>());
    }
    subgraph_.run(context, {inputs.data(), inputs.size()}, {outputs.data(), outputs.size()},
                  observer_);
    for (const size_t value : subgraph_.outputs()) {
      Tensor& tensor = argument(arguments, value);
      if (tensor.type() == ScalarType::kLong) widen(tensor.data<uint8_t>(), tensor.numel());
    }
  }

  Tensor& argument(Span<Value* const> arguments, size_t index) const {
    const GraphValue& value = subgraph_.graph().value(index);
    ETLAB_CHECK(value.external_id < arguments.size(), kInvalidProgram, "value ", value.id,
                " is argument ", value.external_id, " of the delegate, which is called with ",
                arguments.size());
    Tensor** tensor = arguments[value.external_id]->get_if<Tensor*>();
    ETLAB_CHECK(tensor != nullptr && *tensor != nullptr && (*tensor)->has_memory(),
                kInvalidProgram, "argument ", value.external_id, " of the delegate is ",
                arguments[value.external_id]->describe(), ", expected a tensor with memory");
    const auto expected = scalar_type_of(value.type);
    const bool is_index = value.is_output && value.type == Datatype::INT32 &&
                          (*tensor)->type() == ScalarType::kLong;
    ETLAB_CHECK(is_index || (expected && (*tensor)->type() == *expected), kInvalidProgram,
                "argument ", value.external_id, " of the delegate is ", describe(**tensor),
                ", the payload has ", name_of(value.type), " there");
    return **tensor;
  }

  void resize(Tensor& tensor, size_t index) const {
    const Shape& shape = subgraph_.shape(index);
    ETLAB_CHECK(tensor.dim_order().size() == shape.rank(), kInvalidProgram,
                "the delegate computes an output of shape ", describe(shape),
                ", the program has ", describe(tensor), " for it");
    int64_t sizes[kMaxPayloadRank];
    for (size_t i = 0; i < shape.rank(); ++i) sizes[tensor.dim_order()[i]] = shape[i];
    tensor.resize({sizes, shape.rank()});
  }

  Subgraph subgraph_;
  NodeObserver* observer_ = nullptr;
};

class XnnpackBackend : public Backend {
 public:
  std::unique_ptr<Delegate> create(const DelegateDescription& description) override {
    return with_memory_errors([&]() -> std::unique_ptr<Delegate> {
      return std::make_unique<XnnpackDelegate>(description);
    });
  }
};

struct Registration {
  Registration() noexcept {
    BackendRegistry::global().add("XnnpackBackend", std::make_shared<XnnpackBackend>());
  }
};
const Registration registration;

}  // namespace

}  // namespace etlab
