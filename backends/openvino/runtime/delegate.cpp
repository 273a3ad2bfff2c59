#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/openvino/runtime/library.h"
#include "runtime/core/backend.h"
#include "runtime/core/checked.h"
#include "runtime/core/error.h"
#include "runtime/core/strided_copy.h"
#include "runtime/core/threads.h"

namespace etlab {
namespace {

using openvino::Library;

struct Options {
  std::string device = "CPU";
  // OpenVINO computes with bfloat16 where the processor can, unless told otherwise.
  std::string precision = "f32";
};

// Values may end in zero bytes, as ExecuTorch's do.
std::string text_of(Span<const uint8_t> bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

Options options_of(Span<const CompileSpec> specs) {
  Options options;
  for (const CompileSpec& spec : specs) {
    if (spec.key == "device") options.device = text_of(spec.value);
    if (spec.key == "INFERENCE_PRECISION_HINT") options.precision = text_of(spec.value);
  }
  return options;
}

// One compiled model, imported from the bytes that OpenVINO's own export wrote. Imported anew when
// the number of threads changes, which is a property of the model.
class OpenvinoDelegate : public Delegate {
 public:
  explicit OpenvinoDelegate(const DelegateDescription& description)
      : library_(Library::get()),
        bytes_(description.processed),
        options_(options_of(description.specs)),
        input_count_(description.input_count),
        output_count_(description.output_count) {
    import(ThreadPool::shared()->thread_count());
  }

  void execute(Context& context, Span<Value* const> arguments) override {
    ETLAB_CHECK(arguments.size() == input_count_ + output_count_, kInvalidProgram,
                "the OpenVINO model has ", input_count_, " inputs and ", output_count_,
                " outputs, the delegate is called with ", arguments.size(), " arguments");
    if (context.thread_count() != thread_count_) import(context.thread_count());
    for (size_t i = 0; i < input_count_; ++i) give_input(context, i, arguments[i]);
    for (size_t i = 0; i < output_count_; ++i) give_output(i, arguments[input_count_ + i]);
    library_.check(library_.infer_request_infer(request_.get()), "inference");
    for (size_t i = 0; i < output_count_; ++i) take_output(i, arguments[input_count_ + i]);
    context.check_interrupted();
  }

 private:
  void import(int thread_count) {
    const openvino::SharedCore shared = openvino::shared_core();
    openvino::Core* const core = shared.core;
    const std::string threads = std::to_string(thread_count);
    const char* const device = options_.device.c_str();
    if (options_.device == "CPU") {
      const char* const end = nullptr;
      library_.check(library_.core_set_property(core, device, "INFERENCE_PRECISION_HINT",
                                                options_.precision.c_str(), end),
                     "setting the precision");
      library_.check(library_.core_set_property(core, device, "INFERENCE_NUM_THREADS",
                                                threads.c_str(), end),
                     "setting the number of threads");
    }
    openvino::CompiledModel* model = nullptr;
    library_.check(library_.core_import_model(core, reinterpret_cast<const char*>(bytes_.data()),
                                              bytes_.size(), device, &model),
                   "importing the model (damaged, or made by another version or for another kind of "
                   "processor: lower it again here)");
    request_.reset();
    model_.reset(model);
    check_counts();
    openvino::InferRequest* request = nullptr;
    library_.check(library_.compiled_model_create_infer_request(model, &request),
                   "preparing inference");
    request_.reset(request);
    thread_count_ = thread_count;
  }

  void check_counts() const {
    size_t inputs = 0;
    size_t outputs = 0;
    library_.check(library_.compiled_model_inputs_size(model_.get(), &inputs), "counting inputs");
    library_.check(library_.compiled_model_outputs_size(model_.get(), &outputs),
                   "counting outputs");
    ETLAB_CHECK(inputs == input_count_ && outputs == output_count_, kInvalidProgram,
                "the OpenVINO model has ", inputs, " inputs and ", outputs,
                " outputs, the delegate's call ", input_count_, " and ", output_count_);
  }

  static Tensor& tensor_of(Value* value, const char* what, size_t index) {
    Tensor** const tensor = value->get_if<Tensor*>();
    ETLAB_CHECK(tensor != nullptr && *tensor != nullptr && (*tensor)->has_memory(), kInvalidProgram,
                what, " ", index, " of the OpenVINO delegate: expected a tensor with memory, got ",
                value->describe());
    return **tensor;
  }

  openvino::OwnedTensor view(ScalarType type, Span<const int64_t> sizes, void* data) const {
    std::vector<int64_t> dims(sizes.begin(), sizes.end());
    openvino::Tensor* tensor = nullptr;
    // OpenVINO refuses a null address even where there are no elements.
    static uint64_t nothing = 0;
    library_.check(library_.tensor_create_from_host_ptr(
                       openvino::element_type_of(type),
                       {static_cast<int64_t>(dims.size()), dims.data()},
                       data != nullptr ? data : &nothing, &tensor),
                   "taking a tensor");
    return openvino::OwnedTensor(tensor);
  }

  void give_input(Context& context, size_t index, Value* value) {
    const Tensor& tensor = tensor_of(value, "input", index);
    void* data = tensor.raw();
    if (!tensor.is_contiguous()) {
      data = context.allocate(tensor.nbytes());
      Tensor dense(tensor.type(), tensor.sizes(), {}, data, tensor.nbytes());
      copy_elements(tensor, dense);
    }
    const auto given = view(tensor.type(), tensor.sizes(), data);
    library_.check(
        library_.infer_request_set_input_tensor_by_index(request_.get(), index, given.get()),
        "taking an input");
  }

  // Results of fixed sizes are written where the program wants them.
  static bool is_written_in_place(const Tensor& tensor) {
    return tensor.dynamism() == ShapeDynamism::kStatic && tensor.is_contiguous();
  }

  void give_output(size_t index, Value* value) {
    const Tensor& tensor = tensor_of(value, "output", index);
    if (!is_written_in_place(tensor)) return;
    const auto given = view(tensor.type(), tensor.sizes(), tensor.raw());
    library_.check(
        library_.infer_request_set_output_tensor_by_index(request_.get(), index, given.get()),
        "taking an output");
  }

  void take_output(size_t index, Value* value) {
    Tensor& tensor = tensor_of(value, "output", index);
    if (is_written_in_place(tensor)) return;
    openvino::Tensor* found = nullptr;
    library_.check(library_.infer_request_get_output_tensor_by_index(request_.get(), index, &found),
                   "reading an output");
    const openvino::OwnedTensor result(found);
    int type = 0;
    library_.check(library_.tensor_get_element_type(found, &type), "reading an output's type");
    ETLAB_CHECK(type == openvino::element_type_of(tensor.type()), kInvalidProgram, "output ", index,
                " of the OpenVINO model has elements of type number ", type,
                ", the program expects ", describe(tensor));
    openvino::Shape shape{};
    library_.check(library_.tensor_get_shape(found, &shape), "reading an output's shape");
    const std::vector<int64_t> sizes(shape.dims, shape.dims + shape.rank);
    library_.shape_free(&shape);
    tensor.resize({sizes.data(), sizes.size()});
    if (tensor.numel() == 0) return;
    void* data = nullptr;
    library_.check(library_.tensor_data(found, &data), "reading an output's elements");
    const Tensor source(tensor.type(), tensor.sizes(), {}, data, tensor.nbytes());
    copy_elements(source, tensor);
  }

  const Library& library_;
  Span<const uint8_t> bytes_;
  Options options_;
  size_t input_count_;
  size_t output_count_;
  int thread_count_ = 0;
  openvino::OwnedModel model_;
  openvino::OwnedRequest request_;
};

class OpenvinoBackend : public Backend {
 public:
  std::unique_ptr<Delegate> create(const DelegateDescription& description) override {
    return std::make_unique<OpenvinoDelegate>(description);
  }
};

struct Registration {
  Registration() noexcept {
    BackendRegistry::global().add("OpenvinoBackend", std::make_shared<OpenvinoBackend>());
  }
};
const Registration registration;

}  // namespace
}  // namespace etlab
